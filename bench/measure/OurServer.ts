/**
 * Starts our server with its default settings, from this checkout or from another one.
 */
import { allScopes } from "@pix-payments/domain/Scope"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { account } from "../load/Accounts.ts"
import { BenchError, freePort, spawnNode, startNode } from "./Processes.ts"

/** What a contender is started with. */
export interface StartOptions {
  /** An empty or seeded database. */
  readonly databaseUrl: string
  /** An empty folder. */
  readonly folder: string
  /** More arguments of `node`, for example a profiler. */
  readonly nodeArgs: ReadonlyArray<string>
  /** The size of the connection pool; the contender's default where absent. */
  readonly connections?: number
}

/** The flags of `npm start`. */
const nodeFlags = ["--max-semi-space-size=16"]

const here = fileURLToPath(new URL("../..", import.meta.url))

/** The program, built once in a run. An earlier checkout may have no build. */
const programOf = (checkout: string, name: string): string => {
  const build = join(checkout, "packages/server/build.mjs")
  if (!existsSync(build)) return join(checkout, `packages/server/src/${name}.ts`)
  if (!built.has(checkout)) execFileSync(process.execPath, [build], { stdio: ["ignore", "ignore", "inherit"] })
  built.add(checkout)
  return join(checkout, `packages/server/dist/${name}.js`)
}

const built = new Set<string>()

export const poolSize = (connections: number | undefined): Readonly<Record<string, string>> =>
  connections === undefined ? {} : { DATABASE_CONNECTIONS: String(connections) }

/** Our server without an account; settings that are not given have their defaults. */
export const startEmptyServer = Effect.fnUntraced(function* (
  { connections, databaseUrl, folder, nodeArgs }: StartOptions,
  settings: Readonly<Record<string, string>> = {},
  checkout = here
) {
  const port = yield* freePort
  const operatorPort = yield* freePort
  const token = randomBytes(24).toString("hex")
  const main = programOf(checkout, "main")
  const environment = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, "data"),
    PORT: String(port),
    OPERATOR_PORT: String(operatorPort),
    OPERATOR_TOKEN: token,
    SECRETS_KEYS: SECRETS_KEY,
    ACQUIRER: "simulator",
    LOG_LEVEL: "error",
    SHUTDOWN_DELAY_MS: "0",
    ...poolSize(connections),
    ...settings
  }
  const { child, startedInMs } = yield* startNode(
    "our server",
    spawnNode("our server", [...nodeArgs, ...nodeFlags, main], environment),
    `http://127.0.0.1:${operatorPort}/health/ready`
  )
  return { child, port, operatorPort, token, startedInMs }
})

/** Our server with an account, an application and a key, created over its operator API. */
export const startServer = Effect.fnUntraced(function* (
  options: StartOptions,
  settings: Readonly<Record<string, string>> = {},
  checkout = here
) {
  const server = yield* startEmptyServer(options, settings, checkout)
  const create = (path: string, body: object) =>
    Effect.tryPromise({
      try: async () => {
        const response = await fetch(`http://127.0.0.1:${server.operatorPort}/operator/v1${path}`, {
          method: "POST",
          headers: { "x-operator-token": server.token, "content-type": "application/json" },
          body: JSON.stringify(body)
        })
        const text = await response.text()
        if (response.status !== 201) throw new Error(`${response.status} ${text}`)
        return JSON.parse(text) as { readonly id: string; readonly key?: string }
      },
      catch: (cause) => new BenchError({ message: `POST ${path} fails: ${String(cause)}` })
    })
  const { id: accountId } = yield* create("/accounts", account)
  const application = yield* create(`/accounts/${accountId}/applications`, { name: "bench" })
  const { key } = yield* create(`/applications/${application.id}/keys`, { name: "bench", scopes: allScopes })
  if (key === undefined) return yield* new BenchError({ message: "the created API key has no text" })
  return { ...server, pid: server.child.pid, apiKey: key }
})

/** Runs `pnpm run maintain`, which removes no row here. */
export const maintain = Effect.fnUntraced(function* (databaseUrl: string) {
  const main = programOf(here, "maintain")
  const environment = { DATABASE_URL: databaseUrl, MIGRATIONS_DATABASE_URL: databaseUrl, ...keepsAll }
  const child = yield* spawnNode("maintain", [main], environment)
  const code = yield* Effect.promise(
    () => new Promise<number | null>((resolve) => void child.process.once("exit", resolve))
  )
  if (code !== 0) return yield* new BenchError({ message: `maintain fails: ${child.recentOutput()}` })
}, Effect.scoped)

/** Settings that remove no row. */
export const keepsAll = Object.fromEntries(
  ["REQUESTS", "ATTEMPTS", "NOTIFICATIONS", "DELIVERIES", "EVENTS"].map((kind) => [`RETENTION_${kind}_DAYS`, "36500"])
)

/** One for all starts: a later one reads what an earlier one sealed. */
const SECRETS_KEY = randomBytes(32).toString("base64")
