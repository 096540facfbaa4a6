/** Statements of limited operators, orders and callbacks: each reads its own rows by an index, among many rows of others. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { ReportStore } from "../../../src/reports/ReportStore.ts"
import { makeOperator } from "../../support/Operators.ts"
import { makeExplainer, makeRecorder, type Sent } from "../../support/Plans.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const MANY = 4000
const recorder = makeRecorder()

layer(TestService.layer().pipe(Layer.provide(recorder.layer)), { excludeTestServices: true })(
  "Among many rows of others",
  (it) => {
    /** How many rows each statement reads, and its indexes, among the rows that `load` stores. */
    const explain = Effect.fnUntraced(function* (
      tables: ReadonlyArray<string>,
      load: (sql: SqlClient) => Effect.Effect<unknown, unknown>,
      sent: ReadonlyArray<Sent>
    ) {
      const { databaseUrl } = yield* TestService
      const { explainAmid } = yield* makeExplainer(databaseUrl, recorder.settings())
      const loaded = (sql: SqlClient) =>
        Effect.orDie(Effect.andThen(sql`SELECT set_config('session_replication_role', 'replica', true)`, load(sql)))
      return yield* explainAmid(loaded, tables, sent)
    })

    const listOf = Effect.fnUntraced(function* (path: string) {
      const { makeCaller } = yield* TestService
      const { accountId } = yield* makeCaller()
      const { call } = yield* makeOperator("viewer", [accountId])
      recorder.take()
      const answer = yield* call("GET", path)
      assert.strictEqual(answer.status, 200, answer.text)
      return { accountId, sent: recorder.take().filter(({ text }) => /\.id DESC LIMIT \$\d+::integer$/.test(text)) }
    })

    it.effect.each([
      { path: "/operator/v1/refunds", index: "refunds_of_account", rows: refunds },
      { path: "/operator/v1/refunds?status=failed", index: "refunds_of_account", rows: refunds },
      { path: "/operator/v1/deliveries", index: "deliveries_of_account", rows: deliveries },
      { path: "/operator/v1/deliveries?status=delivered", index: "deliveries_of_account", rows: deliveries },
      { path: "/operator/v1/deliveries?event=charge.pix.paid", index: "deliveries_of_account", rows: deliveries }
    ])("OPR-39: $path of an operator with one account reads the rows of that account", ({ index, path, rows }) =>
      Effect.gen(function* () {
        const { accountId, sent } = yield* listOf(path)
        assert.lengthOf(sent, 1)
        const [table] = path.split(/[/?]/).slice(3)
        const [work] = yield* explain(
          [table!],
          (sql) => Effect.andThen(sql.unsafe(rows(randomUUID(), MANY)), sql.unsafe(rows(accountId, 30))),
          sent
        )
        assert.include(work!.indexes, index)
        assert.isAbove(work!.rows, 0)
        assert.isBelow(work!.rows, 500)
      }).pipe(Effect.scoped)
    )

    it.effect.each([["refund,cancel"], ["defend"], ["return"]])(
      "a claim of orders %s reads what it claims",
      ([kinds]) =>
        Effect.gen(function* () {
          const connectionId = randomUUID()
          const claim = yield* eventually(
            Effect.sync(() => [...recorder.seen.values()].find(({ text }) => /WITH due_of_kinds/.test(text))),
            (sent) => sent !== undefined
          )
          const [work] = yield* explain(
            ["acquirer_orders", "acquirer_connections"],
            (sql) =>
              Effect.gen(function* () {
                yield* sql`INSERT INTO acquirer_connections (id, name, kind, created_at)
                VALUES (${connectionId}::uuid, 'A', 'api-pix', now())`
                for (const kind of ["refund", "cancel", "return", "defend"]) {
                  yield* sql.unsafe(orders(kind, `'${connectionId}'`, MANY))
                  yield* sql.unsafe(orders(kind, "NULL", MANY))
                }
              }),
            [{ text: claim!.text, parameters: claim!.parameters.with(0, kinds) }]
          )
          assert.include(work!.indexes, "acquirer_orders_of_connection")
          assert.isAbove(work!.rows, 0)
          assert.isBelow(work!.rows, 1000)
        }).pipe(Effect.scoped)
    )

    it.effect("a callback that names a payout by the provider's reference reads that payout", () =>
      Effect.gen(function* () {
        const store = yield* ReportStore
        const names = [{ orderId: undefined, reference: `reference-${MANY / 2}` }]
        recorder.take()
        yield* recorder.record(store.inquireNow(randomUUID(), names))
        const sent = recorder.take().filter(({ text }) => /UPDATE payouts p SET due_at = now\(\)\s+WHERE/.test(text))
        assert.lengthOf(sent, 1)
        const [work] = yield* explain(["payouts"], (sql) => sql.unsafe(payouts), sent)
        assert.include(work!.indexes, "payouts_of_provider_reference")
        assert.isAbove(work!.rows, 0)
        assert.isBelow(work!.rows, 100)
      }).pipe(Effect.scoped)
    )
  }
)

function refunds(accountId: string, count: number): string {
  return `INSERT INTO refunds (id, charge_id, account_id, origin, status, amount, created_at)
    SELECT uuidv7(), uuidv7(), '${accountId}', 'operator', CASE WHEN n % 2 = 0 THEN 'failed' ELSE 'completed' END, 1, now()
    FROM generate_series(1, ${count}) n`
}

function deliveries(accountId: string, count: number): string {
  return `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination,
      destination_hash, status, attempts_made, created_at)
    SELECT uuidv7(), uuidv7(), 'charge.pix.paid', uuidv7(), '${accountId}', '${accountId}', NULL, 'https://example.com/',
      'https://example.com', uuidv7(), 'delivered', 1, now() FROM generate_series(1, ${count}) n`
}

const orders = (kind: string, connectionId: string, count: number): string =>
  `INSERT INTO acquirer_orders (id, kind, connection_id, amount, pending, state, due_at, created_at)
    SELECT uuidv7(), '${kind}', ${connectionId}::uuid, 1, 0, 'ordered', now() - n * interval '1 millisecond', now()
    FROM generate_series(1, ${count}) n`

const payouts = `INSERT INTO payouts (id, account_id, application_id, origin, status, method, amount, fee, pix_key_type, pix_key,
    created_at, sequence, due_at, processed_at, provider_reference)
  SELECT uuidv7(), uuidv7(), uuidv7(), 'api', 'processing', 'pix', 1000, 0, 'email', 'a@example.com', now(), 1,
    now() + interval '1 hour', now(), 'reference-' || n FROM generate_series(1, ${MANY}) n`
