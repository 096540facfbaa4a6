/** Recovery: charges whose emission has no certain outcome. */
import type { Charge } from "@pix-payments/domain/Charge"
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { create, reaching, settled } from "../../support/ChargeDeliveries.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, acquirerTimeoutMs: 200, simulatorSettleMs: 0 }

layer(TestService.layer({ settings: { ...settings, databaseConnections: 3 } }), { excludeTestServices: true })(
  "Recovery",
  (it) => {
    it.effect("CHG-4: brings a charge whose emission timed out to pending, with one Pix and one event", () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const { received, url } = yield* receiver()
        const customer = { email: "timeout@simulator.test" }
        const created = yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => create({ key, webhook_url: url, customer }),
          { concurrency: 20 }
        )
        for (const { body, status } of created) {
          assert.strictEqual(status, 201)
          assert.deepInclude(body, { status: "processing", sequence: 1, paid_at: null, failure_reason: null })
          assert.isNull(body.pix.br_code)
        }
        const sql = yield* SqlClient
        for (const { body } of created) {
          const charge = yield* reaching(key, body.id, "pending")
          assert.include(charge.pix.br_code, txidOf(body.id))
          assert.strictEqual(charge.expires_at, body.expires_at)
          assert.strictEqual(charge.sequence, 2)
          const accepted = yield* sql`SELECT 1 FROM simulator_charges WHERE txid = ${txidOf(body.id)}`
          assert.strictEqual(accepted.length, 1)
          const again = yield* call<Charge>("GET", `/v1/charges/${body.id}`, { key })
          assert.deepStrictEqual(again.body, charge)
          yield* settled(body.id, 2)
        }
        assert.strictEqual(received.length, 40)
        assert.strictEqual(new Set(received.map(({ body }) => `${body.data.id} ${body.event}`)).size, 40)
      })
    )

    it.effect("asks for each charge at its own pace: half as often each time, and every five minutes at least", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const sql = yield* SqlClient
        // One second, and the acquirer's timeout.
        const leaseMs = 1200
        const attempts = [5, 6, 7, 8, 1000]
        for (const attempt of attempts) {
          const { body } = yield* create({ key })
          // Its account does not exist, so that no attempt succeeds.
          yield* sql`UPDATE charges SET status = 'processing', account_id = id WHERE id = ${body.id}::uuid`
          yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id, attempts)
            VALUES (now(), ${body.id}::uuid, ARRAY[${body.id}::uuid], ${accountId}::uuid, ${attempt}::integer)`
          // Not `now()`: a statement that began before the claim may see it.
          const [taken] = yield* eventually(
            sql<{ in_ms: number }>`
              SELECT (extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS in_ms FROM charge_recoveries
              WHERE id = ${body.id}::uuid AND account_id IS NOT NULL AND attempts = ${attempt + 1}::integer`,
            ({ length }) => length === 1
          )
          const expectedMs = Math.min(leaseMs * 2 ** attempt, 300_000)
          assert.isAtMost(taken!.in_ms, expectedMs)
          assert.isAbove(taken!.in_ms, expectedMs / 2)
          yield* sql`DELETE FROM charges WHERE id = ${body.id}::uuid`
        }
      })
    )

    it.effect("CHG-4: brings a charge of a slow acquirer to pending", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const { body } = yield* create({ key, customer: { email: "slow@simulator.test" } })
        assert.strictEqual(body.status, "processing")
        const charge = yield* reaching(key, body.id, "pending")
        assert.include(charge.pix.br_code, txidOf(body.id))
      })
    )

    it.effect("continues with the others when one charge cannot be settled", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const sql = yield* SqlClient
        const customer = { email: "timeout@simulator.test" }
        const created = yield* Effect.forEach(Array.from({ length: 24 }), () => create({ key, customer }), {
          concurrency: 24
        })
        const ids = created.map(({ body }) => body.id)
        const poisoned = ids.slice(4)
        // Their account does not exist, and they are due first.
        yield* sql`UPDATE charges SET account_id = id WHERE ${sql.in("id", poisoned)}`
        yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids)
          SELECT now() - interval '1 hour', uuidv7(), array_agg(id) FROM charges WHERE ${sql.in("id", poisoned)}`
        yield* sql`UPDATE charge_recoveries SET due_at = now() WHERE due_at > now()`
        for (const id of ids.slice(0, 4)) yield* reaching(key, id, "pending")
        yield* sql`DELETE FROM charges WHERE ${sql.in("id", poisoned)}`
      })
    )

    it.effect("settles a charge that is still processing when its notification arrives", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const { received, url } = yield* receiver()
        const sql = yield* SqlClient
        for (const email of ["timeout@simulator.test", "slow@simulator.test"]) {
          for (const report of ["pay", "fail"]) {
            const { body: created } = yield* create({ key, webhook_url: url, customer: { email } })
            // Recovery comes too late for this one.
            yield* sql`UPDATE charge_recoveries SET due_at = now() + interval '1 hour'`
            assert.strictEqual(created.status, "processing")
            const { body: reported, status } = yield* operate<Charge>(
              "POST",
              `/operator/v1/simulator/charges/${created.id}/${report}`
            )
            assert.strictEqual(status, 200)
            assert.strictEqual(reported.status, report === "pay" ? "paid" : "failed")
            assert.strictEqual(reported.sequence, 3)
            assert.include(reported.pix.br_code, txidOf(created.id))
            yield* settled(created.id, 3)
            const ofCharge = received.filter(({ body }) => body.data.id === created.id)
            assert.deepStrictEqual(
              ofCharge.map(({ body }) => `${body.event} ${body.data.status} ${body.sequence}`).toSorted(),
              [
                "charge.pix.created pending 2",
                "charge.pix.emitted pending 2",
                report === "pay" ? "charge.pix.paid paid 3" : "charge.pix.failed failed 3"
              ].toSorted()
            )
          }
        }
      })
    )
  }
)

// A lease of six seconds is renewed after three, so that a process that was slow meanwhile is not too late.
layer(TestService.layer({ settings: { ...settings, acquirerTimeoutMs: 5000 } }), { excludeTestServices: true })(
  "The lease of a recovery",
  (it) => {
    it.effect("leases a charge until its change is stored, however long that takes", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const sql = yield* SqlClient
        const { body } = yield* create({ key })
        const id = body.id
        const recovery = sql<{ due_at: Date; attempts: number }>`SELECT due_at, attempts FROM charge_recoveries
          WHERE id = ${id}::uuid AND account_id IS NOT NULL`
        yield* sql`UPDATE charges SET status = 'processing', sequence = 1 WHERE id = ${id}::uuid`
        const isLocked = Deferred.makeUnsafe<void>()
        const release = Deferred.makeUnsafe<void>()
        const lock = yield* Effect.forkChild(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`SELECT FROM charges WHERE id = ${id}::uuid FOR UPDATE`
              Deferred.doneUnsafe(isLocked, Effect.void)
              yield* Deferred.await(release)
            })
          )
        )
        yield* Deferred.await(isLocked)
        yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
          VALUES (now(), ${id}::uuid, ARRAY[${id}::uuid], ${accountId}::uuid)`
        const [claimed] = yield* eventually(recovery, ([row]) => row?.attempts === 1)
        const [renewed] = yield* eventually(recovery, ([row]) => row!.due_at > claimed!.due_at)
        assert.strictEqual(renewed!.attempts, 1, "no second process has claimed it")
        Deferred.doneUnsafe(release, Effect.void)
        yield* Fiber.join(lock)
        yield* reaching(key, id, "pending")
      })
    )
  }
)

layer(TestService.layer({ settings: { ...settings, acquirerTimeoutMs: 3_600_000 } }), { excludeTestServices: true })(
  "Recovery beside an acquirer that does not answer",
  (it) => {
    it.effect("ends with the acquirer's answer, and not when the lease does", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { key } = yield* makeCaller()
        const { body } = yield* create({ key })
        yield* sql`UPDATE charges SET status = 'processing', sequence = 1 WHERE id = ${body.id}::uuid`
        yield* sql`UPDATE charge_recoveries SET due_at = now()`
        yield* reaching(key, body.id, "pending")
        yield* eventually(sql`SELECT FROM charge_recoveries WHERE id = ${body.id}::uuid`, ({ length }) => length === 0)
      })
    )

    it.effect("claims 64 charges at once, and one account's do not displace another's", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const many = yield* makeCaller()
        const few = yield* makeCaller()
        const charges = yield* Effect.forEach(
          [...Array.from({ length: 100 }, () => many.key), few.key],
          (key) => Effect.map(create({ key }), ({ body }) => body.id),
          { concurrency: 20 }
        )
        // The acquirer knows none of them, and does not answer the first call.
        yield* sql`DELETE FROM simulator_charges`
        yield* sql`UPDATE charges SET status = 'processing', sequence = 1, customer_email = 'timeout@simulator.test'`
        yield* sql`DELETE FROM charge_recoveries`
        yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
          SELECT now() - CASE WHEN account_id = ${many.accountId}::uuid THEN interval '1 hour' ELSE interval '0' END,
            id, ARRAY[id], account_id FROM charges WHERE ${sql.in("id", charges)}`
        const claimed = yield* eventually(
          sql<{ account_id: string }>`SELECT account_id FROM charge_recoveries WHERE attempts > 0`,
          ({ length }) => length === 64
        )
        assert.lengthOf(
          claimed.filter(({ account_id }) => account_id === few.accountId),
          1
        )
      })
    )
  }
)

layer(TestService.layer({ settings: { ...settings, acquirerTimeoutMs: 5000, simulatorSettleMs: 1000 } }), {
  excludeTestServices: true
})("Certainty", (it) => {
  it.effect("CHG-4: is waited for where the acquirer is slow", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { body } = yield* create({ key, customer: { email: "slow@simulator.test" } })
      assert.strictEqual(body.status, "pending")
      assert.include(body.pix.br_code, txidOf(body.id))
    })
  )

  it.effect("comes later where the payer takes a second", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { body } = yield* create({ key, customer: { email: "pay@simulator.test" } })
      assert.strictEqual(body.status, "pending")
      yield* reaching(key, body.id, "paid")
    })
  )
})

const txidOf = (chargeId: string): string => chargeId.replaceAll("-", "")
