/**
 * The settings of a run, and the result of one job.
 */
export interface RunSettings {
  /** A smoke run: every job for a moment. */
  readonly quick: boolean
  readonly rounds: number
  /** Whether charges are read among ten million, on tables partitioned by quarters, in place of a million. */
  readonly grown: boolean
  /** The length of a turn of requests. */
  readonly seconds: number
  /** Requests to each contender before the first turn. */
  readonly warmup: number
  /** Undefined: the connections of each job. */
  readonly connections: ReadonlyArray<number> | undefined
  /** Deliveries in a turn. */
  readonly deliveries: number
  /** Sizes of the backlog of deliveries that are not due, ascending. */
  readonly backlogs: ReadonlyArray<number>
  /** Requests of the memory job, for each contender. */
  readonly requests: number
  /** More arguments of `node` for a contender, for example a profiler. */
  readonly nodeArgs: (contender: string) => ReadonlyArray<string>
}

export interface Measurement {
  readonly job: string
  readonly title: string
  /** The figures as a Markdown table, as values, and as the turns that they are computed from. */
  readonly table: string
  readonly rows: ReadonlyArray<object>
  readonly turns: ReadonlyArray<object>
  /** Sentences printed below the table. */
  readonly notes: ReadonlyArray<string>
  /** Correct answers or deliveries, by contender. */
  readonly answered: Readonly<Record<string, number>>
  /** The first errors of each turn. */
  readonly errorSamples: ReadonlyArray<string>
  /** Differences between what was answered and what is stored. */
  readonly violations: ReadonlyArray<string>
  /** The share of all processors that other programs used. */
  readonly otherProgramsShare: number
}
