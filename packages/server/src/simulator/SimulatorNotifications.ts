/**
 * What the simulated acquirer has to tell, and when: rows, so that a restart forgets nothing.
 *
 * Guarantees: a report is told until it has been heard, at least once, through `AcquirerNotifications`.
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
    /** Tells something now. */
    readonly notify: (report: AcquirerNotification) => Effect.Effect<Outcome, Unavailable>
    /** Whether a payout was handed over to the simulated institution. */
    readonly hasPayout: (payoutId: string) => Effect.Effect<boolean, Unavailable>
    /** Tells what is due; how many reports that was. */
    readonly tellDue: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/SimulatorNotifications") {
  static readonly layer = Layer.effect(
    SimulatorNotifications,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const reports = yield* AcquirerNotifications

      const tellOne = Effect.fnUntraced(function* (row: DueRow) {
        const outcome = yield* reports.receive(yield* Effect.orDie(decodeReport(row.report)))
        yield* runToCompletion(sql)(sql`UPDATE simulator_reports SET reported_at = now() WHERE id = ${row.id}::uuid`)
        return outcome
      })

      return SimulatorNotifications.of({
        notify: Effect.fn("SimulatorReports.notify")(
          function* (report) {
            const now = yield* Clock.currentTimeMillis
            // Leased to this call: the loop takes it up only if this process dies.
            const outcome = yield* tellOne(yield* runToCompletion(sql)(dueNotification(ids, report, now + LEASE_MS)))
            // After it is told: whoever asks for the outcome meanwhile does not find what nobody has reported.
            // What was refused as a copy is no outcome.
            if ("payoutId" in report && outcome === "applied") yield* runToCompletion(sql)(settlePayout(report))
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

        tellDue: Effect.gen(function* () {
          const due = yield* runToCompletion(sql)(sql<DueRow>`
            UPDATE simulator_reports SET due_at = now() + ${LEASE_MS}::double precision * interval '1 millisecond'
            WHERE id IN (
              SELECT id FROM simulator_reports WHERE reported_at IS NULL AND due_at <= now()
              ORDER BY due_at LIMIT 100 FOR UPDATE SKIP LOCKED
            )
            RETURNING id, report`)
          // One that cannot be told now holds up no other: its lease runs out and it is told again.
          const tellApart = (row: DueRow) =>
            Effect.catchCause(tellOne(row), (cause) =>
              Effect.logWarning("a simulated notification could not be sent", describeCause(cause))
            )
          yield* Effect.forEach(due, tellApart, { concurrency: 8, discard: true })
          return due.length
        })
      })
    })
  )
}

/** What is told of a payout is what asking for its outcome finds, also where it is sent only later. */
const settlePayout = Effect.fnUntraced(function* (
  report: Extract<AcquirerNotification, { readonly payoutId: string }>
) {
  const sql = yield* SqlClient
  const fails = report._tag === "payout.failed"
  yield* sql`
    INSERT INTO simulator_payouts (payout_id, amount, pix_key, fails, reason, settles_at)
    VALUES (${report.payoutId}::uuid, 0, '', ${fails}::boolean, ${fails ? report.reason : null}, now())
    ON CONFLICT (payout_id) DO UPDATE SET fails = excluded.fails, reason = excluded.reason, settles_at = now()
      WHERE simulator_payouts.settles_at IS NULL OR simulator_payouts.settles_at > now()`
})

/**
 * Stores a report that is due at an instant. A settlement without an end-to-end id is given one, any other fact that the
 * institution would know by an id is given that. `id`: stored once under it.
 */
export const dueNotification = Effect.fnUntraced(function* (
  ids: Ids["Service"],
  report: AcquirerNotification,
  dueAtMs: number,
  id?: string
) {
  const sql = yield* SqlClient
  const made = ids.next()
  const row: DueRow = { id: id ?? made.id, report: identified(report, made) }
  yield* sql`INSERT INTO simulator_reports (id, report, due_at)
    VALUES (${row.id}::uuid, ${JSON.stringify(row.report)}::json, ${formatInstant(dueAtMs)}::timestamptz)
    ON CONFLICT DO NOTHING`
  return row
})

const identified = (report: AcquirerNotification, { epochMs, id }: Generated): AcquirerNotification => {
  switch (report._tag) {
    case "charge.paid":
      return { endToEndId: newEndToEndId(epochMs), ...report }
    case "payout.completed":
      return { endToEndId: payoutEndToEndId(report.payoutId), ...report }
    case "charge.refunded":
    case "charge.returned":
    case "med.opened":
    case "med.message":
      return { externalId: id, ...report }
    default:
      return report
  }
}

/** A payout's settlement identifier, the same for ever: the id's own digits make the suffix, and its time the stamp. */
export const payoutEndToEndId = (payoutId: string): string => {
  const digits = payoutId.replaceAll("-", "")
  return makeEndToEndId({
    ispb: SIMULATOR_ISPB,
    atMs: Number.parseInt(digits.slice(0, 12), 16),
    suffix: digits.slice(-11)
  })
}

/** A settlement identifier of the simulated institution. */
export const newEndToEndId = (atMs: number): string =>
  makeEndToEndId({ ispb: SIMULATOR_ISPB, atMs, suffix: suffixFromBytes(randomBytes(SUFFIX_BYTES)) })

export const SIMULATOR_ISPB = "00000000"

interface DueRow {
  readonly id: string
  readonly report: unknown
}

const decodeReport = Schema.decodeUnknownEffect(AcquirerNotification)

const LEASE_MS = 10_000
