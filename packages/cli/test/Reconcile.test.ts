/** `pix reconcile`: waits for the comparison, and says by its exit code whether all matches. */
import { assert, describe, it as test } from "@effect/vitest"
import * as Effect from "effect/Effect"
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
      const differs = yield* comparing({ states: [{ state: "missing_here", count: 1, difference: 150 }] }, [line])
      const other = yield* reconcile(differs.port)
      assert.strictEqual(other.code, 1, other.err)
      assert.deepStrictEqual(JSON.parse(other.out).lines, [line])

      const failed = yield* comparing({ status: "failed", reason: "no statement of the bank has this day" })
      assert.strictEqual((yield* reconcile(failed.port)).code, 1)
      assert.strictEqual((yield* reconcile(failed.port, "yesterday")).code, 2)
    }).pipe(Effect.scoped)
  )
})
