/**
 * Measures the cost of capturing the caller's stack with each call: CPU time, and memory while the call is pending.
 *
 * Run: `node --expose-gc packages/client/scripts/stackCost.ts`.
 */
import { type CallSite, captureCallSite } from "../src/CallSite.ts"

const CALLS = 200_000

/** CPU time, which other processes affect little. */
const nowMs = () => process.cpuUsage().user / 1000

/** Calls at the stack depth of a web framework's handler. */
const deep = <A>(depth: number, call: () => A): A => (depth === 0 ? call() : deep(depth - 1, call))

const capture = (): CallSite => captureCallSite(capture)
const baseline = (): CallSite => ({})

const costOf = (make: () => CallSite) => {
  for (let count = 0; count < CALLS; count++) deep(20, make)
  globalThis.gc?.()
  const heapBefore = process.memoryUsage().heapUsed
  const startedMs = nowMs()
  const sites: Array<CallSite> = Array.from({ length: CALLS }, () => deep(20, make))
  const elapsedMs = nowMs() - startedMs
  globalThis.gc?.()
  return {
    microseconds: (elapsedMs * 1000) / CALLS,
    bytes: (process.memoryUsage().heapUsed - heapBefore) / sites.length
  }
}

const [captured, plain] = [costOf(capture), costOf(baseline)]
const formatting = await (async () => {
  const sites = Array.from({ length: 10_000 }, () => deep(20, capture))
  const startedMs = nowMs()
  for (const site of sites) void site.stack
  return ((nowMs() - startedMs) * 1000) / sites.length
})()
process.stdout.write(
  `${(captured.microseconds - plain.microseconds).toFixed(2)} µs and ${Math.round(captured.bytes - plain.bytes)} bytes per call; ` +
    `${formatting.toFixed(1)} µs to format the stack of a failed one (Node ${process.versions.node})\n`
)
