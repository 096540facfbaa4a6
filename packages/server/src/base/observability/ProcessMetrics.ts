/** What a process uses: memory, CPU time, collections, and how late its event loop is. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks"
import type { MetricName } from "./MetricCatalog.ts"

interface Registry {
  readonly add: (name: MetricName, by: number) => void
  readonly set: (name: MetricName, to: number) => void
}

/** Observes until the scope closes. Returns what sets the gauges. */
export const observeProcess = Effect.fnUntraced(function* ({ add, set }: Registry) {
  let cpuSeconds = 0
  let longestDelay = 0
  const delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  const collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) add("process_gc_seconds_total", duration / 1000)
  })
  add("process_gc_seconds_total", 0)
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      delays.enable()
      collections.observe({ entryTypes: ["gc"] })
      return setInterval(() => {
        // It measures the time between its timers, which are apart by the resolution.
        longestDelay = Math.max(0, delays.max / 1e9 - DELAY_RESOLUTION_MS / 1000)
        delays.reset()
      }, WINDOW_MS).unref()
    }),
    (timer) =>
      Effect.sync(() => {
        clearInterval(timer)
        delays.disable()
        collections.disconnect()
      })
  )
  const startedAt = (yield* Clock.currentTimeMillis) / 1000 - process.uptime()
  return () => {
    const { heapUsed, rss } = process.memoryUsage()
    const { system, user } = process.cpuUsage()
    const used = (system + user) / 1e6
    add("process_cpu_seconds_total", used - cpuSeconds)
    cpuSeconds = used
    set("process_start_time_seconds", startedAt)
    set("process_resident_memory_bytes", rss)
    set("process_heap_used_bytes", heapUsed)
    set("process_event_loop_delay_seconds", longestDelay)
  }
})

const DELAY_RESOLUTION_MS = 20
const WINDOW_MS = 10_000
