/** Acquirer orders and notifications under `kill -9` of one of two processes, at every point. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { type ServiceProcess, startProcess } from "../support/Process.ts"
import { eventually } from "../support/Receiver.ts"

const COUNT = 60
const AMOUNT = 1000

/** When a process is killed: after this many more orders, early returns and MEDs, or finished charges. */
const kills: ReadonlyArray<{ readonly what: keyof typeof counts; readonly more: number }> = [
  { what: "orders", more: 1 + Math.floor(Math.random() * 6) },
  { what: "early", more: 1 + Math.floor(Math.random() * 4) },
  { what: "orders", more: 4 + Math.floor(Math.random() * 8) },
  { what: "ended", more: 1 + Math.floor(Math.random() * 10) }
]

const counts = {
  orders: "SELECT count(*) FROM acquirer_orders",
  early: "SELECT count(*) FROM notifications WHERE outcome = 'exception'",
  ended: "SELECT count(*) FROM charges WHERE status IN ('refunded', 'canceled', 'infraction', 'charged_back')"
}

interface Call {
  readonly path: string
  readonly body?: object
}

/** The calls on a charge, in sequence; those of one step are concurrent. */
const stepsOf = (index: number, id: string): ReadonlyArray<ReadonlyArray<Call>> => {
  const pay = { path: `/simulator/charges/${id}/pay`, body: { external_id: `pay-${index}` } }
  const refund = { path: `/charges/${id}/refund` }
  const med = { path: `/simulator/charges/${id}/infraction`, body: { reason: "x", external_id: `med-${index}` } }
  const returned = {
    path: `/simulator/charges/${id}/return`,
    body: { as: "refunded", external_id: `return-${index}` }
  }
  switch (index % 5) {
    case 0:
      return [[pay], [refund]]
    case 1:
      return [[{ path: `/charges/${id}/cancel` }]]
    case 2:
      return [[returned], [pay]]
    case 3:
      return [[med], [pay]]
    default:
      return [[pay], [refund, med]]
  }
}

layer(Layer.empty, { excludeTestServices: true })("A process that is killed while money goes back", (it) => {
  it.effect("does what was ordered and reported once, and forgets nothing of it", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createMigratedDatabase
      const sql = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
      const env = {
        DATABASE_URL: Redacted.value(databaseUrl),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN,
        SIMULATOR_LATENCY_MS: "20",
        ACQUIRER_TIMEOUT_MS: "2000"
      }
      const other = yield* startProcess(env)
      let service = yield* startProcess(env)
      const charges = yield* chargesOf(other)
      const left = new Map(charges.map((id, index) => [id, [...stepsOf(index, id)]]))

      const countOf = (what: keyof typeof counts) =>
        Effect.map(sql.unsafe<{ count: bigint }>(counts[what]), ([row]) => Number(row?.count))
      /** Runs the remaining steps at both processes, as far as they answer. */
      const goOn = (processes: ReadonlyArray<ServiceProcess>, isOver: () => boolean) => {
        const waiting = charges.filter((id) => left.get(id)!.length > 0)
        const worker = async (n: number) => {
          for (let id = waiting.shift(); id !== undefined && !isOver(); id = waiting.shift()) {
            const steps = left.get(id)!
            while (steps.length > 0 && !isOver()) {
              const answers = await Promise.all(
                steps[0]!.map(({ body, path }, i) => ask(processes[(n + i) % processes.length]!, path, body))
              )
              if (answers.includes(undefined)) break
              steps.shift()
            }
          }
        }
        return Promise.all(Array.from({ length: 6 }, (_, n) => worker(n)))
      }

      for (const { more, what } of kills) {
        const before = yield* countOf(what)
        let isOver = false
        const going = goOn([service, other], () => isOver)
        yield* Effect.raceFirst(
          eventually(countOf(what), (count) => count >= before + more),
          Effect.promise(() => going)
        )
        service.signal("SIGKILL")
        isOver = true
        yield* Effect.promise(() => going)
        assert.strictEqual(yield* service.ended, "SIGKILL")
        yield* assertWhole(sql)
        yield* letLeasesRunOut(sql)
        service = yield* startProcess(env)
      }
      yield* eventually(
        Effect.tap(
          Effect.promise(() => goOn([service, other], () => false)),
          () => letLeasesRunOut(sql)
        ),
        () => charges.every((id) => left.get(id)!.length === 0)
      )
      yield* eventually(
        sql<{ count: bigint }>`SELECT (SELECT count(*) FROM acquirer_orders WHERE state = 'ordered')
            + (SELECT count(*) FROM early_reversals)
            + (SELECT count(*) FROM simulator_notifications WHERE sent_at IS NULL) AS count`,
        ([row]) => row?.count === 0n
      )
      // Every notification is repeated, and changes nothing.
      const copies = charges.flatMap((id, index) =>
        stepsOf(index, id)
          .flat()
          .filter(({ path }) => path.startsWith("/simulator"))
      )
      const statuses = yield* Effect.forEach(copies, ({ body, path }) => Effect.promise(() => ask(service, path, body)))
      assert.deepStrictEqual([...new Set(statuses)], [409])

      const rows = yield* sql<{
        id: string
        status: string
        orders: bigint
        refunds: bigint
        disputes: string | null
      }>`
          SELECT c.id, c.status,
            (SELECT count(*) FROM acquirer_orders o WHERE o.charge_id = c.id) AS orders,
            (SELECT count(*) FROM refunds r WHERE r.charge_id = c.id AND r.origin = 'operator' AND r.status = 'completed') AS refunds,
            (SELECT string_agg(d.status, ' ') FROM disputes d WHERE d.charge_id = c.id) AS disputes
          FROM charges c`
      const byId = new Map(rows.map((row) => [row.id, row]))
      for (const [index, id] of charges.entries()) {
        const { disputes, orders, refunds, status } = byId.get(id)!
        const came = [status, Number(orders), Number(refunds), disputes].join(" ")
        const expected = [
          ["refunded 1 1 "],
          ["canceled 1 0 "],
          ["refunded 0 0 lost"],
          ["infraction 0 0 open"],
          ["refunded 1 1 ", "refunded 1 1 lost", "infraction 0 0 open"]
        ][index % 5]!
        assert.include(expected, came, `charge ${index}`)
      }
      const contested = rows.filter(({ status }) => status === "infraction").length
      const kept = yield* sql<{ kind: string; sum: bigint }>`
          SELECT kind, sum(balance)::bigint FROM ledger_accounts WHERE kind IN ('available', 'pending', 'blocked') GROUP BY 1`
      assert.deepStrictEqual(Object.fromEntries(kept.map(({ kind, sum }) => [kind, Number(sum)])), {
        available: 0,
        pending: 0,
        blocked: contested * AMOUNT
      })
      yield* assertWhole(sql)
      for (const each of [service, other]) {
        each.signal("SIGTERM")
        assert.strictEqual(yield* each.ended, 0)
      }
    })
  )
})

const letLeasesRunOut = (sql: SqlClient) =>
  Effect.all([
    sql`UPDATE acquirer_orders SET due_at = now() WHERE state = 'ordered'`,
    sql`UPDATE simulator_notifications SET due_at = now() WHERE sent_at IS NULL`
  ])

/** Balances match states and orders; each order has its origin, each effect its key, each early reversal its mark. */
const assertWhole = Effect.fnUntraced(function* (sql: SqlClient) {
  const wrong = yield* sql`
    SELECT c.id, c.status, o.kind, moved.* FROM charges c
    LEFT JOIN acquirer_orders o ON o.charge_id = c.id AND o.state = 'ordered' AND o.kind = 'refund'
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(CASE WHEN credit IN ('available', 'pending') THEN amount ELSE 0 END
          - CASE WHEN debit IN ('available', 'pending') THEN amount ELSE 0 END), 0) AS kept,
        coalesce(sum(CASE WHEN credit = 'blocked' THEN amount WHEN debit = 'blocked' THEN -amount ELSE 0 END), 0) AS blocked
      FROM ledger_transfers t WHERE t.resource_id = c.id
    ) moved
    WHERE moved.kept <> CASE WHEN c.status = 'paid' AND o.id IS NULL THEN c.amount ELSE 0 END
      OR moved.blocked <> CASE WHEN c.status = 'infraction' AND o.id IS NULL THEN c.amount ELSE 0 END`
  assert.deepStrictEqual(wrong, [])
  const different = yield* sql`
    SELECT owner_id, kind, sum(amount) FROM (
      SELECT owner_id, kind, balance AS amount FROM ledger_accounts
      UNION ALL SELECT account_id, credit, -amount FROM ledger_transfers
      UNION ALL SELECT account_id, debit, amount FROM ledger_transfers
    ) sides GROUP BY owner_id, kind HAVING sum(amount) <> 0`
  assert.deepStrictEqual(different, [])
  const unnoted = yield* sql`SELECT o.id FROM acquirer_orders o WHERE NOT EXISTS (
    SELECT 1 FROM audit a WHERE a.resource_id = o.charge_id AND a.action = 'chargeActions.' || o.kind)`
  assert.deepStrictEqual(unnoted, [])
  const unnamed = yield* sql`
    SELECT r.report FROM notifications r WHERE r.outcome IN ('applied', 'exception')
      AND NOT EXISTS (SELECT 1 FROM notification_keys n WHERE n.notification_id = r.id)
      AND NOT EXISTS (SELECT 1 FROM charge_settlements s JOIN charges c ON c.id = s.charge_id
        WHERE r.report ->> '_tag' = 'charge.paid' AND s.end_to_end_id = r.report ->> 'endToEndId'
          AND replace(c.id::text, '-', '') = r.subject)
    UNION ALL
    SELECT to_json(n.key) FROM notification_keys n
    WHERE NOT EXISTS (SELECT 1 FROM notifications r
        WHERE r.id = n.notification_id AND (r.outcome IN ('applied', 'exception') OR n.key LIKE 'seen:%'))
      AND NOT EXISTS (SELECT 1 FROM acquirer_orders o WHERE o.id = n.notification_id AND o.state = 'done')`
  assert.deepStrictEqual(unnamed, [])
})

const OPERATOR_TOKEN = "the operator's token of these tests"

const operate = async (service: ServiceProcess, path: string, body?: object) => {
  const response = await fetch(`${service.operatorUrl}/operator/v1${path}`, {
    method: "POST",
    headers: { "x-operator-token": OPERATOR_TOKEN, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> }
}

/** The status of a final answer: done, or refused. */
const ask = async (service: ServiceProcess, path: string, body?: object): Promise<number | undefined> => {
  const answer = await operate(service, path, body).catch(() => undefined)
  if (answer === undefined || answer.status === 503) return undefined
  assert.include([200, 201, 202, 409], answer.status, `${path} ${JSON.stringify(answer.body)}`)
  return answer.status
}

/** Charges of two accounts, of which one has a release delay. */
const chargesOf = (service: ServiceProcess) =>
  Effect.promise(async () => {
    const made = async (path: string, body: object) => {
      const { body: resource, status } = await operate(service, path, body)
      assert.strictEqual(status, 201, path)
      return String(resource["id"])
    }
    const applications: Array<string> = []
    for (const release_delay of [0, 3600]) {
      const account = await made("/accounts", {
        name: "Loja",
        legal_name: "Loja Ltda",
        document: "11222333000181",
        phone: "+5511999990000",
        release_delay
      })
      applications.push(await made(`/accounts/${account}/applications`, { name: "Loja" }))
    }
    const customer = { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
    return Promise.all(
      Array.from({ length: COUNT }, (_, index) =>
        made(`/applications/${applications[index % 2]!}/checkout-charges`, { amount: AMOUNT, customer })
      )
    )
  })
