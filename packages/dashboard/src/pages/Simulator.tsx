/** What the simulated acquirer may report now: of charges, payouts and disputes that wait for it. */
import type { OperatorCharge } from "@pix-payments/api/operator/Charges"
import type { OperatorDispute } from "@pix-payments/api/operator/Disputes"
import type { OperatorPayout } from "@pix-payments/api/operator/Payouts"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import type { ComponentChildren } from "preact"
import type * as Effect from "effect/Effect"
import { call, type OperatorClient } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { isSimulated, may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Card } from "../parts/Detail.tsx"
import { type ListOf, Table } from "../parts/List.tsx"
import { Problem } from "../parts/Problem.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { inBoth, words } from "../words/Words.ts"

const text = inBoth({
  en: {
    off: "This installation has no simulated acquirer.",
    may: "Only developers and admins use the simulator.",
    about: "Reports come in as those of a real institution do. Money of the simulator is not real.",
    payers: "Of the newest 50 charges, those that the payer may pay or contest",
    payouts: "Payouts without an outcome",
    disputes: "Open disputes",
    none: "None.",
    returned: "Return"
  },
  pt: {
    off: "Esta instalação não tem um adquirente simulado.",
    may: "Só desenvolvedores e administradores usam o simulador.",
    about: "Os avisos chegam como os de uma instituição real. O dinheiro do simulador não é real.",
    payers: "Das 50 cobranças mais novas, as que o pagador pode pagar ou contestar",
    payouts: "Pagamentos sem resultado",
    disputes: "Contestações abertas",
    none: "Nada.",
    returned: "Devolver"
  }
})

/** Of so many of the newest rows, those that wait are shown, up to `MAX_SHOWN`. */
const NEWEST = 50
const MAX_SHOWN = 12

export const Simulator = () => {
  const own = text()
  const isAllowed = isSimulated() && may("developer")
  return (
    <>
      <div class="head">
        <h1>{words().nav.simulator}</h1>
      </div>
      <p class="quiet">{!isSimulated() ? own.off : isAllowed ? own.about : own.may}</p>
      {isAllowed && (
        <>
          <Charges />
          <Payouts />
          <Disputes />
        </>
      )}
    </>
  )
}

interface WaitingProps<A> {
  readonly title: string
  readonly page: string
  readonly event: string
  readonly load: (api: OperatorClient) => Effect.Effect<ListOf<A>, unknown>
  readonly waits: (row: A) => boolean
  readonly actions: (row: A, reload: () => void) => ComponentChildren
}

interface Resource {
  readonly id: string
  readonly amount: number
  readonly status: string
  readonly reference: string | null
}

/** The newest resources that wait for a report, each with what may be reported. */
const Waiting = <A extends Resource>({ actions, event, load, page, title, waits }: WaitingProps<A>) => {
  const { problem, reload, value } = useLoaded(page, (signal) => call(load, signal), { events: [event], every: 10 })
  const { fields } = words()
  // What waits for its first report comes first.
  const rows = value?.data
    .filter(waits)
    .toSorted((one, other) => Number(other.status === "pending") - Number(one.status === "pending"))
    .slice(0, MAX_SHOWN)
  return (
    <Card title={title}>
      {problem !== undefined && <Problem problem={problem} retry={reload} />}
      {rows?.length === 0 && <p class="quiet pad">{text().none}</p>}
      {rows !== undefined && rows.length > 0 && (
        <Table
          rows={rows}
          linkOf={({ id }) => `/${page}/${id}`}
          columns={[
            {
              name: fields.amount,
              cell: (row) => (
                <>
                  <span class="nowrap">{money(row.amount)}</span>
                  <div class="quiet under">
                    <bdi>{row.reference}</bdi> <span class="id">{shortIdOf(row.id)}</span>
                  </div>
                </>
              )
            },
            { name: fields.status, cell: ({ status }) => <State of={status} /> },
            { name: fields.created, cell: (row) => <Time of={createdAt(row)} />, wide: true },
            { name: fields.action, cell: (row) => <span class="actions">{actions(row, reload)}</span>, right: true }
          ]}
        />
      )}
    </Card>
  )
}

const createdAt = (row: object): string => {
  const { created_at, opened_at } = row as { readonly created_at?: string; readonly opened_at?: string }
  return created_at ?? opened_at ?? ""
}

const Charges = () => {
  const { actions, ask, fields, form } = words()
  const own = text()
  return (
    <Waiting<OperatorCharge>
      title={own.payers}
      page="charges"
      event="charge."
      load={(api) => api.charges.list({ query: { limit: NEWEST } })}
      waits={({ status }) => status === "pending" || status === "paid"}
      actions={({ amount, id, status }, reload) => {
        const params = { id }
        const question = ask.simulate(money(amount))
        return status === "pending" ? (
          <>
            <Action
              label={actions.pay}
              tone="first"
              isSmall
              question={question}
              run={(_values, _files, key) =>
                call((api) => api.simulatorCharges.pay({ params, payload: { external_id: key } }))
              }
              onDone={reload}
            />{" "}
            <Action
              label={actions.fail}
              tone="bad"
              isSmall
              question={question}
              run={(_values, _files, key) =>
                call((api) => api.simulatorCharges.fail({ params, payload: { external_id: key } }))
              }
              onDone={reload}
            />
          </>
        ) : (
          <>
            <Action
              label={actions.dispute}
              tone="bad"
              isSmall
              question={question}
              fields={[{ name: "reason", label: fields.reason, hint: form.reason }]}
              run={({ reason }, _files, key) =>
                call((api) =>
                  api.simulatorReturns.infraction({ params, payload: { reason: String(reason), external_id: key } })
                )
              }
              onDone={reload}
            />{" "}
            <Action
              label={own.returned}
              tone="bad"
              isSmall
              question={question}
              run={(_values, _files, key) =>
                call((api) => api.simulatorReturns.return({ params, payload: { as: "refunded", external_id: key } }))
              }
              onDone={reload}
            />
          </>
        )
      }}
    />
  )
}

const Payouts = () => {
  const { actions, ask, fields, form } = words()
  return (
    <Waiting<OperatorPayout>
      title={text().payouts}
      page="payouts"
      event="payment."
      load={(api) => api.payouts.list({ query: { limit: NEWEST, status: "processing" } })}
      waits={({ status }) => status === "processing"}
      actions={({ amount, id }, reload) => {
        const params = { id }
        return (
          <>
            <Action
              label={actions.complete}
              tone="first"
              isSmall
              question={ask.simulate(money(amount))}
              run={(_values, _files, key) =>
                call((api) => api.simulatorPayouts.complete({ params, payload: { external_id: key } }))
              }
              onDone={reload}
            />{" "}
            <Action
              label={actions.fail}
              tone="bad"
              isSmall
              question={ask.simulate(money(amount))}
              fields={[{ name: "reason", label: fields.reason, hint: form.reason }]}
              run={({ reason }, _files, key) =>
                call((api) =>
                  api.simulatorPayouts.fail({ params, payload: { reason: String(reason), external_id: key } })
                )
              }
              onDone={reload}
            />
          </>
        )
      }}
    />
  )
}

const Disputes = () => {
  const { actions, ask } = words()
  return (
    <Waiting<OperatorDispute>
      title={text().disputes}
      page="disputes"
      event="dispute."
      load={(api) => api.disputes.list({ query: { limit: NEWEST, status: "open" } })}
      waits={({ status }) => status === "open"}
      actions={({ amount, id }, reload) => {
        const params = { id }
        return (
          <>
            <Action
              label={actions.win}
              tone="first"
              isSmall
              question={ask.simulate(money(amount))}
              run={(_values, _files, key) =>
                call((api) => api.simulatorDisputes.win({ params, payload: { external_id: key } }))
              }
              onDone={reload}
            />{" "}
            <Action
              label={actions.lose}
              tone="bad"
              isSmall
              question={ask.simulate(money(amount))}
              run={(_values, _files, key) =>
                call((api) => api.simulatorDisputes.lose({ params, payload: { external_id: key } }))
              }
              onDone={reload}
            />
          </>
        )
      }}
    />
  )
}
