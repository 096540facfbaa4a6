/**
 * The notifications of the simulated acquirer: rows with a due time, so that none is lost at a restart.
 *
 * Guarantee: a notification is sent to `AcquirerNotifications` at least once, until it is received.
 */
import { describeCause } from "../observability/SafeCause.ts"
import { makeEndToEndId, SUFFIX_BYTES, suffixFromBytes } from "@pix-payments/domain/EndToEndId"
import { formatInstant } from "@pix-payments/domain/Instant"
import type { Generated } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { randomBytes } from "node:crypto"
import { Ids } from "../Ids.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import { AcquirerNotification, type Outcome } from "../acquirer/AcquirerNotification.ts"
import { AcquirerNotifications } from "../notifications/AcquirerNotifications.ts"

export class SimulatorNotifications extends Context.Service<
  SimulatorNotifications,
  {
    /** Sends a notification now. */
    readonly notify: (notification: AcquirerNotification) => Effect.Effect<Outcome, Unavailable>
    /** Whether a payout was sent to the simulated institution. */
    readonly hasPayout: (payoutId: string) => Effect.Effect<boolean, Unavailable>
    /** Sends notifications that are due; how many. */
    readonly sendDue: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/SimulatorNotifications") {
  static readonly layer = Layer.effect(
    SimulatorNotifications,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const receiver = yield* AcquirerNotifications

      const sendOne = Effect.fnUntraced(function* (row: DueRow) {
        const outcome = yield* receiver.receive(yield* Effect.orDie(decodeNotification(row.report)))
        yield* runToCompletion(sql)(sql`UPDATE simulator_reports SET reported_at = now() WHERE id = ${row.id}::uuid`)
        return outcome
      })

      return SimulatorNotifications.of({
        notify: Effect.fn("SimulatorNotifications.notify")(
          function* (notification) {
            const now = yield* Clock.currentTimeMillis
            // Leased to this call: the loop sends it only if this process dies.
            const outcome = yield* sendOne(
              yield* runToCompletion(sql)(dueNotification(ids, notification, now + LEASE_MS))
            )
            // Afterwards, so that `Acquirer.outcome` shows no outcome before its notification. A duplicate settles nothing.
            if ("payoutId" in notification && outcome === "applied")
              yield* runToCompletion(sql)(settlePayout(notification))
            return outcome
          },
          Effect.provideService(SqlClient, sql)
        ),

        hasPayout: (payoutId) =>
          orUnavailable(
            Effect.map(
              sql`SELECT 1 FROM simulator_payouts WHERE payout_id = ${payoutId}::uuid`,
              ({ length }) => length > 0
            )
          ),

        sendDue: Effect.gen(function* () {
          const due = yield* runToCompletion(sql)(sql<DueRow>`
            UPDATE simulator_reports SET due_at = now() + ${LEASE_MS}::double precision * interval '1 millisecond'
            WHERE id IN (
              SELECT id FROM simulator_reports WHERE reported_at IS NULL AND due_at <= now()
              ORDER BY due_at LIMIT 100 FOR UPDATE SKIP LOCKED
            )
            RETURNING id, report`)
          // A notification that fails delays no other: it is sent again when its lease has expired.
          const sendApart = (row: DueRow) =>
            Effect.catchCause(sendOne(row), (cause) =>
              Effect.logWarning("a simulated notification could not be sent", describeCause(cause))
            )
          yield* Effect.forEach(due, sendApart, { concurrency: 8, discard: true })
          return due.length
        })
      })
    })
  )
}

/** Makes the outcome of a payout that of its notification, also if the payout is sent only later. */
const settlePayout = Effect.fnUntraced(function* (
  notification: Extract<AcquirerNotification, { readonly payoutId: string }>
) {
  const sql = yield* SqlClient
  const fails = notification._tag === "payout.failed"
  yield* sql`
    INSERT INTO simulator_payouts (payout_id, amount, pix_key, fails, reason, settles_at)
    VALUES (${notification.payoutId}::uuid, 0, '', ${fails}::boolean, ${fails ? notification.reason : null}, now())
    ON CONFLICT (payout_id) DO UPDATE SET fails = excluded.fails, reason = excluded.reason, settles_at = now()
      WHERE simulator_payouts.settles_at IS NULL OR simulator_payouts.settles_at > now()`
})

/**
 * Stores a notification that is due at an instant, with the end-to-end id or the external id that a real institution would
 * give it.
 */
export const dueNotification = Effect.fnUntraced(function* (
  ids: Ids["Service"],
  notification: AcquirerNotification,
  dueAtMs: number
) {
  const sql = yield* SqlClient
  const made = ids.next()
  const row: DueRow = { id: made.id, report: identified(notification, made) }
  yield* sql`INSERT INTO simulator_reports (id, report, due_at)
    VALUES (${row.id}::uuid, ${JSON.stringify(row.report)}::json, ${formatInstant(dueAtMs)}::timestamptz)`
  return row
})

const identified = (notification: AcquirerNotification, { epochMs, id }: Generated): AcquirerNotification => {
  switch (notification._tag) {
    case "charge.paid":
      return { endToEndId: newEndToEndId(epochMs), ...notification }
    case "payout.completed":
      return { endToEndId: payoutEndToEndId(notification.payoutId), ...notification }
    case "charge.refunded":
    case "charge.returned":
    case "med.opened":
    case "med.message":
      return { externalId: id, ...notification }
    default:
      return notification
  }
}

/** The end-to-end id of a payout, derived from the payout's id. */
export const payoutEndToEndId = (payoutId: string): string => {
  const digits = payoutId.replaceAll("-", "")
  return makeEndToEndId({
    ispb: SIMULATOR_ISPB,
    atMs: Number.parseInt(digits.slice(0, 12), 16),
    suffix: digits.slice(-11)
  })
}

/** An end-to-end id of the simulated institution. */
export const newEndToEndId = (atMs: number): string =>
  makeEndToEndId({ ispb: SIMULATOR_ISPB, atMs, suffix: suffixFromBytes(randomBytes(SUFFIX_BYTES)) })

export const SIMULATOR_ISPB = "00000000"

interface DueRow {
  readonly id: string
  readonly report: unknown
}

const decodeNotification = Schema.decodeUnknownEffect(AcquirerNotification)

const LEASE_MS = 10_000
