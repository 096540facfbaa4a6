/**
 * `POST /v1/payouts` of the peer, and the hand-over behind it: one payout, one statement after the other.
 *
 * The account's available balance is locked for the length of one transaction, which stores the payout, moves the money
 * and tells of it. A loop beside the requests hands payouts to the acquirer and asks for their outcome, some at a time,
 * each in statements of its own. What helps it is in: the account comes with the key's look-up, and the acquirer is a
 * map in this process, where our simulator keeps rows.
 */
// This is no Effect program.
// @effect-diagnostics globalDate:off
import { MAX_CENTS, payoutFee } from "@pix-payments/domain/Cents"
import { makeEndToEndId } from "@pix-payments/domain/EndToEndId"
import type { ErrorCode } from "@pix-payments/domain/ErrorCode"
import { MINIMUM_PAYOUT_CENTS } from "@pix-payments/domain/Payout"
import { parsePixKey, type PixKeyType } from "@pix-payments/domain/PixKey"
import { parseDocument } from "@pix-payments/domain/Document"
import { isPrintable } from "@pix-payments/domain/Text"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import type { Pool, PoolClient } from "pg"

/** What the account of a key says about its payouts. */
export interface PayoutSettings {
  readonly onboarding_status: string
  readonly auto_payout_enabled: boolean
  readonly payout_fee_fixed: string
  readonly payout_fee_basis_points: number
  readonly payout_duplicate_window: number
}

interface Caller extends PayoutSettings {
  readonly application_id: string
  readonly account_id: string
  readonly status: string
}

/** A field that breaks a rule, as AJV tells it. */
export interface Broken {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>

/** What the whole peer has. */
interface Parts {
  readonly app: FastifyInstance
  readonly pool: Pool
  readonly guards: Array<Hook>
  readonly callerOf: (request: FastifyRequest) => Caller
  readonly refuse: (reply: FastifyReply, code: ErrorCode, details?: ReadonlyArray<string>) => FastifyReply
  readonly refusalOf: (errors: ReadonlyArray<Broken>) => { code: ErrorCode; details?: ReadonlyArray<string> }
  readonly mayReceive: (url: string) => Promise<boolean>
  readonly seal: (secret: string) => string
  readonly nextId: () => { readonly id: string; readonly epochMs: number }
  readonly errorSchema: object
}

interface CreatePayout {
  readonly amount: number
  readonly pix_key_type: PixKeyType
  readonly pix_key: string
  readonly recipient_name?: string | null
  readonly recipient_document?: string | null
  readonly description?: string | null
  readonly reference?: string | null
  readonly webhook_url?: string | null
  readonly webhook_secret?: string | null
}

interface PayoutRow {
  readonly id: string
  readonly account_id: string
  readonly application_id: string | null
  readonly status: string
  readonly method: string
  readonly amount: string | number
  readonly fee: string | number
  readonly description: string | null
  readonly reference: string | null
  readonly recipient_name: string | null
  readonly recipient_document: string | null
  readonly pix_key_type: string
  readonly pix_key: string
  readonly webhook_url: string | null
  readonly webhook_secret: string | null
  readonly end_to_end_id: string | null
  readonly failure_reason: string | null
  readonly processed_at: Date | null
  readonly created_at: Date
  readonly sequence: number
}

const text = (minimum: number, maximum: number) => ({
  type: "string",
  minLength: minimum,
  maxLength: maximum,
  format: "printable"
})

const optional = (schema: object) => ({ ...schema, nullable: true })

const createPayoutSchema = {
  type: "object",
  required: ["amount", "pix_key_type", "pix_key"],
  properties: {
    amount: { type: "integer", minimum: MINIMUM_PAYOUT_CENTS, maximum: MAX_CENTS },
    pix_key_type: { type: "string", enum: ["cpf", "cnpj", "email", "phone", "random"] },
    pix_key: text(1, 255),
    method: { type: "string", nullable: true, enum: ["pix", null] },
    recipient_name: optional(text(1, 200)),
    recipient_document: { type: "string", nullable: true, format: "document" },
    description: optional(text(0, 140)),
    reference: optional(text(0, 255)),
    webhook_url: optional(text(0, 2048)),
    webhook_secret: optional(text(0, 255))
  }
}

const string = { type: "string" }
const stringOrNull = { type: "string", nullable: true }

const payoutSchema = {
  type: "object",
  properties: {
    id: string,
    object: string,
    status: string,
    method: string,
    amount: { type: "integer" },
    fee: { type: "integer" },
    currency: string,
    description: stringOrNull,
    reference: stringOrNull,
    recipient: {
      type: "object",
      properties: { name: stringOrNull, document: stringOrNull, pix_key_type: string, pix_key: string }
    },
    end_to_end_id: stringOrNull,
    failure_reason: stringOrNull,
    webhook_url: stringOrNull,
    processed_at: stringOrNull,
    created_at: string,
    sequence: { type: "integer" }
  }
}

const toPayout = (row: PayoutRow) => ({
  id: row.id,
  object: "payout",
  status: row.status,
  method: row.method,
  amount: Number(row.amount),
  fee: Number(row.fee),
  currency: "BRL",
  description: row.description,
  reference: row.reference,
  recipient: {
    name: row.recipient_name,
    document: row.recipient_document,
    pix_key_type: row.pix_key_type,
    pix_key: row.pix_key
  },
  end_to_end_id: row.end_to_end_id,
  failure_reason: row.failure_reason,
  webhook_url: row.webhook_url,
  processed_at: row.processed_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  sequence: row.sequence
})

// ---- statements ----

const payoutColumns = `id, account_id, application_id, status, method, amount, fee, description, reference,
  recipient_name, recipient_document, pix_key_type, pix_key, webhook_url, webhook_secret, end_to_end_id,
  failure_reason, processed_at, created_at, sequence`

const findByKey = {
  name: "find_payout_by_key",
  text: `SELECT ${payoutColumns} FROM payouts
    WHERE coalesce(application_id, account_id) = $1 AND origin = 'api' AND idempotency_key = $2`
}

const lockAvailable = {
  name: "lock_available",
  text: "SELECT balance FROM ledger_accounts WHERE owner_id = $1 AND kind = 'available' FOR NO KEY UPDATE"
}

const findTwin = {
  name: "find_twin",
  text: `SELECT id FROM payouts WHERE account_id = $1 AND id >= $2 AND pix_key_type = $3 AND pix_key = $4
      AND amount = $5 AND status NOT IN ('failed', 'canceled')
    ORDER BY id DESC LIMIT 1`
}

const insertPayout = {
  name: "insert_payout",
  text: `INSERT INTO payouts (id, account_id, application_id, origin, idempotency_key, status, method, amount, fee,
      description, reference, recipient_name, recipient_document, pix_key_type, pix_key, webhook_url, webhook_secret,
      duplicate_of, created_at, sequence, hand_over_at)
    VALUES ($1, $2, $3, 'api', $4, $5, 'pix', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 1,
      CASE WHEN $5 = 'processing' THEN now() END)
    ON CONFLICT (coalesce(application_id, account_id), origin, idempotency_key) WHERE idempotency_key IS NOT NULL
      DO NOTHING`
}

const insertTransfer = {
  name: "insert_transfer",
  text: `INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
}

const addToBalance = {
  name: "add_to_balance",
  text: "UPDATE ledger_accounts SET balance = balance + $3 WHERE owner_id = $1 AND kind = $2"
}

const insertChange = {
  name: "insert_payment_change",
  text: `INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
      created_at)
    VALUES ($1, $2, $3, $4, 'payment.pix', $5, $6, $7, $8, $9)`
}

/** To the endpoints of the application that are subscribed now. */
const insertDeliveriesToEndpoints = {
  name: "insert_payment_deliveries_to_endpoints",
  text: `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, status,
      due_at, created_at)
    SELECT uuidv7(), $1, e.event, $2, $3, w.id, w.url, w.destination, 'scheduled', now(), $4
    FROM webhook_endpoints w CROSS JOIN unnest($6::text[]) AS e(event)
    WHERE w.application_id = $5 AND w.deleted_at IS NULL AND e.event = ANY (w.events)`
}

/** To the payout's own address, unless an equal endpoint is subscribed. */
const insertDeliveriesToUrl = {
  name: "insert_payment_deliveries_to_url",
  text: `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, secret, status,
      due_at, created_at)
    SELECT uuidv7(), $1, e.event, $2, $3, $7, $8, $9, 'scheduled', now(), $4
    FROM unnest($6::text[]) AS e(event)
    WHERE NOT EXISTS (
      SELECT 1 FROM webhook_endpoints w
      WHERE w.application_id = $5 AND w.deleted_at IS NULL AND w.normalized_url = $10 AND e.event = ANY (w.events)
    )`
}

const claimDue = {
  name: "claim_payouts",
  text: `UPDATE payouts SET hand_over_at = now() + interval '15 seconds'
    WHERE id IN (
      SELECT id FROM payouts WHERE status = 'processing' AND hand_over_at <= now()
      ORDER BY hand_over_at LIMIT 100 FOR UPDATE SKIP LOCKED
    )
    RETURNING ${payoutColumns}, hand_overs`
}

const noteHandOver = {
  name: "note_hand_over",
  text: `UPDATE payouts SET processed_at = coalesce(processed_at, $2), hand_overs = hand_overs + 1,
      hand_over_at = now() + $3 * interval '1 millisecond'
    WHERE id = $1 AND status = 'processing'`
}

const settlePayout = {
  name: "settle_payout",
  text: `UPDATE payouts SET status = $2, end_to_end_id = $3, failure_reason = $4, sequence = sequence + 1,
      hand_over_at = NULL
    WHERE id = $1 AND status = 'processing' AND sequence = $5`
}

const INSTALLATION = "00000000-0000-0000-0000-000000000000"

// ---- ----

/** Declares the route; gives the round of the hand-over. */
export const payouts = (parts: Parts) => {
  const { app, callerOf, errorSchema, guards, mayReceive, nextId, pool, refusalOf, refuse, seal } = parts

  const transfer = async (client: PoolClient, row: PayoutRow, ends: readonly [string, string], cents: number) => {
    if (cents === 0) return
    const { epochMs, id } = nextId()
    const reason = `payout.${row.status === "completed" || row.status === "failed" ? row.status : "created"}`
    await client.query({
      ...insertTransfer,
      values: [id, row.account_id, ...ends, cents, row.id, reason, new Date(epochMs)]
    })
  }

  const add = async (client: PoolClient, owner: string, kind: string, cents: number) => {
    if (cents !== 0) await client.query({ ...addToBalance, values: [owner, kind, cents] })
  }

  /** Writes what a change tells; `actions` of which `dispatched` are delivered. */
  const tell = async (
    client: PoolClient,
    row: PayoutRow,
    actions: ReadonlyArray<string>,
    dispatched: ReadonlyArray<string>
  ) => {
    const { epochMs, id } = nextId()
    const at = new Date(epochMs)
    const data = JSON.stringify({ ...toPayout(row), object: "payment" })
    await client.query({
      ...insertChange,
      values: [id, row.id, row.account_id, row.application_id, actions, row.status, row.sequence, data, at]
    })
    if (dispatched.length === 0) return
    const events = dispatched.map((action) => `payment.pix.${action}`)
    const addressed = [id, row.id, row.account_id, at, row.application_id, events]
    await client.query({ ...insertDeliveriesToEndpoints, values: addressed })
    if (row.webhook_url === null) return
    const url = new URL(row.webhook_url)
    await client.query({
      ...insertDeliveriesToUrl,
      values: [...addressed, row.webhook_url, url.origin, row.webhook_secret, url.href]
    })
  }

  /** Runs statements in a transaction; `undefined` from them takes all back. */
  const transaction = async <A>(run: (client: PoolClient) => Promise<A | undefined>): Promise<A | undefined> => {
    const client = await pool.connect()
    try {
      await client.query("BEGIN")
      const result = await run(client)
      await client.query(result === undefined ? "ROLLBACK" : "COMMIT")
      return result
    } catch (error) {
      await client.query("ROLLBACK").catch(() => {})
      throw error
    } finally {
      client.release()
    }
  }

  app.post<{ Body: CreatePayout }>(
    "/v1/payouts",
    {
      attachValidation: true,
      schema: { body: createPayoutSchema, response: { 201: payoutSchema, "4xx": errorSchema, "5xx": errorSchema } },
      onRequest: guards
    },
    async (request, reply) => {
      const caller = callerOf(request)
      const key = String(request.headers["idempotency-key"])

      const replay = async () => {
        const { rows } = await pool.query<PayoutRow>({ ...findByKey, values: [caller.application_id, key] })
        return rows[0] && reply.code(201).header("idempotent-replayed", "true").send(toPayout(rows[0]))
      }

      const broken = [
        ...((request.validationError?.validation as ReadonlyArray<Broken> | undefined) ?? []),
        ...brokenKey(request.body)
      ]
      if (broken.length > 0) {
        const { code, details } = refusalOf(broken)
        return (await replay()) ?? refuse(reply, code, details)
      }
      const body = request.body
      const pixKey = parsePixKey(body.pix_key_type, body.pix_key)
      if (pixKey._tag !== "Valid") throw new Error("the key was valid a moment ago")
      if (typeof body.webhook_url === "string" && !(await mayReceive(body.webhook_url))) {
        return (await replay()) ?? refuse(reply, "INVALID_WEBHOOK_URL", ["webhook_url"])
      }
      if (caller.status !== "active") return (await replay()) ?? refuse(reply, "ACCOUNT_INACTIVE")
      if (caller.onboarding_status !== "completed") return (await replay()) ?? refuse(reply, "ACCOUNT_RESTRICTED")

      const { epochMs, id } = nextId()
      const fee = payoutFee(body.amount, {
        fixed: Number(caller.payout_fee_fixed),
        basis_points: caller.payout_fee_basis_points
      })
      const total = body.amount + fee
      const document = body.recipient_document ? parseDocument(body.recipient_document)?.value : undefined

      const decided = await transaction(async (client): Promise<PayoutRow | "replayed" | undefined> => {
        const { rows: locked } = await client.query<{ balance: string }>({
          ...lockAvailable,
          values: [caller.account_id]
        })
        const window = caller.payout_duplicate_window
        const twin =
          window === 0
            ? undefined
            : await client.query<{ id: string }>({
                ...findTwin,
                values: [
                  caller.account_id,
                  lowestIdAt(epochMs - window * 1000),
                  body.pix_key_type,
                  pixKey.value,
                  body.amount
                ]
              })
        const duplicateOf = twin?.rows[0]?.id ?? null
        const goesOn = caller.auto_payout_enabled && duplicateOf === null
        const row: PayoutRow = {
          id,
          account_id: caller.account_id,
          application_id: caller.application_id,
          status: goesOn ? "processing" : "pending",
          method: "pix",
          amount: body.amount,
          fee,
          description: body.description ?? null,
          reference: body.reference ?? null,
          recipient_name: body.recipient_name ?? null,
          recipient_document: document ?? null,
          pix_key_type: body.pix_key_type,
          pix_key: pixKey.value,
          webhook_url: body.webhook_url ?? null,
          webhook_secret: body.webhook_secret ? seal(body.webhook_secret) : null,
          end_to_end_id: null,
          failure_reason: null,
          processed_at: null,
          created_at: new Date(epochMs),
          sequence: 1
        }
        const { rowCount } = await client.query({
          ...insertPayout,
          values: [
            row.id,
            row.account_id,
            row.application_id,
            key,
            row.status,
            row.amount,
            row.fee,
            row.description,
            row.reference,
            row.recipient_name,
            row.recipient_document,
            row.pix_key_type,
            row.pix_key,
            row.webhook_url,
            row.webhook_secret,
            duplicateOf,
            row.created_at
          ]
        })
        if (rowCount === 0) return "replayed"
        if (Number(locked[0]?.balance ?? 0) < total) return undefined
        await transfer(client, row, ["available", "payouts_in_transit"], total)
        await add(client, row.account_id, "available", -total)
        await add(client, row.account_id, "payouts_in_transit", total)
        const actions = goesOn ? ["created", "processing"] : ["created"]
        await tell(client, row, actions, actions)
        return row
      })

      if (decided === undefined) return refuse(reply, "INSUFFICIENT_BALANCE")
      if (decided === "replayed") return (await replay()) ?? refuse(reply, "INTERNAL_ERROR")
      return reply.code(201).send(toPayout(decided))
    }
  )

  // ---- the acquirer: in this process; it settles what it took after a while ----

  const settleMs = Number(process.env["SIMULATOR_SETTLE_MS"] ?? 1000)
  const taken = new Map<string, number>()

  const settle = (row: PayoutRow) =>
    transaction(async (client) => {
      const fails = row.pix_key === "fail@simulator.test"
      const [amount, fee] = [Number(row.amount), Number(row.fee)]
      const settled: PayoutRow = {
        ...row,
        status: fails ? "failed" : "completed",
        end_to_end_id: fails ? null : endToEndId(row.id),
        failure_reason: fails ? "simulated failure" : null,
        sequence: row.sequence + 1
      }
      const { rowCount } = await client.query({
        ...settlePayout,
        values: [row.id, settled.status, settled.end_to_end_id, settled.failure_reason, row.sequence]
      })
      if (rowCount === 0) return undefined
      const action = settled.status
      await tell(client, settled, [action], fails ? [action] : [])
      // Ledger accounts in one order everywhere: the installation's first, which all payouts share, then the account's.
      if (fails) {
        await transfer(client, settled, ["payouts_in_transit", "available"], amount + fee)
        await add(client, row.account_id, "available", amount + fee)
      } else {
        await transfer(client, settled, ["payouts_in_transit", "acquirer"], amount)
        await transfer(client, settled, ["payouts_in_transit", "fees"], fee)
        await add(client, INSTALLATION, "acquirer", amount)
        await add(client, INSTALLATION, "fees", fee)
      }
      await add(client, row.account_id, "payouts_in_transit", -amount - fee)
      return settled
    })

  const handOverOne = async (row: PayoutRow & { readonly hand_overs: number }) => {
    const now = Date.now()
    const settlesAt = taken.get(row.id)
    if (settlesAt === undefined) taken.set(row.id, now + settleMs)
    if (row.processed_at !== null && settlesAt !== undefined && settlesAt <= now) {
      await settle(row)
      taken.delete(row.id)
      return
    }
    const askAgainInMs = Math.min(1000 * 2 ** row.hand_overs, 60_000)
    await pool.query({ ...noteHandOver, values: [row.id, new Date(now), askAgainInMs] })
  }

  return async () => {
    while (true) {
      const { rows } = await pool.query<PayoutRow & { readonly hand_overs: number }>(claimDue)
      if (rows.length === 0) return
      const rest = rows.values()
      const worker = async () => {
        // One that fails holds up no other: its lease runs out.
        for (const row of rest) await handOverOne(row).catch(() => {})
      }
      await Promise.all(Array.from({ length: HAND_OVERS_AT_ONCE }, worker))
    }
  }
}

/** Of the pool's connections the others stay with the requests. */
const HAND_OVERS_AT_ONCE = 4

/** A key that is not of its type's form: a rule over two fields. */
const brokenKey = (body: unknown): ReadonlyArray<Broken> => {
  if (typeof body !== "object" || body === null) return []
  const { pix_key: key, pix_key_type: type } = body as Partial<CreatePayout>
  if (type === undefined || !["cpf", "cnpj", "email", "phone", "random"].includes(type)) return []
  if (typeof key !== "string" || !isPrintable(key)) return []
  const { _tag } = parsePixKey(type, key)
  if (_tag === "Valid") return []
  return [
    {
      instancePath: "/pix_key",
      keyword: "format",
      params: { format: _tag === "InvalidDocument" ? "document" : "pix_key" }
    }
  ]
}

/** The same for ever: from the id's own digits. */
const endToEndId = (id: string): string => {
  const digits = id.replaceAll("-", "")
  return makeEndToEndId({
    ispb: "00000000",
    atMs: Number.parseInt(digits.slice(0, 12), 16),
    suffix: digits.slice(-11)
  })
}
