/**
 * Forms of rows that servers of the release before cannot read or do not respect.
 *
 * Such a form is stored only where no server of that release runs: in installations that began with the release that has
 * the form, whose migration inserts its row of `installation`, and where an operator has ended the upgrade
 * (`partitions/ReleaseBefore.ts`). Every server reads both forms.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const storedForms = [
  /** A change of a charge is stored without what its charge has (`events/EventData.ts`). */
  "stores_changed_fields",
  /** A line of the request log has no request id where the caller sent none (`operations/RequestLog.ts`). */
  "omits_generated_request_ids",
  /** A charge has the id of its receiver (`charges/Receivers.ts`). */
  "stores_receivers_once",
  /** First deliveries are sent before they are stored, while their change is leased (`webhooks/LeasedChanges.ts`). */
  "leases_changes"
] as const

/** Whether rows are stored in this form. A server reads it when it starts. */
export const storesForm = Effect.fnUntraced(function* (form: (typeof storedForms)[number]) {
  const sql = yield* SqlClient
  const rows = yield* sql.unsafe("SELECT FROM installation WHERE name = $1", [form])
  return rows.length > 0
})
