/** Pending payouts above the limit of their account that wait for somebody to request their approval. */
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { ApprovePayout } from "../parts/ApprovePayout.tsx"
import { Destination, PayoutAmount } from "../parts/Destination.tsx"
import { Card } from "../parts/Detail.tsx"
import { Table } from "../parts/List.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { approvalWords } from "./approvalWords.ts"

const LIMIT = 100

const read = async (signal: AbortSignal) => {
  const [payouts, approvals] = await Promise.all([
    call((api) => api.payouts.list({ query: { status: "pending", limit: LIMIT } }), signal),
    call((api) => api.approvals.list({ query: { status: "pending", limit: LIMIT } }), signal)
  ])
  if (payouts._tag === "Failed") return payouts
  if (approvals._tag === "Failed") return approvals
  const limits = new Map<string, number | null>()
  for (const id of new Set(payouts.value.data.map((payout) => payout.account_id))) {
    const account = await call((api) => api.accounts.retrieve({ params: { id } }), signal)
    if (account._tag === "Failed") continue
    limits.set(id, account.value.approval_limit)
  }
  const requested = new Set(approvals.value.data.map(({ resource }) => resource?.id))
  const value = payouts.value.data
    .filter(({ account_id, amount, id }) => amount > (limits.get(account_id) ?? Infinity) && !requested.has(id))
    .map((payout) => ({ id: payout.id, payout }))
  return { _tag: "Done" as const, value }
}

export const Unrequested = () => {
  const { reload, value = [] } = useLoaded("unrequested", read, { every: 10 })
  const { fields } = words()
  const text = approvalWords()
  if (value.length === 0) return null
  return (
    <Card title={text.unrequested} note={text.unrequestedNote}>
      <Table
        rows={value}
        linkOf={({ id }) => `/payouts/${id}`}
        columns={[
          { name: fields.amount, cell: ({ payout }) => <PayoutAmount of={payout} /> },
          {
            name: fields.recipient,
            cell: ({ payout: { recipient } }) => <Destination of={recipient} name={recipient.name} />,
            wide: true
          },
          {
            name: fields.created,
            cell: ({ payout }) => (
              <span class="actions">
                <Time of={payout.created_at} />
                <ApprovePayout payout={payout} isSmall onDone={reload} />
              </span>
            ),
            right: true
          }
        ]}
      />
    </Card>
  )
}
