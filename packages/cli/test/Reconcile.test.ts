/** `pix reconcile`: waits for the comparison, and says by its exit code whether all matches. */
import { assert, describe, it as test } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { stripVTControlCharacters } from "node:util"
import { hasTerminal, pix } from "./support/Pix.ts"
import { asking, json, serving } from "./support/Service.ts"

const ID = "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"

const found = (fields: object) => ({
  id: ID,
  object: "reconciliation",
  connection_id: ID,
  day: "2026-11-25",
  status: "done",
  reason: null,
  difference: 0,
  states: [],
  unmatched: 0,
  ...fields
})

/** A service whose comparison is made at the second look, and has these fields. */
const comparing = (fields: object, lines: ReadonlyArray<object> = []) => {
  let looks = 0
  return serving((request, response) => {
    const isLines = request.url?.includes("/lines") === true
    const isAsked = request.method === "POST"
    if (!isLines && !isAsked) looks += 1
    const body = isLines
      ? { object: "list", data: lines, has_more: false }
      : found(isAsked || looks < 2 ? { status: "requested" } : fields)
    response.writeHead(isAsked ? 202 : 200, json).end(JSON.stringify(body))
  })
}

const reconcile = (port: number, day = "2026-11-25") => asking(port, "reconcile", "--connection", ID, "--day", day)

describe("pix reconcile", () => {
  test.live("CLI-39: it waits for the comparison, shows its lines, and ends with 1 where one is unmatched", () =>
    Effect.gen(function* () {
      const same = yield* comparing({ states: [{ state: "matched", count: 2, difference: 0 }] })
      const ended = yield* reconcile(same.port)
      assert.strictEqual(ended.code, 0, ended.err)
      assert.strictEqual(JSON.parse(ended.out).status, "done")

      const line = { id: ID, object: "reconciliation_line", state: "missing_here", difference: 150 }
      const differs = yield* comparing(
        { states: [{ state: "missing_here", count: 1, difference: 150 }], unmatched: 1 },
        [line]
      )
      const other = yield* reconcile(differs.port)
      assert.strictEqual(other.code, 1, other.err)
      assert.deepStrictEqual(JSON.parse(other.out).lines, [line])

      // What an operator explained waits for nobody.
      const explained = { ...line, explanation: "The owner's own money" }
      const settled = yield* comparing({ states: [{ state: "missing_here", count: 1, difference: 150 }] }, [explained])
      const rested = yield* reconcile(settled.port)
      assert.deepStrictEqual([rested.code, JSON.parse(rested.out).lines], [0, [explained]])

      const failed = yield* comparing({ status: "failed", reason: "no statement of the bank has this day" })
      assert.strictEqual((yield* reconcile(failed.port)).code, 1)
      assert.strictEqual((yield* reconcile(failed.port, "yesterday")).code, 2)
    }).pipe(Effect.scoped)
  )

  test.live.skipIf(!hasTerminal)(
    "CLI-7, CLI-39: a terminal shows the sums, the balance by the bank's API and the lines, numbers to the right",
    () =>
      Effect.gen(function* () {
        const at = "2026-11-26T17:55:33.170Z"
        const line = (state: string, difference: number, ageDays: number) => ({
          id: ID,
          object: "reconciliation_line",
          state,
          difference,
          end_to_end_id: null,
          source: null,
          bank: { amount: difference },
          books: null,
          explanation: null,
          age_days: ageDays
        })
        const { port } = yield* comparing(
          {
            states: [
              { state: "owner", count: 1, difference: 1_234_500 },
              { state: "missing_here", count: 12, difference: 2500 }
            ],
            balance: { at, bank: 104_900, books: 4200, difference: 100_700, change: 700, problem: null }
          },
          [line("owner", 1_234_500, 1), line("missing_here", 2500, 12)]
        )
        const env = { PIX_URL: `http://127.0.0.1:${port}`, PIX_TOKEN: "a token" }
        const args = ["reconcile", "--connection", ID, "--day", "2026-11-25"]
        const shown = yield* pix(args, { env, onTerminal: true })
        const lines = stripVTControlCharacters(shown.out).split("\r\n")
        assert.includeMembers(lines, [
          "  state         count    difference",
          "  owner             1  R$ 12.345,00",
          "  missing_here     12      R$ 25,00",
          "  at          2026-11-26 17:55:33Z",
          "  bank        R$ 1.049,00",
          "  change      R$ 7,00",
          "lines",
          "  state           difference          bank  books  source  end_to_end_id  description  explanation  age_days",
          "  missing_here      R$ 25,00      R$ 25,00      –  –       –              –            –                  12"
        ])
      }).pipe(Effect.scoped)
  )
})
