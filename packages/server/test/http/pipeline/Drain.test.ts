/** After SIGTERM: not ready, still answering, each answer the last of its connection. Then the ports close. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Http from "node:http"
import { startProcess } from "../../support/Process.ts"
import { createMigratedDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { eventually } from "../../support/Receiver.ts"

describe("A server after SIGTERM", () => {
  it.live.each([1, 2])(
    "OPR-8: is not ready, and answers everybody with `Connection: close` for `SHUTDOWN_DELAY_MS` (%i processes)",
    (processes) =>
      Effect.gen(function* () {
        const service = yield* startProcess({
          DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
          DATA_DIR: yield* temporaryFolder,
          OPERATOR_TOKEN: "the operator's token of these tests",
          SHUTDOWN_DELAY_MS: "10000",
          DATABASE_CONNECTIONS: "4",
          PROCESSES: String(processes)
        })
        // Idle open connections at SIGTERM.
        const idle = yield* Effect.acquireRelease(
          Effect.sync(() => Array.from({ length: 6 }, () => new Http.Agent({ keepAlive: true, maxSockets: 1 }))),
          (agents) => Effect.sync(() => agents.forEach((agent) => agent.destroy()))
        )
        const account = `${service.publicUrl}/v1/account`
        for (const agent of idle) {
          const { connection, status } = yield* get(account, agent)
          assert.deepStrictEqual([status, connection], [401, "keep-alive"])
        }
        // With several processes, all of them become ready.
        const health = `${service.operatorUrl}/health/ready`
        const ready = yield* get(health)
        assert.deepStrictEqual([ready.status, ready.body["status"]], [200, "ok"])

        service.signal("SIGTERM")
        // Of several processes, a busy one may get none of a few.
        yield* eventually(
          Effect.forEach(Array.from({ length: processes === 1 ? 1 : 12 }), () => get(health)),
          (answers) => answers.every(({ status }) => status === 503)
        )
        const stopping = yield* get(health)
        assert.deepStrictEqual([stopping.body["status"], stopping.connection], ["stopping", "close"])
        for (const agent of [...idle, undefined, undefined, undefined, undefined]) {
          const { connection, status } = yield* get(account, agent)
          assert.deepStrictEqual([status, connection], [401, "close"])
        }
        assert.strictEqual((yield* get(`${service.operatorUrl}/health/live`)).connection, "close")
        assert.strictEqual(yield* service.ended, 0)
        const refused = yield* Effect.flip(Effect.tryPromise(() => ask(account)))
        assert.include(String((refused.cause as { readonly code?: unknown }).code), "ECONNREFUSED")
      }).pipe(Effect.scoped)
  )
})

interface Seen {
  readonly status: number
  readonly connection: string | undefined
  readonly body: Readonly<Record<string, unknown>>
}

/** Asks over a connection of this agent, or over a new one. */
const ask = (url: string, agent: Http.Agent | undefined = undefined) =>
  new Promise<Seen>((resolve, reject) => {
    const request = Http.get(url, { agent: agent ?? new Http.Agent({ keepAlive: true }) }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("error", reject)
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          connection: response.headers.connection,
          body: JSON.parse(Buffer.concat(chunks).toString()) as Seen["body"]
        })
      )
    })
    request.on("error", reject)
  })

const get = (url: string, agent?: Http.Agent) => Effect.promise(() => ask(url, agent))
