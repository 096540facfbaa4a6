/**
 * Loaded before the service: at each SIGUSR2 its wall clock steps on to the next of `HISTORIES_CLOCK_STEPS_MS`, milliseconds from the
 * true time. The monotonic clock goes on. It is no setting of the service.
 */
const steps = (process.env.HISTORIES_CLOCK_STEPS_MS ?? "").split(",").map(Number)
const trueNow = Date.now
let offset = 0

Date.now = () => trueNow() + offset
globalThis.Date = new Proxy(Date, {
  construct: (Of, given, target) => Reflect.construct(Of, given.length === 0 ? [Date.now()] : given, target)
})
process.on("SIGUSR2", () => {
  offset = steps.shift() ?? 0
})
