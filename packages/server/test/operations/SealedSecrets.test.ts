/** The keys of SECRETS_KEYS are rotated: `secrets count` and `secrets reseal`, and what a start needs. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { createHmac } from "node:crypto"
import { sealedColumns } from "../../src/operations/SealedSecrets.ts"
import { create, settled } from "../support/ChargeDeliveries.ts"
import { funded, paidOut } from "../support/Money.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { failedStart, ran } from "../support/Process.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

const [OLD, NEW] = [5, 6].map((byte) => Buffer.alloc(32, byte).toString("base64")) as [string, string]

layer(Layer.empty, { excludeTestServices: true })("The keys of secrets", (it) => {
  it.effect("OPR-335: a key is dropped once everything is sealed with the next one, and not before", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createMigratedDatabase
      const dataDir = yield* temporaryFolder
      const hook = yield* receiver((_, response) => {
        response.statusCode = 500
        response.end()
      })
      /** With a service that has these keys, and ends before the next one begins. */
      const withKeys = (secretsKeys: string) =>
        // @effect-diagnostics-next-line strictEffectProvide:off
        Effect.provide(
          TestService.layer({
            databaseUrl,
            settings: {
              dataDir,
              webhookAllowedNetworks: loopback,
              webhookRetryDelaysMs: [],
              simulatorSettleMs: 0,
              secretsKeys: Option.some(Redacted.make(secretsKeys))
            }
          }),
          { local: true }
        )
      const own = { webhook_url: hook.url, webhook_secret: "of the resource" }
      const { chargeId, payoutId } = yield* Effect.gen(function* () {
        const { key } = yield* funded(5000)
        yield* registered(key, { url: hook.url, secret: "of the endpoint", events: ["charge.pix.created"] })
        const { body: charge } = yield* create({ key, ...own })
        const payout = yield* paidOut(key, own)
        yield* settled(charge.id, 2)
        yield* settled(payout.id, 2)
        return { chargeId: charge.id, payoutId: payout.id }
      }).pipe(withKeys(OLD))

      const env = (keys: string) => ({
        DATABASE_URL: Redacted.value(databaseUrl),
        DATA_DIR: dataDir,
        OPERATOR_TOKEN: newKey(),
        SECRETS_KEYS: keys
      })
      const refused = yield* failedStart(env(NEW))
      assert.strictEqual(refused.code, 1)
      assert.match(
        refused.written,
        /sealed with a key that this process does not have \([0-9a-f]{8}\)\. Add it to SECRETS_KEYS/
      )
      const counted = yield* ran("secrets", env(`${NEW},${OLD}`), "count")
      const [, oldId, count] = /^([0-9a-f]{8}): ([1-9]\d*)$/m.exec(counted.written) ?? []
      assert.isDefined(oldId, counted.written)
      assert.match(counted.written, /^[0-9a-f]{8}: 0 \(seals\)$/m)

      const resealed = yield* ran("secrets", env(`${NEW},${OLD}`), "reseal")
      assert.strictEqual(resealed.code, 0, resealed.written)
      assert.match(resealed.written, new RegExp(`^Sealed with [0-9a-f]{8}: ${count}\\.$`, "m"))
      assert.include(resealed.written, `${oldId}: 0\n`)
      assert.include(resealed.written, `Can be dropped from SECRETS_KEYS: ${oldId}.`)
      // It is the only key now, and opens all that is sent again.
      yield* Effect.gen(function* () {
        const { operate } = yield* TestService
        const before = hook.received.length
        for (const [id, count] of [
          [chargeId, 2],
          [payoutId, 2]
        ] as const) {
          for (const delivery of yield* settled(id, count)) {
            yield* operate("POST", `/operator/v1/deliveries/${delivery.id}/resend`)
          }
        }
        yield* eventually(
          Effect.sync(() => hook.received),
          ({ length }) => length >= before + 4
        )
        for (const { bytes, headers } of hook.received.slice(before)) {
          const signatures = ["of the endpoint", "of the resource"].map(
            (secret) => `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`
          )
          assert.include(signatures, headers["x-webhook-signature"])
        }
      }).pipe(withKeys(NEW))
      assert.strictEqual((yield* ran("secrets", env(NEW), "reseal")).code, 0)
      assert.strictEqual((yield* ran("secrets", env(NEW), "drop")).code, 1)
    }).pipe(Effect.scoped)
  )
})

layer(TestService.layer(), { excludeTestServices: true })("Sealed columns", (it) => {
  it.effect("OPR-335: every column that is sealed is resealed, and one that somebody changes meanwhile stays", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const rows = yield* sql<{ name: string }>`
        SELECT c.relname || '.' || a.attname AS name FROM pg_description d
        JOIN pg_class c ON c.oid = d.objoid AND NOT c.relispartition AND c.relkind IN ('r', 'p')
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid
        WHERE d.description LIKE 'sealed%'`
      assert.sameMembers(
        rows.map(({ name }) => name),
        sealedColumns.map(({ column, table }) => `${table}.${column}`)
      )
    })
  )
})
