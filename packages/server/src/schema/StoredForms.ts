/**
 * Forms of rows that servers of the release before cannot read or do not respect.
 *
 * Such a form is stored only where no server of that release runs: in installations that began with the release that has
 * the form, whose migration inserts its row of `installation`, and where an operator has ended the upgrade
 * (`partitions/ReleaseBefore.ts`). Every server reads both forms. Servers that run when the upgrade ends go on storing the
 * forms of before, beside those that start afterwards.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

export const storedForms = [
  /** A change of a charge is stored without what its charge has (`events/EventData.ts`). */
  "stores_changed_fields",
  /** A line of the request log has no request id where the caller sent none (`operations/RequestLog.ts`). */
  "omits_generated_request_ids",
  /** A charge has the id of its receiver (`payments/charges/Receivers.ts`). */
  "stores_receivers_once",
  /** First deliveries are sent before they are stored, while their change is leased (`webhooks/queue/LeasedChanges.ts`). */
  "leases_changes",
  /** A charge has the id of its BR code, whose template its receiver has (`domain/BrCodeTemplate.ts`). */
  "splits_br_codes",
  /** A recovery is of the charges whose ids are in a range (`payments/charges/NewRecoveries.ts`). */
  "recovers_ranges"
] as const

type StoredForm = (typeof storedForms)[number]

/** Whether rows are stored in this form. A server reads it when it starts. */
export const storesForm = (form: StoredForm): Effect.Effect<boolean, SqlError, SqlClient> =>
  Effect.flatMap(SqlClient, (sql) => storesFormNow(sql, form))

/** The same, for a transaction that must not rely on what the server read when it started. */
export const storesFormNow = (sql: SqlClient, form: StoredForm): Effect.Effect<boolean, SqlError> =>
  Effect.map(sql.unsafe("SELECT FROM installation WHERE name = $1", [form]), ({ length }) => length > 0)
