/** Payouts at a provider, by callback and by sweep. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Ids } from "../../src/base/Ids.ts"
import { UnreadableEntries } from "../../src/payments/exceptions/UnreadableEntries.ts"
import { resolved } from "../support/Exceptions.ts"
import { idAtProvider } from "../support/Payouts.ts"
import { orderIdOf } from "../../src/payments/payouts/PayoutTable.ts"
import { connectedBank, type ConnectedBank, connectedServiceLayer, sweepNow } from "../support/ConnectedBank.ts"
import { eventually } from "../support/Receiver.ts"

layer(connectedServiceLayer(), { excludeTestServices: true })("A payout's outcome", (it) => {
  it.effect("OPR-95, PAY-4: is found by the sweep, and of payouts of somebody else nothing is", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank({ profile: "efi", settings: { openingCents: 100_000 } })
      const done = yield* acceptedPayout(bank)
      // Of the same account at the provider, but not of this service.
      bank.double.provider.payouts.send("another", orderOf(bank))
      const failing = yield* acceptedPayout(bank)
      bank.double.provider.payouts.settle(failing.name, {
        error: { code: "AC03", origin: "x", reason: "x" }
      })
      yield* Effect.promise(() => bank.double.settle())
      yield* sweepNow(bank)
      assert.deepStrictEqual([yield* statusOf(done.id), yield* statusOf(failing.id)], ["completed", "failed"])
      const sql = yield* SqlClient
      const recorded = sql`SELECT 1 FROM notifications WHERE connection_id = ${bank.connectionId}::uuid`
      assert.lengthOf(yield* recorded, 2)
      yield* sweepNow(bank)
      assert.lengthOf(yield* recorded, 2)
    })
  )

  it.effect("BAL-17, OPR-95: what the payee's bank sent back of it is found by the sweep, once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank({ profile: "efi", settings: { openingCents: 100_000 } })
      const { id, name } = yield* acceptedPayout(bank)
      yield* Effect.promise(() => bank.double.settle())
      yield* sweepNow(bank)
      yield* Effect.fromResult(bank.double.provider.payouts.receiveReturn(name, 200))
      yield* sweepNow(bank)
      yield* Effect.fromResult(bank.double.provider.payouts.receiveReturn(name, 300))
      yield* sweepNow(bank)
      yield* sweepNow(bank)
      const raised = yield* sql`
          SELECT kind, amount::integer, unallocated::integer, account_id, payout_id FROM acquirer_exceptions
          WHERE connection_id = ${bank.connectionId}::uuid ORDER BY id`
      const of = { kind: "returned_payout", account_id: bank.accountId, payout_id: id }
      assert.deepStrictEqual(raised, [
        { ...of, amount: 200, unallocated: 200 },
        { ...of, amount: 300, unallocated: 300 }
      ])
    })
  )

  it.effect(
    "OPR-95, OPR-232, PAY-6: that has another amount than the payout is not its outcome, and is shown once",
    () =>
      Effect.gen(function* () {
        const bank = yield* connectedBank({ profile: "efi", settings: { openingCents: 100_000 } })
        const [other, same] = [yield* acceptedPayout(bank, 501), yield* acceptedPayout(bank)]
        yield* Effect.promise(() => bank.double.settle())
        yield* sweepNow(bank)
        yield* sweepNow(bank)
        assert.deepStrictEqual([yield* statusOf(other.id), yield* statusOf(same.id)], ["processing", "completed"])
        const sql = yield* SqlClient
        assert.deepStrictEqual(
          yield* sql`SELECT kind, status, failure_reason FROM acquirer_exceptions
            WHERE connection_id = ${bank.connectionId}::uuid`,
          [
            {
              kind: "unreadable",
              status: "open",
              failure_reason: `payout ${other.id} has another amount than was ordered`
            }
          ]
        )
        // Nothing of it arrived. Once it is closed, and listed again, it is shown again.
        const [aside] = yield* sql<{ digest: string; exception_id: string }>`
          SELECT digest, exception_id FROM unreadable_entries WHERE connection_id = ${bank.connectionId}::uuid`
        const { digest, exception_id: exceptionId } = aside!
        yield* resolved(exceptionId, { action: "accept", amount: 501, account_id: bank.accountId, reason: "x" }, 409)
        const { close } = yield* UnreadableEntries
        yield* close(bank.connectionId, [{ list: "payouts", fromMs: 0, toMs: 1, digest, exceptionId }])
        for (let times = 0; times < 2; times++) yield* sweepNow(bank)
        assert.deepStrictEqual(
          yield* sql`SELECT status, payout_id FROM acquirer_exceptions
            WHERE connection_id = ${bank.connectionId}::uuid ORDER BY id`,
          [
            { status: "resolved", payout_id: other.id },
            { status: "open", payout_id: other.id }
          ]
        )
      })
  )

  it.effect("OPR-92, PAY-6: a callback makes the inquiry of its outcome due", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank({ profile: "efi", settings: { openingCents: 100_000 } })
      yield* sql`UPDATE acquirer_connections SET due_at = 'infinity'`
      bank.double.provider.webhooks.put(bank.double.key, bank.url)
      const { id } = yield* acceptedPayout(bank)
      yield* Effect.promise(() => bank.double.settle())
      yield* eventually(statusOf(id), (status) => status === "completed")
    })
  )
})

const orderOf = ({ double }: ConnectedBank, cents = 500) => ({
  cents,
  payerKey: double.key,
  payee: { key: "ana@example.com" } as never
})

/** A payout of 500 that the provider accepted, maybe with other cents, whose next inquiry is an hour away. */
const acceptedPayout = Effect.fnUntraced(function* (bank: ConnectedBank, cents?: number) {
  const sql = yield* SqlClient
  const { id } = (yield* Ids).next()
  yield* sql`
    INSERT INTO payouts (id, account_id, origin, status, method, amount, fee, pix_key_type, pix_key, created_at, sequence,
      processed_at, due_at, attempts, connection_id)
    VALUES (${id}::uuid, ${bank.accountId}::uuid, 'dashboard', 'processing', 'pix', 500, 0, 'email', 'ana@example.com', now(),
      1, now(), now() + interval '1 hour', 1, ${bank.connectionId}::uuid)`
  yield* sql`INSERT INTO idempotency_keys (digest, resource_id)
    SELECT ${sql.literal(orderIdOf("p"))}, p.id FROM payouts p WHERE p.id = ${id}::uuid`
  const name = yield* idAtProvider(id)
  bank.double.provider.payouts.send(name, orderOf(bank, cents))
  return { id, name }
})

const statusOf = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ status: string }>`SELECT status FROM payouts WHERE id = ${id}::uuid`
  return row?.status
})
