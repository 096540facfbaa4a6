/**
 * The application of the peers on Fastify: authentication, routes, request log, background work and shutdown.
 *
 * Guarantees:
 * - the API key is looked up for every request, so that a revocation takes effect immediately;
 * - every request is in the request log, where a peer has one, whose rows are inserted in batches.
 *
 * It has no metrics and writes no log.
 */
// Not an Effect program.
// @effect-diagnostics globalDate:off globalTimers:off
import { parseDocument } from "@pix-payments/domain/Document"
import { isPrintable } from "@pix-payments/domain/Text"
import Fastify from "fastify"
import { randomUUID } from "node:crypto"
import { Pool } from "pg"
import type { ChargeStore } from "./charge.ts"
import { registerCharges } from "./charges.ts"
import type { Caller, Guard } from "./contract.ts"
import { sendError } from "./errors.ts"
import { nextId } from "./ids.ts"
import type { PayoutStore } from "./payout.ts"
import { registerPayouts } from "./payouts.ts"
import { hashOf } from "./secrets.ts"

/** All accepted API keys; the peers append a condition on the hash. */
export const selectCaller = `SELECT k.hash, k.id AS key_id, k.scopes, p.id AS application_id, a.id AS account_id, a.name,
    a.document, a.status, a.default_expires_in, a.onboarding_status, a.auto_payout_enabled, a.payout_fee_fixed,
    a.payout_fee_basis_points, a.payout_duplicate_window
  FROM api_keys k
  JOIN applications p ON p.id = k.application_id
  JOIN accounts a ON a.id = p.account_id
  WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AND p.active`

/** A row of the request log. */
interface RequestLogRow {
  readonly id: string
  readonly request_id: string
  readonly key_id: string | null
  readonly account_id: string | null
  readonly route: string
  readonly status: number
  readonly duration_us: number
  readonly at: number
}

/** The data access of a peer. */
export interface Stores {
  /** The caller by the SHA-256 of the API key; undefined where the key is not accepted. */
  readonly findCaller: (hash: string) => Promise<Caller | undefined>
  readonly charges: ChargeStore
  readonly payouts: PayoutStore
  /** Absent where the peer has no request log. */
  readonly insertRequests?: (rows: ReadonlyArray<RequestLogRow>) => Promise<unknown>
}

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller | null
  }
}

/** A pool for DATABASE_URL with DATABASE_CONNECTIONS, or `connections`. */
export const makePool = (connections: number): Pool => {
  const pool = new Pool({
    connectionString: process.env["DATABASE_URL"],
    max: Number(process.env["DATABASE_CONNECTIONS"] ?? connections),
    statement_timeout: 5000,
    lock_timeout: 5000,
    idle_in_transaction_session_timeout: 15_000,
    // The planner settings of our server: a statement prepared on an empty table must not keep a sequential scan.
    options: "-c timezone=UTC -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
  })
  // The pool replaces an idle connection that breaks.
  pool.on("error", () => {})
  return pool
}

/** Serves until SIGTERM. */
export const serve = async (pool: Pool, stores: Stores): Promise<void> => {
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
  app.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id)
  })

  const guard: Guard = {
    authenticate: (scope) => async (request, reply) => {
      const key = request.headers["x-api-key"]
      if (typeof key !== "string" || key === "" || key.length > 512) return sendError(reply, "UNAUTHORIZED")
      const caller = await stores.findCaller(hashOf(key))
      if (caller === undefined) return sendError(reply, "UNAUTHORIZED")
      request.caller = caller
      if (!caller.scopes.includes(scope)) return sendError(reply, "INSUFFICIENT_SCOPE", [scope])
      return undefined
    },
    requireIdempotencyKey: async (request, reply) => {
      const key = request.headers["idempotency-key"]
      if (key === undefined || key === "") return sendError(reply, "IDEMPOTENCY_KEY_REQUIRED")
      if (typeof key !== "string" || !/^[!-~]{8,255}$/.test(key)) {
        return sendError(reply, "VALIDATION_ERROR", ["Idempotency-Key"])
      }
      return undefined
    },
    callerOf: ({ caller }) => {
      if (caller === null) throw new Error("authenticate has not run")
      return caller
    }
  }

  const recoverCharges = registerCharges(app, guard, stores.charges)
  const submitPayouts = registerPayouts(app, guard, stores.payouts)

  app.get("/health/ready", async () => {
    await pool.query("SELECT 1")
    return { status: "ok" }
  })

  app.setErrorHandler((error, _request, reply) => {
    const status = error instanceof Error && "statusCode" in error ? error.statusCode : 500
    if (status === 413) return sendError(reply, "PAYLOAD_TOO_LARGE")
    return sendError(reply, status === 400 || status === 415 ? "VALIDATION_ERROR" : "INTERNAL_ERROR")
  })
  app.setNotFoundHandler((_request, reply) => sendError(reply, "NOT_FOUND"))

  // ---- background work ----

  /** Rows of the request log that are not inserted yet, at most 100,000. */
  const pending: Array<RequestLogRow> = []

  const { insertRequests } = stores
  if (insertRequests !== undefined) {
    app.addHook("onResponse", async (request, reply) => {
      if (!request.url.startsWith("/v1/")) return
      const { epochMs, id } = nextId()
      if (pending.length >= 100_000) pending.splice(0, 2000)
      pending.push({
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
  }

  const flush = async () => {
    if (insertRequests === undefined) return
    while (pending.length > 0) {
      const batch = pending.splice(0, 2000)
      await insertRequests(batch).catch((error: unknown) => {
        pending.unshift(...batch)
        throw error
      })
    }
  }

  const stopLoops = [every(250, flush), every(1000, recoverCharges), every(100, submitPayouts)]

  process.once("SIGTERM", () => {
    for (const stop of stopLoops) stop()
    void app
      .close()
      .then(flush)
      .then(() => pool.end())
      .then(() => process.exit(0))
  })

  await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 0) })
}

/** Runs `round` forever with a pause in between. A failed round is retried after the pause. Call the result to stop. */
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
