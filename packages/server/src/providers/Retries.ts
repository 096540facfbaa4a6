/**
 * When a request to a provider is repeated under its id, and when the refusal of a repeated one is final.
 *
 * `attempts`: how often the provider was asked, the last request included.
 */

/** A request that was cut may be on its way as long, and a provider may show an order only a while after it accepted it. */
export const RESEND_GRACE_MS = 120_000

const FIRST_BACK_OFF_MS = 1000

/** Grows up to the grace, so that in the end no earlier request can still be on its way. */
export const backOffMs = (attempts: number): number =>
  Math.min(FIRST_BACK_OFF_MS * 2 ** (attempts - 1), RESEND_GRACE_MS)

/** `backOffMs` in SQL. */
export const backOffMsSql = (attempts: string): string =>
  `least(${FIRST_BACK_OFF_MS} * 2 ^ least(${attempts} - 1, 30), ${RESEND_GRACE_MS})`

/**
 * Whether the last request is the only one that can be on its way: the first, or one that came a grace after the one before.
 * The refusal of any other says nothing, because the one before may still be accepted.
 */
export const isLastRequest = (attempts: number): boolean => attempts === 1 || backOffMs(attempts - 1) >= RESEND_GRACE_MS
