/**
 * Metrics of several worker processes: a scrape reaches one of them, which answers for all.
 *
 * Guarantees:
 * - Any worker answers with the same: the first process asks each worker, and adds up.
 * - What an ended worker had counted stays in the sum, as far as a scrape has seen it. So a counter never falls.
 * - A worker that does not answer within a second counts with what it last said.
 * - Where the first process does not answer, the scrape fails: a part is never given as the whole.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Worker } from "node:cluster"
import { countedBy, merged, type Sample } from "./Exposition.ts"
import { Metrics } from "./Metrics.ts"

/** The metrics of the service; `undefined` where they cannot be read now. */
export const AllMetrics = Context.Reference<Effect.Effect<ReadonlyArray<Sample> | undefined, never, Metrics>>(
  "@pix-payments/server/AllMetrics",
  { defaultValue: () => Metrics.use(({ read }) => Effect.sync(() => merged([["0", read()]]))) }
)

/** Between the first process and its workers. */
type Message =
  | { readonly metrics: "wanted"; readonly ask: number }
  | { readonly metrics: "read"; readonly round: number }
  | { readonly metrics: "seen"; readonly round: number; readonly samples: ReadonlyArray<Sample> }
  | { readonly metrics: "all"; readonly ask: number; readonly samples: ReadonlyArray<Sample> }

const isMessage = (message: unknown): message is Message =>
  typeof message === "object" && message !== null && "metrics" in message

/** In a worker: asks the first process, and answers when it is asked. */
const ofWorkers = Effect.gen(function* () {
  const { read } = yield* Metrics
  const waiting = new Map<number, (samples: ReadonlyArray<Sample> | undefined) => void>()
  let asks = 0
  const send = (message: Message) => void process.send?.(message)
  const receive = (message: unknown) => {
    if (!isMessage(message)) return
    if (message.metrics === "read") send({ metrics: "seen", round: message.round, samples: read() })
    if (message.metrics === "all") waiting.get(message.ask)?.(message.samples)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("message", receive)),
    () => Effect.sync(() => process.off("message", receive))
  )
  const asked = Effect.callback<ReadonlyArray<Sample> | undefined>((resume) => {
    const ask = ++asks
    const end = (samples: ReadonlyArray<Sample> | undefined) => {
      clearTimeout(timer)
      waiting.delete(ask)
      resume(Effect.succeed(samples))
    }
    const timer = setTimeout(() => end(undefined), ASK_TIMEOUT_MS)
    waiting.set(ask, end)
    send({ metrics: "wanted", ask })
    return Effect.sync(() => {
      clearTimeout(timer)
      waiting.delete(ask)
    })
  })
  return yield* Effect.succeed(asked)
})

/** The metrics of all workers, in each of them. */
export const layer = Layer.effect(AllMetrics, ofWorkers).pipe(Layer.provide(Metrics.layer))

const ASK_TIMEOUT_MS = 3000
const READ_TIMEOUT_MS = 1000

/** In the first process: what its workers have together. */
export const makeWorkerMetrics = () => {
  const workers = new Map<Worker, { readonly name: string; last: ReadonlyArray<Sample>; seenIn: number }>()
  let retired: ReadonlyArray<Sample> = []
  let restarts = 0
  let rounds = 0

  const all = () =>
    merged([
      ["first", [...retired, { name: "worker_restarts_total", labels: {}, value: restarts }]],
      ["first", [{ name: "process_resident_memory_bytes", labels: {}, value: process.memoryUsage.rss() }]],
      ...Array.from(workers.values(), ({ last, name }) => [name, last] as const)
    ])

  const collect = (asker: Worker, ask: number) => {
    const round = ++rounds
    const answer = () => {
      clearTimeout(timer)
      for (const worker of workers.keys()) worker.off("message", look)
      if (asker.isConnected()) asker.send({ metrics: "all", ask, samples: all() } satisfies Message)
    }
    const look = () => {
      if ([...workers.values()].every(({ seenIn }) => seenIn >= round)) answer()
    }
    const timer = setTimeout(answer, READ_TIMEOUT_MS)
    for (const worker of workers.keys()) {
      worker.on("message", look)
      if (worker.isConnected()) worker.send({ metrics: "read", round } satisfies Message)
    }
  }

  return {
    /** `name`: of its place, which the worker that replaces it has again. */
    started: (worker: Worker, name: string) => {
      const state = { name, last: [] as ReadonlyArray<Sample>, seenIn: 0 }
      workers.set(worker, state)
      // Of a message to one that is about to end.
      worker.on("error", () => {})
      worker.on("message", (message: unknown) => {
        if (!isMessage(message)) return
        if (message.metrics === "wanted") collect(worker, message.ask)
        if (message.metrics === "seen") {
          state.last = message.samples
          state.seenIn = message.round
        }
      })
    },
    ended: (worker: Worker) => {
      const state = workers.get(worker)
      workers.delete(worker)
      if (state === undefined) return
      retired = merged([
        ["", retired],
        ["", countedBy(state.last)]
      ])
      restarts++
    }
  }
}
