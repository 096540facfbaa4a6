/** Brakes of the installation and of connections. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { orderIdOf } from "../../../src/payments/payouts/PayoutTable.ts"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { ConnectionStore } from "../../../src/providers/connections/ConnectionStore.ts"
import { Installation } from "../../../src/operators/Installation.ts"
import { PausedPayouts, reschedulePaused, START_OF_PAUSED } from "../../../src/payments/payouts/PausedPayouts.ts"
import { PayoutSubmission } from "../../../src/payments/payouts/PayoutSubmission.ts"
import { assertRefused, create, created, someCharge } from "../../support/ChargeRequests.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"
import { unusedCapacity } from "../../support/DueCalls.ts"
import { funded, operated, paidOut, payoutReaching, simulated } from "../../support/Money.ts"
import { mostRows, payoutBacklog, type PlanNode } from "../../support/PayoutBacklog.ts"
import { eventually } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"

const braked = (body: Readonly<Record<string, boolean>>) => operated("PATCH", "/installation", body)

const released = braked({ payouts_paused: false, charges_paused: false })

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })(
  "Brakes of the installation",
  (it) => {
    it.effect(
      "OPR-122, PAY-16: payouts of every account are accepted, approved and not sent; released, each is sent",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const one = yield* funded(10_000)
          const two = yield* funded(10_000, { auto_payout_enabled: false })
          yield* braked({ payouts_paused: true })
          const automatic = yield* paidOut(one.key)
          const pending = yield* paidOut(two.key)
          yield* operated("POST", `/payouts/${pending.id}/approve`)
          for (const { id } of [automatic, pending]) {
            yield* eventually(
              sql`SELECT 1 FROM payouts WHERE id = ${id}::uuid AND status = 'processing' AND due_at IS NULL`,
              ({ length }) => length === 1
            )
            assert.lengthOf(
              yield* sql`SELECT 1 FROM simulator_payouts s
              JOIN payouts p ON s.order_id = ${sql.literal(orderIdOf("p"))} WHERE p.id = ${id}::uuid`,
              0
            )
          }
          yield* released
          yield* payoutReaching(one.key, automatic.id, "completed")
          yield* payoutReaching(two.key, pending.id, "completed")
        }).pipe(Effect.ensuring(Effect.orDie(released)))
    )

    it.effect(
      "OPR-123: a creation of any account is ACCOUNT_INACTIVE, a known key is replayed, and payments arrive",
      () =>
        Effect.gen(function* () {
          const { makeCaller, operate } = yield* TestService
          const { applicationId, key } = yield* makeCaller()
          const idempotencyKey = newKey()
          // From here on the caller is cached.
          const known = yield* created(key, {}, idempotencyKey)
          yield* braked({ charges_paused: true })
          assertRefused(yield* create(key, someCharge), "ACCOUNT_INACTIVE")
          const checkout = `/operator/v1/applications/${applicationId}/checkout-charges`
          assertRefused(yield* operate("POST", checkout, { body: someCharge }), "ACCOUNT_INACTIVE")
          assert.strictEqual((yield* created(key, {}, idempotencyKey)).id, known.id)
          yield* simulated(`/charges/${known.id}/pay`)
          yield* released
          yield* created(key)
        }).pipe(Effect.ensuring(Effect.orDie(released)))
    )

    it.effect("OPR-122: of payouts that are being claimed while the brake commits, each is sent once or waits", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { key } = yield* funded(100_000)
        const creating = yield* Effect.forkChild(
          Effect.forEach(Array.from({ length: 60 }), () => paidOut(key), { concurrency: 6 })
        )
        yield* eventually(sql`SELECT 1 FROM simulator_payouts`, ({ length }) => length > 5)
        yield* braked({ payouts_paused: true })
        // On a slow machine, the brake may come after all of them.
        const made = [...(yield* Fiber.join(creating)), yield* paidOut(key)]
        // What a claim took before the brake arrives at the acquirer; all others are paused.
        yield* eventually(
          sql`SELECT 1 FROM payouts p WHERE status = 'processing' AND processed_at IS NULL AND due_at IS NOT NULL`,
          ({ length }) => length === 0
        )
        const paused = yield* sql<{ was_sent: boolean }>`
            SELECT EXISTS (SELECT FROM simulator_payouts s WHERE s.order_id = ${sql.literal(orderIdOf("p"))}) AS was_sent
            FROM payouts p WHERE status = 'processing' AND due_at IS NULL`
        assert.isAbove(paused.length, 0)
        assert.isFalse(paused.some(({ was_sent }) => was_sent))
        yield* released
        for (const { id } of made) yield* payoutReaching(key, id, "completed")
        const twice = yield* sql`SELECT 1 FROM ledger_transfers
            WHERE debit = 'payouts_in_transit' GROUP BY resource_id HAVING count(*) > 1`
        assert.lengthOf(twice, 0)
      }).pipe(Effect.ensuring(Effect.orDie(released)))
    )
  }
)

layer(domainServicesLayer({ acquirerTimeoutMs: 300, simulatorSettleMs: 0, databaseConnections: 4 }), {
  excludeTestServices: true
})("Brakes and claims", (it) => {
  const capacity = unusedCapacity(200)

  /** A connection that pays out, as a row that no process opens. */
  const connection = Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ id: string }>`
      INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, pays_out, created_at)
      VALUES (uuidv7(), 'Banco', 'api-pix', 'efi', 'key', true, now()) RETURNING id`
    return row!.id
  })

  const brake = (payouts_paused: boolean) =>
    Installation.use(({ update }) => update({ payouts_paused }, () => Effect.void))

  const forget = SqlClient.use(
    (sql) => sql`UPDATE payouts SET status = 'failed', due_at = NULL WHERE status = 'processing'`
  )

  it.effect(
    "OPR-122: a claim that begins before the brake commits does not wait for it, the next one sends nothing",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const submission = yield* PayoutSubmission
        yield* payoutBacklog(3, 1)
        yield* Effect.gen(function* () {
          const session = yield* sql.reserve
          yield* session.executeRaw("BEGIN", [])
          yield* session.executeRaw("UPDATE installation_settings SET payouts_paused = true", [])
          assert.lengthOf((yield* submission.claimDue(unusedCapacity(1))).due, 1)
          yield* session.executeRaw("COMMIT", [])
        }).pipe(Effect.scoped)
        const after = yield* submission.claimDue(capacity)
        assert.deepStrictEqual([after.due.length, after.paused], [0, 2])
        yield* brake(false)
        yield* forget
      })
  )

  it.effect.each([{ paused: true }, { payouts_paused: true }])(
    "OPR-64, OPR-159: payouts of a connection with %j wait, of others go out; what the provider has is followed",
    (brakes) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const submission = yield* PayoutSubmission
        const { reschedule } = yield* PausedPayouts
        const accounts = yield* Accounts
        const connections = yield* ConnectionStore
        const [slow, good] = [yield* connection, yield* connection]
        const [stopped, moved, other] = [
          yield* payoutBacklog(2, 3),
          yield* payoutBacklog(2, 2),
          yield* payoutBacklog(2, 1)
        ]
        for (const id of [stopped, moved]) yield* accounts.update(id, { connection_id: slow })
        yield* accounts.update(other, { connection_id: good })
        // One of `stopped` was accepted by the provider, one of `moved` has an unclear answer.
        yield* sql`UPDATE payouts SET attempts = 1, connection_id = ${slow}::uuid, processed_at = now()
        WHERE id = (SELECT id FROM payouts WHERE account_id = ${stopped}::uuid ORDER BY id LIMIT 1)`
        yield* sql`UPDATE payouts SET attempts = 1, connection_id = ${slow}::uuid
        WHERE id = (SELECT id FROM payouts WHERE account_id = ${moved}::uuid ORDER BY id LIMIT 1)`
        yield* connections.update(slow, brakes)
        yield* accounts.update(moved, { connection_id: good })

        const { due, paused } = yield* submission.claimDue(capacity)
        assert.strictEqual(paused, 2)
        assert.deepStrictEqual(
          due.map(({ connectionId }) => connectionId).toSorted(),
          [slow, good, good, good].toSorted()
        )

        // An account that leaves the paused connection sends what was never claimed.
        assert.strictEqual((yield* reschedule).rescheduled, 0)
        yield* accounts.update(stopped, { connection_id: good })
        assert.strictEqual((yield* reschedule).rescheduled, 1)
        yield* connections.update(slow, { paused: false, payouts_paused: false })
        assert.strictEqual((yield* reschedule).rescheduled, 1)
        yield* forget
      })
  )

  it.effect("OPR-124: after a brake the accounts take turns, and a round reads a bounded part of what waits", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { reschedule } = yield* PausedPayouts
      const many = yield* payoutBacklog(4000, 60)
      const others = yield* Effect.forEach([1, 2, 3], () => payoutBacklog(3, 1))
      yield* brake(true)
      yield* sql`UPDATE payouts SET due_at = NULL WHERE status = 'processing'`
      yield* sql`ANALYZE payouts`
      assert.deepStrictEqual(yield* reschedule, { rescheduled: 0, isWalkComplete: true })

      yield* brake(false)
      const [explained] = yield* sql.unsafe<Record<string, ReadonlyArray<{ Plan: PlanNode }>>>(
        `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${reschedulePaused.simulator.text}`,
        reschedulePaused.simulator(START_OF_PAUSED)[1]
      )
      assert.isAtMost(mostRows(Object.values(explained!)[0]![0]!.Plan), 1500, "rows that a step reads")
      // That was the first round.
      const waiting = (accountId: string) =>
        Effect.map(
          sql`SELECT 1 FROM payouts WHERE account_id = ${accountId}::uuid AND due_at IS NULL`,
          ({ length }) => length
        )
      for (const other of others) assert.strictEqual(yield* waiting(other), 0)
      assert.strictEqual(yield* waiting(many), 3750)
      assert.strictEqual((yield* reschedule).rescheduled, 1000)
      yield* forget
    })
  )

  it.effect("OPR-124, PAY-16: many accounts that stay stopped do not hold up the one after them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { reschedule } = yield* PausedPayouts
      const stopped = yield* Effect.forEach(Array.from({ length: 200 }), () => payoutBacklog(1, 1, true))
      const free = yield* payoutBacklog(1, 1)
      yield* sql`UPDATE payouts SET due_at = NULL WHERE status = 'processing'`
      assert.deepStrictEqual(yield* reschedule, { rescheduled: 0, isWalkComplete: false })
      assert.deepStrictEqual(yield* reschedule, { rescheduled: 1, isWalkComplete: true })
      const [sent] = yield* sql<{ account_id: string }>`SELECT account_id FROM payouts WHERE due_at IS NOT NULL`
      assert.strictEqual(sent?.account_id, free)
      // The next walk begins with the first account.
      yield* Accounts.use(({ update }) => update(stopped[0]!, { payouts_paused: false }))
      assert.strictEqual((yield* reschedule).rescheduled, 1)
      yield* forget
    })
  )
})
