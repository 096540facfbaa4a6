/** The days of a bank account, imported from files of its double and compared. */
import { assert } from "@effect/vitest"
import type { BankStatement } from "@pix-payments/api/operator/BankStatements"
import type { Reconciliation, ReconciliationLine } from "@pix-payments/api/operator/Reconciliations"
import { type BookedLine } from "@pix-payments/psp-double/statement/BookedLines"
import { bankDay, type Dialect, statementFile, tidy } from "@pix-payments/psp-double/statement/StatementFile"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { type ConnectedBank } from "./ConnectedBank.ts"
import { operated } from "./Money.ts"
import { eventually } from "./Receiver.ts"

/** The day after in Brasília. */
const dayAfter = (day: string) => bankDay(Date.parse(`${day}T15:00:00Z`) + 86_400_000)

export const extra = (double: ConnectedBank["double"], cents: number, text: string, endToEndId = ""): BookedLine => ({
  atMs: double.now(),
  cents,
  endToEndId,
  text
})

export const importing = (
  { connectionId, double }: ConnectedBank,
  lines: ReadonlyArray<BookedLine>,
  dialect: Partial<Dialect> = {},
  from = bankDay(double.now())
) => {
  const today = bankDay(double.now())
  // A line of the day after, or its days would end today.
  const tomorrow = { ...extra(double, -5, "TARIFA MENSAL"), atMs: double.now() + 86_400_000 }
  const file = statementFile(
    {
      bank: "364",
      branch: "0001",
      account: "12345-6",
      from,
      to: dayAfter(today),
      openingCents: double.provider.settings.openingCents,
      lines: [...lines, tomorrow]
    },
    { ...tidy, ...dialect }
  )
  return operated<BankStatement>(
    "POST",
    "/bank-statements",
    { connection_id: connectionId, content: Buffer.from(file).toString("base64") },
    201
  )
}

/** A file of days without a line. */
export const importingEmpty = ({ connectionId }: ConnectedBank, from: string, to: string) => {
  const file = statementFile(
    { bank: "364", branch: "0001", account: "12345-6", from, to, openingCents: 0, lines: [] },
    tidy
  )
  return operated<BankStatement>(
    "POST",
    "/bank-statements",
    { connection_id: connectionId, content: Buffer.from(file).toString("base64") },
    201
  )
}

/** The comparisons of a bank account, once none is due. */
export const comparedAll = ({ connectionId }: ConnectedBank) =>
  Effect.map(
    eventually(
      operated<{ data: ReadonlyArray<Reconciliation> }>("GET", `/reconciliations?connection_id=${connectionId}`),
      ({ data }) => data.length > 0 && data.every(({ status }) => status !== "requested")
    ),
    ({ data }) => data
  )

export const comparedToday = (bank: ConnectedBank) => comparedDay(bank, bankDay(bank.double.now()))

/** The comparison of a day, once it has been made. */
export const comparedDay = ({ connectionId }: ConnectedBank, day: string) =>
  Effect.gen(function* () {
    const asked = yield* operated<Reconciliation>("POST", "/reconciliations", { connection_id: connectionId, day }, 202)
    assert.strictEqual(asked.day, day)
    const done = yield* eventually(
      operated<Reconciliation>("GET", `/reconciliations/${asked.id}`),
      ({ status }) => status !== "requested"
    )
    const { data: lines } = yield* operated<{ data: ReadonlyArray<ReconciliationLine> }>(
      "GET",
      `/reconciliations/${asked.id}/lines?limit=100`
    )
    return { ...done, lines }
  })

/** No sweep finds anything from now on. */
export const withoutSweeps = ({ connectionId }: ConnectedBank) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`UPDATE acquirer_connections SET due_at = 'infinity' WHERE id = ${connectionId}::uuid`
  )

export const counted = ({ states }: Reconciliation) =>
  Object.fromEntries(states.map(({ count, difference, state }) => [state, `${count} ${difference}`]))
