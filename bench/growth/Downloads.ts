/** Files that the service streams: how quick, and how much memory its process has meanwhile. */
import * as Effect from "effect/Effect"
import { BenchError } from "../measure/Processes.ts"
import { residentMiB } from "../measure/ResourceUsage.ts"
import type { Server } from "./Reads.ts"

export interface Download {
  readonly path: string
  readonly seconds: number
  readonly bytes: number
  /** Of the server's process, sampled. */
  readonly peakMiB: number
}

/** Reads the whole body, and keeps none of it. */
export const download = ({ operatorPort, token }: Server, pid: number, path: string) =>
  Effect.map(
    withPeak(
      pid,
      Effect.tryPromise({
        try: async () => {
          const at = performance.now()
          const response = await fetch(`http://127.0.0.1:${operatorPort}${path}`, {
            headers: { "x-operator-token": token }
          })
          if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
          let bytes = 0
          for await (const chunk of response.body!) bytes += chunk.length
          return { path, seconds: (performance.now() - at) / 1000, bytes }
        },
        catch: (cause) => new BenchError({ message: `GET ${path} fails: ${String(cause)}` })
      })
    ),
    ({ peakMiB, result }) => ({ ...result, peakMiB }) satisfies Download
  )

/** The result of `work`, and the most resident memory of a process meanwhile. */
export const withPeak = <A, E, R>(pid: number, work: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    let peakMiB = 0
    const sample = Effect.sync(() => {
      peakMiB = Math.max(peakMiB, residentMiB(pid) ?? 0)
    })
    const sampling = Effect.forever(Effect.andThen(sample, Effect.sleep("100 millis")))
    return Effect.map(Effect.raceFirst(work, sampling), (result) => ({ result, peakMiB }))
  })
