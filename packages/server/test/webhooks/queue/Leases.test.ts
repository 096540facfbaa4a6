/** Leases of deliveries: what a claim does not wait for, and what only the holder of an attempt may end. */
import { assert, layer } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { attemptNow, inserted, leaseOf, NOWHERE, queue, storedDelivery } from "../../support/Leases.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { registered } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("A lease", (it) => {
  it.effect("DLV-9: is not waited for while somebody else has locked the endpoint: all others are sent", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller } = yield* TestService
      const mine = yield* makeCaller()
      const other = yield* makeCaller()
      const hooks = yield* receiver()
      const events = ["charge.pix.paid"]
      const locked = yield* registered(mine.key, { url: `${hooks.url}/locked`, events })
      const free = yield* registered(mine.key, { url: `${hooks.url}/free`, events })
      const sent = () => hooks.received.map(({ path }) => path).toSorted()
      const paths = (count: number, ...names: ReadonlyArray<string>) =>
        names.flatMap((name) => Array.from({ length: count }, () => name))
      const changing = Context.get(yield* Layer.build(Layer.fresh(PgClient.layer({ url: databaseUrl }))), SqlClient)
      yield* changing.withTransaction(
        Effect.gen(function* () {
          yield* changing`SELECT FROM webhook_endpoints WHERE id = ${locked.id}::uuid FOR UPDATE`
          yield* inserted({ accountId: mine.accountId, endpointId: locked.id, url: `${hooks.url}/locked`, count: 5 })
          yield* inserted({ accountId: mine.accountId, endpointId: free.id, url: `${hooks.url}/free`, count: 5 })
          yield* inserted({ accountId: other.accountId, url: `${hooks.url}/other`, count: 5 })
          yield* eventually(Effect.sync(sent), ({ length }) => length >= 10)
          assert.deepStrictEqual(sent(), paths(5, "/free", "/other"))
        })
      )
      yield* eventually(Effect.sync(sent), ({ length }) => length >= 15)
      assert.deepStrictEqual(sent(), paths(5, "/free", "/locked", "/other"))
    })
  )

  it.effect("DLV-4: is given back by the holder of its attempt only", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId } = yield* makeCaller()
      const { giveBack } = yield* queue
      const [leased] = yield* inserted({ ...elsewhere, accountId })
      // The lease of the first attempt ran out; another process makes the second one.
      yield* giveBack([leaseOf(leased!.id, accountId, 0)])
      assert.deepStrictEqual(yield* storedDelivery(leased!.id), [leased!])
      yield* giveBack([leaseOf(leased!.id, accountId, 1)])
      const [again] = yield* storedDelivery(leased!.id)
      assert.isBelow(again?.due_at?.getTime() ?? Infinity, leased!.due_at!.getTime())
    })
  )

  it.effect("DLV-4: is not ended by an earlier attempt whose outcome cannot be recorded", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId } = yield* makeCaller()
      const { record } = yield* queue
      const sql = yield* SqlClient
      const [leased] = yield* inserted({ ...elsewhere, accountId })
      yield* sql`CREATE FUNCTION unrecordable() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'poisoned'; END $$`
      yield* changeSchema(`CREATE TRIGGER unrecordable BEFORE INSERT ON delivery_attempts FOR EACH ROW
        EXECUTE FUNCTION unrecordable()`)
      const attempt = yield* attemptNow()
      const recorded = (attemptsMade: number) =>
        record({
          delivery: leaseOf(leased!.id, accountId, attemptsMade),
          attempt,
          outcome: { status: "delivered" }
        })
      yield* recorded(0)
      assert.deepStrictEqual(yield* storedDelivery(leased!.id), [leased!])
      yield* recorded(1)
      assert.deepInclude((yield* storedDelivery(leased!.id))[0], { status: "failed", due_at: null })
      yield* changeSchema(`DROP TRIGGER unrecordable ON delivery_attempts`)
    })
  )
})

/** A delivery whose second attempt is in flight in another process. */
const elsewhere = { url: NOWHERE, count: 1, status: "delivering", attemptsMade: 1, dueInHours: 1 }
