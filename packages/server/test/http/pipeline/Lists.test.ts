/** Every list, with every combination of filters, page by page, equals a plain query over its rows. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import {
  addListedOperator,
  addListedReconciliation,
  combinationsOf,
  type ListAsked,
  listsFor,
  type Query,
  type TenantAsked
} from "../../support/Lists.ts"
import { makeOperator } from "../../support/Operators.ts"
import { storeStates } from "../../support/ChargeStates.ts"
import { loading, loadRows } from "../../support/Million.ts"
import { eventually } from "../../support/Receiver.ts"
import { type Call, TestService } from "../../support/TestService.ts"

interface Listed {
  readonly data: ReadonlyArray<{ readonly id: string }>
  readonly has_more: boolean
  /** Of lists that look at a bounded number of rows. */
  readonly next?: string | null
}

layer(TestService.layer(), { excludeTestServices: true })("Lists", (it) => {
  const tenant = Effect.fnUntraced(function* () {
    const { makeCaller } = yield* TestService
    const { accountId, applicationId, key, keyId } = yield* makeCaller()
    yield* addListedOperator
    yield* addListedReconciliation
    return { accountId, applicationId, key, keyId, endpointId: randomUUID() }
  })

  const expectedOf = (list: ListAsked, query: Query) => {
    const asked = Object.entries(query).map(([name, value]) => list.means(name, value))
    return Effect.flatMap(SqlClient, (sql) =>
      Effect.map(
        sql.unsafe<{ id: string }>(
          `SELECT id FROM ${list.table} WHERE ${["true", ...list.scope, ...asked].join(" AND ")} ORDER BY id DESC`
        ),
        (rows) => rows.map(({ id }) => id)
      )
    )
  }

  /** Calls of `/v1`, each of which is a line of the request log sooner or later. */
  let calls = 0

  /** Waits until the request log has all of them. */
  const logged = Effect.flatMap(SqlClient, (sql) =>
    eventually(
      sql<{ count: bigint }>`SELECT count(*) AS count FROM requests WHERE coalesce(request_id, id::text) !~ '^[0-9]+$'`,
      ([row]) => Number(row?.count) === calls
    )
  )

  const pagesOf = Effect.fnUntraced(function* (
    { isPublic, path }: ListAsked,
    { key }: TenantAsked,
    query: Query,
    operate: Call
  ) {
    const { call } = yield* TestService
    const ids: Array<string> = []
    let after: string | undefined
    for (let more = true; more;) {
      const from = after === undefined ? {} : { starting_after: after }
      const asked = `${path}?${new URLSearchParams({ ...query, ...from, limit: "25" })}`
      calls += isPublic ? 1 : 0
      const { body, status, text } = isPublic
        ? yield* call<Listed>("GET", asked, { key })
        : yield* operate<Listed>("GET", asked)
      assert.strictEqual(status, 200, `${asked}: ${text}`)
      ids.push(...body.data.map(({ id }) => id))
      after = body.next ?? ids.at(-1)
      more = body.has_more
    }
    return ids
  })

  /** What a list shows and what it should, where no background work has added a row or changed one meanwhile. */
  const whileUnchanged = <E, R>(list: ListAsked, query: Query, read: Effect.Effect<ReadonlyArray<string>, E, R>) =>
    Effect.repeat(
      Effect.gen(function* () {
        const expected = yield* expectedOf(list, query)
        const shown = yield* read
        const isEqual = shown.join() === expected.join()
        return { expected, shown, isUnchanged: isEqual || (yield* expectedOf(list, query)).join() === expected.join() }
      }),
      { until: ({ isUnchanged }) => isUnchanged }
    )

  it.effect("LIST-1, LIST-2, OPR-290: are complete, in order, and nothing else, whatever they are narrowed by", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      // Each request with the installation's token is an entry of the audit log.
      const admin = yield* makeOperator("admin")
      const tenants = [yield* tenant(), yield* tenant(), yield* tenant()]
      yield* loading(loadRows(tenants, 0.0002, "1 hour"), false)
      const [first, second] = tenants as [(typeof tenants)[0], (typeof tenants)[0]]
      // An endpoint that is deleted, with what waits for it; charges: one that
      // waits for the acquirer, one that cannot expire, one that can still be paid, one that has just expired.
      yield* sql`
        INSERT INTO webhook_endpoints (id, account_id, application_id, url, normalized_url, destination, events, active,
          created_at, deleted_at)
        VALUES (${second.endpointId}::uuid, ${second.accountId}::uuid, ${second.applicationId}::uuid, 'https://a.com/',
          'https://a.com/', 'https://a.com', '{}', true, now(), now()),
          (${first.endpointId}::uuid, ${first.accountId}::uuid, ${first.applicationId}::uuid, 'https://b.com/',
          'https://b.com/', 'https://b.com', '{}', true, now(), NULL)`
      const [paid, ...pending] = yield* sql<{ id: string; end_to_end_id: string | null; at: Date }>`
        SELECT id, end_to_end_id, created_at AS at FROM charges WHERE account_id = ${first.accountId}::uuid
          AND origin = 'api' AND status IN ('paid', 'pending') ORDER BY status, id`
      yield* sql`UPDATE charges SET expires_at = NULL WHERE id = ${pending.at(-1)!.id}::uuid`
      yield* sql`UPDATE charges SET expires_at = now() + interval '1 hour' WHERE id = ${pending.at(-3)!.id}::uuid`
      yield* sql`UPDATE charges SET expires_at = now() - interval '1 millisecond' WHERE id = ${pending.at(-4)!.id}::uuid`
      yield* sql`UPDATE charges SET status = 'processing' WHERE id = ${pending.at(-2)!.id}::uuid`
      yield* storeStates
      yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids)
        VALUES (now() + interval '1 hour', ${randomUUID()}::uuid, ARRAY[${pending.at(-2)!.id}::uuid])`

      for (const { accountId, applicationId, endpointId, key, keyId } of [first, second]) {
        const some = { charge: paid!.id, endToEndId: paid!.end_to_end_id ?? "", instant: paid!.at.toISOString() }
        const asked: TenantAsked = { accountId, applicationId, endpointId, key, keyId, some }
        for (const list of listsFor(asked)) {
          if (list.table === "requests") yield* logged
          for (const query of combinationsOf(list)) {
            const about = `${list.template} ${JSON.stringify(query)}`
            const newestFirst = pagesOf(list, asked, query, admin.call)
            const { expected, shown } = yield* whileUnchanged(list, query, newestFirst)
            assert.deepStrictEqual(shown, expected, about)
            if (!list.isOrdered) continue
            const oldestFirst = pagesOf(list, asked, { ...query, order: "asc" }, admin.call)
            const reversed = yield* whileUnchanged(
              list,
              query,
              Effect.map(oldestFirst, (ids) => ids.toReversed())
            )
            assert.deepStrictEqual(reversed.shown, reversed.expected, `${about}, oldest first`)
          }
        }
      }
    })
  )
})
