/**
 * Our schema as a service without partitions has it: charges and payouts are one table each, with the unique indexes by
 * which peers claim idempotency keys and settlements. Their pages are full: the free space serves our updates only.
 */
import * as Effect from "effect/Effect"
import { migrate, withDatabase } from "./Database.ts"

export const migrateForPeer = Effect.fnUntraced(function* (databaseUrl: string) {
  yield* migrate(databaseUrl)
  yield* withDatabase(databaseUrl, (database) => database.query(statements.join(";\n")))
})

const statements = [
  // The first partition has all rows: there are none of the next quarter.
  `DO $do$ DECLARE name text; part regclass; BEGIN
    FOREACH name IN ARRAY ARRAY['charges', 'payouts'] LOOP
      SELECT inhrelid INTO STRICT part FROM pg_inherits
        WHERE inhparent = name::regclass AND inhrelid::regclass::text LIKE name || '_until_%';
      EXECUTE format('ALTER TABLE %I DETACH PARTITION %s', name, part);
      EXECUTE format('ALTER TABLE %I RENAME TO %I', name, name || '_partitioned');
      EXECUTE format('ALTER TABLE %s RENAME TO %I', part, name);
    END LOOP;
  END $do$`,
  "ALTER TABLE charges SET (fillfactor = 100)",
  `CREATE UNIQUE INDEX charges_idempotency ON charges (application_id, origin, idempotency_key)
    WHERE idempotency_key IS NOT NULL`,
  "CREATE UNIQUE INDEX charges_settlement ON charges (end_to_end_id) WHERE end_to_end_id IS NOT NULL",
  `CREATE UNIQUE INDEX payouts_idempotency ON payouts (coalesce(application_id, account_id), origin, idempotency_key)
    WHERE idempotency_key IS NOT NULL`
]
