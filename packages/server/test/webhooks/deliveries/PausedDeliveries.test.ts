/** Deliveries that were paused are rescheduled in rounds that accounts share. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { changeSchema } from "../../support/LiveSchema.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, registered } from "../../support/Webhooks.ts"

layer(TestService.layer({}), { excludeTestServices: true })("What was paused and is resumed", (it) => {
  it.effect("comes in the first round, however much another account resumes at the same time", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const pausedFor = Effect.fnUntraced(function* (count: number) {
        const { key } = yield* makeCaller()
        const { id } = yield* registered(key)
        yield* changed(key, id, { active: false })
        yield* sql`INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, destination_hash,
            status, paused_due_at, created_at)
          SELECT uuidv7(), uuidv7(), 'charge.pix.paid', uuidv7(), w.account_id, w.id, w.url, w.destination, w.destination_hash, 'scheduled',
            now(), now()
          FROM webhook_endpoints w CROSS JOIN generate_series(1, ${count}) WHERE w.id = ${id}::uuid`
        return { id, key }
      })
      yield* sql`CREATE TABLE resumed (nth serial, endpoint_id uuid)`
      yield* sql`GRANT ALL ON TABLE resumed TO PUBLIC`
      yield* sql`GRANT ALL ON SEQUENCE resumed_nth_seq TO PUBLIC`
      yield* sql`CREATE FUNCTION resumed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO resumed (endpoint_id) VALUES (NEW.endpoint_id); RETURN NULL; END $$`
      yield* changeSchema(`CREATE TRIGGER resumed AFTER UPDATE ON deliveries FOR EACH ROW
        WHEN (OLD.paused_due_at IS NOT NULL AND NEW.paused_due_at IS NULL) EXECUTE FUNCTION resumed()`)
      // In the order of owners its endpoint is the first.
      const large = yield* pausedFor(9000)
      const small = yield* pausedFor(10)
      yield* sql`UPDATE webhook_endpoints SET active = true WHERE id IN (${large.id}::uuid, ${small.id}::uuid)`
      yield* changed(small.key, small.id, { active: true })
      yield* eventually(sql`SELECT id FROM deliveries WHERE paused_due_at IS NOT NULL`, ({ length }) => length === 0)
      const [last] = yield* sql<{ nth: number; count: number }>`
        SELECT max(nth)::integer AS nth, count(*)::integer AS count FROM resumed WHERE endpoint_id = ${small.id}::uuid`
      assert.strictEqual(last?.count, 10)
      assert.isAtMost(last?.nth ?? Infinity, 2000)
    })
  )
})
