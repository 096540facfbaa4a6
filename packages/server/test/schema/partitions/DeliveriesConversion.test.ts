/** The table of deliveries becomes a partitioned one while the service delivers. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import { prepare } from "../../../src/schema/partitions/Partitions.ts"
import { created } from "../../support/ChargeRequests.ts"
import { SERVICE_ROLE } from "../../support/Postgres.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, registered, resend } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [50, 50], simulatorSettleMs: 0 }

/** The table as an earlier release has it, with more delivered rows than are read under a lock. */
const makePlain = Effect.gen(function* () {
  const sql = yield* SqlClient
  const indexes = yield* sql<{ made: string }>`SELECT replace(indexdef, ' ON ONLY ', ' ON ') AS made FROM pg_indexes
    WHERE tablename = 'deliveries' ORDER BY 1`
  yield* sql.unsafe(`DO $$ BEGIN
    LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE;
    CREATE TABLE plain (LIKE deliveries INCLUDING ALL EXCLUDING INDEXES);
    INSERT INTO plain SELECT * FROM deliveries WHERE endpoint_id IS NOT NULL;
    DROP TABLE deliveries;
    ALTER TABLE plain RENAME TO deliveries;
    ${indexes.map(({ made }) => `${made};`).join("\n")}
    ALTER TABLE deliveries ADD PRIMARY KEY USING INDEX deliveries_pkey;
    GRANT SELECT, INSERT, UPDATE ON deliveries TO ${SERVICE_ROLE};
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, status, attempts_made, created_at)
    SELECT uuidv7(-(n || ' minutes')::interval), uuidv7(), 'charge.pix.paid', uuidv7(), uuidv7(), 'https://example.com',
      'https://example.com', 'delivered', 1, now()
    FROM generate_series(1, 60000) n;
  END $$`)
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("A full table of deliveries", (it) => {
  it.effect("is partitioned without a rewrite, also after a run was killed, and each delivery is made once", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      let isUp = false
      const hooks = yield* receiver(({ path }, response) =>
        response.writeHead(path.endsWith("/failing") && !isUp ? 503 : 200).end()
      )
      const events = ["charge.pix.paid"]
      yield* registered(key, { url: hooks.url, events })
      const failing = yield* registered(key, { url: `${hooks.url}/failing`, events })
      const paused = yield* registered(key, { url: `${hooks.url}/paused`, events })
      yield* changed(key, paused.id, { active: false })
      yield* makePlain

      const charges: Array<string> = []
      const load = yield* Effect.forkScoped(
        Effect.forever(
          Effect.gen(function* () {
            const { id } = yield* created(key)
            // 202 where the payment is stored later.
            yield* operate("POST", `/operator/v1/simulator/charges/${id}/pay`)
            charges.push(id)
          })
        )
      )
      const someMore = Effect.suspend(() => {
        const before = charges.length
        return eventually(
          Effect.sync(() => charges.length),
          (count) => count > before + 2
        )
      })
      const table = Effect.map(
        sql<{ kind: string; file: string }>`SELECT relkind::text AS kind, pg_relation_filenode(oid)::text AS file
          FROM pg_class WHERE oid = 'deliveries'::regclass`,
        ([row]) => row!
      )
      const plain = yield* table
      assert.strictEqual(plain.kind, "r")

      // Killed before its first step, and then after its constraint was added, and after it was validated.
      const holder = yield* sql.reserve
      const killed = Effect.gen(function* () {
        yield* holder.executeRaw("BEGIN", [])
        yield* holder.executeRaw("LOCK TABLE deliveries IN ACCESS SHARE MODE", [])
        const run = yield* Effect.forkScoped(Effect.exit(prepare))
        yield* eventually(
          sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DO $step$%'`,
          (ended) => ended.length > 0
        )
        yield* Fiber.interrupt(run)
        yield* holder.executeRaw("COMMIT", [])
        assert.deepStrictEqual(yield* table, plain)
        yield* someMore
      })
      yield* killed
      for (const validity of ["NOT VALID", ""]) {
        yield* sql.unsafe(
          `DO $$ BEGIN
            ALTER TABLE deliveries DROP CONSTRAINT IF EXISTS first_partition_bound;
            EXECUTE format('ALTER TABLE deliveries ADD CONSTRAINT first_partition_bound CHECK (id < %L) ${validity}',
            uuidv7('3 days'::interval)); END $$`
        )
        yield* someMore
        yield* killed
      }
      yield* prepare
      assert.strictEqual((yield* table).kind, "p")
      const [first] = (yield* partitionsOf("deliveries"))!
      const file = yield* sql`SELECT pg_relation_filenode(${first!.name})::text AS file`
      assert.deepStrictEqual(file, [{ file: plain.file }])
      yield* someMore
      yield* Fiber.interrupt(load)

      // Those of before are found as the others: failed ones are resent, parked ones go out.
      yield* eventually(
        sql`SELECT FROM deliveries WHERE endpoint_id = ${failing.id}::uuid AND status = 'failed' LIMIT 1`,
        ({ length }) => length > 0
      )
      isUp = true
      yield* changed(key, paused.id, { active: true })
      const failed = yield* eventually(
        sql<{ id: string }>`SELECT id FROM deliveries d WHERE endpoint_id = ${failing.id}::uuid AND status = 'failed'
          AND NOT EXISTS (SELECT FROM deliveries o WHERE o.endpoint_id = d.endpoint_id AND o.status IN ('scheduled', 'delivering'))`,
        ({ length }) => length > 0
      )
      for (const { id } of failed) assert.strictEqual((yield* resend(id)).status, 202)
      const made = sql<{ charge: string; count: number; open: number }>`
        SELECT resource_id AS charge, count(*)::integer AS count,
          count(*) FILTER (WHERE status <> 'delivered')::integer AS open
        FROM deliveries WHERE account_id = ${accountId}::uuid GROUP BY resource_id ORDER BY 1`
      const all = yield* eventually(
        made,
        (rows) => rows.length >= charges.length && rows.every(({ open }) => open === 0)
      )
      assert.deepStrictEqual(new Set(all.map(({ count }) => count)), new Set([3]))
      assert.includeMembers(
        all.map(({ charge }) => charge),
        charges
      )
      const [left] = yield* sql`SELECT count(*)::integer AS count FROM deliveries WHERE endpoint_id IS NULL`
      assert.deepStrictEqual(left, { count: 60_000 })
      // A receiver of one answer gets each once.
      const once = hooks.received.filter(({ path }) => path === "/" || path === "/paused")
      assert.lengthOf(new Set(once.map(({ body }) => body.id)), once.length)
    }).pipe(Effect.scoped)
  )
})
