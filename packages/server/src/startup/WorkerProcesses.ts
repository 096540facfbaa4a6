/**
 * Several server processes that share the ports: `PROCESSES`.
 *
 * Guarantees:
 * - The first process runs the embedded database and the workers, and serves no request.
 * - A worker that exits is started again.
 * - The workers end when the first process ends, also when that is killed.
 * - They share work through PostgreSQL alone. Their metrics are one (`WorkerMetrics`).
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import cluster, { type Worker } from "node:cluster"
import { once } from "node:events"
import { makeWorkerMetrics } from "../base/observability/WorkerMetrics.ts"
import { ListenAddresses } from "../http/pipeline/ListenAddresses.ts"
import { Settings } from "../base/Settings.ts"
import { DatabaseLocation } from "../database/Database.ts"

/** No worker could listen. */
export class WorkersError extends Data.TaggedError("WorkersError")<{}> {
  override readonly message = "No server process could be started. The lines above say why."
}

/** True in a worker. */
export const isWorker = cluster.isWorker

/** Starts the workers and supervises them. It is ready when the first one listens. */
export const layer = Layer.effect(
  ListenAddresses,
  Effect.gen(function* () {
    const { processes } = yield* Settings
    const { url } = yield* DatabaseLocation
    const ready = yield* Deferred.make<ListenAddresses["Service"], WorkersError>()
    const runFork = Effect.runForkWith(yield* Effect.context())
    const workers = new Set<Worker>()
    let ending = false
    let served = false

    const metrics = makeWorkerMetrics()

    const start = (place: number) => {
      const worker = cluster.fork({ DATABASE_URL: Redacted.value(url), DATABASE_URL_FILE: "" })
      workers.add(worker)
      metrics.started(worker, String(place))
      worker.on("message", (message: unknown) => {
        if (!isReady(message)) return
        served = true
        Deferred.doneUnsafe(ready, Effect.succeed(message.ready))
      })
      worker.once("exit", (code, signal) => {
        workers.delete(worker)
        metrics.ended(worker)
        if (ending) return
        // A worker that fails before any has listened would fail again. It has printed why.
        if (code === 1 && !served) return void Deferred.doneUnsafe(ready, new WorkersError())
        runFork(
          Effect.logError(`a server process ended (${signal ?? code}) and is started again`).pipe(
            Effect.andThen(Effect.sleep("1 second")),
            Effect.andThen(Effect.sync(() => !ending && start(place)))
          )
        )
      })
    }

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        for (let place = 0; place < processes; place++) start(place)
      }),
      () =>
        Effect.promise(async () => {
          ending = true
          const ends = [...workers].map((worker) => once(worker, "exit"))
          for (const worker of workers) worker.process.kill("SIGTERM")
          await Promise.all(ends)
        })
    )
    return ListenAddresses.of(yield* Deferred.await(ready))
  })
)

interface Ready {
  readonly ready: ListenAddresses["Service"]
}

const isReady = (message: unknown): message is Ready =>
  typeof message === "object" && message !== null && "ready" in message

/** In a worker: reports its addresses, and ends with the process that started it. */
export const reportAddresses = Effect.gen(function* () {
  const addresses = yield* ListenAddresses
  yield* Effect.sync(() => {
    process.send?.({ ready: addresses } satisfies Ready)
    process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))
  })
})
