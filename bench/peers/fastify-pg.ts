/**
 * `POST /v1/charges` and `POST /v1/payouts` (`fastify-pg/payouts.ts`) as a careful team writes them by hand on Fastify 5
 * and `pg`: one statement after the other.
 *
 * It keeps the promises of the contract: the key is looked up for every request (no cache, so that a revocation
 * holds at once), the charge is committed before the acquirer is called, an idempotency key is claimed by the row
 * that carries it, the change and its events are one guarded transaction, a charge left in `processing` is asked
 * for again, and every request is recorded. Schema, indexes and durability are those of our server (the bench runs
 * its migration here). What helps it is in: named prepared statements, a response serializer compiled from a
 * schema, one row for both events, request lines written in batches. It keeps no metrics, and writes no log.
 *
 * Environment: PORT, DATABASE_URL, DATABASE_CONNECTIONS (20: measured as its best, see the guide).
 */
// This is no Effect program.
// @effect-diagnostics globalDate:off globalTimers:off
import { buildBrCode } from "@pix-payments/domain/BrCode"
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { MINIMUM_CHARGE_CENTS } from "@pix-payments/domain/Charge"
import { parseDocument } from "@pix-payments/domain/Document"
import { type ErrorCode, errorCodes, requestCodes } from "@pix-payments/domain/ErrorCode"
import { isPublicAddress, judgeUrl } from "@pix-payments/domain/PublicUrl"
import { isPrintable } from "@pix-payments/domain/Text"
import { txidFromId } from "@pix-payments/domain/Txid"
import { makeGenerator } from "@pix-payments/domain/Uuid"
import * as Result from "effect/Result"
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify"
import { createCipheriv, createHash, randomBytes, randomFillSync, randomUUID } from "node:crypto"
import { lookup } from "node:dns/promises"
import { Pool } from "pg"
import { type Broken, payouts, type PayoutSettings } from "./fastify-pg/payouts.ts"

// ---- what goes in and out ----

interface CreateCharge {
  readonly amount: number
  readonly method?: "pix" | null
  readonly customer: {
    readonly name: string
    readonly email: string
    readonly document: string
    readonly phone?: string | null
  }
  readonly description?: string | null
  readonly reference?: string | null
  readonly expires_in?: number | null
  readonly webhook_url?: string | null
  readonly webhook_secret?: string | null
}

interface Caller extends PayoutSettings {
  readonly key_id: string
  readonly scopes: ReadonlyArray<string>
  readonly application_id: string
  readonly account_id: string
  readonly name: string
  readonly document: string
  readonly status: string
  readonly default_expires_in: number
}

/** A row of `charges`, as `pg` reads it. */
interface ChargeRow {
  readonly id: string
  readonly account_id: string
  readonly application_id: string
  readonly status: string
  readonly method: string
  readonly amount: string | number
  readonly description: string | null
  readonly reference: string | null
  readonly customer_name: string | null
  readonly customer_email: string | null
  readonly customer_document: string | null
  readonly webhook_url: string | null
  readonly webhook_secret: string | null
  readonly br_code: string | null
  readonly end_to_end_id: string | null
  readonly receiver: unknown
  readonly expires_at: Date | null
  readonly paid_at: Date | null
  readonly failure_reason: string | null
  readonly created_at: Date
  readonly sequence: number
}

const text = (maximum: number) => ({ type: "string", maxLength: maximum, format: "printable" })

const optional = (schema: object) => ({ ...schema, nullable: true })

const createChargeSchema = {
  type: "object",
  required: ["amount", "customer"],
  properties: {
    amount: { type: "integer", minimum: MINIMUM_CHARGE_CENTS, maximum: MAX_CENTS },
    method: { type: "string", nullable: true, enum: ["pix", null] },
    customer: {
      type: "object",
      required: ["name", "email", "document"],
      properties: {
        name: { ...text(200), minLength: 1 },
        email: {
          ...text(254),
          pattern:
            "^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+$"
        },
        document: { type: "string", format: "document" },
        phone: optional(text(32))
      }
    },
    description: optional(text(140)),
    reference: optional(text(255)),
    expires_in: optional({ type: "integer", minimum: 60, maximum: 604_800 }),
    webhook_url: optional(text(2048)),
    webhook_secret: optional(text(255))
  }
}

const string = { type: "string" }
const stringOrNull = { type: "string", nullable: true }

const chargeSchema = {
  type: "object",
  properties: {
    id: string,
    object: string,
    status: string,
    amount: { type: "integer" },
    currency: string,
    method: string,
    description: stringOrNull,
    reference: stringOrNull,
    customer: { type: "object", nullable: true, properties: { name: string, email: string, document: string } },
    pix: { type: "object", properties: { br_code: stringOrNull, end_to_end_id: stringOrNull } },
    receiver: {
      type: "object",
      nullable: true,
      properties: {
        name: stringOrNull,
        document: stringOrNull,
        pix_key: stringOrNull,
        pix_key_type: stringOrNull,
        institution_name: stringOrNull,
        institution_ispb: stringOrNull,
        branch: stringOrNull,
        account: stringOrNull,
        account_type: stringOrNull
      }
    },
    webhook_url: stringOrNull,
    expires_at: stringOrNull,
    paid_at: stringOrNull,
    failure_reason: stringOrNull,
    created_at: string,
    sequence: { type: "integer" }
  }
}

const errorSchema = {
  type: "object",
  properties: {
    code: string,
    message: string,
    details: { type: "array", items: string },
    charge_id: string
  }
}

const toCharge = (row: ChargeRow) => ({
  id: row.id,
  object: "charge",
  status: row.status === "pending" && row.expires_at !== null && +row.expires_at <= Date.now() ? "expired" : row.status,
  amount: Number(row.amount),
  currency: "BRL",
  method: row.method,
  description: row.description,
  reference: row.reference,
  customer:
    row.customer_name === null
      ? null
      : { name: row.customer_name, email: row.customer_email, document: row.customer_document },
  pix: { br_code: row.br_code, end_to_end_id: row.end_to_end_id },
  receiver: row.receiver,
  webhook_url: row.webhook_url,
  expires_at: row.expires_at?.toISOString() ?? null,
  paid_at: row.paid_at?.toISOString() ?? null,
  failure_reason: row.failure_reason,
  created_at: row.created_at.toISOString(),
  sequence: row.sequence
})

// ---- the database ----

const pool = new Pool({
  connectionString: process.env["DATABASE_URL"],
  max: Number(process.env["DATABASE_CONNECTIONS"] ?? 20),
  statement_timeout: 5000,
  lock_timeout: 5000,
  idle_in_transaction_session_timeout: 15_000,
  // As our server: a statement prepared on an empty table must not keep a sequential scan.
  options: "-c timezone=UTC -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
})
// An idle connection that breaks is replaced by the pool.
pool.on("error", () => {})

const findCaller = {
  name: "find_caller",
  text: `SELECT k.id AS key_id, k.scopes, p.id AS application_id, a.id AS account_id, a.name, a.document, a.status,
      a.default_expires_in, a.onboarding_status, a.auto_payout_enabled, a.payout_fee_fixed, a.payout_fee_basis_points,
      a.payout_duplicate_window
    FROM api_keys k
    JOIN applications p ON p.id = k.application_id
    JOIN accounts a ON a.id = p.account_id
    WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AND p.active`
}

const insertCharge = {
  name: "insert_charge",
  text: `INSERT INTO charges (id, account_id, application_id, origin, idempotency_key, status, method, amount,
      description, reference, customer_name, customer_email, customer_document, customer_phone, webhook_url,
      webhook_secret, expires_at, created_at, sequence, recover_at)
    VALUES ($1, $2, $3, 'api', $4, 'processing', 'pix', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 1, $16)
    ON CONFLICT (application_id, origin, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING`
}

const chargeColumns = `id, account_id, application_id, status, method, amount, description, reference, customer_name,
  customer_email, customer_document, webhook_url, webhook_secret, br_code, end_to_end_id, receiver, expires_at,
  paid_at, failure_reason, created_at, sequence`

const findByKey = {
  name: "find_by_key",
  text: `SELECT ${chargeColumns} FROM charges WHERE application_id = $1 AND origin = 'api' AND idempotency_key = $2`
}

const findById = { name: "find_by_id", text: `SELECT ${chargeColumns} FROM charges WHERE id = $1` }

const markEmitted = {
  name: "mark_emitted",
  text: `UPDATE charges SET status = 'pending', br_code = $2, receiver = $3, sequence = sequence + 1, recover_at = NULL
    WHERE id = $1 AND status = 'processing'`
}

const insertChange = {
  name: "insert_change",
  text: `INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
      created_at)
    VALUES ($1, $2, $3, $4, 'charge.pix', '{created,emitted}', 'pending', $5, $6, $7)`
}

/** To the endpoints of the application that are subscribed now. */
const insertDeliveriesToEndpoints = {
  name: "insert_deliveries_to_endpoints",
  text: `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, status,
      due_at, created_at)
    SELECT uuidv7(), $1, e.event, $2, $3, w.id, w.url, w.destination, 'scheduled', now(), $4
    FROM webhook_endpoints w CROSS JOIN unnest('{charge.pix.created,charge.pix.emitted}'::text[]) AS e(event)
    WHERE w.application_id = $5 AND w.deleted_at IS NULL AND e.event = ANY (w.events)`
}

/** To the charge's own address, unless an equal endpoint is subscribed. */
const insertDeliveriesToUrl = {
  name: "insert_deliveries_to_url",
  text: `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, secret, status,
      due_at, created_at)
    SELECT uuidv7(), $1, e.event, $2, $3, $6, $7, $8, 'scheduled', now(), $4
    FROM unnest('{charge.pix.created,charge.pix.emitted}'::text[]) AS e(event)
    WHERE NOT EXISTS (
      SELECT 1 FROM webhook_endpoints w
      WHERE w.application_id = $5 AND w.deleted_at IS NULL AND w.normalized_url = $9 AND e.event = ANY (w.events)
    )`
}

const claimStuck = {
  name: "claim_stuck",
  text: `UPDATE charges c SET recover_at = now() + interval '6 seconds' FROM accounts a
    WHERE a.id = c.account_id AND c.id IN (
      SELECT id FROM charges WHERE status = 'processing' AND recover_at <= now()
      ORDER BY recover_at LIMIT 50 FOR UPDATE SKIP LOCKED
    )
    RETURNING c.*, a.name AS merchant_name, a.document AS merchant_document`
}

const insertRequests = {
  name: "insert_requests",
  text: `WITH lines AS (
      INSERT INTO requests (id, request_id, key_id, account_id, route, status, duration_us, at)
      SELECT id, request_id, key_id, account_id, route, status, duration_us, to_timestamp(at / 1000.0)
      FROM json_to_recordset($1::json) AS r(id uuid, request_id text, key_id uuid, account_id uuid, route text,
        status integer, duration_us integer, at bigint)
      RETURNING key_id, at
    )
    UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at)
    FROM (SELECT key_id, max(at) AS at FROM lines WHERE key_id IS NOT NULL GROUP BY key_id) u
    WHERE k.id = u.key_id`
}

const generate = makeGenerator((target) => randomFillSync(target))
const nextId = () => generate(Date.now())

// ---- the acquirer: in this process, immediate, as our server's simulator is; it never refuses ----

interface Merchant {
  readonly name: string
  readonly document: string
}

const emitPix = (charge: { readonly id: string; readonly amount: number }, merchant: Merchant) => {
  const brCode = buildBrCode({
    payloadUrl: `pix.simulator.test/qr/v2/${txidFromId(charge.id)}`,
    amount: charge.amount,
    merchantName: merchant.name,
    merchantCity: "SAO PAULO",
    singleUse: true
  })
  if (Result.isFailure(brCode)) throw new Error(`no BR code can be made: ${brCode.failure.reason}`)
  return {
    brCode: brCode.success,
    receiver: {
      name: merchant.name,
      document: merchant.document,
      pix_key: merchant.document,
      pix_key_type: merchant.document.length === 11 ? "cpf" : "cnpj",
      institution_name: "Simulated Acquirer",
      institution_ispb: "00000000",
      branch: "0001",
      account: "1",
      account_type: "payment"
    }
  }
}

// ---- a charge's way ----

/** Asks the acquirer, and settles what it says in one transaction. */
const emit = async (stored: ChargeRow, merchant: Merchant): Promise<ChargeRow> => {
  const { brCode, receiver } = emitPix({ id: stored.id, amount: Number(stored.amount) }, merchant)
  const charge: ChargeRow = {
    ...stored,
    status: "pending",
    br_code: brCode,
    receiver,
    sequence: stored.sequence + 1
  }
  const change = nextId()
  const createdAt = new Date(change.epochMs)

  const client = await pool.connect()
  try {
    await client.query("BEGIN")
    const { rowCount } = await client.query({ ...markEmitted, values: [charge.id, brCode, JSON.stringify(receiver)] })
    if (rowCount === 0) {
      await client.query("ROLLBACK")
      const { rows } = await client.query<ChargeRow>({ ...findById, values: [charge.id] })
      return rows[0] ?? stored
    }
    await client.query({
      ...insertChange,
      values: [
        change.id,
        charge.id,
        charge.account_id,
        charge.application_id,
        charge.sequence,
        JSON.stringify(toCharge(charge)),
        createdAt
      ]
    })
    const addressed = [change.id, charge.id, charge.account_id, createdAt, charge.application_id]
    await client.query({ ...insertDeliveriesToEndpoints, values: addressed })
    if (charge.webhook_url !== null) {
      const url = new URL(charge.webhook_url)
      await client.query({
        ...insertDeliveriesToUrl,
        values: [...addressed, charge.webhook_url, url.origin, charge.webhook_secret, url.href]
      })
    }
    await client.query("COMMIT")
    return charge
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

const secretKey = createHash("sha256")
  .update(process.env["SECRETS_KEY"] ?? "bench")
  .digest()

const seal = (secret: string): string => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", secretKey, nonce)
  return Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64")
}

const mayReceive = async (url: string): Promise<boolean> => {
  const verdict = judgeUrl(url, [])
  if (verdict._tag === "Refused") return false
  if (verdict.host._tag === "Address") return true
  const addresses = await lookup(verdict.host.name, { all: true }).catch(() => [])
  return addresses.every(({ address }) => isPublicAddress(address, []))
}

// ---- the routes ----

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller | null
  }
}

const app = Fastify({
  logger: false,
  bodyLimit: 256 * 1024,
  genReqId: ({ headers }) => {
    const sent = headers["x-request-id"]
    return typeof sent === "string" && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(sent) ? sent : randomUUID()
  },
  ajv: {
    customOptions: {
      coerceTypes: false,
      removeAdditional: false,
      allErrors: true,
      formats: { printable: isPrintable, document: (value: string) => parseDocument(value) !== undefined }
    }
  }
})

app.decorateRequest("caller", null)

const refuse = (reply: FastifyReply, code: ErrorCode, details?: ReadonlyArray<string>) => {
  const { message, status } = errorCodes[code]
  return reply.code(status).send(details === undefined ? { code, message } : { code, message, details })
}

app.addHook("onRequest", async (request, reply) => {
  reply.header("x-request-id", request.id)
})

const authenticate = (scope: string) => async (request: FastifyRequest, reply: FastifyReply) => {
  const key = request.headers["x-api-key"]
  if (typeof key !== "string" || key === "" || key.length > 512) return refuse(reply, "UNAUTHORIZED")
  const { rows } = await pool.query<Caller>({
    ...findCaller,
    values: [createHash("sha256").update(key).digest("hex")]
  })
  const caller = rows[0]
  if (caller === undefined) return refuse(reply, "UNAUTHORIZED")
  request.caller = caller
  if (!caller.scopes.includes(scope)) return refuse(reply, "INSUFFICIENT_SCOPE", [scope])
  return undefined
}

const requireIdempotencyKey = async (request: FastifyRequest, reply: FastifyReply) => {
  const key = request.headers["idempotency-key"]
  if (key === undefined || key === "") return refuse(reply, "IDEMPOTENCY_KEY_REQUIRED")
  if (typeof key !== "string" || !/^[!-~]{8,255}$/.test(key)) {
    return refuse(reply, "VALIDATION_ERROR", ["Idempotency-Key"])
  }
  return undefined
}

/** The code that is answered first, with the fields that it is about. */
const refusalOf = (errors: ReadonlyArray<Broken>): { code: ErrorCode; details?: ReadonlyArray<string> } => {
  // Of what is no object at all, no field can be named.
  if (errors.some(({ instancePath, keyword }) => instancePath === "" && keyword === "type")) {
    return { code: "VALIDATION_ERROR" }
  }
  const found = errors.flatMap(({ instancePath, keyword, params }) => {
    const path = instancePath.slice(1).replaceAll("/", ".")
    if (keyword === "required") {
      const missing = String(params["missingProperty"])
      const names = missing === "customer" ? ["customer.name", "customer.email", "customer.document"] : [missing]
      return names.map((name) => ({ code: "VALIDATION_ERROR", path: path === "" ? name : `${path}.${name}` }))
    }
    if (path === "method" && keyword === "enum") return [{ code: "METHOD_NOT_SUPPORTED", path }]
    if (path === "amount" && keyword === "minimum") return [{ code: "AMOUNT_BELOW_MINIMUM", path }]
    if (keyword === "format" && params["format"] === "document") return [{ code: "INVALID_DOCUMENT", path }]
    return [{ code: "VALIDATION_ERROR", path }]
  })
  const code = requestCodes.find((candidate) => found.some((each) => each.code === candidate)) ?? "VALIDATION_ERROR"
  return { code, details: [...new Set(found.filter((each) => each.code === code).map(({ path }) => path))] }
}

app.post<{ Body: CreateCharge }>(
  "/v1/charges",
  {
    attachValidation: true,
    schema: { body: createChargeSchema, response: { 201: chargeSchema, "4xx": errorSchema, "5xx": errorSchema } },
    onRequest: [authenticate("charge:write"), requireIdempotencyKey]
  },
  async (request, reply) => {
    const caller = request.caller
    if (caller === null) throw new Error("the guard has not run")
    const key = String(request.headers["idempotency-key"])

    const replay = async () => {
      const { rows } = await pool.query<ChargeRow>({ ...findByKey, values: [caller.application_id, key] })
      return rows[0] && reply.code(201).header("idempotent-replayed", "true").send(toCharge(rows[0]))
    }

    if (request.validationError !== undefined) {
      const { code, details } = refusalOf(request.validationError.validation as ReadonlyArray<Broken>)
      return (await replay()) ?? refuse(reply, code, details)
    }
    const body = request.body
    const document = parseDocument(body.customer.document)
    if (document === undefined) return (await replay()) ?? refuse(reply, "INVALID_DOCUMENT", ["customer.document"])
    if (typeof body.webhook_url === "string" && !(await mayReceive(body.webhook_url))) {
      return (await replay()) ?? refuse(reply, "INVALID_WEBHOOK_URL", ["webhook_url"])
    }
    if (caller.status !== "active") return (await replay()) ?? refuse(reply, "ACCOUNT_INACTIVE")

    const { epochMs, id } = nextId()
    const charge: ChargeRow = {
      id,
      account_id: caller.account_id,
      application_id: caller.application_id,
      status: "processing",
      method: "pix",
      amount: body.amount,
      description: body.description ?? null,
      reference: body.reference ?? null,
      customer_name: body.customer.name,
      customer_email: body.customer.email,
      customer_document: document.value,
      webhook_url: body.webhook_url ?? null,
      webhook_secret: body.webhook_secret ? seal(body.webhook_secret) : null,
      br_code: null,
      end_to_end_id: null,
      receiver: null,
      expires_at: new Date(epochMs + (body.expires_in ?? caller.default_expires_in) * 1000),
      paid_at: null,
      failure_reason: null,
      created_at: new Date(epochMs),
      sequence: 1
    }
    const { rowCount } = await pool.query({
      ...insertCharge,
      values: [
        charge.id,
        charge.account_id,
        charge.application_id,
        key,
        charge.amount,
        charge.description,
        charge.reference,
        charge.customer_name,
        charge.customer_email,
        charge.customer_document,
        body.customer.phone ?? null,
        charge.webhook_url,
        charge.webhook_secret,
        charge.expires_at,
        charge.created_at,
        new Date(epochMs + 6000)
      ]
    })
    if (rowCount === 0) return (await replay()) ?? refuse(reply, "INTERNAL_ERROR")

    const settled = await emit(charge, caller)
    return reply.code(201).send(toCharge(settled))
  }
)

const handOver = payouts({
  app,
  pool,
  guards: [authenticate("payout:write"), requireIdempotencyKey],
  callerOf: ({ caller }) => {
    if (caller === null) throw new Error("the guard has not run")
    return caller
  },
  refuse,
  refusalOf,
  mayReceive,
  seal,
  nextId,
  errorSchema
})

app.get("/health/ready", async () => {
  await pool.query("SELECT 1")
  return { status: "ok" }
})

app.setErrorHandler((error, _request, reply) => {
  const status = error instanceof Error && "statusCode" in error ? error.statusCode : 500
  if (status === 413) return refuse(reply, "PAYLOAD_TOO_LARGE")
  return refuse(reply, status === 400 || status === 415 ? "VALIDATION_ERROR" : "INTERNAL_ERROR")
})
app.setNotFoundHandler((_request, reply) => refuse(reply, "NOT_FOUND"))

// ---- beside the requests ----

/** The lines that are still to be written, at most 100 000. */
const lines: Array<object> = []

app.addHook("onResponse", async (request, reply) => {
  if (!request.url.startsWith("/v1/")) return
  const { epochMs, id } = nextId()
  if (lines.length >= 100_000) lines.splice(0, 2000)
  lines.push({
    id,
    request_id: request.id,
    key_id: request.caller?.key_id ?? null,
    account_id: request.caller?.account_id ?? null,
    route: `${request.method} ${request.routeOptions.url ?? "unknown"}`,
    status: reply.statusCode,
    duration_us: Math.round(reply.elapsedTime * 1000),
    at: epochMs
  })
})

const flush = async () => {
  while (lines.length > 0) {
    const batch = lines.splice(0, 2000)
    await pool.query({ ...insertRequests, values: [JSON.stringify(batch)] }).catch((error) => {
      lines.unshift(...batch)
      throw error
    })
  }
}

const recover = async () => {
  const { rows } = await pool.query<ChargeRow & { merchant_name: string; merchant_document: string }>(claimStuck)
  for (const row of rows) await emit(row, { name: row.merchant_name, document: row.merchant_document })
}

/** Runs `round` again and again with a pause between; what fails is tried in the next round. */
const every = (pauseMs: number, round: () => Promise<void>) => {
  const next = () => {
    timer = setTimeout(
      () =>
        void round()
          .catch(() => {})
          .finally(next),
      pauseMs
    )
  }
  let timer: NodeJS.Timeout
  next()
  return () => clearTimeout(timer)
}

const stopLoops = [every(250, flush), every(1000, recover), every(100, handOver)]

process.once("SIGTERM", () => {
  for (const stop of stopLoops) stop()
  void app
    .close()
    .then(flush)
    .then(() => pool.end())
    .then(() => process.exit(0))
})

await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 0) })
