/**
 * The schema of the first release, which a new installation gets in one transaction.
 *
 * Until the first tag a change of the schema edits `schema/tables`, and a database that has another baseline is refused: see
 * `Migrations.ts`. Afterwards it is a migration.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { hash } from "node:crypto"
import { defaultPartitionOf, partitionedTables } from "./partitions/PartitionedTables.ts"
import { withComments } from "./Statements.ts"
import { accountTables } from "./tables/accounts.ts"
import { eventTables } from "./tables/events.ts"
import { operationTables } from "./tables/operations.ts"
import { operatorTables } from "./tables/operators.ts"
import { paymentTables } from "./tables/payments.ts"
import { providerTables } from "./tables/providers.ts"
import { statementTables } from "./tables/statements.ts"

const tables = [
  accountTables,
  operatorTables,
  paymentTables,
  providerTables,
  statementTables,
  eventTables,
  operationTables
].flat()

const partitioned = partitionedTables.flatMap(({ name, storage }) => [
  // After the other indexes: those of an empty partition cost the same, and the planner takes the newest that has the column.
  `ALTER TABLE ${name} ADD PRIMARY KEY (id)`,
  // A row never fails because its period has no partition. Partitions of periods are made after the migrations.
  `CREATE TABLE ${defaultPartitionOf(name)} PARTITION OF ${name} DEFAULT WITH (${storage})`
])

/** The row of `installation` that says which baseline a database has. */
export const BASELINE = "baseline"

/** Changes with every statement of the baseline. */
export const baselineDigest: string = hash("sha256", [...tables, ...partitioned].join("\n"), "hex").slice(0, 16)

export const baseline = Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of [...tables.flatMap(withComments), ...partitioned]) yield* sql.unsafe(statement)
  yield* sql`INSERT INTO installation (name, value) VALUES (${BASELINE}, ${baselineDigest})`
})
