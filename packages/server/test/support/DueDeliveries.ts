/** Deliveries that are due, made in the database. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Inserts changes of charges, each with a delivery to every URL, as the service does. */
export const due = (options: {
  readonly changes: number
  readonly urls: ReadonlyArray<string>
  readonly attemptsMade?: number
  readonly endpointId?: string
}) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`
      WITH made AS (
        INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
          created_at)
        SELECT uuidv7(), uuidv7(), o.account_id, NULL, 'charge.pix', '{paid}', 'paid', 3,
          '{"object":"charge","status":"paid","id":"' || uuidv7() || '"}', date_trunc('milliseconds', now())
        FROM generate_series(1, ${options.changes}::integer) CROSS JOIN (SELECT uuidv7() AS account_id) o
        RETURNING id, resource_id, account_id, created_at
      )
      INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination,
        destination_hash, status, attempts_made, due_at, created_at)
      SELECT uuidv7(), m.id, 'charge.pix.paid', m.resource_id, m.account_id, ${options.endpointId ?? null}::uuid, u.url,
        rtrim(substring(u.url from '^https?://[^/]+'), '/'),
        text_digest(rtrim(substring(u.url from '^https?://[^/]+'), '/')), 'scheduled', ${options.attemptsMade ?? 0}::integer, now(),
        m.created_at
      FROM made m CROSS JOIN json_array_elements_text(${JSON.stringify(options.urls)}::json) AS u(url)`
  )
