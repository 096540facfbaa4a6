/** An exception: what arrived, what was expected, and the decision about it. */
import type { AcquirerException } from "@pix-payments/api/operator/Exceptions"
import type { ExceptionAction } from "@pix-payments/domain/AcquirerException"
import { call } from "../app/Client.ts"
import { may } from "../app/Session.ts"
import { centsOf, money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../parts/Detail.tsx"
import { type Field, type Files, textIn, type Values } from "../parts/Form.tsx"
import { documentOf, pixKeyOf } from "../parts/reasons.ts"
import { ReturnMoney, returnWords } from "../parts/ReturnMoney.tsx"
import { outcomeName, Settle } from "../parts/Settle.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { AcceptException } from "./AcceptException.tsx"
import { exceptionWords, kindName } from "./exceptionWords.ts"

export const ExceptionPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.exceptions.retrieve({ params: { id } }))
  const { fields } = words()
  const text = exceptionWords()
  return (
    <Resource loaded={loaded}>
      {(exception) => (
        <>
          <Head
            title={money(exception.amount)}
            state={exception.status}
            id={exception.id}
            operation={`/exceptions/${id}`}
          >
            {may("operator") && <Decisions exception={exception} reload={loaded.reload} />}
            {isReturning(exception) && (
              <Settle
                amount={exception.unallocated}
                since={exception.created_at}
                of="return"
                settle={({ id: returnId, outcome, reason }, key) =>
                  call((api) =>
                    api.exceptionActions.settle({
                      params: { id },
                      headers: { "idempotency-key": key },
                      payload: { outcome, return_id: returnId, reason }
                    })
                  )
                }
                onDone={loaded.reload}
              />
            )}
          </Head>
          <section class="cols">
            <Card title={text.card}>
              <Facts
                of={[
                  [text.kind, kindName(exception.kind)],
                  [fields.amount, <b key="amount">{money(exception.amount)}</b>],
                  [text.expected, exception.expected_amount !== null && money(exception.expected_amount)],
                  [text.unallocated, money(exception.unallocated)],
                  [text.occurred, <Time of={exception.occurred_at} key="occurred" />],
                  [fields.payer, exception.payer?.name],
                  [fields.document, documentOf(exception.payer?.document)],
                  [fields.pixKey, pixKeyOf(exception.pix_key)],
                  [fields.endToEndId, exception.end_to_end_id && <code>{exception.end_to_end_id}</code>],
                  [text.txid, exception.txid && <code>{exception.txid}</code>],
                  [text.received, exception.received && <code>{exception.received}</code>],
                  [text.says, exception.provider_outcome && outcomeName(exception.provider_outcome)],
                  [text.refund, exception.refund_id && <code>{exception.refund_id}</code>],
                  [fields.charge, exception.charge_id && <IdLink id={exception.charge_id} to="charges" />],
                  [fields.payout, exception.payout_id && <IdLink id={exception.payout_id} to="payouts" />],
                  [fields.account, exception.account_id && <IdLink id={exception.account_id} to="accounts" />],
                  [text.connection, <IdLink id={exception.connection_id} to="connections" key="connection" />]
                ]}
              />
            </Card>
            <Outcome of={exception} />
          </section>
        </>
      )}
    </Resource>
  )
}

/** Money that an account accepted goes back to its payer: OPR-231. */
const RefundAccepted = ({
  exception,
  reload
}: {
  readonly exception: AcquirerException
  readonly reload: () => void
}) => (
  <ReturnMoney
    left={returnWords().left(money(exception.amount))}
    payer={exception.payer?.name}
    refund={(payload, key) =>
      call((api) =>
        api.exceptionActions.refund({ params: { id: exception.id }, headers: { "idempotency-key": key }, payload })
      )
    }
    onDone={reload}
  />
)

const isReturning = ({ action, status }: AcquirerException): boolean => status === "open" && action === "return"

const Outcome = ({ of: exception }: { readonly of: AcquirerException }) => {
  const { fields } = words()
  const text = exceptionWords()
  const taken = exception.action as ExceptionAction | null
  return (
    <Card title={text.outcome}>
      {exception.status === "open" && <p class="pad">{isReturning(exception) ? text.isReturning : text.waits}</p>}
      <Facts
        of={[
          [text.action, exception.status === "resolved" && taken !== null && (text.taken[taken] ?? taken)],
          [text.reason, exception.reason],
          [fields.failureReason, exception.failure_reason],
          [text.resolvedBy, exception.resolved_by],
          [fields.resolved, exception.resolved_at && <Time of={exception.resolved_at} />]
        ]}
      />
    </Card>
  )
}

/** What the money of the exception allows: OPR-82 to OPR-85. */
const Decisions = ({ exception, reload }: { readonly exception: AcquirerException; readonly reload: () => void }) => {
  const text = exceptionWords()
  const isContradiction = exception.kind === "contradictory_outcome"
  if (exception.action === "accept")
    return isContradiction ? null : <RefundAccepted exception={exception} reload={reload} />
  if (exception.status !== "open" || isReturning(exception)) return null
  // A payout or return of another amount is settled by itself, and nothing of it arrived.
  const isUnreadable = exception.kind === "unreadable" && (exception.payout_id ?? exception.refund_id) === null
  const amount = money(exception.unallocated)
  const reason: Field = { name: "reason", label: text.reason, hint: text.reasonHint, kind: "long", isOptional: true }
  const resolve = (action: ExceptionAction) => (values: Values, _files: Files, key: string) => {
    const charge = textIn(values, "charge_id")
    const account = textIn(values, "account_id")
    const arrived = textIn(values, "amount")
    const why = textIn(values, "reason")
    return call((api) =>
      api.exceptionActions.resolve({
        params: { id: exception.id },
        headers: { "idempotency-key": key },
        payload: {
          action,
          ...(charge !== undefined && { charge_id: charge }),
          ...(account !== undefined && { account_id: account }),
          ...(arrived !== undefined && { amount: centsOf(arrived) }),
          ...(why !== undefined && { reason: why })
        }
      })
    )
  }
  return (
    <>
      {(exception.unallocated > 0 || isUnreadable || isContradiction) && (
        <AcceptException
          exception={exception}
          isUnreadable={isUnreadable}
          reason={reason}
          accept={resolve("accept")}
          onDone={reload}
        />
      )}
      {exception.unallocated > 0 && exception.end_to_end_id !== null && (
        <Action
          label={text.return}
          tone="bad"
          question={text.askReturn(amount)}
          fields={[reason]}
          run={resolve("return")}
          onDone={reload}
        />
      )}
      <Action
        label={text.dismiss}
        question={text.askDismiss(amount)}
        fields={[{ ...reason, isOptional: false }]}
        run={resolve("dismiss")}
        onDone={reload}
      />
    </>
  )
}
