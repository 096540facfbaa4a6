/** One truth for all worker processes: whichever answers a scrape, also after one has ended. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { readFileSync } from "node:fs"
import { created } from "../support/ChargeRequests.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { startProcess } from "../support/Process.ts"
import { isMissing, parseExposition, promtool, runPromtool, sumOf } from "../support/Prometheus.ts"
import { eventually } from "../support/Receiver.ts"
import { clientOf, TestService } from "../support/TestService.ts"

const token = "the operator's token of these tests"

describe("The metrics of several worker processes", () => {
  it.live("OPR-310: have every request once, whichever worker answers, and never fall when a worker is killed", () =>
    Effect.gen(function* () {
      const service = yield* startProcess({
        DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN: token,
        DATABASE_CONNECTIONS: "4",
        PROCESSES: "2"
      })
      const client = yield* clientOf(service, token)
      const { key } = yield* client.makeCaller()
      const create = created(key).pipe(
        Effect.provideService(TestService, TestService.of({ ...client, databaseUrl: Redacted.make("") }))
      )
      // A new connection each time, so that workers take turns. By any host name.
      const scrape = client.operate("GET", "/metrics", { headers: { connection: "close", host: "pix-7.internal" } })
      const scraped = Effect.map(scrape, ({ status, text }) => {
        assert.strictEqual(status, 200)
        return text
      })
      const answers = (text: string) =>
        sumOf(parseExposition(text), "http_requests_total", { method: "POST", route: "/v1/charges", status: "201" })

      yield* Effect.all(
        Array.from({ length: 20 }, () => create),
        { concurrency: 20 }
      )
      // A worker that takes longer than a second is counted as it was last seen.
      const whole = eventually(scraped, (seen) => answers(seen) === 20)
      for (let i = 0; i < 6; i++) yield* whole
      const text = yield* whole
      const places = new Set(parseExposition(text).flatMap(({ labels }) => labels["worker"] ?? []))
      assert.deepStrictEqual([...places].toSorted(), ["0", "1", "first"])
      if (!isMissing(promtool)) assert.strictEqual(runPromtool(["check", "metrics"], text), "")

      const [worker] = readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, "utf8").split(" ")
      process.kill(Number(worker), "SIGKILL")
      // Node loses a connection that it was handing to the worker, as Prometheus' timeout would find out.
      const patient = Effect.timeoutOption(scraped, "5 seconds")
      yield* eventually(
        patient,
        Option.exists((later) => sumOf(parseExposition(later), "worker_restarts_total") === 1 && answers(later) === 20)
      )
      yield* create
      yield* eventually(
        patient,
        Option.exists((later) => answers(later) === 21)
      )
    }).pipe(Effect.scoped)
  )
})
