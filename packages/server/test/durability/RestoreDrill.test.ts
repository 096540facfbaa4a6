/** The restore of `docs/operations/backup-restore.md` to an earlier moment, beside a bank that has what came after it and callers who repeat. */
import { assert, layer } from "@effect/vitest"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import { formatInstant } from "@pix-payments/domain/Instant"
import { txidFromId } from "@pix-payments/domain/Txid"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ask } from "./drills/Replication.ts"
import { backUp, putInto } from "../support/BaseBackup.ts"
import { startDouble } from "../support/Bank.ts"
import { created, retrieve } from "../support/ChargeRequests.ts"
import { connectTo, fund } from "../support/Connections.ts"
import {
  assertLedgerHolds,
  availableOf,
  operated,
  paidOut,
  retrievePayout,
  somePayout,
  submittedPayout
} from "../support/Money.ts"
import { temporaryFolder } from "../support/Postgres.ts"
import { ran } from "../support/Process.ts"
import { eventually } from "../support/Receiver.ts"
import { secretsKey, secretsKeys } from "../support/StoppableService.ts"
import { newKey, TestService } from "../support/TestService.ts"

const FUNDS = 100_000
const settings = { acquirerTimeoutMs: 10_000, secretsKeys }

layer(Layer.empty, { excludeTestServices: true })("A restore to a moment, while callers repeat", (it) => {
  it.effect("OPR-222, OPR-224, PAY-6: sends no payout twice, and ends with the books that the bank has", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [from, to] = [join(folder, "original"), join(folder, "restored")]
      const bank = yield* startDouble({ profile: "efi", settings: { openingCents: FUNDS } })
      const keys = Array.from({ length: 20 }, newKey)

      const before = yield* Effect.gen(function* () {
        const { url } = yield* EmbeddedPostgres.start({ dataDir: from })
        const service = yield* Layer.build(Layer.fresh(TestService.layer({ settings, databaseUrl: url })))
        return yield* Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const connection = yield* connectTo(bank)
          const { accountId, key } = yield* makeCaller()
          yield* fund(accountId, FUNDS)
          yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: connection.id })
          const charge = yield* created(key, { amount: 700 })
          yield* backUp(url, from, to)
          const sentWith = (some: ReadonlyArray<string>) =>
            Effect.forEach(some, (each) => Effect.flatMap(paidOut(key, {}, each), ({ id }) => submittedPayout(key, id)))
          yield* sentWith(keys.slice(0, 8))
          const [row] = yield* ask(url, "SELECT clock_timestamp()::text AS at")
          const atMs = yield* Clock.currentTimeMillis
          yield* sentWith(keys.slice(8))
          Result.getOrThrow(bank.provider.receipts.payCob(txidFromId(charge.id)))
          return { key, connectionId: connection.id, chargeId: charge.id, moment: String(row?.["at"]), atMs }
        }).pipe(Effect.provide(service))
      }).pipe(Effect.scoped)
      assert.lengthOf(sentBy(bank), keys.length)

      yield* Effect.promise(async () => {
        const recovery = [
          `restore_command = 'cp ${from}/postgres/pg_wal/%f %p'`,
          `recovery_target_time = '${before.moment}'`,
          "recovery_target_action = 'promote'"
        ]
        await putInto(to, "postgresql.auto.conf", `${recovery.join("\n")}\n`)
        await putInto(to, "recovery.signal", "")
      })
      const { url } = yield* EmbeddedPostgres.start({ dataDir: to })
      yield* eventually(ask(url, "SELECT pg_is_in_recovery() AS still"), ([row]) => row?.["still"] === false)
      const start = (outward: "on" | "off") =>
        Layer.build(Layer.fresh(TestService.layer({ settings: { ...settings, outward }, databaseUrl: url })))

      // 1. Look, and stop what would go out.
      yield* Effect.gen(function* () {
        const service = yield* start("off")
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* assertLedgerHolds
          assert.lengthOf(yield* sql`SELECT 1 FROM payouts`, 8)
          yield* Effect.forEach(requestsOf(7), ([method, path, body]) =>
            operated(method, path.replace("{id}", before.connectionId), body)
          )
        }).pipe(Effect.provide(service))
      }).pipe(Effect.scoped)

      // 2. Go on with both brakes, while callers repeat what they have had no answer to, and compare.
      const service = yield* start("on")
      yield* Effect.gen(function* () {
        const { key } = before
        const repeated = yield* Effect.forkChild(
          Effect.forEach(keys, (each) => paidOut(key, {}, each), { concurrency: 4 })
        )
        const env = { DATABASE_URL: Redacted.value(url), SECRETS_KEYS: secretsKey, OPERATOR_TOKEN: newKey() }
        const [, program, flag] = /`pnpm run (\w+) (--\w+) /.exec(steps[9]!)!
        const reconciled = ran(program!, env, flag!, formatInstant(before.atMs - 60_000))
        const payouts = yield* Fiber.join(repeated)
        const first = yield* reconciled
        assert.strictEqual(first.code, 1, first.written)
        assert.include(first.written, "is completed at the bank")
        yield* eventually(retrieve(key, before.chargeId), ({ body }) => body.status === "paid")
        assert.lengthOf(sentBy(bank), keys.length)

        // 3. Release.
        yield* Effect.forEach(requestsOf(10), ([method, path, body]) => operated(method, path, body))
        const sql = yield* SqlClient
        for (const { id } of payouts) {
          yield* eventually(
            Effect.andThen(
              Effect.all([
                Effect.promise(() => bank.settle()),
                sql`UPDATE payouts SET due_at = now() WHERE status = 'processing' AND due_at > now()`
              ]),
              retrievePayout(key, id)
            ),
            ({ body }) => body.status === "completed"
          )
        }
        const last = yield* reconciled
        assert.deepStrictEqual([last.code, last.written], [0, "The books have what the banks have.\n"])
        assert.lengthOf(sentBy(bank), keys.length)
        assert.strictEqual(yield* availableOf(key), FUNDS + 700 - keys.length * somePayout.amount)
        assert.strictEqual(bank.provider.balanceCents(), FUNDS + 700 - keys.length * somePayout.amount)
        yield* assertLedgerHolds
        assert.deepStrictEqual([...bank.violations, ...bank.defects], [])
      }).pipe(Effect.provide(service))
    }).pipe(Effect.scoped)
  )
})

/** The steps of the document, by their number. */
const steps = readFileSync(join(import.meta.dirname, "../../../../docs/operations/backup-restore.md"), "utf8").split(
  /^\d+\. /m
)

/** The requests of a step, as it has them: the method, the path below `/operator/v1` and the body. */
const requestsOf = (step: number): ReadonlyArray<readonly [string, string, unknown]> => {
  const found = [...steps[step]!.matchAll(/`([A-Z]+) \/operator\/v1(\S+)`\s+`(\{[^`]+\})`/g)]
  assert.isNotEmpty(found)
  return found.map(([, method, path, body]) => [method!, path!, JSON.parse(body!)])
}

const sentBy = (bank: PspDouble) =>
  bank.provider.payouts.list({ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }, () => true, { page: 0, size: 100 }).items
