/** A payout: its recipient, and what can be done. */
import type { OperatorPayout } from "@pix-payments/api/operator/Payouts"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { isSimulated, may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { deliveryMoment } from "../parts/DeliveryMoment.tsx"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../parts/Detail.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { type Moment, Timeline } from "../parts/Timeline.tsx"
import { words } from "../words/Words.ts"

const recipientOf = ({ recipient }: OperatorPayout): string => recipient.name ?? recipient.pix_key ?? ""

const momentsOf = (payout: OperatorPayout): ReadonlyArray<Moment> => [
  { at: payout.created_at, state: "pending", title: words().fields.created },
  ...(payout.processed_at === null
    ? []
    : [{ at: payout.processed_at, state: payout.status, title: <State of={payout.status} /> }])
]

export const PayoutPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.payouts.retrieve({ params: { id }, query: {} }))
  const deliveries = useLoaded(id, (signal) =>
    call((api) => api.deliveries.list({ query: { resource_id: id, limit: 50 } }), signal)
  )
  const { actions, ask, cards, fields } = words()
  return (
    <Resource loaded={loaded}>
      {(payout) => (
        <>
          <Head title={money(payout.amount)} state={payout.status} id={payout.id} operation={`/payouts/${id}`}>
            {may("operator") && payout.status === "pending" && (
              <>
                <Action
                  label={actions.approve}
                  tone="first"
                  question={ask.approve(money(payout.amount), recipientOf(payout))}
                  run={() => call((api) => api.payoutActions.approve({ params: { id } }))}
                  onDone={loaded.reload}
                />
                <Action
                  label={actions.cancelPayout}
                  tone="bad"
                  question={ask.cancelPayout(money(payout.amount))}
                  run={() => call((api) => api.payoutActions.cancel({ params: { id } }))}
                  onDone={loaded.reload}
                />
              </>
            )}
          </Head>
          <section class="cols">
            <Card title={cards.timeline} note={cards.newestFirst}>
              <Timeline moments={[...momentsOf(payout), ...(deliveries.value?.data ?? []).map(deliveryMoment)]} />
            </Card>
            <div class="stack">
              <Card title={cards.payout}>
                <Facts
                  of={[
                    [fields.recipient, payout.recipient.name],
                    [fields.document, payout.recipient.document],
                    [fields.pixKey, payout.recipient.pix_key],
                    [fields.fee, money(payout.fee)],
                    [fields.method, payout.method],
                    [fields.origin, payout.origin],
                    [fields.reference, payout.reference],
                    [fields.description, payout.description],
                    [fields.failureReason, payout.failure_reason],
                    [fields.endToEndId, payout.end_to_end_id && <code>{payout.end_to_end_id}</code>],
                    [fields.duplicate_of, payout.duplicate_of && <IdLink id={payout.duplicate_of} to="payouts" />],
                    [fields.created, <Time of={payout.created_at} key="created" />],
                    [fields.account, <IdLink id={payout.account_id} to="accounts" key="account" />]
                  ]}
                />
              </Card>
              {isSimulated() && may("developer") && payout.status === "processing" && (
                <Simulator payout={payout} reload={loaded.reload} />
              )}
            </div>
          </section>
        </>
      )}
    </Resource>
  )
}

/** What the simulated acquirer can report of a payout that it has. */
const Simulator = ({ payout, reload }: { readonly payout: OperatorPayout; readonly reload: () => void }) => {
  const { actions, ask, cards, fields, form } = words()
  const params = { id: payout.id }
  const question = ask.simulate(money(payout.amount))
  return (
    <Card title={cards.simulator}>
      <div class="head actions">
        <Action
          label={actions.complete}
          tone="first"
          question={question}
          run={() => call((api) => api.simulatorPayouts.complete({ params, payload: {} }))}
          onDone={reload}
        />
        <Action
          label={actions.fail}
          tone="bad"
          question={question}
          fields={[{ name: "reason", label: fields.reason, hint: form.reason }]}
          run={({ reason }) =>
            call((api) => api.simulatorPayouts.fail({ params, payload: { reason: String(reason) } }))
          }
          onDone={reload}
        />
      </div>
    </Card>
  )
}
