/** An instant: how long ago, with the whole date in its title. */
import { signal } from "@preact/signals"
import { absolute, relative } from "../format/Time.ts"

/** Moves on each half minute. */
const wallClock = (): number => globalThis.performance.timeOrigin + globalThis.performance.now()
const now = signal(wallClock())
setInterval(() => {
  now.value = wallClock()
}, 30_000)

export const Time = ({ of }: { readonly of: string }) => (
  <time dateTime={of} title={absolute(of)}>
    {relative(of, now.value)}
  </time>
)
