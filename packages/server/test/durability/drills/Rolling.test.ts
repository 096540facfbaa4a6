/**
 * A rolling restart behind the load balancers of `deploy/`: two servers are restarted one after the other under load, and
 * no request fails. `pnpm run drill:rolling` runs it longer, and prints what callers saw.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import * as Http from "node:http"
import { type Balancer, type Ports, startBalancer, versionOf } from "../../support/Balancers.ts"
import { someCharge } from "../../support/ChargeRequests.ts"
import { createMigratedDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { closedPort, eventually } from "../../support/Receiver.ts"
import { clientOf } from "../../support/TestService.ts"

const ROUNDS = Number(process.env["ROLLING_ROUNDS"] ?? 1)
const CALLERS = 8
const OPERATOR_TOKEN = "the operator's token of these tests"

describe("a rolling restart of two servers", () => {
  for (const balancer of ["nginx", "haproxy"] as const) {
    const version = versionOf(balancer)
    it.live.skipIf(version === undefined)(
      version === undefined
        ? `behind ${balancer}: skipped (not installed here)`
        : `behind ${balancer} ${version}: every first try is answered`,
      () =>
        Effect.gen(function* () {
          const seen = yield* restarted(balancer)
          if (process.env["ROLLING_ROUNDS"] !== undefined) yield* Effect.sync(() => print(balancer, seen))
          assert.isAbove(seen.answered, 50)
          assert.deepStrictEqual(
            [seen.firstTriesFailed, seen.lost, seen.twice, seen.failures],
            [0, 0, 0, []],
            "no first try failed, nothing lost, nothing twice"
          )
        }).pipe(Effect.scoped),
      600_000 * ROUNDS
    )
  }
})

interface Seen {
  readonly restarts: number
  readonly answered: number
  /** Requests that no balancer sends twice. */
  readonly unrepeatable: number
  readonly secondsWithout201: number
  readonly firstTriesFailed: number
  readonly failures: ReadonlyArray<string>
  readonly lost: number
  readonly twice: number
}

const print = (balancer: Balancer, seen: Seen): void => {
  const rows = [
    ["restarts", seen.restarts],
    ["answered with 201", seen.answered],
    ["sent once only", seen.unrepeatable],
    ["longest time without a 201, s", seen.secondsWithout201.toFixed(2)],
    ["first tries failed", seen.firstTriesFailed],
    ["answered, and lost", seen.lost],
    ["done twice", seen.twice]
  ] as const
  const table = rows.map(([name, value]) => `| ${name.padEnd(30)} | ${String(value).padStart(8)} |`)
  process.stdout.write(`\nbehind ${balancer}\n${table.join("\n")}\n${seen.failures.join("\n")}\n`)
}

/** Restarts both servers, one after the other, and returns what callers saw. */
const restarted = Effect.fnUntraced(function* (balancer: Balancer) {
  const databaseUrl = yield* createMigratedDatabase
  const folder = yield* temporaryFolder
  const ports = Effect.all({ public: closedPort, operator: closedPort })
  const addresses: readonly [Ports, Ports] = [yield* ports, yield* ports]
  const front = yield* ports
  const start = ({ operator, public: listened }: Ports) =>
    startProcess({
      DATABASE_URL: Redacted.value(databaseUrl),
      DATA_DIR: folder,
      DATABASE_CONNECTIONS: "4",
      OPERATOR_TOKEN,
      PORT: String(listened),
      OPERATOR_PORT: String(operator),
      SECRETS_KEYS: Buffer.alloc(32, 9).toString("base64"),
      SHUTDOWN_DELAY_MS: "2000"
    })
  const servers = [yield* start(addresses[0]), yield* start(addresses[1])]
  yield* startBalancer(balancer, front, addresses, folder)
  const { makeCaller } = yield* clientOf(
    { publicUrl: `http://127.0.0.1:${front.public}`, operatorUrl: `http://127.0.0.1:${front.operator}` },
    OPERATOR_TOKEN
  )
  const { key } = yield* makeCaller()

  // nginx checks no health: what it may not send twice can meet the port as it closes (docs/operations/install.md).
  const load = startCallers(`http://127.0.0.1:${front.public}`, key, balancer === "nginx" ? 0 : CALLERS)
  yield* load.until(20)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, address] of addresses.entries()) {
      servers[index]!.signal("SIGTERM")
      assert.strictEqual(yield* servers[index]!.ended, 0)
      servers[index] = yield* start(address)
      // The balancer must see that it is back before the other one leaves.
      const connections = Effect.promise(() => served(address))
      yield* eventually(connections, (count) => count > 0)
    }
  }
  yield* load.until(load.answered() + 20)
  const answers = yield* Effect.promise(() => load.stop())

  const client = yield* Layer.build(PgClient.layer({ url: databaseUrl }))
  const sql = Context.get(client, SqlClient)
  const rows = yield* sql<{ id: string; key: string }>`SELECT id, idempotency_key AS key FROM charges`
  const stored = new Set(rows.map(({ id }) => id))
  const ids = [...answers.ids.values()].flatMap((each) => [...each])
  return {
    restarts: 2 * ROUNDS,
    answered: answers.ids.size,
    unrepeatable: answers.unrepeatable,
    secondsWithout201: answers.longestGapMs / 1000,
    firstTriesFailed: answers.failures.length,
    failures: [...new Set(answers.failures)].slice(0, 10),
    lost: ids.filter((id) => !stored.has(id)).length,
    twice: ids.length - answers.ids.size + (rows.length - new Set(rows.map((row) => row.key)).size)
  } satisfies Seen
})

/** How many requests of `/v1` a server has answered since it started. */
const served = async ({ operator }: Ports): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${operator}/metrics`)).text()
  return [...text.matchAll(/^pix_payments_http_requests_total\{listener="public".*status="201"\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0
  )
}

/** Callers who create charges over kept connections, and repeat with their key what is not answered 201. */
const startCallers = (url: string, key: string, unrepeatableCallers: number) => {
  const agent = new Http.Agent({ keepAlive: true, maxSockets: 2 * CALLERS })
  const failures: Array<string> = []
  const ids = new Map<string, Set<string>>()
  const state = { isOver: false, lastAt: performance.now(), longestGapMs: 0, unrepeatable: 0 }

  const ask = (method: string, path: string, idempotencyKey: string, sent?: unknown) =>
    new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
      const body = sent === undefined ? "" : JSON.stringify(sent)
      const headers = {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "x-api-key": key,
        "idempotency-key": idempotencyKey
      }
      const request = Http.request(`${url}${path}`, { agent, method, headers }, (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => {
          text += chunk
        })
        response.on("error", reject)
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
      })
      request.on("error", reject)
      request.end(body)
    })

  const caller = async () => {
    while (!state.isOver) {
      const idempotencyKey = randomUUID()
      for (let tries = 0; ; tries++) {
        const answer = await ask("POST", "/v1/charges", idempotencyKey, someCharge).catch(asAnswer)
        if (answer.status === 201) {
          const { id } = JSON.parse(answer.text) as { readonly id: string }
          ids.set(idempotencyKey, (ids.get(idempotencyKey) ?? new Set()).add(id))
          const now = performance.now()
          state.longestGapMs = Math.max(state.longestGapMs, now - state.lastAt)
          state.lastAt = now
          break
        }
        if (tries === 0) failures.push(`${answer.status} ${answer.text}`)
        await pause(50)
      }
      await pause(10)
    }
  }

  /** Asks for what no balancer may send twice: an endpoint, which is then removed. */
  const unrepeatable = async () => {
    for (; !state.isOver; await pause(5)) {
      const path = "/v1/webhooks"
      const made = await ask("POST", path, "", { url: "https://example.com/", events: ["charge.pix.paid"] }).catch(
        asAnswer
      )
      state.unrepeatable++
      if (made.status !== 201) {
        failures.push(`POST ${path}: ${made.status} ${made.text}`)
        continue
      }
      const { id } = JSON.parse(made.text) as { readonly id: string }
      const removed = await ask("DELETE", `${path}/${id}`, "").catch(asAnswer)
      if (removed.status !== 204) failures.push(`DELETE ${path}: ${removed.status} ${removed.text}`)
    }
  }
  const all = [...Array.from({ length: CALLERS }, caller), ...Array.from({ length: unrepeatableCallers }, unrepeatable)]

  return {
    answered: () => ids.size,
    /** Waits until so many have been answered. */
    until: (count: number) =>
      eventually(
        Effect.sync(() => ids.size),
        (answered) => answered >= count
      ),
    stop: async () => {
      state.isOver = true
      await Promise.all(all)
      agent.destroy()
      return { ids, failures, longestGapMs: state.longestGapMs, unrepeatable: state.unrepeatable }
    }
  }
}

const asAnswer = (error: unknown) => ({ status: 0, text: String(error) })

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
