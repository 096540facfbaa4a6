/** A database that is as full as that of an installation after months: copies of rows that a release has stored. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { copyRows } from "../../support/Copies.ts"

/** The tables that grow, with a condition on the row that is copied. */
const templates = {
  charges: "status = 'paid' AND end_to_end_id IS NOT NULL",
  payouts: "status = 'completed'",
  changes: "true",
  deliveries: "status = 'delivered'",
  delivery_attempts: "true",
  requests: "true",
  acquirer_reports: "true"
}

const own = {
  id: "uuidv7(-(n || ' minutes')::interval)",
  idempotency_key: "gen_random_uuid()::text",
  end_to_end_id: "gen_random_uuid()::text"
}

/** Stores so many rows in each table that grows. A row is a minute older than the one before it. */
export const fill = (url: Redacted.Redacted<string>, rows: number) =>
  Effect.gen(function* () {
    const client = yield* Layer.build(PgClient.layer({ url, maxConnections: 1 }))
    for (const [table, condition] of Object.entries(templates)) {
      yield* Effect.provideContext(copyRows(table, condition, rows, own), client)
    }
  }).pipe(Effect.scoped)
