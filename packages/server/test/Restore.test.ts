/** The back-up of `docs/operations.md`, taken while payments go on, and what the restored installation says of its books. */
import { assert, layer } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { join } from "node:path"
import * as EmbeddedPostgres from "../src/sql/EmbeddedPostgres.ts"
import { backUp } from "./support/BaseBackup.ts"
import { created, retrieve } from "./support/Charges.ts"
import {
  assertLedgerHolds,
  balanceOf,
  funded,
  paidCharge,
  paidOut,
  payoutReaching,
  verification
} from "./support/Money.ts"
import { temporaryFolder } from "./support/Postgres.ts"
import { eventually } from "./support/Receiver.ts"
import { TestService } from "./support/Service.ts"

const settings = {
  simulatorSettleMs: 0,
  secretsKeys: Option.some(Redacted.make(Buffer.alloc(32, 5).toString("base64")))
}

layer(Layer.empty, { excludeTestServices: true })("A restored installation", (it) => {
  it.effect(
    "has everything that was answered before the back-up, whole books, and goes on",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const backup = join(folder, "restored")
        const caller = yield* Effect.gen(function* () {
          const original = yield* EmbeddedPostgres.start({ dataDir: join(folder, "original") })
          const service = yield* Layer.build(Layer.fresh(TestService.layer({ settings, databaseUrl: original.url })))
          return yield* Effect.gen(function* () {
            const { key } = yield* funded(100_000)
            const before = yield* Effect.forEach([1, 2, 3], () => paidCharge(key))
            const payout = yield* paidOut(key)
            yield* payoutReaching(key, payout.id, "completed")
            let paidMeanwhile = 0
            const load = yield* Effect.suspend(() => paidCharge(key, 1000)).pipe(
              Effect.tap(() => Effect.sync(() => paidMeanwhile++)),
              Effect.forever,
              Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError(cause))),
              Effect.forkChild
            )
            const meanwhile = (count: number) => {
              const from = paidMeanwhile
              return eventually(
                Effect.sync(() => paidMeanwhile - from),
                (paid) => paid >= count
              )
            }
            yield* meanwhile(5)
            yield* backUp(original.url, join(folder, "original"), backup, meanwhile(20))
            yield* meanwhile(5)
            yield* Fiber.interrupt(load)
            return { key, paid: before.map(({ id }) => id), payout: payout.id }
          }).pipe(Effect.provide(service))
        }).pipe(Effect.scoped)

        const restored = yield* EmbeddedPostgres.start({ dataDir: backup })
        const service = yield* Layer.build(Layer.fresh(TestService.layer({ settings, databaseUrl: restored.url })))
        yield* Effect.gen(function* () {
          yield* assertLedgerHolds
          for (const id of caller.paid) {
            assert.strictEqual((yield* retrieve(caller.key, id)).body.status, "paid")
          }
          yield* payoutReaching(caller.key, caller.payout, "completed")
          const sql = yield* SqlClient
          const [sums] = yield* sql<{
            paid: bigint
          }>`SELECT sum(amount)::bigint AS paid FROM charges WHERE status = 'paid'`
          assert.strictEqual((yield* balanceOf(caller.key)).available, Number(sums?.paid) - 500)
          assert.isAbove(Number(sums?.paid), 103_000, "what was paid while it was taken is in it too")
          yield* created(caller.key)
          yield* paidCharge(caller.key)
          yield* assertLedgerHolds

          // And so that this can fail: books that are not whole are told.
          yield* sql`UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'fees'`
          assert.isFalse((yield* verification).consistent)
        }).pipe(Effect.provide(service))
      }).pipe(Effect.scoped),
    120_000
  )
})
