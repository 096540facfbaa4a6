/**
 * A wait that ends at an instant of the clock.
 *
 * Guarantee: it never lasts longer than asked from now on, also after a clock that was ahead is set back.
 */
export interface Wait {
  readonly untilMs: number
  readonly forMs: number
}

export const waitFrom = (nowMs: number, forMs: number): Wait => ({ untilMs: nowMs + forMs, forMs })

export const isWaiting = ({ forMs, untilMs }: Wait, nowMs: number): boolean =>
  nowMs < untilMs && untilMs - nowMs <= forMs
