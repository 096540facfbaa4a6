/** `pnpm run move`, killed with SIGKILL at each of its steps, and repeated. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { startDouble } from "../support/Bank.ts"
import { accountAt, startCell } from "../support/Cells.ts"
import { assertRefused, create, created, retrieve } from "../support/ChargeRequests.ts"
import { assertLedgerHolds } from "../support/Money.ts"
import { killedAt, ran } from "../support/Process.ts"
import { eventually } from "../support/Receiver.ts"
import { secretsKey } from "../support/StoppableService.ts"

/** What it says at each step, from the first to the one after which nothing is left to do. */
const steps = ["Rows", "Frozen", "Copied", "Prepared", "Committed", "The account lives"]

layer(Layer.empty, { excludeTestServices: true })("The program that moves an account", (it) => {
  it.effect("OPR-392: completes a move that was killed at any step, or undoes it", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* startCell("a"), yield* startCell("b")]
      const bank = yield* startDouble({ profile: "efi" })
      const [{ accountId, key }, { id }] = yield* Effect.gen(function* () {
        const account = yield* accountAt(bank)
        return [account, yield* created(account.key)] as const
      }).pipe(a.inside)
      const env = {
        DATABASE_URL: Redacted.value(a.url),
        MIGRATIONS_DATABASE_URL: Redacted.value(a.url),
        TARGET_DATABASE_URL: Redacted.value(b.url),
        SECRETS_KEYS: secretsKey
      }
      // A kill may come a step late. The session of a killed program may end a moment after it.
      const killed = (step: string) =>
        eventually(killedAt(step, "move", env, accountId), ({ code }) => code === "SIGKILL" || code === 0)
      const undo = eventually(
        ran("move", env, accountId, "--undo"),
        ({ code, written }) => code === 0 || written.includes("has moved")
      )
      let undone = 0
      for (const step of steps) {
        yield* killed(step)
        if ((yield* undo).code !== 0) break
        yield* created(key).pipe(a.inside)
        undone++
      }
      assert.isAbove(undone, 0)
      for (const step of steps) yield* killed(step)
      const last = yield* eventually(ran("move", env, accountId), ({ code }) => code === 0)
      assert.include(last.written, "Nothing of it is left.")
      const late = yield* ran("move", env, accountId, "--undo")
      assert.strictEqual(late.code, 1)
      assert.include(late.written, "has moved")

      assertRefused(yield* create(key).pipe(a.inside), "SERVICE_UNAVAILABLE")
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* retrieve(key, id)).status, 200)
        yield* created(key)
        yield* assertLedgerHolds
      }).pipe(b.inside)
      yield* assertLedgerHolds.pipe(a.inside)
    }).pipe(Effect.scoped)
  )
})
