/** A charge: its fields, all that happened to it, and what can be done. */
import type { OperatorChargeDetail } from "@pix-payments/api/operator/Charges"
import type { Refund } from "@pix-payments/domain/Refund"
import { call } from "../app/Client.ts"
import { isSimulated, may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Copy } from "../parts/Copy.tsx"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../parts/Detail.tsx"
import { Table } from "../parts/List.tsx"
import { QrCode } from "../parts/QrCode.tsx"
import { ReceiptLink } from "../parts/ReceiptLink.tsx"
import { ResourceTimeline } from "../parts/ResourceTimeline.tsx"
import { ReturnMoney, returnWords } from "../parts/ReturnMoney.tsx"
import { Reveal } from "../parts/Reveal.tsx"
import { outcomeName, Settle, settleWords } from "../parts/Settle.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { documentOf, inWords } from "../parts/reasons.ts"
import { words } from "../words/Words.ts"

export const ChargePage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.charges.retrieve({ params: { id }, query: {} }))
  const { actions, ask } = words()
  return (
    <Resource loaded={loaded}>
      {(charge) => (
        <>
          <Head title={money(charge.amount)} state={charge.status} id={charge.id} operation={`/charges/${id}`}>
            {charge.paid_at !== null && <ReceiptLink of={`/charges/${id}`} />}
            {may("operator") && charge.status === "pending" && (
              <Action
                label={actions.cancelCharge}
                tone="bad"
                question={ask.cancelCharge(money(charge.amount))}
                run={() => call((api) => api.chargeActions.cancel({ params: { id } }))}
                onDone={loaded.reload}
              />
            )}
            {(charge.status === "paid" || charge.status === "infraction") && (
              <ReturnMoney
                left={returnWords().left(money(charge.amount - charge.refunded_amount))}
                payer={charge.customer?.name}
                isDescribed
                refund={(payload, key) =>
                  call((api) =>
                    api.chargeActions.refund({ params: { id }, headers: { "idempotency-key": key }, payload })
                  )
                }
                onDone={loaded.reload}
              />
            )}
          </Head>
          <section class="cols">
            <ResourceTimeline id={id} resource="charge" />
            <div class="stack">
              <Code charge={charge} />
              <Terms charge={charge} />
              <Refunds charge={charge} reload={loaded.reload} />
              {isSimulated() && may("developer") && <Simulator charge={charge} reload={loaded.reload} />}
            </div>
          </section>
        </>
      )}
    </Resource>
  )
}

/** What the payer needs: only while it can be paid. */
const Code = ({ charge: { pix, status } }: { readonly charge: OperatorChargeDetail }) => {
  const { cards, fields } = words()
  if (status !== "pending" || pix.br_code === null) return null
  return (
    <Card title={fields.copyAndPaste} note={<Copy text={pix.br_code} />}>
      <div class="pay">
        <QrCode text={pix.br_code} label={cards.qr} />
        <code>{pix.br_code}</code>
      </div>
    </Card>
  )
}

const Terms = ({ charge }: { readonly charge: OperatorChargeDetail }) => {
  const { cards, fields } = words()
  const params = { id: charge.id }
  return (
    <Reveal
      value={charge}
      load={() => call((api) => api.charges.retrieve({ params, query: { reveal: "true" } }))}
      key={charge.id}
    >
      {({ customer }, button) => (
        <Card title={cards.charge} note={button}>
          <Facts
            of={[
              [fields.reference, charge.reference],
              [fields.payer, customer?.name],
              [fields.document, documentOf(customer?.document)],
              [fields.email, customer?.email],
              [fields.description, charge.description],
              [fields.origin, inWords(charge.origin)],
              [fields.expires, charge.expires_at && <Time of={charge.expires_at} />],
              [fields.paid, charge.paid_at && <Time of={charge.paid_at} />],
              [fields.failureReason, inWords(charge.failure_reason)],
              [fields.receiver, charge.receiver?.name],
              [fields.endToEndId, charge.pix.end_to_end_id && <code>{charge.pix.end_to_end_id}</code>],
              [fields.webhook, charge.webhook_url],
              [fields.account, <IdLink id={charge.account_id} to="accounts" key="account" />],
              [
                fields.application,
                <IdLink
                  id={charge.application_id}
                  to="applications"
                  query={`?account=${charge.account_id}`}
                  key="app"
                />
              ],
              [fields.created, <Time of={charge.created_at} key="created" />]
            ]}
          />
        </Card>
      )}
    </Reveal>
  )
}

const Refunds = ({ charge, reload }: { readonly charge: OperatorChargeDetail; readonly reload: () => void }) => {
  const { cards, fields } = words()
  if (charge.refunds.length === 0) return null
  return (
    <Card title={cards.refunds} note={cards.left(money(charge.amount - charge.refunded_amount))}>
      <Table
        rows={charge.refunds}
        columns={[
          { name: fields.amount, cell: ({ amount }) => <b class="nowrap">{money(amount)}</b> },
          {
            name: fields.status,
            cell: (refund) => (
              <>
                <State of={refund.status} />
                {refund.provider_outcome !== null &&
                  ` ${settleWords().says}: ${outcomeName(refund.provider_outcome)}`}{" "}
                <SettleRefund refund={refund} reload={reload} />
                {refund.status === "completed" && <ReceiptLink of={`/refunds/${refund.id}`} quiet />}
              </>
            )
          },
          { name: fields.reason, cell: (refund) => inWords(refund.failure_reason ?? refund.description), wide: true },
          { name: fields.created, cell: (refund) => <Time of={refund.created_at} />, right: true }
        ]}
      />
    </Card>
  )
}

const SettleRefund = ({ refund, reload }: { readonly refund: Refund; readonly reload: () => void }) =>
  refund.status !== "processing" ? null : (
    <Settle
      amount={refund.amount}
      since={refund.created_at}
      of="return"
      isSmall
      settle={({ id: returnId, outcome, reason }, key) =>
        call((api) =>
          api.refundActions.settle({
            params: { id: refund.id },
            headers: { "idempotency-key": key },
            payload: { outcome, return_id: returnId, reason }
          })
        )
      }
      onDone={reload}
    />
  )

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
              run={(_values, _files, key) =>
                call((api) => api.simulatorCharges.pay({ params, payload: { external_id: key } }))
              }
              onDone={reload}
            />
            <Action
              label={actions.fail}
              tone="bad"
              question={question}
              run={(_values, _files, key) =>
                call((api) => api.simulatorCharges.fail({ params, payload: { external_id: key } }))
              }
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
            run={({ reason }, _files, key) =>
              call((api) =>
                api.simulatorReturns.infraction({ params, payload: { reason: String(reason), external_id: key } })
              )
            }
            onDone={reload}
          />
        )}
      </div>
    </Card>
  )
}
