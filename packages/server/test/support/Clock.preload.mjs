/**
 * Loaded before the service (`--import`) where a test sets its clock: at each SIGUSR2 the wall clock steps on to the next
 * of `CLOCK_STEPS_MS`, milliseconds from the true time, comma separated. The monotonic clock continues.
 */
const steps = (process.env.CLOCK_STEPS_MS ?? "").split(",").map(Number)
const trueNow = Date.now
let offset = 0

Date.now = () => trueNow() + offset
globalThis.Date = new Proxy(Date, {
  construct: (Of, given, target) => Reflect.construct(Of, given.length === 0 ? [Date.now()] : given, target)
})
process.on("SIGUSR2", () => {
  offset = steps.shift() ?? 0
  process.stdout.write(`the clock is off by ${offset} ms\n`)
})
