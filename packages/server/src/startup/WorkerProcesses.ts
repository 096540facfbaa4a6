/**
 * Several server processes that share the ports: `PROCESSES`.
 *
 * Guarantees: the first process keeps the database and the others, and serves nothing itself; one that dies is
 * started again; all end when the first one is told to end, and by themselves when it is killed. They share
 * their work through PostgreSQL alone.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import cluster, { type Worker } from "node:cluster"
import { once } from "node:events"
import { ListenAddresses } from "../http/ListenAddresses.ts"
import { Settings } from "../Settings.ts"
import { DatabaseLocation } from "../sql/Database.ts"

/** No server process could begin to listen. */
export class WorkersError extends Data.TaggedError("WorkersError")<{}> {
  override readonly message = "No server process could be started; why is in the lines above."
}

/** True in a process that serves for another. */
export const isWorker = cluster.isWorker

/** Starts the workers and keeps them; ready when the first one listens. */
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

    const start = () => {
      const worker = cluster.fork({ DATABASE_URL: Redacted.value(url) })
      workers.add(worker)
      worker.once("message", (listening: ListenAddresses["Service"]) => {
        served = true
        Deferred.doneUnsafe(ready, Effect.succeed(listening))
      })
      worker.once("exit", (code, signal) => {
        workers.delete(worker)
        if (ending) return
        // One that never listened would not the next time either: it has said why.
        if (code === 1 && !served) return void Deferred.doneUnsafe(ready, new WorkersError())
        runFork(
          Effect.logError(`a server process ended (${signal ?? code}) and is started again`).pipe(
            Effect.andThen(Effect.sleep("1 second")),
            Effect.andThen(Effect.sync(() => !ending && start()))
          )
        )
      })
    }

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        for (let i = 0; i < processes; i++) start()
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

/** In a worker: says where it listens, and ends with the process that started it. */
export const report = Effect.gen(function* () {
  const listening = yield* ListenAddresses
  yield* Effect.sync(() => {
    process.send?.(listening)
    process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))
  })
})
