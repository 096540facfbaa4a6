/** What counts and lists of failing webhook endpoints read where thousands fail. */
import { assert, layer } from "@effect/vitest"
import type { WaitingCounts } from "@pix-payments/api/operator/Waiting"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { makeOperator } from "../support/Operators.ts"
import { makeExplainer, makeRecorder } from "../support/Plans.ts"
import { asService } from "../support/Postgres.ts"
import { TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

const FAILING = 20_000

const recorder = makeRecorder()

layer(TestService.layer().pipe(Layer.provide(recorder.layer)), { excludeTestServices: true })(
  "Failing webhook endpoints",
  (it) => {
    it.effect("OPR-144, OPR-160: a count reads 5,000 of them, and of an account its endpoints only", () =>
      Effect.gen(function* () {
        const { databaseUrl, makeCaller, operate } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        const { key: otherKey } = yield* makeCaller()
        const url = "https://receiver.example.com/"
        const events = ["charge.pix.paid"]
        const own = (yield* registered(key, { url, events })).id
        yield* registered(key, { url: `${url}fine`, events })
        const model = (yield* registered(otherKey, { url, events })).id
        // The newest were disabled. Without triggers: each row would read all endpoints of its account.
        yield* sql.withTransaction(
          Effect.andThen(
            sql`SET LOCAL session_replication_role = replica`,
            sql`INSERT INTO webhook_endpoints (id, account_id, application_id, url, normalized_url, destination, events, active,
                created_at, disabled_at)
              SELECT uuidv7(), account_id, application_id, url, n::text, destination, events, active, created_at,
                CASE WHEN n > ${FAILING - 1000} THEN now() END
              FROM webhook_endpoints w, generate_series(1, ${FAILING}::integer) n WHERE w.id = ${model}::uuid`
          )
        )
        yield* sql`INSERT INTO webhook_endpoint_health (endpoint_id, consecutive_failures, successes, failures)
          SELECT id, CASE WHEN url = ${`${url}fine`} THEN 0 ELSE 1 END, 0, 1 FROM webhook_endpoints`
        const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())

        /** What the statement of a request for failing endpoints reads. */
        const read = Effect.fnUntraced(function* <A>(call: typeof operate, path: string) {
          recorder.take()
          const { body, status, text } = yield* call<A>("GET", `/operator/v1${path}`)
          assert.strictEqual(status, 200, text)
          const sent = recorder.take().find(({ text: one }) => /FROM webhook_endpoint_health f\b/.test(one))
          return { body, ...(yield* explain(sent!)) }
        })

        const all = yield* read<WaitingCounts>(operate, "/waiting")
        assert.deepStrictEqual(all.body.failing_endpoints, { count: 99, has_more: true })
        // Of each, the entry of the index, the step of the walk and the endpoint.
        assert.isAtMost(all.rows, 4 * 5000 + 1000)
        assert.include(all.indexes, "webhook_endpoint_health_failing")

        const { call } = yield* makeOperator("viewer", [accountId])
        const ofAccount = yield* read<WaitingCounts>(call, "/waiting")
        assert.deepStrictEqual(ofAccount.body.failing_endpoints, { count: 1, has_more: false })
        for (const { rows } of [
          ofAccount,
          yield* read(operate, `/webhooks?failing=true&account_id=${accountId}`),
          yield* read(call, "/webhooks?failing=true")
        ]) {
          assert.isBelow(rows, 50)
        }
        for (const path of [`/webhooks?failing=true&account_id=${accountId}`, "/webhooks?failing=true"]) {
          const { body } = yield* read<{ data: ReadonlyArray<{ id: string }> }>(call, path)
          assert.deepStrictEqual(
            body.data.map(({ id }) => id),
            [own]
          )
        }
      })
    )
  }
)
