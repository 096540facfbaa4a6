/** A server that calls nobody, on a database with much that is due. */
import { assert, layer } from "@effect/vitest"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { join } from "node:path"
import { approve, makeApprovers } from "../support/Approvals.ts"
import { startDouble } from "../support/Bank.ts"
import { assertRefused, created, someCharge } from "../support/ChargeRequests.ts"
import { connectTo, fund } from "../support/Connections.ts"
import { operated, paidCharge, paidOut, somePayout } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { startProcess } from "../support/Process.ts"
import { closedPort, eventually, loopback, receiver } from "../support/Receiver.ts"
import { secretsKey, stoppable } from "../support/StoppableService.ts"
import { clientOf, newKey, TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

layer(Layer.empty, { excludeTestServices: true })("A server with OUTWARD=off", (it) => {
  it.effect("OPR-222, OPR-8: makes no connection, answers creations and callbacks with 503, and says so", () =>
    Effect.gen(function* () {
      const bank = yield* startDouble({ profile: "efi", settings: { openingCents: 100_000 } })
      let isAway = true
      const receiving = yield* receiver((_, response) => {
        response.statusCode = isAway ? 500 : 200
        response.end()
      })
      const { databaseUrl, sql, withService } = yield* stoppable({ webhookAllowedNetworks: loopback })
      const before = yield* withService(prepared(bank, receiving.url))
      yield* makeAllDue(sql)
      const exchanges = bank.exchanges.length
      const rows = dueRows(sql)
      const due = yield* rows

      const env = {
        DATABASE_URL: Redacted.value(databaseUrl),
        OPERATOR_TOKEN: newKey(),
        SECRETS_KEYS: secretsKey,
        WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
        ACQUIRER_PORT: String(yield* closedPort),
        OIDC_ISSUER: receiving.url,
        OIDC_CLIENT_ID: "x",
        OIDC_CLIENT_SECRET: "x",
        NODE_OPTIONS: `--import=${join(import.meta.dirname, "../support/Outbound.preload.mjs")}`
      }
      const off = yield* startProcess({ ...env, OUTWARD: "off" })
      const { call, operate } = yield* clientOf(off, env.OPERATOR_TOKEN)
      assert.include(off.written(), "OUTWARD=off: nobody is called")

      const bodies = {
        charges: someCharge,
        payouts: somePayout,
        webhooks: { url: "https://example.com/hook", events: ["charge.pix.paid"] }
      }
      for (const [path, body] of Object.entries(bodies)) {
        const answer = yield* call("POST", `/v1/${path}`, { key: before.key, idempotencyKey: newKey(), body })
        assert.deepStrictEqual([answer.status, answer.body["code"]], [503, "SERVICE_UNAVAILABLE"], path)
        assert.isDefined(answer.headers["retry-after"])
        assert.strictEqual((yield* call("POST", `/v1/${path}`, { idempotencyKey: newKey(), body })).status, 401)
        assert.strictEqual((yield* call("GET", `/v1/${path}`, { key: before.key })).status, 200)
      }
      const callback = yield* Effect.promise(() =>
        fetch(`http://127.0.0.1:${env.ACQUIRER_PORT}/${before.connectionId}`, { method: "POST", body: "{}" })
      )
      assert.strictEqual(callback.status, 503)

      const ready = yield* operate("GET", "/health/ready")
      assert.deepStrictEqual([ready.status, ready.body["outward"]], [200, "off"])
      assert.match((yield* operate("GET", "/metrics")).text, /^pix_payments_outward_on 0$/m)
      const shown = yield* operate("GET", "/operator/v1/installation")
      assert.strictEqual(shown.body["outward"], "off")
      // What operators order waits.
      const refunded = yield* operate("POST", `/operator/v1/charges/${before.paid}/refund`, { body: {} })
      assert.strictEqual(refunded.status, 200, refunded.text)
      for (const action of ["check", "register-webhook"]) {
        const path = `/operator/v1/connections/${before.connectionId}/${action}`
        const { body, status } = yield* operate("POST", path, { body: { url: "https://bank.example.com" } })
        assert.deepStrictEqual([status, body["code"]], [409, "INVALID_STATE"], action)
      }
      const signIn = yield* operate("GET", "/operator/v1/session/oidc", { headers: { "x-operator-token": undefined } })
      assert.notStrictEqual(signIn.status, 200)

      yield* released(sql)
      off.signal("SIGTERM")
      assert.strictEqual(yield* off.ended, 0)
      const port = new URL(env.DATABASE_URL).port
      const outbound = [...off.written().matchAll(/^outbound (.*)$/gm)].map(([, what = ""]) => what)
      assert.isAbove(outbound.length, 0)
      assert.deepStrictEqual(
        outbound.filter((what) => !what.endsWith(`:${port}`)),
        []
      )
      assert.strictEqual(bank.exchanges.length, exchanges)
      assert.deepStrictEqual(yield* rows, due)

      isAway = false
      const on = yield* startProcess({
        ...env,
        NODE_OPTIONS: "",
        OIDC_ISSUER: "",
        OIDC_CLIENT_ID: "",
        OIDC_CLIENT_SECRET: ""
      })
      const restarted = yield* clientOf(on, env.OPERATOR_TOKEN)
      assert.strictEqual((yield* restarted.operate("GET", "/health/ready")).body["outward"], "on")
      yield* eventually(sql`SELECT 1 FROM deliveries WHERE status = 'scheduled'`, ({ length }) => length === 0)
      yield* eventually(sentBy(bank), ({ length }) => length === 1)
    })
  )
})

layer(Layer.empty, { excludeTestServices: true })("A server on a copied database", (it) => {
  it.effect("OPR-223: calls nobody until a second operator has confirmed it, and then does without a restart", () =>
    Effect.gen(function* () {
      const bank = yield* startDouble({ profile: "efi", settings: { openingCents: 100_000 } })
      const receiving = yield* receiver((_, response) => {
        response.statusCode = 500
        response.end()
      })
      const { sql, withService } = yield* stoppable({ webhookAllowedNetworks: loopback })
      const { key } = yield* withService(prepared(bank, receiving.url))
      yield* makeAllDue(sql)
      // Of the cluster that the copy was made from.
      yield* sql`UPDATE installation_settings SET system_identifier = '7000000000000000001'`
      const exchanges = bank.exchanges.length
      const rows = dueRows(sql)
      const due = yield* rows
      yield* withService(
        Effect.gen(function* () {
          const { call, operate } = yield* TestService
          const readiness = operate<{ outward: string }>("GET", "/health/ready")
          const ready = yield* readiness
          assert.deepStrictEqual([ready.status, ready.body.outward], [200, "unconfirmed"])
          assert.match((yield* operate("GET", "/metrics")).text, /^pix_payments_outward_on 0$/m)
          const shown = yield* operated("GET", "/installation")
          assert.deepInclude(shown, { outward: "unconfirmed", system_identifier_changed: true })
          const created = yield* call("POST", "/v1/charges", { key, idempotencyKey: newKey(), body: someCharge })
          assert.strictEqual(created.status, 503)

          const { one, other } = yield* makeApprovers
          const path = "/operator/v1/installation/confirm-outward"
          const viewer = yield* makeOperator("viewer")
          assertRefused(yield* viewer.call("POST", path), "FORBIDDEN")
          const asked = yield* one.call<{ id: string }>("POST", path)
          assert.strictEqual(asked.status, 202, asked.text)
          yield* released(sql)
          assert.strictEqual(bank.exchanges.length, exchanges)
          assert.deepStrictEqual(yield* rows, due)

          assert.strictEqual((yield* approve(other.call, asked.body.id)).status, 200)
          yield* eventually(readiness, ({ body }) => body.outward === "on")
          yield* eventually(sentBy(bank), ({ length }) => length === 1)
          const [, after] = yield* eventually(rows, ([, deliveries]) =>
            deliveries.some(({ due_at }) => due_at !== null)
          )
          assert.isAbove(after.length, 0)
          assertRefused(yield* one.call("POST", path), "INVALID_STATE")
        })
      )
      // It is confirmed for later starts.
      yield* withService(
        Effect.gen(function* () {
          const { body } = yield* (yield* TestService).operate<{ outward: string }>("GET", "/health/ready")
          assert.strictEqual(body.outward, "on")
        })
      )
    })
  )
})

/** Makes due all that calls others, and what needs nobody. */
const makeAllDue = (sql: SqlClient) =>
  Effect.all([
    sql`UPDATE accounts SET payouts_paused = false`,
    sql`UPDATE payouts SET due_at = now() WHERE status = 'processing'`,
    sql`UPDATE deliveries SET due_at = now() WHERE status = 'scheduled'`,
    sql`UPDATE acquirer_connections SET due_at = now()`,
    sql`UPDATE releases SET due_at = now()`
  ])

/** Waits for what needs nobody. By then the rest would have begun. */
const released = (sql: SqlClient) =>
  eventually(sql`SELECT 1 FROM releases WHERE released_at IS NULL`, ({ length }) => length === 0)

const sentBy = (bank: PspDouble) =>
  Effect.sync(() => bank.provider.payouts.list(ALWAYS, () => true, { page: 0, size: 10 }).items)

/** An account at a bank with a payout that waits, a failing receiver, and money that is released later. */
const prepared = (bank: PspDouble, url: string) =>
  Effect.gen(function* () {
    const { makeCaller } = yield* TestService
    const sql = yield* SqlClient
    const connection = yield* connectTo(bank)
    const { accountId, key } = yield* makeCaller()
    yield* fund(accountId, 10_000)
    yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: connection.id, payouts_paused: true })
    yield* paidOut(key)
    const later = yield* makeCaller({ account: { release_delay: 3600 } })
    yield* paidCharge(later.key)
    const simulated = yield* makeCaller()
    const { id: paid } = yield* paidCharge(simulated.key)
    yield* registered(key, { url, events: ["charge.pix.created"] })
    yield* created(key)
    yield* eventually(
      sql`SELECT 1 FROM deliveries WHERE status = 'scheduled' AND attempts_made > 0`,
      ({ length }) => length > 0
    )
    return { connectionId: connection.id, key, paid } satisfies {
      paid: Charge["id"]
      key: string
      connectionId: string
    }
  })

/** Rows that a claim changes. */
const dueRows = (sql: SqlClient) =>
  Effect.all([
    sql`SELECT id, due_at, attempts FROM payouts ORDER BY id`,
    sql`SELECT id, due_at, status FROM deliveries ORDER BY id`,
    sql`SELECT id, due_at, swept_until FROM acquirer_connections ORDER BY id`
  ])

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
