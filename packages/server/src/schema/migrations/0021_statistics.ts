/**
 * Counts of charges and payouts by state, and their volume by day, so that statistics read no table of money. The service
 * fills them in the background from `changes`, from the first one on: see `StatusCounts`.
 *
 * `expires_at` is the end of the minute in which unpaid charges expire; `infinity` where there is none, and `-infinity`
 * where it has passed.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `CREATE TABLE status_counts (
    account_id uuid NOT NULL,
    resource text NOT NULL,
    status text NOT NULL,
    expires_at timestamptz NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (account_id, resource, status, expires_at)
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX status_counts_expiring ON status_counts (expires_at)
    WHERE expires_at > '-infinity' AND expires_at < 'infinity'`,
  `CREATE TABLE daily_volumes (
    date date NOT NULL,
    account_id uuid NOT NULL,
    resource text NOT NULL,
    count bigint NOT NULL,
    amount bigint NOT NULL,
    PRIMARY KEY (date, account_id, resource)
  ) WITH (fillfactor = 50)`,
  // Every change up to here is counted.
  `CREATE TABLE status_counts_position (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    transaction_id xid8 NOT NULL,
    change_id uuid NOT NULL
  )`,
  `INSERT INTO status_counts_position (transaction_id, change_id)
    VALUES ('0', '00000000-0000-0000-0000-000000000000')`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
