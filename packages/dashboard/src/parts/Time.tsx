/** An instant: how long ago, with the whole date in its title. */
import { signal } from "@preact/signals"
import { absolute, moment, relative } from "../format/Time.ts"

/** How far the clock of this machine is behind the server's. */
let behindMs = 0

/**
 * The present instant, as the server has it. An answer says it in whole seconds: the end of its second is taken, so that nothing
 * that has happened is in the future.
 */
const wallClock = (): number => globalThis.performance.timeOrigin + globalThis.performance.now() + behindMs
const MOST_AHEAD_MS = 3000

/** Follows the clock of the server, which is the `Date` of an answer. */
export const followClock = (date: string | null): void => {
  const lag = Date.parse(date ?? "") + 1000 - (wallClock() - behindMs)
  if (Number.isNaN(lag)) return
  behindMs = lag > 0 || lag < -MOST_AHEAD_MS ? lag : 0
  now.value = wallClock()
}

/** For what is counted down: moves on each half minute. */
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
