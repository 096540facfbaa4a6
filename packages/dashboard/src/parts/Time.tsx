/** An instant: how long ago, with the whole date in its title. */
import { signal } from "@preact/signals"
import { absolute, moment, relative } from "../format/Time.ts"

/** Moves on each half minute. */
const wallClock = (): number => globalThis.performance.timeOrigin + globalThis.performance.now()
/** The present instant, for what is counted down. */
export const now = signal(wallClock())
setInterval(() => {
  now.value = wallClock()
}, 30_000)

/** An instant until which something must be done. Near its end it is a warning. */
export const Deadline = ({ of, warnMs }: { readonly of: string; readonly warnMs: number }) => {
  const leftMs = Date.parse(of) - now.value
  return (
    <span class={leftMs < 0 ? "chip bad" : leftMs < warnMs ? "chip warn" : undefined}>
      <Time of={of} />
    </span>
  )
}

export const Time = ({ of }: { readonly of: string }) => (
  <time dateTime={of} title={absolute(of)}>
    {/* What was read since `now` last moved is not in the future. */}
    {relative(of, Math.max(now.value, wallClock()))}
  </time>
)

/** When a row was: the date and the time, which a person compares with another list. */
export const Moment = ({ of }: { readonly of: string }) => (
  <time class="nowrap" dateTime={of} title={absolute(of)}>
    {moment(of)}
  </time>
)
