/**
 * Decides what a final outcome means for a payout, refund or return of an exception that has ended before. Pure.
 *
 * Guarantees:
 * - what the books have as sent, less the money of the contradiction in force, is what the bank sent: below zero where the
 *   bank sent beyond the books, above zero where it gave back;
 * - an outcome that is repeated changes nothing. One that agrees with the books reverses the contradiction and raises none.
 */
export interface OutcomeFacts {
  /** Cents that the books have as sent. */
  readonly booked: number
  /** Cents that the bank has sent. */
  readonly sent: number
  /** Cents of the contradiction in force, which are in `unallocated` or were accepted; 0 where there is none. */
  readonly held: number
}

export interface OutcomeDecision {
  /** The contradiction in force is closed, and its money goes back. */
  readonly reverses: boolean
  /** Cents of a new contradiction; 0 for none. */
  readonly raises: number
}

export const decideOutcome = ({ booked, held, sent }: OutcomeFacts): OutcomeDecision => {
  const contradicted = booked - sent
  return contradicted === held ? { reverses: false, raises: 0 } : { reverses: held !== 0, raises: contradicted }
}
