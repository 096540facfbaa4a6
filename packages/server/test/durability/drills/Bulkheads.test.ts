/**
 * `pnpm run drill:bulkheads`: one connection answers in 300 ms and one hangs. 64 callers of the first create at least 180
 * charges a second over HTTP (64 / 0.3 s = 213 is the most there can be), and the memory of the service stays flat.
 *
 * `npm test` checks the numbers behind it: calls in flight of each connection, and who is answered.
 */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { loadavg } from "node:os"
import { join } from "node:path"
import { ConnectionRegistry } from "../../../src/providers/connections/ConnectionRegistry.ts"
import { startDouble } from "../../support/Bank.ts"
import { create, created, someCharge } from "../../support/ChargeRequests.ts"
import { connectedBank } from "../../support/ConnectedBank.ts"
import { connectedAccount } from "../../support/ConnectedProcess.ts"
import { OPERATOR_TOKEN } from "../../support/Load.ts"
import { createMigratedDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { type ServiceProcess, startProcess } from "../../support/Process.ts"
import { eventually } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"

const CALLERS = 64
const LATENCY_MS = 300
/** Of each connection: `maxInFlight` of `packages/api-pix`. */
const MOST_CALLS = 64

layer(TestService.layer({ settings: { acquirerTimeoutMs: 600_000 } }), { excludeTestServices: true })(
  "A connection that hangs",
  (it) => {
    it.effect(
      "OPR-64, CHG-4: has 64 calls in flight and no queue: further creations are answered, and another connection serves all",
      () =>
        Effect.gen(function* () {
          const registry = yield* ConnectionRegistry
          const other = yield* connectedBank()
          const hung = yield* connectedBank()
          const inFlight = (connectionId: string) =>
            Effect.map(registry.statusOf(registry.find(connectionId)!), (status) => status?.inFlight)
          yield* created(hung.key)
          hung.double.faults.always("hang", { path: /\/cob\// })

          const answers: Array<string> = []
          const creating = yield* Effect.forkChild(
            Effect.forEach(
              Array.from({ length: 90 }),
              () => Effect.tap(created(hung.key), ({ status }) => Effect.sync(() => answers.push(status))),
              { concurrency: "unbounded", discard: true }
            ),
            { startImmediately: true }
          )
          // Some of the places may be those of a sweep, or of a call whose connection timed out on a busy machine.
          const isNearlyFull = Effect.map(inFlight(hung.connectionId), (count = 0) => count >= MOST_CALLS - 4)
          yield* eventually(isNearlyFull, (full) => full && answers.length >= 90 - MOST_CALLS)
          const emissions = () => hung.double.exchanges.filter(({ path }) => path.includes("/cob/")).length
          const isBounded = Effect.gen(function* () {
            assert.isAtMost((yield* inFlight(hung.connectionId)) ?? 0, MOST_CALLS)
            assert.isAtMost(answers.length, 90 - MOST_CALLS + 4)
            assert.isAtMost(emissions(), 1 + MOST_CALLS + 4)
          })
          yield* isBounded

          let most = 0
          const statuses = yield* Effect.forEach(
            Array.from({ length: 3 * CALLERS }),
            () =>
              Effect.gen(function* () {
                const { status } = yield* created(other.key)
                most = Math.max(most, (yield* inFlight(other.connectionId)) ?? 0)
                return status
              }),
            // A sweep of it may have a place too.
            { concurrency: MOST_CALLS - 4 }
          )
          assert.deepStrictEqual(new Set(statuses), new Set(["pending"]))
          assert.isAtMost(most, MOST_CALLS)
          // Nothing of the other has waited for a call of the one that hangs, and no further call was sent to it.
          yield* isBounded

          yield* Effect.promise(() => hung.double.close())
          yield* eventually(
            Effect.sync(() => creating.pollUnsafe()),
            (exit) => exit !== undefined
          )
          assert.deepStrictEqual(new Set(answers), new Set(["processing"]))
          assert.strictEqual((yield* create(other.key)).body.status, "pending")
        })
    )
  }
)

const seconds = Number(process.env["BULKHEADS_SECONDS"] ?? 0)
const WARM_UP_SECONDS = 15
const MIN_PER_SECOND = 180
/** Of heap and resident memory after the warm-up. */
const MAX_GROWTH = 1.2

if (seconds > 0) {
  layer(Layer.empty, { excludeTestServices: true })("The drill", (it) => {
    it.effect(
      "creates 180 charges a second through one connection while another hangs, in flat memory",
      () =>
        Effect.gen(function* () {
          const service = yield* startProcess({
            DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
            DATA_DIR: yield* temporaryFolder,
            OPERATOR_TOKEN,
            NODE_OPTIONS: `--expose-gc --import=${join(import.meta.dirname, "../../support/Memory.preload.mjs")}`
          })
          const answering = yield* startDouble({ latencyMs: LATENCY_MS })
          const other = yield* connectedAccount(service, OPERATOR_TOKEN, answering)
          const hanging = yield* startDouble({ seed: 2 })
          hanging.faults.always("hang", { path: /\/cob\// })
          const hung = yield* connectedAccount(service, OPERATOR_TOKEN, hanging)

          const emitted = () => answering.exchanges.filter(({ method }) => method === "PUT").length
          const counts = { other: 0, otherProcessing: 0, hung: 0 }
          const createdBy = ({ call, key }: typeof other) =>
            Effect.gen(function* () {
              const options = { key, idempotencyKey: newKey(), body: someCharge }
              const { body, status, text } = yield* call<Charge>("POST", "/v1/charges", options)
              assert.strictEqual(status, 201, text)
              return body.status
            })
          const busy = Effect.map(createdBy(other), (status) => {
            if (status === "pending") counts.other += 1
            else counts.otherProcessing += 1
          })
          const stuck = Effect.andThen(
            Effect.map(createdBy(hung), () => {
              counts.hung += 1
            }),
            Effect.sleep("1 second")
          )
          for (let n = 0; n < CALLERS; n++) {
            yield* Effect.forkScoped(Effect.forever(busy))
            yield* Effect.forkScoped(Effect.forever(stuck))
          }
          yield* Effect.sleep(WARM_UP_SECONDS * 1000)
          const before = { ...counts, ...(yield* memoryOf(service)), at: performance.now() }
          yield* Effect.sleep(seconds * 1000)
          const after = { ...counts, at: performance.now(), ...(yield* memoryOf(service)) }

          const perSecond = (1000 * (after.other - before.other)) / (after.at - before.at)
          const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0)
          process.stdout.write(
            [
              "",
              `charges a second through the connection that answers in ${LATENCY_MS} ms: ${perSecond.toFixed(1)}`,
              `emitted there, of the last 10,000 calls: ${emitted()}`,
              `answered processing there: ${after.otherProcessing - before.otherProcessing}`,
              `answered processing at the connection that hangs: ${after.hung - before.hung}`,
              `heap after garbage collection: ${mib(before.heapUsed)} MiB, then ${mib(after.heapUsed)} MiB`,
              `resident: ${mib(before.rss)} MiB, then ${mib(after.rss)} MiB`,
              `load of the machine: ${loadavg()[0]!.toFixed(1)}`,
              ""
            ].join("\n")
          )
          assert.isAtLeast(perSecond, MIN_PER_SECOND)
          // The double keeps its last 10,000 exchanges.
          assert.isAtLeast(emitted(), Math.min(after.other, 10_000))
          assert.isAtMost(after.heapUsed, before.heapUsed * MAX_GROWTH)
          assert.isAtMost(after.rss, before.rss * MAX_GROWTH)
        }),
      (WARM_UP_SECONDS + seconds + 120) * 1000
    )
  })
}

interface Memory {
  readonly heapUsed: number
  readonly rss: number
}

const memoryOf = (service: ServiceProcess) =>
  Effect.gen(function* () {
    const written = () => [...service.written().matchAll(/^memory (.+)$/gm)]
    const known = written().length
    service.signal("SIGUSR2")
    const lines = yield* eventually(Effect.sync(written), ({ length }) => length > known)
    return JSON.parse(lines.at(-1)![1]!) as Memory
  })
