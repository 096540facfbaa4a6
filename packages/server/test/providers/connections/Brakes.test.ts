/** The brakes of a connection, over HTTP and at a provider. */
import { assert, layer } from "@effect/vitest"
import type { Connection } from "@pix-payments/api/operator/Connections"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { startDouble } from "../../support/Bank.ts"
import { assertRefused, create, created, someCharge } from "../../support/ChargeRequests.ts"
import { connectTo, fund } from "../../support/Connections.ts"
import { assertLedgerHolds, operated, paidOut, payoutReaching } from "../../support/Money.ts"
import { eventually } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"

const settings = { acquirer: "connections", acquirerTimeoutMs: 60_000 } as const

layer(TestService.layer({ settings }), { excludeTestServices: true })("Brakes of a connection", (it) => {
  const brake = (id: string, body: Readonly<Record<string, boolean>>) =>
    operated<Connection>("PATCH", `/connections/${id}`, body)

  const isPayout = (id: string, condition: string) =>
    Effect.flatMap(SqlClient, (sql) =>
      eventually(
        sql`SELECT 1 FROM payouts WHERE id = ${id}::uuid AND status = 'processing' AND ${sql.literal(condition)}`,
        ({ length }) => length === 1
      )
    )

  it.effect(
    "OPR-122, OPR-159: payouts are accepted, approved and not sent, what was sent is followed, charges go on; released, each is sent once",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const double = yield* startDouble({ profile: "efi", settings: { openingCents: 10_000 } })
        double.provider.webhooks.put(double.key, "https://127.0.0.1:1/none")
        const { id } = yield* connectTo(double)
        yield* fund(accountId, 10_000)
        yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: id })
        const sendings = () =>
          double.exchanges.filter(({ method, path }) => method === "PUT" && path.includes("/gn/pix"))

        const sent = yield* paidOut(key)
        yield* isPayout(sent.id, "processed_at IS NOT NULL")
        const before = sendings().length
        assert.isAbove(before, 0)
        assert.deepInclude(yield* brake(id, { payouts_paused: true }), {
          payouts_paused: true,
          charges_paused: false,
          paused: false,
          state: "ready"
        })
        const automatic = yield* paidOut(key)
        yield* operated("PATCH", `/accounts/${accountId}`, { auto_payout_enabled: false })
        const approved = yield* paidOut(key)
        yield* operated("POST", `/payouts/${approved.id}/approve`)
        for (const payout of [automatic, approved]) yield* isPayout(payout.id, "due_at IS NULL")
        assert.strictEqual((yield* created(key)).status, "pending")
        yield* Effect.promise(() => double.advance(60_000))
        yield* payoutReaching(key, sent.id, "completed")
        assert.lengthOf(sendings(), before)

        yield* brake(id, { payouts_paused: false })
        for (const payout of [automatic, approved]) yield* isPayout(payout.id, "processed_at IS NOT NULL")
        yield* Effect.promise(() => double.advance(60_000))
        for (const payout of [automatic, approved]) yield* payoutReaching(key, payout.id, "completed")
        assert.lengthOf(sendings(), before + 2)
        yield* assertLedgerHolds
      })
  )

  it.effect(
    "OPR-123, OPR-159: a creation through the connection is ACCOUNT_INACTIVE, a known key is replayed, others and payouts go on",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const own = yield* makeCaller()
        const byDefault = yield* makeCaller()
        const other = yield* makeCaller()
        const double = yield* startDouble({ profile: "efi", settings: { openingCents: 10_000 } })
        double.provider.webhooks.put(double.key, "https://127.0.0.1:1/none")
        const { id } = yield* connectTo(double, { is_default: true })
        const { id: otherId } = yield* connectTo(yield* startDouble())
        yield* fund(own.accountId, 10_000)
        yield* operated("PATCH", `/accounts/${own.accountId}`, { connection_id: id })
        yield* operated("PATCH", `/accounts/${other.accountId}`, { connection_id: otherId })
        const idempotencyKey = newKey()
        // From here on the callers are cached.
        const known = yield* created(own.key, {}, idempotencyKey)
        for (const { key } of [byDefault, other]) yield* created(key)

        yield* brake(id, { charges_paused: true })
        for (const { applicationId, key } of [own, byDefault]) {
          assertRefused(yield* create(key, someCharge), "ACCOUNT_INACTIVE")
          const checkout = `/operator/v1/applications/${applicationId}/checkout-charges`
          assertRefused(yield* operate("POST", checkout, { body: someCharge }), "ACCOUNT_INACTIVE")
        }
        assert.strictEqual((yield* created(own.key, {}, idempotencyKey)).id, known.id)
        assert.strictEqual((yield* created(other.key)).status, "pending")
        yield* isPayout((yield* paidOut(own.key)).id, "processed_at IS NOT NULL")

        yield* brake(id, { charges_paused: false })
        for (const { key } of [own, byDefault]) yield* created(key)
        yield* brake(id, { is_default: false })
      })
  )

  it.effect("OPR-159: a connection is created with its brakes", () =>
    Effect.gen(function* () {
      const made = yield* connectTo(yield* startDouble(), { payouts_paused: true, charges_paused: true })
      assert.deepInclude(made, { payouts_paused: true, charges_paused: true, paused: false })
    })
  )
})

layer(TestService.layer({ settings: { acquirer: "simulator" } }), { excludeTestServices: true })(
  "Brakes of a connection beside the simulator",
  (it) => {
    it.effect("OPR-123, OPR-159: stop no charge of an account that uses the simulator", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* connectTo(yield* startDouble(), { is_default: true, charges_paused: true })
        // The second is by the cached caller.
        for (let i = 0; i < 2; i++) assert.strictEqual((yield* created(key)).status, "pending")
        const other = yield* makeCaller()
        yield* operated("PATCH", `/accounts/${other.accountId}`, { connection_id: id })
        assertRefused(yield* create(other.key, someCharge), "ACCOUNT_INACTIVE")
        assert.isFalse((yield* operated<{ charges_paused: boolean }>("GET", `/accounts/${accountId}`)).charges_paused)
      })
    )
  }
)
