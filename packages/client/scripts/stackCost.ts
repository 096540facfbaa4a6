/**
 * What it costs to capture the caller's stack with each call: processor time, and memory while the call is under way.
 *
 * Run: `node --expose-gc packages/client/scripts/stackCost.ts`.
 */
import { type Origin, originOf } from "../src/Stack.ts"

const CALLS = 200_000

/** Processor time, which other processes do not lengthen much. */
const nowMs = () => process.cpuUsage().user / 1000

/** Calls from as deep as a handler of a web framework is. */
const deep = <A>(depth: number, call: () => A): A => (depth === 0 ? call() : deep(depth - 1, call))

const capture = (): Origin => originOf(capture)
const nothing = (): Origin => ({})

const costOf = (make: () => Origin) => {
  for (let count = 0; count < CALLS; count++) deep(20, make)
  globalThis.gc?.()
  const heapBefore = process.memoryUsage().heapUsed
  const startedMs = nowMs()
  const kept: Array<Origin> = Array.from({ length: CALLS }, () => deep(20, make))
  const elapsedMs = nowMs() - startedMs
  globalThis.gc?.()
  return {
    microseconds: (elapsedMs * 1000) / CALLS,
    bytes: (process.memoryUsage().heapUsed - heapBefore) / kept.length
  }
}

const [captured, plain] = [costOf(capture), costOf(nothing)]
const text = await (async () => {
  const origins = Array.from({ length: 10_000 }, () => deep(20, capture))
  const startedMs = nowMs()
  for (const origin of origins) void origin.stack
  return ((nowMs() - startedMs) * 1000) / origins.length
})()
process.stdout.write(
  `${(captured.microseconds - plain.microseconds).toFixed(2)} µs and ${Math.round(captured.bytes - plain.bytes)} bytes a call; ` +
    `${text.toFixed(1)} µs for the text of one that failed (Node ${process.versions.node})\n`
)
