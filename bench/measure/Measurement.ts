/**
 * What a measurement is given, and what it gives.
 */
export interface Pace {
  readonly quick: boolean
  readonly rounds: number
  /** The length of a turn of requests. */
  readonly seconds: number
  readonly warmup: number
  /** Undefined: the job's own. */
  readonly connections: ReadonlyArray<number> | undefined
  /** Deliveries of one turn. */
  readonly deliveries: number
  /** Deliveries that wait beside them, not due: so many at first, then more. */
  readonly waiting: ReadonlyArray<number>
  /** Requests of the job about memory. */
  readonly requests: number
  /** Further arguments of `node` for a contender: a profiler, say. */
  readonly nodeArgs: (contender: string) => ReadonlyArray<string>
}

export interface Measured {
  readonly job: string
  readonly title: string
  /** The figures, as a table of text; the same as values; and what they come from. */
  readonly table: string
  readonly rows: ReadonlyArray<object>
  readonly turns: ReadonlyArray<object>
  /** What the table does not say: sentences. */
  readonly notes: ReadonlyArray<string>
  /** Right answers, or deliveries, of each contender. */
  readonly counted: Readonly<Record<string, number>>
  readonly complaints: ReadonlyArray<string>
  /** What is stored and should not be, or the other way round. */
  readonly wrong: ReadonlyArray<string>
  /** The share of the processors that others used. */
  readonly elsewhere: number
}
