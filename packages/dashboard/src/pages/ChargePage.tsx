/** A charge: its fields, and all that happened to it. */
import type { OperatorChargeDetail } from "@pix-payments/api/operator/Charges"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { money } from "../format/Money.ts"
import { absolute } from "../format/Time.ts"
import { Copy } from "../parts/Copy.tsx"
import { Problem } from "../parts/Problem.tsx"
import { State } from "../parts/State.tsx"
import { type Moment, Timeline } from "../parts/Timeline.tsx"
import { words } from "../words/Words.ts"

const momentsOf = (charge: OperatorChargeDetail): ReadonlyArray<Moment> => [
  ...charge.history.map(({ at, event, status }) => ({
    at,
    state: status,
    title: <State of={status} />,
    detail: event ?? undefined
  })),
  ...charge.deliveries.map((delivery) => ({
    at: delivery.created_at,
    state: delivery.status,
    title: (
      <>
        <b>{delivery.event}</b> {delivery.status === "delivered" ? words().charge.deliveredTo : words().charge.waitsFor}{" "}
        {delivery.url}
      </>
    ),
    detail: undefined
  }))
]

const Field = ({ name, value }: { readonly name: string; readonly value: string | null | undefined }) =>
  value === null || value === undefined ? null : (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  )

export const ChargePage = ({ id }: { readonly id: string }) => {
  const {
    problem,
    reload,
    value: charge
  } = useLoaded(id, (signal) => call((api) => api.charges.retrieve({ params: { id }, query: {} }), signal))
  const text = words()
  if (problem !== undefined) return <Problem problem={problem} retry={reload} />
  if (charge === undefined) return null
  const curl = `curl ${globalThis.location.origin}/operator/v1/charges/${id} -H "x-operator-token: $PIX_TOKEN"`
  return (
    <>
      <div class="head">
        <h1>{money(charge.amount)}</h1>
        <State of={charge.status} />
        <span class="id quiet">{charge.id}</span>
        <Copy text={charge.id} />
        <Copy text={curl} label={text.actions.curl} />
      </div>
      <section class="cols">
        <div class="card">
          <header>
            <h2>{text.charge.timeline}</h2>
            <span class="quiet">{text.charge.newestFirst}</span>
          </header>
          <Timeline moments={momentsOf(charge)} />
        </div>
        <div class="card">
          <header>
            <h2>{text.charge.title}</h2>
          </header>
          <dl>
            <Field name={text.charge.reference} value={charge.reference} />
            <Field name={text.charge.payer} value={charge.customer?.name} />
            <Field name={text.charge.description} value={charge.description} />
            <Field name={text.charge.expires} value={charge.expires_at === null ? null : absolute(charge.expires_at)} />
            <Field name={text.charge.paid} value={charge.paid_at === null ? null : absolute(charge.paid_at)} />
            <Field name={text.charge.reason} value={charge.failure_reason} />
            <Field name={text.charge.receiver} value={charge.receiver?.name} />
            <Field name={text.charge.endToEndId} value={charge.pix.end_to_end_id} />
            {charge.pix.br_code !== null && (
              <>
                <dt>{text.charge.copyAndPaste}</dt>
                <dd class="id">
                  {charge.pix.br_code} <Copy text={charge.pix.br_code} />
                </dd>
              </>
            )}
          </dl>
        </div>
      </section>
    </>
  )
}
