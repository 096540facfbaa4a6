/**
 * `/v1/charges` of the peers on Fastify: validation, JSON and the way of a charge. How a charge is stored is the
 * business of a `ChargeStore`: one statement after the other, or many charges in one.
 *
 * The charge is committed before the acquirer is asked, an idempotency key is claimed by the row that carries it, the
 * change and its events are one guarded transaction, and a charge left in `processing` is asked for again. Responses
 * have a serializer that is compiled from their schema.
 */
// This is no Effect program.
// @effect-diagnostics globalDate:off
import { buildBrCode } from "@pix-payments/domain/BrCode"
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { ChargeMethod, ChargeStatus, MINIMUM_CHARGE_CENTS } from "@pix-payments/domain/Charge"
import { parseDocument } from "@pix-payments/domain/Document"
import { parseInstant } from "@pix-payments/domain/Instant"
import { defaultLimit, pageOf } from "@pix-payments/domain/List"
import { txidFromId } from "@pix-payments/domain/Txid"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Result from "effect/Result"
import type { FastifyInstance } from "fastify"
import type { Guard } from "./contract.ts"
import { mayReceive, nextId, seal } from "./guards.ts"
import { type Broken, errorSchema, optional, refusalOf, refuse, string, stringOrNull, text } from "./refusals.ts"

/** A row of `charges`, as `pg` reads it. */
export interface ChargeRow {
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

export const chargeColumns = `id, account_id, application_id, status, method, amount, description, reference,
  customer_name, customer_email, customer_document, webhook_url, webhook_secret, br_code, end_to_end_id, receiver,
  expires_at, paid_at, failure_reason, created_at, sequence`

/** A charge that is stored for the first time. */
export interface NewCharge {
  readonly row: ChargeRow
  readonly idempotencyKey: string
  readonly customerPhone: string | null
  readonly recoverAt: Date
}

/** A charge after the acquirer's answer, and the row that tells of it. */
export interface EmittedCharge {
  readonly row: ChargeRow
  readonly change: { readonly id: string; readonly createdAt: Date; readonly data: string }
}

export interface ListQuery {
  readonly limit: number
  readonly startingAfter: string | undefined
  readonly status: string | undefined
  readonly method: string | undefined
  readonly createdAfterMs: number | undefined
  readonly createdBeforeMs: number | undefined
}

export interface Merchant {
  readonly name: string
  readonly document: string
}

export interface ChargeStore {
  /** False where the key names a charge already. */
  readonly insert: (charge: NewCharge) => Promise<boolean>
  /** State, change and deliveries in one commit; false where somebody else has moved the charge on. */
  readonly emitted: (charge: EmittedCharge) => Promise<boolean>
  readonly find: (id: string) => Promise<ChargeRow | undefined>
  readonly findByKey: (applicationId: string, key: string) => Promise<ChargeRow | undefined>
  /** One more than the limit at the most; undefined where the cursor is unknown. */
  readonly list: (accountId: string, query: ListQuery, now: Date) => Promise<ReadonlyArray<ChargeRow> | undefined>
  /** Takes charges that wait in `processing` for too long. */
  readonly claimStuck: () => Promise<ReadonlyArray<{ readonly row: ChargeRow; readonly merchant: Merchant }>>
}

/** Declares the routes; gives the round of the recovery. */
export const charges = (app: FastifyInstance, guard: Guard, store: ChargeStore) => {
  /** Asks the acquirer, and settles what it says. */
  const emit = async (stored: ChargeRow, merchant: Merchant): Promise<ChargeRow> => {
    const { brCode, receiver } = emitPix({ id: stored.id, amount: Number(stored.amount) }, merchant)
    const row: ChargeRow = { ...stored, status: "pending", br_code: brCode, receiver, sequence: stored.sequence + 1 }
    const { epochMs, id } = nextId()
    const change = { id, createdAt: new Date(epochMs), data: JSON.stringify(toCharge(row)) }
    if (await store.emitted({ row, change })) return row
    return (await store.find(stored.id)) ?? stored
  }

  app.post<{ Body: CreateCharge }>(
    "/v1/charges",
    {
      attachValidation: true,
      schema: { body: createChargeSchema, response: { 201: chargeSchema, "4xx": errorSchema, "5xx": errorSchema } },
      onRequest: [guard.authenticate("charge:write"), guard.requireIdempotencyKey]
    },
    async (request, reply) => {
      const caller = guard.callerOf(request)
      const key = String(request.headers["idempotency-key"])

      const replay = async () => {
        const row = await store.findByKey(caller.application_id, key)
        return row && reply.code(201).header("idempotent-replayed", "true").send(toCharge(row))
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
      const row: ChargeRow = {
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
      const isNew = await store.insert({
        row,
        idempotencyKey: key,
        customerPhone: body.customer.phone ?? null,
        recoverAt: new Date(epochMs + 6000)
      })
      if (!isNew) return (await replay()) ?? refuse(reply, "INTERNAL_ERROR")
      return reply.code(201).send(toCharge(await emit(row, caller)))
    }
  )

  app.get<{ Params: { readonly id: string } }>(
    "/v1/charges/:id",
    {
      schema: { response: { 200: chargeSchema, "4xx": errorSchema, "5xx": errorSchema } },
      onRequest: guard.authenticate("charge:read")
    },
    async (request, reply) => {
      const { id } = request.params
      const row = isUuid(id) ? await store.find(id.toLowerCase()) : undefined
      if (row === undefined || row.account_id !== guard.callerOf(request).account_id) {
        return refuse(reply, "CHARGE_NOT_FOUND")
      }
      return toCharge(row)
    }
  )

  app.get<{ Querystring: Readonly<Record<string, unknown>> }>(
    "/v1/charges",
    {
      schema: { response: { 200: chargesSchema, "4xx": errorSchema, "5xx": errorSchema } },
      onRequest: guard.authenticate("charge:read")
    },
    async (request, reply) => {
      const query = readQuery(request.query)
      if ("broken" in query) return refuse(reply, "VALIDATION_ERROR", query.broken)
      const rows = await store.list(guard.callerOf(request).account_id, query, new Date())
      if (rows === undefined) return refuse(reply, "VALIDATION_ERROR", ["starting_after"])
      return pageOf(rows.map(toCharge), query.limit)
    }
  )

  return async () => {
    for (const { merchant, row } of await store.claimStuck()) await emit(row, merchant)
  }
}

// ---- what goes in ----

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
        name: text(1, 200),
        email: {
          ...text(0, 254),
          pattern:
            "^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+$"
        },
        document: { type: "string", format: "document" },
        phone: optional(text(0, 32))
      }
    },
    description: optional(text(0, 140)),
    reference: optional(text(0, 255)),
    expires_in: optional({ type: "integer", minimum: 60, maximum: 604_800 }),
    webhook_url: optional(text(0, 2048)),
    webhook_secret: optional(text(0, 255))
  }
}

const readQuery = (
  query: Readonly<Record<string, unknown>>
): ListQuery | { readonly broken: ReadonlyArray<string> } => {
  const { created_after, created_before, limit, method, starting_after, status } = query
  const instantOf = (value: unknown) => (typeof value === "string" ? parseInstant(value) : undefined)
  const broken = [
    limit === undefined || (typeof limit === "string" && /^\d{1,3}$/.test(limit) && +limit >= 1 && +limit <= 100)
      ? []
      : ["limit"],
    starting_after === undefined || (typeof starting_after === "string" && isUuid(starting_after))
      ? []
      : ["starting_after"],
    status === undefined || ChargeStatus.literals.some((known) => known === status) ? [] : ["status"],
    method === undefined || ChargeMethod.literals.some((known) => known === method) ? [] : ["method"],
    created_after === undefined || instantOf(created_after) !== undefined ? [] : ["created_after"],
    created_before === undefined || instantOf(created_before) !== undefined ? [] : ["created_before"]
  ].flat()
  if (broken.length > 0) return { broken }
  const textOf = (value: unknown) => (typeof value === "string" ? value : undefined)
  return {
    limit: limit === undefined ? defaultLimit : Number(limit),
    startingAfter: textOf(starting_after),
    status: textOf(status),
    method: textOf(method),
    createdAfterMs: instantOf(created_after),
    createdBeforeMs: instantOf(created_before)
  }
}

// ---- what comes out ----

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

const chargesSchema = {
  type: "object",
  properties: { object: string, data: { type: "array", items: chargeSchema }, has_more: { type: "boolean" } }
}

/** A charge as the contract shows it. */
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

// ---- the acquirer: in this process, immediate, as our server's simulator is; it never refuses ----

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
