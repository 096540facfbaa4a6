/** Pages of lines far from both ends of the books: what PostgreSQL reads for them. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutTriggers } from "../support/Million.ts"
import { operated } from "../support/Money.ts"
import { makeExplainer, makeRecorder } from "../support/Plans.ts"
import { asService } from "../support/Postgres.ts"
import { TestService } from "../support/TestService.ts"

const recorder = makeRecorder()
const LINES = 40_000

layer(TestService.layer().pipe(Layer.provide(recorder.layer)), { excludeTestServices: true })(
  "Pages of lines",
  (it) => {
    it.effect(
      "OPR-250, OPR-252, OPR-254: a page in the middle reads no more than one at an end, with a period or without; one that finds nothing 1,000 lines",
      () =>
        Effect.gen(function* () {
          const { databaseUrl, makeCaller } = yield* TestService
          const { accountId } = yield* makeCaller()
          const sql = yield* SqlClient
          yield* withoutTriggers(sql`
        INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, connection_id, reason, created_at, position,
          day, credit_after)
        SELECT uuidv7((n - ${LINES}) * interval '1 minute'), ${accountId}::uuid, 'acquirer', 'available', 1, uuidv7(),
          ${SIMULATOR_CONNECTION}::uuid, 'charge.paid', now(), n, date '2026-01-01' + n / 400, n
        FROM generate_series(1, ${LINES}::integer) AS n`)
          const [middle] = yield* sql<{ id: string; day: string }>`
        SELECT id, day::text AS day FROM ledger_transfers WHERE account_id = ${accountId}::uuid AND position = ${LINES / 2}`
          const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
          const after = `starting_after=${middle!.id}`
          for (const books of [`accounts/${accountId}`, `connections/${SIMULATOR_CONNECTION}`]) {
            for (const asked of [
              "",
              after,
              `${after}&from=2026-01-01&to=2026-12-31`,
              `${after}&to=${middle!.day}`,
              `${after}&to=2026-02-01`,
              "from=2026-02-01&to=2026-02-01",
              "amount_min=2"
            ]) {
              recorder.take()
              const { data } = yield* operated<{ data: ReadonlyArray<{ day: string }> }>(
                "GET",
                `/${books}/transactions?${asked}`
              )
              const isFound = !asked.includes("amount_min")
              assert.lengthOf(data, isFound ? 20 : 0, asked)
              const sent = recorder.take().find(({ text }) => text.startsWith("WITH examined AS"))
              const { pages, rows } = yield* explain(sent!)
              assert.isBelow(pages, 60, `${books} ${asked}`)
              assert.isAtMost(rows, isFound ? 60 : 1000, `${books} ${asked}`)
              if (asked.includes("to=2026-02-01")) assert.strictEqual(data[0]!.day, "2026-02-01")
            }
          }
        })
    )
  }
)
