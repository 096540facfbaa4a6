/**
 * What operators are alerted of, stored once for each channel that asks for it.
 *
 * Guarantees:
 * - A condition is one alert of a channel, however many processes see it, and however often.
 * - A channel that is added later hears of what holds then.
 * - A round reads at most `LIMIT` conditions of each kind, by an index. Titles have ids and amounts, and nobody's data.
 *
 * Rules: OPR-317.
 */
import { type AlertEvent, DEADLINE_HOURS, FAILURES_IN_A_ROW } from "@pix-payments/domain/Alert"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { inIndexOrder } from "../database/statements/Paging.ts"
import { rows, statement } from "../database/statements/Statement.ts"
import { boolean, text } from "../database/statements/Column.ts"
import { orUnavailable } from "../database/Unavailable.ts"
import { IS_OVERDUE } from "../payments/exceptions/HandSettlements.ts"

export interface Alert {
  /** Of what it is: the same key is the same alert. */
  readonly key: string
  readonly event: AlertEvent
  readonly title: string
  /** The page of the dashboard. */
  readonly path: string
  /** Quiet hours do not hold it back. */
  readonly isUrgent: boolean
}

/** Stores an alert that a process found. */
export const raise = Effect.fnUntraced(function* ({ event, isUrgent, key, path, title }: Alert) {
  const sql = yield* SqlClient
  yield* orUnavailable(sql.unsafe(...raiseOne({ found: [{ key, event, title, path, is_urgent: isUrgent }] })))
})

/** Stores what can be seen in the database. */
export const detect = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* orUnavailable(inIndexOrder(sql.unsafe(detectAll)))
  yield* orUnavailable(sql`DELETE FROM alerts WHERE created_at < now() - interval '90 days'`)
  yield* orUnavailable(sql`DELETE FROM alert_messages WHERE created_at < now() - interval '90 days'`)
  return 0
})

const LIMIT = 1000

const insertInto = (found: string) => `
  INSERT INTO alerts (channel_id, key, event, title, path, is_urgent)
  SELECT c.id, f.key, f.event, f.title, f.path, f.is_urgent
  FROM (${found}) f JOIN alert_channels c ON c.active AND c.deleted_at IS NULL AND f.event = ANY (c.events)
  ON CONFLICT (channel_id, key) DO NOTHING`

const raiseOne = statement(
  { found: rows({ key: text(), event: text(), title: text(), path: text(), is_urgent: boolean() }) },
  ({ found }) => insertInto(`SELECT * FROM ${found} AS r`)
)

const [FIRST, SECOND, LAST] = DEADLINE_HOURS
const reais = (cents: string) => `'R$ ' || to_char(${cents} / 100.0, 'FM999G999G990D00')`
/** As `shortIdOf`. */
const short = (id: string) => `substr(${id}::text, 5, 4) || substr(${id}::text, 10, 4)`

const conditions: ReadonlyArray<string> = [
  `SELECT 'dispute:' || d.id || ':' || d.hours AS key, 'dispute.deadline' AS event,
     'Dispute ' || ${short("d.id")} || ' of ' || ${reais("d.amount")} || ': less than ' || d.hours || ' hours left for its defense' AS title,
     '/disputes/' || d.id AS path, d.hours = ${LAST} AS is_urgent
   FROM (SELECT id, amount, CASE WHEN defense_deadline_at <= now() + interval '${LAST} hours' THEN ${LAST}
       WHEN defense_deadline_at <= now() + interval '${SECOND} hours' THEN ${SECOND} ELSE ${FIRST} END AS hours
     FROM disputes WHERE status = 'open' AND defense_deadline_at BETWEEN now() AND now() + interval '${FIRST} hours'
     ORDER BY id LIMIT ${LIMIT}) d`,
  `SELECT 'approval:' || id, 'approval.waiting', 'A request waits for a second operator: ' || action, '/approvals', false
   FROM (SELECT id, action FROM approvals WHERE status = 'pending' AND expires_at > now() ORDER BY id DESC LIMIT ${LIMIT}) a`,
  `SELECT 'exception:' || id, 'exception.opened',
     'Exception ' || ${short("id")} || ': ' || kind || coalesce(' of ' || ${reais("amount")}, ''), '/exceptions/' || id, false
   FROM (SELECT id, kind, amount FROM acquirer_exceptions WHERE status = 'open' ORDER BY id DESC LIMIT ${LIMIT}) e`,
  // Disabled endpoints fail no more: among those that failed last are the ones that fail now.
  `SELECT 'endpoint:' || h.endpoint_id || ':' || coalesce(extract(epoch FROM h.last_success_at)::bigint, 0), 'endpoint.failing',
     'Endpoint ' || ${short("h.endpoint_id")} || ' has failed ' || h.consecutive_failures || ' times in a row',
     '/endpoints/' || h.endpoint_id, false
   FROM (SELECT * FROM webhook_endpoint_health WHERE consecutive_failures >= ${FAILURES_IN_A_ROW}
     ORDER BY last_failure_at DESC LIMIT ${LIMIT}) h
   JOIN webhook_endpoints w ON w.id = h.endpoint_id AND w.active AND w.disabled_at IS NULL AND w.deleted_at IS NULL`,
  `SELECT 'certificate:' || id || ':' || certificate_warned_days, 'certificate.ending',
     CASE certificate_warned_days WHEN 0 THEN 'The certificate of connection ' || name || ' has ended'
       ELSE 'The certificate of connection ' || name || ' ends within ' || certificate_warned_days || CASE certificate_warned_days
       WHEN 1 THEN ' day' ELSE ' days' END END,
     '/connections/' || id, certificate_warned_days <= 1
   FROM (SELECT id, name, certificate_warned_days FROM acquirer_connections WHERE certificate_warned_days IS NOT NULL
     ORDER BY id LIMIT ${LIMIT}) n`,
  // An order is created before its first request.
  `SELECT 'order:' || id, 'order.unanswered',
     CASE kind WHEN 'refund' THEN 'Refund ' || ${short("id")} WHEN 'return' THEN 'Return of exception ' || ${short("exception_id")}
       WHEN 'defend' THEN 'Defense of dispute ' || ${short("dispute_id")} ELSE 'Cancellation of charge ' || ${short("charge_id")} END
       || CASE WHEN amount > 0 THEN ' of ' || ${reais("amount")} ELSE '' END || ': without a definite answer of the bank for 24 hours',
     coalesce('/charges/' || charge_id, '/exceptions/' || exception_id, '/disputes/' || dispute_id), false
   FROM (SELECT * FROM acquirer_orders WHERE state = 'ordered' AND created_at <= now() - interval '24 hours'
     AND ${IS_OVERDUE} ORDER BY created_at LIMIT ${LIMIT}) o`
]

export const detectAll = insertInto(conditions.join(" UNION ALL "))
