/**
 * Lists, resources and reports of a grown database: the time of an answer, and the pages of 8 KiB that PostgreSQL touches
 * for it.
 */
import * as Effect from "effect/Effect"
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { text } from "node:stream/consumers"
import { BenchError } from "../measure/Processes.ts"
import { withDatabase } from "../measure/Database.ts"

interface Read {
  readonly path: string
  readonly medianMs: number
  readonly slowestMs: number
  /** In the median of the runs, without what the service's loops touch in the same time. */
  readonly pages: number
}

/** Paths of one account with `/v1`, and of the operator surface. */
const pathsOf = (chargeId: string, accountId: string): ReadonlyArray<string> => [
  `/v1/charges/${chargeId}`,
  "/v1/charges",
  ...["pending", "paid", "expired", "failed", "refunded"].map((status) => `/v1/charges?status=${status}`),
  "/v1/payouts",
  "/v1/balance",
  "/operator/v1/charges",
  `/operator/v1/charges?account_id=${accountId}`,
  `/operator/v1/charges/${chargeId}/timeline`,
  "/operator/v1/deliveries",
  "/operator/v1/deliveries?status=failed",
  "/operator/v1/requests",
  "/operator/v1/requests?status=500",
  "/operator/v1/events?after=oldest",
  "/operator/v1/ledger/entries",
  "/operator/v1/waiting",
  "/operator/v1/stats",
  `/operator/v1/stats?account_id=${accountId}`,
  "/operator/v1/ledger/verify",
  // Every charge has this name, and no charge the other one, the amount or the document.
  ...["maria oliv", "52998224725", "352,21", "zebedeu"].map((sought) => `/operator/v1/search?q=${encodeURI(sought)}`),
  "/operator/v1/charges?q=maria+oliv",
  "/operator/v1/charges?q=maria+oliv&status=paid",
  `/operator/v1/charges?account_id=${accountId}&amount_min=35221&amount_max=35221`,
  "/operator/v1/charges?customer_document=11144477735",
  "/operator/v1/charges/summary?status=paid"
]

export interface Server {
  readonly port: number
  readonly operatorPort: number
  readonly token: string
  readonly apiKey: string
}

/** Reads of the account of the oldest charge. */
export const measureReads = Effect.fnUntraced(function* (server: Server, databaseUrl: string, runs: number) {
  const [oldest] = yield* withDatabase(databaseUrl, async (database) => {
    const { rows } = await database.query<{ id: string; account_id: string }>(
      "SELECT id, account_id FROM charges ORDER BY id LIMIT 1"
    )
    return rows
  })
  if (oldest === undefined) return yield* new BenchError({ message: "there is no charge" })
  const reads = yield* measurePaths(server, databaseUrl, pathsOf(oldest.id, oldest.account_id), runs)
  return reads.map((read) => ({
    ...read,
    path: read.path.replaceAll(oldest.id, "{id}").replaceAll(oldest.account_id, "{account}")
  }))
})

/** Reads each path `runs` times, after one time that is not measured. */
export const measurePaths = Effect.fnUntraced(function* (
  server: Server,
  databaseUrl: string,
  paths: ReadonlyArray<string>,
  runs: number
) {
  const idlePages: Array<number> = []
  for (let run = 0; run < runs; run++) {
    const before = yield* touched(databaseUrl)
    idlePages.push((yield* touched(databaseUrl)) - before)
  }
  return yield* Effect.forEach(paths, (path) =>
    Effect.gen(function* () {
      yield* get(server, path)
      const times: Array<number> = []
      const pages: Array<number> = []
      for (let run = 0; run < runs; run++) {
        const before = yield* touched(databaseUrl)
        const at = performance.now()
        yield* get(server, path)
        times.push(performance.now() - at)
        pages.push((yield* touched(databaseUrl)) - before)
      }
      return {
        path,
        medianMs: median(times),
        slowestMs: Math.max(...times),
        pages: Math.max(0, median(pages) - median(idlePages))
      } satisfies Read
    })
  )
})

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

/** Statistics of a session are written when it has been idle for a second. */
const touched = (databaseUrl: string) =>
  withDatabase(databaseUrl, async (database) => {
    await new Promise((resolve) => setTimeout(resolve, STATISTICS_DELAY_MS))
    const { rows } = await database.query<{ pages: string }>(
      "SELECT blks_hit + blks_read AS pages FROM pg_stat_database WHERE datname = current_database()"
    )
    return Number(rows[0]?.pages)
  })

const STATISTICS_DELAY_MS = 1200

export const get = ({ apiKey, operatorPort, port, token }: Server, path: string) =>
  Effect.tryPromise({
    try: async () => {
      const url = `http://127.0.0.1:${path.startsWith("/v1") ? port : operatorPort}${path}`
      const headers: Record<string, string> = path.startsWith("/v1")
        ? { "x-api-key": apiKey }
        : { "x-operator-token": token }
      // `fetch` gives up after five minutes.
      const [response] = (await once(request(url, { headers }).end(), "response")) as [IncomingMessage]
      const body = await text(response)
      const { statusCode = 0 } = response
      if (statusCode !== 404 && statusCode >= 300) throw new Error(`${statusCode} ${body}`)
      return body
    },
    catch: (cause) => new BenchError({ message: `GET ${path} fails: ${String(cause)}` })
  })
