/**
 * A peer on Fastify: its application, its keys, its request log and its life.
 *
 * The key is looked up for every request (no cache, so that a revocation holds at once), and every request is recorded,
 * its line written with others. It keeps no metrics, and writes no log.
 */
// This is no Effect program.
// @effect-diagnostics globalDate:off globalTimers:off
import { parseDocument } from "@pix-payments/domain/Document"
import { isPrintable } from "@pix-payments/domain/Text"
import Fastify from "fastify"
import { randomUUID } from "node:crypto"
import { Pool } from "pg"
import { charges, type ChargeStore } from "./charges.ts"
import type { Caller, Guard } from "./contract.ts"
import { hashOf, nextId } from "./guards.ts"
import { type PayoutStore, payouts } from "./payouts.ts"
import { refuse } from "./refusals.ts"

/** The keys that are accepted now; whoever looks one up adds its hash. */
export const selectCaller = `SELECT k.hash, k.id AS key_id, k.scopes, p.id AS application_id, a.id AS account_id, a.name,
    a.document, a.status, a.default_expires_in, a.onboarding_status, a.auto_payout_enabled, a.payout_fee_fixed,
    a.payout_fee_basis_points, a.payout_duplicate_window
  FROM api_keys k
  JOIN applications p ON p.id = k.application_id
  JOIN accounts a ON a.id = p.account_id
  WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AND p.active`

/** A line of the request log. */
interface Line {
  readonly id: string
  readonly request_id: string
  readonly key_id: string | null
  readonly account_id: string | null
  readonly route: string
  readonly status: number
  readonly duration_us: number
  readonly at: number
}

/** How a peer keeps things. */
export interface Stores {
  /** Who has the key with this SHA-256; undefined for one that is not accepted. */
  readonly findCaller: (hash: string) => Promise<Caller | undefined>
  readonly charges: ChargeStore
  readonly payouts: PayoutStore
  readonly writeLines: (lines: ReadonlyArray<Line>) => Promise<unknown>
}

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller | null
  }
}

/** The pool of a peer: PORT, DATABASE_URL and DATABASE_CONNECTIONS are its environment. */
export const makePool = (connections: number): Pool => {
  const pool = new Pool({
    connectionString: process.env["DATABASE_URL"],
    max: Number(process.env["DATABASE_CONNECTIONS"] ?? connections),
    statement_timeout: 5000,
    lock_timeout: 5000,
    idle_in_transaction_session_timeout: 15_000,
    // As our server: a statement prepared on an empty table must not keep a sequential scan.
    options: "-c timezone=UTC -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
  })
  // An idle connection that breaks is replaced by the pool.
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
      if (typeof key !== "string" || key === "" || key.length > 512) return refuse(reply, "UNAUTHORIZED")
      const caller = await stores.findCaller(hashOf(key))
      if (caller === undefined) return refuse(reply, "UNAUTHORIZED")
      request.caller = caller
      if (!caller.scopes.includes(scope)) return refuse(reply, "INSUFFICIENT_SCOPE", [scope])
      return undefined
    },
    requireIdempotencyKey: async (request, reply) => {
      const key = request.headers["idempotency-key"]
      if (key === undefined || key === "") return refuse(reply, "IDEMPOTENCY_KEY_REQUIRED")
      if (typeof key !== "string" || !/^[!-~]{8,255}$/.test(key)) {
        return refuse(reply, "VALIDATION_ERROR", ["Idempotency-Key"])
      }
      return undefined
    },
    callerOf: ({ caller }) => {
      if (caller === null) throw new Error("the guard has not run")
      return caller
    }
  }

  const recover = charges(app, guard, stores.charges)
  const handOver = payouts(app, guard, stores.payouts)

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
  const lines: Array<Line> = []

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
      await stores.writeLines(batch).catch((error: unknown) => {
        lines.unshift(...batch)
        throw error
      })
    }
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
