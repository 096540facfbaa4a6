/**
 * `pix reconcile`: compares a day of a bank account with the books, and shows what does not match. CLI-39.
 */
import type { Reconciliation, ReconciliationLine } from "@pix-payments/api/operator/Reconciliations"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { exitCodes, Failure, usage } from "./Failure.ts"
import { call, type Service } from "./OperatorClient.ts"
import { type Row, showFields, wantsJson, writeJson } from "./Output.ts"
import { signedIn } from "./Profile.ts"
import { notice, withTime } from "./Terminal.ts"

/** The comparison once it has been made. */
const compared = Effect.fnUntraced(function* (service: Service, connection: string, day: string) {
  const payload = { connection_id: connection, day }
  const { body: asked } = yield* call(service, "reconciliations.request", { payload })
  const params = { id: (asked as Reconciliation).id }
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { body } = yield* call(service, "reconciliations.retrieve", { params })
    const found = body as Reconciliation
    if (found.status !== "requested") return found
    yield* Effect.sleep("1 second")
  }
  return yield* new Failure({
    message: `The day is compared later. See it with: pix reconciliations get ${params.id}`,
    exitCode: exitCodes.unavailable
  })
})

const MOST_TRIES = 120

const rowOf = ({
  age_days,
  bank,
  books,
  difference,
  end_to_end_id,
  explanation,
  source,
  state
}: ReconciliationLine): Row => ({
  object: "reconciliation_row",
  state,
  difference,
  bank: bank?.amount ?? null,
  books: books?.amount ?? null,
  source: source === null ? null : `${source.object} ${source.id}`,
  end_to_end_id,
  description: bank?.description ?? null,
  explanation,
  age_days
})

/** The command. */
export const reconcileCommand = Command.make(
  "reconcile",
  {
    connection: Flag.String("connection").pipe(Flag.withDescription("A connection of the bank account (id)")),
    day: Flag.String("day").pipe(Flag.withDescription("yyyy-mm-dd, as the bank books it"))
  },
  ({ connection, day }) =>
    Effect.gen(function* () {
      if (!isUuid(connection)) return yield* usage(`Not an id: ${connection}`)
      if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return yield* usage(`Not a day: ${day}. Write it as 2026-11-25.`)
      const service = yield* signedIn
      const json = yield* wantsJson
      const found = yield* withTime(compared(service, connection, day))
      const { body } = yield* call(service, "reconciliations.lines", {
        params: { id: found.id },
        query: { limit: 100 }
      })
      const { data, has_more: hasMore } = body as { data: ReadonlyArray<ReconciliationLine>; has_more: boolean }
      if (json) writeJson({ ...found, lines: data })
      else {
        showFields({ ...found, lines: data.map(rowOf) })
        if (hasMore) notice(`There are more lines: pix reconciliations lines ${found.id} --all`)
      }
      if (found.status === "failed" || found.unmatched > 0) process.exitCode = exitCodes.negative
    })
).pipe(
  Command.withDescription("Compare a day of a bank account with the books"),
  Command.withExamples([
    { command: "pix reconcile --connection 01a2027c-27ce-74b6-88f7-06b8f8b33cb6 --day 2026-11-25" }
  ])
)
