/** Deliveries are removed after their retention, while those that are not finished go on. */
import { assert, layer } from "@effect/vitest"
import type { DeliveryDetail } from "@pix-payments/api/operator/Deliveries"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import type { ServerResponse } from "node:http"
import { databaseTime, partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import * as Maintenance from "../../../src/schema/partitions/Maintenance.ts"
import { timeOf } from "../../../src/database/Period.ts"
import { ahead, DAY_MS } from "../../support/DatabaseTime.ts"
import { operated, paidCharge } from "../../support/Money.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, deliveriesOf, deliveryOf, registered, resend } from "../../support/Webhooks.ts"

const settings = {
  webhookAllowedNetworks: loopback,
  webhookRetryDelaysMs: [3_600_000],
  webhookTimeoutMs: 60_000,
  simulatorSettleMs: 0,
  retentionAttemptsDays: 4000,
  retentionEventsDays: 4000
}

const events = ["charge.pix.paid"]

const isOfDeliveries = ({ table }: { readonly table: string }) => table === "deliveries"

const partitionsOfRows = Effect.flatMap(
  SqlClient,
  (sql) =>
    sql<{ id: string; partition: string }>`SELECT id, tableoid::regclass::text AS partition FROM deliveries ORDER BY id`
)

/** The delivery of a new paid charge to an endpoint, once it is as wanted. */
const deliveryReaching = Effect.fnUntraced(function* (
  key: string,
  endpointId: string,
  isReached: (delivery: { readonly status: string; readonly attempts_made: number; paused_due_at: unknown }) => boolean
) {
  const sql = yield* SqlClient
  const { id } = yield* paidCharge(key)
  const [delivery] = yield* eventually(
    sql<{ id: string; status: string; attempts_made: number; paused_due_at: unknown }>`SELECT * FROM deliveries
      WHERE resource_id = ${id}::uuid AND endpoint_id = ${endpointId}::uuid`,
    ([found]) => found !== undefined && isReached(found)
  )
  return delivery!.id
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Deliveries", (it) => {
  it.effect("OPR-190, OPR-191, OPR-193: are removed with their month, except those that are not finished", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const silent: Array<ServerResponse> = []
      let status = 200
      const hooks = yield* receiver(({ path }, response) => {
        if (path.endsWith("/silent")) silent.push(response)
        else response.writeHead(path.endsWith("/failing") ? status : 200).end()
      })
      const endpointAt = Effect.fnUntraced(function* (path: string) {
        const { key } = yield* makeCaller()
        return { key, id: (yield* registered(key, { url: `${hooks.url}${path}`, events })).id }
      })
      const [working, failing, hanging, paused] = yield* Effect.forEach(
        ["/working", "/failing", "/silent", "/paused"],
        endpointAt
      )

      const isDelivered = (delivery: { readonly status: string }) => delivery.status === "delivered"
      const delivered = yield* deliveryReaching(working!.key, working!.id, isDelivered)
      const resent = yield* deliveryReaching(failing!.key, failing!.id, isDelivered)
      const fannedOut = yield* deliveryReaching(working!.key, working!.id, isDelivered)
      // Another endpoint of its change has no delivery yet.
      const [failure] = yield* sql<{ id: string }>`
        INSERT INTO outbox_failures (id, change_id, endpoint_id, account_id, endpoints_version, error, first_failed_at,
          last_failed_at)
        SELECT uuidv7(), change_id, uuidv7(), account_id, 1, 'refused', now(), now() FROM deliveries
        WHERE id = ${fannedOut}::uuid RETURNING id`
      status = 503
      const retried = yield* deliveryReaching(failing!.key, failing!.id, (row) => row.attempts_made === 1)
      const inFlight = yield* deliveryReaching(hanging!.key, hanging!.id, (row) => row.status === "delivering")
      yield* changed(paused!.key, paused!.id, { active: false })
      const waiting = yield* deliveryReaching(paused!.key, paused!.id, (row) => row.paused_due_at !== null)
      // It was delivered, and is due again.
      yield* resend(resent)
      yield* eventually(deliveryOf(resent), (row) => row.status === "scheduled" && row.attempts_made === 2)

      const [first] = (yield* partitionsOf("deliveries"))!
      const end = timeOf(first!.before) - (yield* databaseTime)
      const early = yield* ahead(end + 395 * DAY_MS, Maintenance.run)
      assert.deepStrictEqual(early.removed.filter(isOfDeliveries), [])
      const { removed } = yield* ahead(end + 396 * DAY_MS, Maintenance.run)
      assert.deepStrictEqual(removed.filter(isOfDeliveries), [{ table: "deliveries", name: first!.name }])
      const open = [fannedOut, retried, inFlight, waiting, resent].toSorted()
      assert.deepStrictEqual(
        yield* partitionsOfRows,
        open.map((id) => ({ id, partition: "deliveries_default" }))
      )
      assert.deepStrictEqual(
        yield* sql`SELECT kept FROM removed_partitions WHERE parent = 'deliveries' AND name = ${first!.name}`,
        [{ kept: BigInt(open.length) }]
      )
      assert.strictEqual((yield* operate("GET", `/operator/v1/deliveries/${delivered}`)).status, 404)
      assert.strictEqual((yield* resend(delivered)).status, 404)
      assert.deepStrictEqual(
        (yield* deliveriesOf(`endpoint_id=${working!.id}`)).map(({ id }) => id),
        [fannedOut]
      )
      assert.deepStrictEqual(
        (yield* operated<DeliveryDetail>("GET", `/deliveries/${resent}`)).attempts.map(
          ({ status_code }) => status_code
        ),
        [200, 503]
      )

      // They go on, and the repeated fan-out sends nothing again.
      status = 200
      for (const response of silent) response.writeHead(200).end()
      yield* changed(paused!.key, paused!.id, { active: true })
      for (const id of [retried, resent]) yield* resend(id)
      for (const id of [retried, resent, inFlight, waiting]) yield* eventually(deliveryOf(id), isDelivered)
      yield* operated("POST", `/outbox-failures/${failure!.id}/retry`, undefined, 202)
      yield* eventually(sql`SELECT FROM outbox_failures`, ({ length }) => length === 0)
      const sent = Map.groupBy(hooks.received, ({ body }) => body.id)
      assert.deepStrictEqual(
        [delivered, fannedOut, retried, inFlight, waiting, resent].map((id) => sent.get(id)?.length),
        [1, 1, 2, 1, 1, 3]
      )

      // A resend that waits for its commit while the others are deleted.
      const operator = yield* sql.reserve
      yield* operator.executeRaw("BEGIN", [])
      yield* operator.executeRaw(
        "UPDATE deliveries SET status = 'scheduled', due_at = now() + interval '1 hour' WHERE id = $1::uuid",
        [resent]
      )
      const inTime = ahead(end + 396 * DAY_MS, Maintenance.run)
      const deletion = yield* Effect.forkScoped(inTime)
      yield* eventually(
        sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND query LIKE '%DELETE FROM deliveries_default%'`,
        ({ length }) => length === 1
      )
      yield* operator.executeRaw("COMMIT", [])
      yield* Fiber.join(deletion)
      const scheduled = [{ id: resent, partition: "deliveries_default" }]
      assert.deepStrictEqual(yield* partitionsOfRows, scheduled)
      yield* inTime
      assert.deepStrictEqual(yield* partitionsOfRows, scheduled)
      yield* sql`UPDATE deliveries SET due_at = now()`
      yield* eventually(deliveryOf(resent), isDelivered)
      yield* inTime
      assert.deepStrictEqual(yield* partitionsOfRows, [])
    }).pipe(Effect.scoped)
  )
})
