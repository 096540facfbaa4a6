/** What a dispute is about: payer, order, payment and its webhooks, and the payer's other disputes. */
import type { OperatorChargeDetail } from "@pix-payments/api/operator/Charges"
import type { OperatorDispute } from "@pix-payments/api/operator/Disputes"
import { call } from "../../app/Client.ts"
import { useLoaded } from "../../app/Loaded.ts"
import { money } from "../../format/Money.ts"
import { AccountName } from "../../parts/AccountName.tsx"
import { Card, Facts, ShortLink, useResource } from "../../parts/Detail.tsx"
import { Table } from "../../parts/List.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { documentOf, inWords } from "../../parts/reasons.ts"
import { Reveal } from "../../parts/Reveal.tsx"
import { State } from "../../parts/State.tsx"
import { Moment, Time } from "../../parts/Time.tsx"
import { words } from "../../words/Words.ts"
import { disputeWords } from "./disputeWords.ts"

const MOST_EARLIER = 5
const MOST_DELIVERIES = 6

export const Context = ({ dispute }: { readonly dispute: OperatorDispute }) => (
  <>
    {dispute.charge_id !== null && <OfCharge id={dispute.charge_id} />}
    {dispute.exception_id !== null && <OfException id={dispute.exception_id} />}
    {dispute.charge_id !== null && <Earlier id={dispute.id} />}
  </>
)

const OfCharge = ({ id }: { readonly id: string }) => {
  const { problem, reload, value } = useResource(id, (api) => api.charges.retrieve({ params: { id }, query: {} }))
  const text = disputeWords()
  return (
    <>
      {problem !== undefined && <Problem problem={problem} retry={reload} />}
      {value === undefined && problem === undefined && <Card title={text.payment}>{null}</Card>}
      {value !== undefined && (
        <>
          <Payment of={value} />
          <Deliveries of={value} />
        </>
      )}
    </>
  )
}

const Payment = ({ of: charge }: { readonly of: OperatorChargeDetail }) => {
  const { fields } = words()
  const params = { id: charge.id }
  return (
    <Reveal
      value={charge}
      load={() => call((api) => api.charges.retrieve({ params, query: { reveal: "true" } }))}
      key={charge.id}
    >
      {({ customer }, button) => (
        <Card title={disputeWords().payment} note={button}>
          <Facts
            of={[
              [fields.payer, <bdi key="payer">{customer?.name}</bdi>],
              [fields.document, documentOf(customer?.document)],
              [fields.email, customer?.email],
              [
                fields.charge,
                <a href={`/charges/${charge.id}`} key="charge">
                  {money(charge.amount)}
                  {charge.reference !== null && (
                    <>
                      {" · "}
                      <bdi>{charge.reference}</bdi>
                    </>
                  )}
                </a>
              ],
              [fields.description, charge.description],
              [fields.created, <Time of={charge.created_at} key="created" />],
              [fields.paid, charge.paid_at && <Time of={charge.paid_at} />],
              [fields.endToEndId, charge.pix.end_to_end_id && <code>{charge.pix.end_to_end_id}</code>],
              [
                disputeWords().refunded,
                charge.refunded_amount > 0 && <span class="nowrap">{money(charge.refunded_amount)}</span>
              ],
              [
                fields.account,
                <a href={`/accounts/${charge.account_id}`} key="account">
                  <AccountName id={charge.account_id} />
                </a>
              ]
            ]}
          />
        </Card>
      )}
    </Reveal>
  )
}

/** Whether the shop heard of the payment. */
const Deliveries = ({ of: { deliveries, id } }: { readonly of: OperatorChargeDetail }) => {
  const { fields, nav } = words()
  const text = disputeWords()
  return (
    <Card title={text.webhooks} note={<a href={`/deliveries?resource_id=${id}`}>{nav.deliveries}</a>}>
      {deliveries.length === 0 ? (
        <p class="quiet pad">{text.noWebhooks}</p>
      ) : (
        <Table
          rows={deliveries.slice(0, MOST_DELIVERIES)}
          linkOf={(delivery) => `/deliveries/${delivery.id}`}
          columns={[
            { name: fields.event, cell: ({ event }) => event },
            { name: fields.status, cell: ({ status }) => <State of={status} /> },
            { name: fields.at, cell: (delivery) => <Moment of={delivery.created_at} />, right: true }
          ]}
        />
      )}
    </Card>
  )
}

const OfException = ({ id }: { readonly id: string }) => {
  const { value } = useResource(id, (api) => api.exceptions.retrieve({ params: { id } }))
  const { fields } = words()
  return (
    <Card title={disputeWords().payment}>
      <Facts
        of={[
          [fields.payer, value?.payer?.name],
          [fields.document, documentOf(value?.payer?.document)],
          [fields.exception, <ShortLink id={id} to="exceptions" key="exception" />],
          [fields.amount, value !== undefined && money(value.amount)],
          [fields.endToEndId, value?.end_to_end_id]
        ]}
      />
    </Card>
  )
}

/** The payer's other disputes, newest first. */
const Earlier = ({ id }: { readonly id: string }) => {
  const { fields } = words()
  const text = disputeWords()
  const { value } = useLoaded(
    `earlier ${id}`,
    (signal) => call((api) => api.disputes.list({ query: { same_payer_as: id, limit: MOST_EARLIER } }), signal),
    { events: ["dispute."], every: 60 }
  )
  if (value === undefined) return <Card title={text.earlier}>{null}</Card>
  return (
    <Card
      title={text.earlier}
      note={value.has_more && <a href={`/disputes?same_payer_as=${id}`}>{words().list.all}</a>}
    >
      {value.data.length === 0 ? (
        <p class="quiet pad">{text.noEarlier}</p>
      ) : (
        <Table
          rows={value.data}
          linkOf={(dispute) => `/disputes/${dispute.id}`}
          columns={[
            { name: fields.amount, cell: ({ amount }) => <span class="nowrap">{money(amount)}</span> },
            {
              name: fields.status,
              cell: ({ reason, status }) => (
                <>
                  <State of={status} />
                  {reason !== null && <span class="quiet under">{inWords(reason)}</span>}
                </>
              )
            },
            {
              name: fields.opened,
              cell: (dispute) => dispute.opened_at && <Moment of={dispute.opened_at} />,
              right: true
            }
          ]}
        />
      )}
    </Card>
  )
}
