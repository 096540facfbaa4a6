/** The backup of `docs/operations/backup-restore.md`, taken under load, restored and verified. */
import { assert, layer } from "@effect/vitest"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { ask } from "./drills/Replication.ts"
import { backUp, putInto } from "../support/BaseBackup.ts"
import { created, retrieve } from "../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  balanceOf,
  funded,
  paidCharge,
  paidOut,
  payoutReaching,
  verification
} from "../support/Money.ts"
import { temporaryFolder } from "../support/Postgres.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const settings = {
  simulatorSettleMs: 0,
  secretsKeys: Option.some(Redacted.make(Buffer.alloc(32, 5).toString("base64")))
}

layer(Layer.empty, { excludeTestServices: true })("A restored installation", (it) => {
  it.effect("has everything that was answered before the backup and a consistent ledger, and works", () =>
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

        // The control: an inconsistent ledger is reported.
        yield* sql`UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'fees'`
        assert.isFalse((yield* verification).consistent)
      }).pipe(Effect.provide(service))
    }).pipe(Effect.scoped)
  )
  it.effect(
    "to a moment has what was committed before it and nothing later, and keeps no setting of the recovery",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const [from, to] = [join(folder, "original"), join(folder, "restored")]
        const moment = yield* Effect.gen(function* () {
          const { url } = yield* EmbeddedPostgres.start({ dataDir: from })
          yield* backUp(url, from, to)
          yield* ask(url, "CREATE TABLE happened (what text)")
          yield* ask(url, "INSERT INTO happened VALUES ('before')")
          const [row] = yield* ask(url, "SELECT clock_timestamp()::text AS at")
          yield* ask(url, "INSERT INTO happened VALUES ('after')")
          return String(row?.["at"])
        }).pipe(Effect.scoped)

        const recovery = [
          `restore_command = 'cp ${from}/postgres/pg_wal/%f %p'`,
          "synchronous_standby_names = ''",
          `recovery_target_time = '${moment}'`,
          "recovery_target_action = 'promote'"
        ]
        yield* Effect.promise(async () => {
          await putInto(to, "postgresql.auto.conf", `${recovery.join("\n")}\n`)
          await putInto(to, "recovery.signal", "")
        })
        const { url } = yield* EmbeddedPostgres.start({ dataDir: to })
        yield* eventually(ask(url, "SELECT pg_is_in_recovery() AS still"), ([row]) => row?.["still"] === false)
        assert.deepStrictEqual(yield* ask(url, "SELECT what FROM happened"), [{ what: "before" }])
        assert.isFalse(existsSync(join(to, "postgres/recovery.signal")))

        const resets = [...operations.matchAll(/ALTER SYSTEM RESET \w+/g)].map(([statement]) => statement)
        for (const statement of resets) yield* ask(url, statement)
        const left = yield* ask(
          url,
          "SELECT name FROM pg_file_settings WHERE name LIKE 'recovery_target%' OR name = 'restore_command'"
        )
        assert.deepStrictEqual(left, [])
      }).pipe(Effect.scoped)
  )
})

const operations = readFileSync(join(import.meta.dirname, "../../../../docs/operations/backup-restore.md"), "utf8")
