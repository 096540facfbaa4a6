/**
 * The comparison is fair: every contender gives the same answers and leaves the same rows.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { insertAccount } from "../load/Accounts.ts"
import { contenders, lean, nest } from "../measure/Contenders.ts"
import { withDatabase } from "../measure/Database.ts"
import type { Target } from "../load/Jobs.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** The PostgreSQL server of this test run. */
    readonly databaseUrl: string
  }
}

const body = {
  amount: 1990,
  customer: { name: "Maria", email: "maria@example.com", document: "529.982.247-25", phone: "+5511999999999" },
  description: "Pedido 1",
  reference: "pedido-1",
  expires_in: 600
}
const customer = body.customer

/** Name, idempotency key and body: `fresh` stands for an unused key, `none` for no header. */
const requests: ReadonlyArray<readonly [name: string, key: string, body: unknown]> = [
  ["a charge", "first-key", body],
  ["a replay with another body", "first-key", { amount: "nonsense" }],
  ["only the required fields", "fresh", { amount: 100, customer: { ...customer, phone: null } }],
  ["an unknown field", "fresh", { ...body, unknown: { a: 1 } }],
  ["a webhook URL and secret", "fresh", { ...body, webhook_url: "https://hooks.invalid/a", webhook_secret: "s3cret" }],
  ["no idempotency key", "none", body],
  ["an idempotency key that is too short", "short", body],
  ["no body", "fresh", undefined],
  ["a body that is not an object", "fresh", []],
  ["all fields wrong", "fresh", { amount: "1", customer: { name: "", email: "a@b", document: 5 }, expires_in: 59 }],
  ["no customer", "fresh", { amount: 100 }],
  ["a customer without fields", "fresh", { amount: 100, customer: {} }],
  ["an unsupported method", "fresh", { ...body, method: "boleto", amount: 1 }],
  ["an amount too small", "fresh", { ...body, amount: 99, customer: { ...customer, document: "1" } }],
  ["a fraction of a cent", "fresh", { ...body, amount: 100.5 }],
  ["more than a BR code can carry", "fresh", { ...body, amount: 1_000_000_000_000 }],
  ["wrong check digits", "fresh", { ...body, customer: { ...customer, document: "529.982.247-26" } }],
  ["an alphanumeric CNPJ", "fresh", { ...body, customer: { ...customer, document: "12.abc.345/01de-35" } }],
  ["control characters", "fresh", { ...body, description: "a\u0000b" }],
  ["141 characters of description", "fresh", { ...body, description: "a".repeat(141) }],
  ["140 characters outside the BMP", "fresh", { ...body, description: "😀".repeat(140) }],
  ["a private webhook URL", "fresh", { ...body, webhook_url: "http://10.0.0.1/hook" }]
]

const payout = {
  amount: 500,
  pix_key_type: "email",
  pix_key: "Someone@Example.com",
  recipient_name: "Maria",
  recipient_document: "529.982.247-25",
  description: "Saque",
  reference: "saque-1"
}

const payouts: ReadonlyArray<readonly [name: string, key: string, body: unknown]> = [
  ["a payout", "first-payout", payout],
  ["only the required fields", "fresh", { amount: 500, pix_key_type: "phone", pix_key: "+5511987654321" }],
  ["nulls", "fresh", { ...payout, method: null, recipient_name: null, recipient_document: null, description: null }],
  [
    "a webhook URL and secret",
    "fresh",
    { ...payout, webhook_url: "https://hooks.invalid/b", webhook_secret: "s3cret" }
  ],
  ["one that the acquirer fails", "fresh", { ...payout, pix_key: "fail@simulator.test" }],
  ["no idempotency key", "none", payout],
  ["no body", "fresh", undefined],
  ["a body that is not an object", "fresh", []],
  ["no fields", "fresh", {}],
  ["an amount too small", "fresh", { ...payout, amount: 499 }],
  ["an unsupported method", "fresh", { ...payout, method: "ted", amount: 1 }],
  ["an unknown key type", "fresh", { ...payout, pix_key_type: "evp" }],
  ["a malformed Pix key", "fresh", { ...payout, pix_key: "nobody" }],
  ["a CPF key with wrong check digits", "fresh", { ...payout, pix_key_type: "cpf", pix_key: "529.982.247-26" }],
  ["an empty Pix key", "fresh", { ...payout, pix_key: "" }],
  ["an invalid recipient document", "fresh", { ...payout, recipient_document: "1" }],
  ["a private webhook URL", "fresh", { ...payout, webhook_url: "http://10.0.0.1/hook" }],
  ["more than the balance", "fresh", { ...payout, amount: 1_000_000_000 }]
]

describe("contenders", () => {
  const scope = Scope.makeUnsafe()
  const running: Array<Target & { readonly name: string; readonly databaseUrl: string }> = []
  /** The same contenders with the API key of an account that has a balance. */
  const funded: Array<(typeof running)[number]> = []
  let folder = ""

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pix-payments-bench-test-"))
    // The limits do not follow the contract, and two contenders are our server with other settings.
    const variants = new Set(["pix-payments x2", "pix-payments otlp"])
    const compared = contenders.filter(
      ({ name, packages, stores }) =>
        (stores === "rows and request log" || name === lean.name) &&
        !variants.has(name) &&
        (packages === undefined || packages.isInstalled())
    )
    for (const [index, contender] of compared.entries()) {
      const name = `bench_test_${process.pid}_${index}`
      await Effect.runPromise(
        withDatabase(inject("databaseUrl"), (database) => database.query(`CREATE DATABASE ${name}`))
      )
      const url = new URL(inject("databaseUrl"))
      url.pathname = `/${name}`
      const target = await Effect.runPromise(
        Scope.provide(contender.start({ databaseUrl: url.href, folder, nodeArgs: [], connections: 8 }), scope)
      )
      const started = { ...target, name: contender.name, databaseUrl: url.href }
      running.push(started)
      funded.push({ ...started, apiKey: (await insert(started, { available: 1_000_000, payoutFee: 50 })).apiKey })
    }
  })

  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await rm(folder, { recursive: true, force: true })
  })

  it("include NestJS and TypeORM", (context) => {
    const isMissing = !running.some(({ name }) => name === nest.name)
    const isRequired = process.env["RUNTIMES"] === "required"
    if (isMissing && !isRequired) context.skip("NestJS and TypeORM are not installed: pnpm run peers:install")
    expect(isMissing).toBe(false)
  })

  it.each(requests)("charges: %s", async (name, key, sent) => {
    const headers =
      key === "none" ? {} : { "idempotency-key": key === "fresh" ? `key of ${name}`.replaceAll(" ", "-") : key }
    const [first, ...others] = await Promise.all(running.map((target) => ask(target, headers, sent)))
    for (const other of others) expect(other).toEqual(first)
  })

  it.each(payouts)("payouts: %s", async (name, key, sent) => {
    const headers =
      key === "none" ? {} : { "idempotency-key": key === "fresh" ? `key of ${name}`.replaceAll(" ", "-") : key }
    const [first, ...others] = await Promise.all(funded.map((target) => ask(target, headers, sent, "payouts")))
    for (const other of others) expect(other).toEqual(first)
  })

  it("GET: a charge, an unknown charge, and lists with every filter", async () => {
    const [first, ...others] = await Promise.all(
      running.map(async (target) => {
        const { rows } = await query(target, "SELECT id FROM charges ORDER BY id DESC")
        const ids = rows.map(({ id }) => String(id))
        const paths = [
          `/${ids[0]}`,
          `/${ids[0]?.toUpperCase()}`,
          "/0199a0f0-5f3c-7c3e-9d0b-5a4b1c2d3e4f",
          "/nonsense",
          "",
          "?limit=2",
          `?limit=2&starting_after=${ids[1]}`,
          `?starting_after=${ids.at(-1)}`,
          "?starting_after=0199a0f0-5f3c-7c3e-9d0b-5a4b1c2d3e4f",
          "?status=pending&limit=3",
          "?status=paid",
          "?status=expired&method=pix",
          "?method=boleto",
          "?created_after=2026-01-01T00:00:00Z&limit=1",
          "?created_after=2036-01-01T00:00:00Z",
          "?created_before=2026-01-01T00:00:00-03:00",
          "?limit=0",
          "?limit=101",
          "?limit=many",
          "?limit=1&limit=2",
          "?starting_after=1&status=gone&method=cash&created_after=now&created_before=then",
          "?unknown=1&limit=1"
        ]
        return Promise.all(paths.map(async (path) => [path.slice(0, 2), await read(target, `charges${path}`)]))
      })
    )
    expect(first?.map(([, answer]) => (typeof answer === "object" ? answer.status : 0))).toEqual([
      200, 200, 404, 404, 200, 200, 200, 200, 400, 200, 200, 200, 200, 200, 200, 200, 400, 400, 400, 400, 400, 200
    ])
    for (const other of others) expect(other).toEqual(first)
    // An account cannot read the charges of another one.
    for (const target of running) {
      const { apiKey } = await insert(target, {})
      const { rows } = await query(target, "SELECT id FROM charges LIMIT 1")
      expect(await read({ ...target, apiKey }, `charges/${rows[0]?.id}`)).toMatchObject({
        status: 404,
        body: { code: "CHARGE_NOT_FOUND" }
      })
      expect(await read({ ...target, apiKey }, "charges")).toMatchObject({ status: 200, body: { data: [] } })
    }
  })

  it("concurrent payouts never exceed the balance", async () => {
    for (const target of running) {
      const { accountId, apiKey } = await insert(target, { available: 3 * 550 + 549, payoutFee: 50 })
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          ask({ ...target, apiKey }, { "idempotency-key": `overdraft-${index}` }, payout, "payouts")
        )
      )
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
      for (const { body: answer, status } of answers) {
        if (status !== 201) expect(answer).toMatchObject({ code: "INSUFFICIENT_BALANCE" })
      }
      const { rows } = await query(
        target,
        `SELECT balance FROM ledger_accounts WHERE kind = 'available' AND owner_id = '${accountId}'`
      )
      expect(rows).toEqual([{ balance: "549" }])
    }
  })

  it("every payout reaches its final status, with the same rows", async () => {
    for (const target of running) {
      await expect
        .poll(async () => (await query(target, "SELECT 1 FROM payouts WHERE status = 'processing'")).rowCount, {
          timeout: 240_000,
          interval: 200
        })
        .toBe(0)
      await deliveriesCreated(target)
    }
    const [first, ...others] = await Promise.all(
      running.map(async (target) => [
        (await query(target, payoutRows)).rows,
        (await query(target, "SELECT kind, sum(balance) FROM ledger_accounts GROUP BY kind ORDER BY kind")).rows
      ])
    )
    expect(first?.[0]).toHaveLength(5)
    for (const other of others) expect(other).toEqual(first)

    // A replay is answered with the current payout, whatever its body.
    const key = { "idempotency-key": "first-payout" }
    const [replayed, ...otherReplays] = await Promise.all(
      funded.map((target) => ask(target, key, { amount: "" }, "payouts"))
    )
    expect(replayed).toMatchObject({ status: 201, replayed: "true", body: { status: "completed" } })
    for (const other of otherReplays) expect(other).toEqual(replayed)
  })

  it("API keys: missing, unknown, without the scope", async () => {
    for (const apiKey of ["", "pix_wrong"]) {
      const [first, ...others] = await Promise.all(running.map((target) => ask({ ...target, apiKey }, {}, body)))
      expect(first).toMatchObject({ status: 401 })
      for (const other of others) expect(other).toEqual(first)
    }
    for (const { databaseUrl } of running) {
      await Effect.runPromise(
        withDatabase(databaseUrl, (database) => database.query("UPDATE api_keys SET scopes = '{}'"))
      )
    }
    const [first, ...others] = await Promise.all(running.map((target) => ask(target, {}, body)))
    expect(first).toMatchObject({ status: 403 })
    for (const other of others) expect(other).toEqual(first)
  })

  it("charges: the same rows", async () => {
    for (const target of running) await deliveriesCreated(target)
    const rowsOf = async (target: (typeof running)[number]) => (await query(target, chargeRows)).rows
    const withReceivers = running.filter(({ name }) => name !== lean.name)
    const [first, ...others] = await Promise.all(withReceivers.map(rowsOf))
    expect(first?.filter(({ receiver }) => receiver !== null).length).toBeGreaterThan(0)
    for (const other of others) expect(other).toEqual(first)
    const leanRows = await rowsOf(running.find(({ name }) => name === lean.name)!)
    expect(leanRows).toEqual(first?.map((row) => ({ ...row, receiver: null })))
  })
})

/** Waits until the outbox is empty: our server creates deliveries after the commit of a change. */
const deliveriesCreated = (target: { readonly databaseUrl: string }) =>
  expect
    .poll(async () => (await query(target, "SELECT 1 FROM outbox")).rowCount, { timeout: 240_000, interval: 100 })
    .toBe(0)

const query = (target: { readonly databaseUrl: string }, statement: string) =>
  Effect.runPromise(withDatabase(target.databaseUrl, (database) => database.query(statement)))

const insert = (target: { readonly databaseUrl: string }, money: Parameters<typeof insertAccount>[1]) =>
  Effect.runPromise(withDatabase(target.databaseUrl, (database) => insertAccount(database, money)))

const ask = async (target: Target, headers: Record<string, string>, sent: unknown, what = "charges") =>
  comparable(
    await fetch(`http://127.0.0.1:${target.port}/v1/${what}`, {
      method: "POST",
      headers: { "x-api-key": target.apiKey, "content-type": "application/json", ...headers },
      body: sent === undefined ? "{" : JSON.stringify(sent)
    })
  )

const read = async (target: Target, what: string) =>
  comparable(await fetch(`http://127.0.0.1:${target.port}/v1/${what}`, { headers: { "x-api-key": target.apiKey } }))

/**
 * An answer without ids, instants and values derived from them, without the receiver, which the lean peer lacks, and without the
 * message of an error, for which peers do no work.
 */
const comparable = async (answer: Response) => {
  const text = JSON.stringify(await answer.json(), (key, value: unknown) =>
    key === "receiver" || key === "message" ? undefined : value
  )
  return {
    status: answer.status,
    type: answer.headers.get("content-type")?.split(";")[0],
    replayed: answer.headers.get("idempotent-replayed"),
    hasRequestId: answer.headers.has("x-request-id"),
    body: JSON.parse(
      text
        .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>")
        .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<instant>")
        .replace(/\/qr\/v2\/[0-9a-f]{32}/g, "<txid>")
        .replace(/6304[0-9A-F]{4}/g, "<crc>")
        .replace(/"E[0-9A-Z]{8}\d{12}[0-9A-Za-z]{11}"/g, '"<end-to-end id>"')
    ) as unknown
  }
}

const chargeRows = `
  SELECT c.status, c.amount, c.description, c.reference, c.customer_name, c.customer_document, c.webhook_url,
    c.webhook_secret IS NOT NULL AS has_secret, c.sequence, c.br_code IS NOT NULL AS has_br_code,
    coalesce(to_json(c) ->> 'receiver', (SELECT s.receiver::text FROM receivers s WHERE s.id = c.receiver_id)) AS receiver,
    to_jsonb(c) ->> 'recover_at' AS recover_at, c.idempotency_key,
    (SELECT array_agg(e.name || e.sequence || e.status ORDER BY e.name) FROM events e WHERE e.resource_id = c.id) AS events,
    (SELECT array_agg(d.event || d.url || d.destination ORDER BY d.event) FROM deliveries d WHERE d.resource_id = c.id)
      AS deliveries
  FROM charges c ORDER BY c.idempotency_key`

const payoutRows = `
  SELECT p.status, p.amount, p.fee, p.description, p.reference, p.recipient_name, p.recipient_document, p.pix_key_type,
    p.pix_key, p.webhook_url, p.webhook_secret IS NOT NULL AS has_secret, p.failure_reason, p.duplicate_of, p.sequence,
    p.end_to_end_id IS NOT NULL AS has_end_to_end_id, p.processed_at IS NOT NULL AS was_processed, p.due_at,
    (SELECT array_agg(e.name || e.sequence || e.status ORDER BY e.name) FROM events e WHERE e.resource_id = p.id) AS events,
    (SELECT array_agg(d.event || d.url || d.destination ORDER BY d.event) FROM deliveries d WHERE d.resource_id = p.id)
      AS deliveries,
    (SELECT array_agg(t.debit || '>' || t.credit || t.amount || t.reason ORDER BY t.reason, t.credit)
      FROM ledger_transfers t WHERE t.resource_id = p.id) AS transfers
  FROM payouts p WHERE p.idempotency_key NOT LIKE 'overdraft%' ORDER BY p.idempotency_key`
