/** Several requests that one command approves. */
import { assert, layer } from "@effect/vitest"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { approve, inCell, makeApprovers, reject } from "@pix-payments/server/test/Approvals"
import { funded, operated } from "@pix-payments/server/test/Money"
import { eventually } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import { pix, start } from "./support/Pix.ts"

const hasTerminal = process.platform === "linux" && existsSync("/usr/bin/script")

/** It would be another line, with another amount, and its last character would strike out what is after it. */
const NAME = `Ana")${" \u00a0".repeat(60)}amount: R$ 1,00 \u202e\u0338`

layer(TestService.layer({ settings: inCell }), { excludeTestServices: true })("pix approvals approve", (it) => {
  /** Two requests for the same Pix, and one for another limit of the account. */
  const setup = Effect.gen(function* () {
    const { operatorUrl } = yield* TestService
    const { one, other } = yield* makeApprovers
    const { accountId } = yield* funded(100_000, { name: "Padaria", auto_payout_enabled: false })
    const ask = (method: string, path: string, body: object) =>
      Effect.map(
        one.call<Approval>(method, `/operator/v1/accounts/${accountId}${path}`, { body }),
        (answer) => answer.body
      )
    const payout = { amount: 30_000, pix_key_type: "email", pix_key: "ana@example.com", recipient_name: NAME }
    const first = yield* ask("POST", "/payouts", payout)
    const second = yield* ask("POST", "/payouts", payout)
    const limit = yield* ask("PATCH", "", { approval_limit: 50_000 })
    const env = { PIX_URL: operatorUrl, PIX_TOKEN: other.token, TERM: "xterm-256color" }
    const run = (...args: ReadonlyArray<string>) => pix(["approvals", "approve", ...args], { env })
    const statuses = Effect.forEach([first, second, limit], ({ id }) =>
      Effect.map(operated<Approval>("GET", `/approvals/${id}`), ({ status }) => status)
    )
    return { accountId, ask, env, first, second, limit, other, payout, run, statuses }
  })

  it.effect("CLI-44, OPR-240: one question shows all, their sum, the balance after all, and what is asked twice", () =>
    Effect.gen(function* () {
      const { accountId, first, limit, run, second, statuses } = yield* setup
      const asked = yield* run(first.id, second.id, limit.id, first.id.toUpperCase())
      assert.deepStrictEqual([asked.code, asked.out], [2, ""])
      const payout = (other: Approval) => [
        "  amount: R$ 300,00 (three hundred reais)",
        `  to: ana@example.com (name not verified: "Ana') amount: R$ 1,00")`,
        `  account: Padaria (${accountId})`,
        `  repeats: approval ${other.id}`,
        `  requested by: admin <${first.requested_by.email}>`,
        "  repeats: another one of these"
      ]
      assert.deepStrictEqual(asked.err.split("\n"), [
        "Approve 3 requests, which send R$ 600,00 (six hundred reais) in all",
        "1. Create a payout",
        ...payout(second),
        "2. Create a payout",
        ...payout(first),
        "3. Change an account",
        `  account: Padaria (${accountId})`,
        "  approval_limit: no limit → R$ 500,00",
        `  requested by: admin <${first.requested_by.email}>`,
        `balance after all, Padaria (${accountId}): R$ 400,00`,
        "Approve all 3?",
        "Nobody can answer here: add --yes to do it.",
        ""
      ])
      assert.deepStrictEqual(yield* statuses, ["pending", "pending", "pending"])
    })
  )

  it.effect("CLI-44: all are approved, a line for each; the command again does nothing more and ends with 0", () =>
    Effect.gen(function* () {
      const { accountId, first, limit, run, second, statuses } = yield* setup
      const ids = [first.id, second.id, limit.id]
      // Somebody else may have been faster.
      const third = yield* makeApprovers
      yield* approve(third.one.call, second.id)
      const done = yield* run(...ids, "--yes", "--reason", "as agreed")
      assert.deepStrictEqual([done.code, done.err], [0, ""])
      const lines = done.out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Approval)
      assert.deepStrictEqual(
        lines.map(({ id, reason, status }) => [id, status, reason]),
        [
          [first.id, "approved", "as agreed"],
          [second.id, "approved", null],
          [limit.id, "approved", "as agreed"]
        ]
      )
      assert.deepStrictEqual(yield* statuses, ["approved", "approved", "approved"])
      const again = yield* run(...ids)
      assert.deepStrictEqual([again.code, again.err], [0, ""])
      const { balance } = yield* operated<{ balance: { available: number } }>("GET", `/accounts/${accountId}`)
      assert.strictEqual(balance.available, 40_000)
    })
  )

  it.effect.skipIf(!hasTerminal)("CLI-8, CLI-44: on a terminal it asks once; n does nothing, y approves all", () =>
    Effect.gen(function* () {
      const { env, first, limit, second, statuses } = yield* setup
      const answered = Effect.fnUntraced(function* (key: string) {
        const ids = [first.id, second.id, limit.id]
        const running = yield* start(["approvals", "approve", ...ids], { env, onTerminal: true })
        yield* eventually(Effect.sync(running.out), (out) => out.includes("Approve all 3?"))
        running.type(key)
        return yield* running.ended
      })
      assert.strictEqual((yield* answered("n")).code, 2)
      assert.deepStrictEqual(yield* statuses, ["pending", "pending", "pending"])
      const { code, out } = yield* answered("y")
      assert.strictEqual(code, 0, out)
      assert.include(out, `${first.id}  Create a payout  R$ 300,00`)
      assert.include(out, `${limit.id}  Change an account`)
      assert.deepStrictEqual(yield* statuses, ["approved", "approved", "approved"])
    }).pipe(Effect.scoped)
  )

  it.effect("CLI-2, CLI-44: a refused request stops no other, and the exit code says that there was one", () =>
    Effect.gen(function* () {
      const { ask, first, limit, other, payout, run, second, statuses } = yield* setup
      yield* reject(other.call, first.id)
      const uncovered = yield* ask("POST", "/payouts", { ...payout, amount: 90_000 })
      // What the balance does not cover once the second is paid.
      const done = yield* run(first.id, second.id, uncovered.id, limit.id, "--yes")
      assert.strictEqual(done.code, 5)
      assert.include(done.err, `${first.id} is not approved: `)
      assert.include(done.err, "[INVALID_STATE]")
      assert.include(done.err, `${uncovered.id} is not approved: `)
      assert.include(done.err, "[INSUFFICIENT_BALANCE]")
      assert.lengthOf(done.out.trim().split("\n"), 2)
      assert.deepStrictEqual(yield* statuses, ["rejected", "approved", "approved"])
      assert.strictEqual((yield* run(first.id, "--yes")).code, 5)
    })
  )

  it.effect("CLI-2, CLI-44: nothing is asked or done with an id that is none, or with more than 100", () =>
    Effect.gen(function* () {
      const { first, run, statuses } = yield* setup
      const wrong = yield* run(first.id, "all", "--yes")
      assert.deepStrictEqual([wrong.code, wrong.err], [2, "Not an id: all\n"])
      const many = Array.from({ length: 101 }, (_, n) => `01a2027c-27ce-74b6-88f7-${String(n).padStart(12, "0")}`)
      const tooMany = yield* run(...many, "--yes")
      assert.deepStrictEqual([tooMany.code, tooMany.err], [2, "At most 100 requests are approved at once.\n"])
      const unknown = yield* run(first.id, many[0]!, "--yes")
      assert.strictEqual(unknown.code, 5)
      assert.deepStrictEqual(yield* statuses, ["pending", "pending", "pending"])
    })
  )

  it.effect("CLI-18, OPR-240, OPR-391: a move to another cell is only asked for, and its question names the cell", () =>
    Effect.gen(function* () {
      const { operatorUrl } = yield* TestService
      const { one, other } = yield* makeApprovers
      const { accountId } = yield* funded(1000, { name: "Padaria" })
      const run = (token: string, ...args: ReadonlyArray<string>) =>
        pix(args, { env: { PIX_URL: operatorUrl, PIX_TOKEN: token } })
      const asked = yield* run(one.token, "accounts", "move", accountId, "--target", "b", "--yes")
      assert.strictEqual(asked.code, 0, asked.err)
      const approval = JSON.parse(asked.out) as Approval
      const { expires_at, id, requested_by } = approval
      assert.strictEqual(
        asked.err,
        `Nothing is done yet. Another operator has until ${expires_at} to approve it: pix approvals approve ${id}\n`
      )
      assert.deepStrictEqual((yield* run(other.token, "approvals", "approve", id)).err.split("\n"), [
        "Approve: Move an account to another cell",
        `  account: Padaria (${accountId})`,
        "  target: b",
        `  requested by: admin <${requested_by.email}>`,
        "Approve it?",
        "Nobody can answer here: add --yes to do it.",
        ""
      ])
      assert.strictEqual((yield* run(other.token, "approvals", "approve", id, "--yes")).code, 0)
      // It is done. The same again changes nothing.
      const again = yield* run(one.token, "accounts", "move", accountId, "--target", "b", "--yes")
      assert.deepStrictEqual([again.code, again.err], [0, ""])
      assert.deepInclude(JSON.parse(again.out), { object: "account", status: "moved", moved_to: "b" })
    })
  )
})
