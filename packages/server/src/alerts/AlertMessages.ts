/**
 * Messages of alerts: composed, stored, then sent.
 *
 * Guarantees:
 * - A message is stored before it is sent, and never changes: each attempt has the same id and the same alerts.
 * - At least once: a process that dies while it sends leaves the message due again.
 * - No flood: what was found since the last message is one message, and a channel gets at most `PER_HOUR`. What comes later waits and
 *   is in the next one.
 * - In quiet hours only urgent alerts go out.
 * - A message is tried for a day.
 *
 * Rules: OPR-318, OPR-319.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { AlertChannelKind } from "@pix-payments/domain/Alert"
import { Ids } from "../base/Ids.ts"
import { TIMEZONE } from "../database/statements/Days.ts"
import { orUnavailable } from "../database/Unavailable.ts"

export const PER_HOUR = 12

/** Alerts that a message names; it says how many more there are. */
export const NAMED = 20

export interface NamedAlert {
  readonly event: string
  readonly title: string
  readonly path: string
}

/** A message that this process sends. */
export interface DueMessage {
  readonly id: string
  readonly channel_id: string
  readonly kind: AlertChannelKind
  readonly target: string
  readonly secret: string | null
  readonly alerts: ReadonlyArray<NamedAlert>
  readonly count: number
  readonly created_at: Date
}

/** Composes a message for each channel that may get one. Returns how many. */
export const compose = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ids = yield* Ids
  const ready = yield* orUnavailable(sql.unsafe<{ readonly id: string }>(readyChannels))
  const made = yield* Effect.forEach(ready, ({ id: channelId }) =>
    orUnavailable(
      sql.withTransaction(
        Effect.gen(function* () {
          // Of processes at the same channel one composes; it looks again under the lock.
          const [still] = yield* sql.unsafe(`${readyChannels} AND c.id = $1::uuid FOR UPDATE OF c SKIP LOCKED`, [
            channelId
          ])
          return still === undefined ? 0 : (yield* sql.unsafe(composeOne, [ids.next().id, channelId])).length
        })
      )
    )
  )
  return made.reduce((sum, each) => sum + each, 0)
})

/** Claims the oldest due message of each channel but those whose message is being sent, for a minute. */
export const claimDue = (busy: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient, (sql) => orUnavailable(sql.unsafe<DueMessage>(claim, [`{${busy.join(",")}}`])))

/** Records an attempt. `error` is undefined where the message was taken. */
export const finish = (
  { channel_id: channelId, id }: Pick<DueMessage, "channel_id" | "id">,
  error: string | undefined
) => Effect.flatMap(SqlClient, (sql) => orUnavailable(sql.unsafe(ended, [id, channelId, error ?? null])))

const localTime = `(now() AT TIME ZONE ${TIMEZONE})::time`

const isQuiet = `coalesce(CASE WHEN c.quiet_from < c.quiet_until THEN ${localTime} >= c.quiet_from AND ${localTime} < c.quiet_until
    ELSE ${localTime} >= c.quiet_from OR ${localTime} < c.quiet_until END, false)`

const readyChannels = `
  SELECT c.id FROM alert_channels c WHERE c.active AND c.deleted_at IS NULL
    AND EXISTS (SELECT FROM alerts a WHERE a.channel_id = c.id AND a.message_id IS NULL AND (a.is_urgent OR NOT ${isQuiet}))
    AND (SELECT count(*) FROM alert_messages m WHERE m.channel_id = c.id AND m.created_at > now() - interval '1 hour') < ${PER_HOUR}`

const composeOne = `
  WITH taken AS (
    UPDATE alerts a SET message_id = $1::uuid FROM alert_channels c
    WHERE c.id = $2::uuid AND a.channel_id = c.id AND a.message_id IS NULL AND (a.is_urgent OR NOT ${isQuiet})
    RETURNING a.event, a.title, a.path, a.is_urgent, a.created_at, a.key
  )
  INSERT INTO alert_messages (id, channel_id, alerts, count, created_at, due_at)
  SELECT $1::uuid, $2::uuid, (SELECT json_agg(json_build_object('event', event, 'title', title, 'path', path)) FROM (
      SELECT * FROM taken ORDER BY is_urgent DESC, created_at, key LIMIT ${NAMED}
    ) n), (SELECT count(*)::integer FROM taken), now(), now()
  WHERE EXISTS (SELECT FROM taken)
  RETURNING id`

const claim = `
  WITH due AS MATERIALIZED (
    SELECT m.id FROM alert_channels c CROSS JOIN LATERAL (
      SELECT id FROM alert_messages WHERE channel_id = c.id AND due_at <= now() ORDER BY due_at LIMIT 1
      FOR UPDATE SKIP LOCKED
    ) m
    WHERE c.deleted_at IS NULL AND c.active AND c.id <> ALL ($1::uuid[])
  )
  UPDATE alert_messages m SET due_at = now() + interval '1 minute', attempts = m.attempts + 1
  FROM alert_channels c WHERE m.id = ANY (ARRAY(SELECT id FROM due)) AND c.id = m.channel_id
  RETURNING m.id, m.channel_id, c.kind, c.target, c.secret, m.alerts, m.count, m.created_at`

const ended = `
  WITH message AS (
    UPDATE alert_messages SET due_at = CASE
        WHEN $3::text IS NULL OR created_at < now() - interval '1 day' THEN NULL
        ELSE now() + least(interval '1 hour', interval '15 seconds' * 2 ^ least(attempts, 10)) END
    WHERE id = $1::uuid
  )
  UPDATE alert_channels SET last_error = left($3::text, 300),
    last_sent_at = CASE WHEN $3::text IS NULL THEN now() ELSE last_sent_at END
  WHERE id = $2::uuid`
