/** A charge: its fields, all that happened to it, and what can be done. */
import type { OperatorChargeDetail } from "@pix-payments/api/operator/Charges"
import { call } from "../app/Client.ts"
import { isSimulated, may } from "../app/Session.ts"
import { centsOf, money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Copy } from "../parts/Copy.tsx"
import { deliveryMoment } from "../parts/DeliveryMoment.tsx"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../parts/Detail.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { type Moment, Timeline } from "../parts/Timeline.tsx"
import { words } from "../words/Words.ts"

const momentsOf = (charge: OperatorChargeDetail): ReadonlyArray<Moment> => [
  ...charge.history.map(({ at, event, status }) => ({
    at,
    state: status,
    title: <State of={status} />,
    detail: event ?? undefined
  })),
  ...charge.refunds.map((refund) => ({
    at: refund.created_at,
    state: refund.status,
    title: (
      <>
        <b>{words().actions.refund}</b> {money(refund.amount)} <State of={refund.status} />
      </>
    ),
    detail: refund.failure_reason ?? undefined
  })),
  ...charge.deliveries.map(deliveryMoment)
]

export const ChargePage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.charges.retrieve({ params: { id }, query: {} }))
  const { actions, ask, cards, fields, form } = words()
  return (
    <Resource loaded={loaded}>
      {(charge) => (
        <>
          <Head title={money(charge.amount)} state={charge.status} id={charge.id} operation={`/charges/${id}`}>
            {may("operator") && charge.status === "pending" && (
              <Action
                label={actions.cancelCharge}
                tone="bad"
                question={ask.cancelCharge(money(charge.amount))}
                run={() => call((api) => api.chargeActions.cancel({ params: { id } }))}
                onDone={loaded.reload}
              />
            )}
            {may("operator") && charge.status === "paid" && (
              <Action
                label={actions.refund}
                tone="bad"
                question={ask.refund(
                  money(charge.amount - charge.refunded_amount),
                  charge.customer?.name ?? fields.payer
                )}
                fields={[{ name: "amount", label: fields.amount, hint: form.refund, isOptional: true }]}
                run={({ amount }) =>
                  call((api) =>
                    api.chargeActions.refund({
                      params: { id },
                      payload: amount === undefined ? {} : { amount: centsOf(String(amount)) }
                    })
                  )
                }
                onDone={loaded.reload}
              />
            )}
          </Head>
          <section class="cols">
            <Card title={cards.timeline} note={cards.newestFirst}>
              <Timeline moments={momentsOf(charge)} />
            </Card>
            <div class="stack">
              <Card title={cards.charge}>
                <Facts
                  of={[
                    [fields.reference, charge.reference],
                    [fields.payer, charge.customer?.name],
                    [fields.document, charge.customer?.document],
                    [fields.email, charge.customer?.email],
                    [fields.description, charge.description],
                    [fields.origin, charge.origin],
                    [fields.expires, charge.expires_at && <Time of={charge.expires_at} />],
                    [fields.paid, charge.paid_at && <Time of={charge.paid_at} />],
                    [fields.failureReason, charge.failure_reason],
                    [fields.receiver, charge.receiver?.name],
                    [fields.endToEndId, charge.pix.end_to_end_id && <code>{charge.pix.end_to_end_id}</code>],
                    [fields.webhook, charge.webhook_url],
                    [fields.account, <IdLink id={charge.account_id} to="accounts" key="account" />],
                    [
                      fields.copyAndPaste,
                      charge.pix.br_code && (
                        <>
                          <code>{charge.pix.br_code}</code> <Copy text={charge.pix.br_code} />
                        </>
                      )
                    ]
                  ]}
                />
              </Card>
              {isSimulated() && may("developer") && <Simulator charge={charge} reload={loaded.reload} />}
            </div>
          </section>
        </>
      )}
    </Resource>
  )
}

/** What the simulated acquirer can report of the charge in its state. */
const Simulator = ({ charge, reload }: { readonly charge: OperatorChargeDetail; readonly reload: () => void }) => {
  const { actions, ask, cards, fields, form } = words()
  const params = { id: charge.id }
  const question = ask.simulate(money(charge.amount))
  const isPending = charge.status === "pending"
  if (!isPending && charge.status !== "paid") return null
  return (
    <Card title={cards.simulator}>
      <div class="head actions">
        {isPending && (
          <>
            <Action
              label={actions.pay}
              tone="first"
              question={question}
              run={() => call((api) => api.simulatorCharges.pay({ params, payload: {} }))}
              onDone={reload}
            />
            <Action
              label={actions.fail}
              tone="bad"
              question={question}
              run={() => call((api) => api.simulatorCharges.fail({ params, payload: {} }))}
              onDone={reload}
            />
          </>
        )}
        {charge.status === "paid" && (
          <Action
            label={actions.dispute}
            tone="bad"
            question={question}
            fields={[{ name: "reason", label: fields.reason, hint: form.reason }]}
            run={({ reason }) =>
              call((api) => api.simulatorReturns.infraction({ params, payload: { reason: String(reason) } }))
            }
            onDone={reload}
          />
        )}
      </div>
    </Card>
  )
}
