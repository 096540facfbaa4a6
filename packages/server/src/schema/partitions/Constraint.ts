/**
 * Constraints that prove a bound, so that attaching a partition reads no table under a lock.
 *
 * Guarantees:
 * - A constraint is validated without a lock that stops readers or writers.
 * - Where it fails, or the work with it does, the constraint is dropped: it would refuse every row beyond its bound.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { runStep } from "./Step.ts"

export interface Constraint {
  readonly table: string
  readonly name: string
}

/** Runs the effect while the table has the constraint, validated. `drop` is the statement that drops it. */
export const whileValid = <E, R>(
  constraint: Constraint,
  condition: string,
  use: (drop: string) => Effect.Effect<void, E, R>
): Effect.Effect<void, E | SqlError, R | SqlClient> => {
  const { name, table } = constraint
  return Effect.gen(function* () {
    yield* runStep([`ALTER TABLE ${table} ADD CONSTRAINT ${name} CHECK (${condition}) NOT VALID`])
    yield* validate(constraint)
    yield* use(dropStatement(constraint))
  }).pipe(
    Effect.onError(() =>
      Effect.catchCause(dropConstraint(constraint), (cause) =>
        Effect.logWarning(
          `${table} accepts only ids with ${condition}, until the next start or maintenance drops ${name}`,
          describeCause(cause)
        )
      )
    )
  )
}

/** Reads the whole table, without a lock that stops readers or writers. */
export const validate = Effect.fnUntraced(function* ({ name, table }: Constraint) {
  const sql = yield* SqlClient
  yield* sql.withTransaction(
    Effect.andThen(
      sql`SELECT set_config('statement_timeout', '0', true)`,
      sql.unsafe(`ALTER TABLE ${table} VALIDATE CONSTRAINT ${quoted(name)}`)
    )
  )
})

/** Drops the constraint where the table has it. */
export const dropConstraint = Effect.fnUntraced(function* (constraint: Constraint) {
  const sql = yield* SqlClient
  const rows = yield* sql`SELECT FROM pg_constraint
    WHERE conrelid = to_regclass(${constraint.table}) AND conname = ${constraint.name}`
  if (rows.length > 0) yield* runStep([dropStatement(constraint)], { attempts: DROP_ATTEMPTS })
})

const dropStatement = ({ name, table }: Constraint): string => `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${name}`

/** Some seconds: a process that stops waits for them. */
const DROP_ATTEMPTS = 6

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
