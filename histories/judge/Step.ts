/** What happened to the money of an account: a step of its order. */

/** Cents. */
export interface Amounts {
  readonly available: number
  readonly pending: number
}

/** Cents that an operation moves, and when it may. */
export interface Step extends Amounts {
  readonly label: string
  readonly from: number
  /** Infinity: any time since `from`, also never where `isOptional`. */
  readonly to: number
  /** Its place in the event stream, where it is known. */
  readonly place?: number
  /** What a read of the balance shows. */
  readonly shown?: Amounts
  /** Whether it can happen in this state. */
  readonly allows: (available: number, pending: number) => boolean
  readonly isOptional?: boolean
  /** The label of the step that comes before it. */
  readonly needs?: string
}
