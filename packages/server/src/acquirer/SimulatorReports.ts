/**
 * What the simulated acquirer has to tell, and when: rows, so that a restart forgets nothing.
 *
 * Guarantees: a report is told until it has been heard, at least once, through `AcquirerReports`.
 */
import { makeEndToEndId, SUFFIX_BYTES, suffixFromBytes } from "@pix-payments/domain/EndToEndId"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomBytes } from "node:crypto"
import { Ids } from "../Ids.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import { type AcquirerReport, AcquirerReports, type Outcome } from "./AcquirerReports.ts"

export class SimulatorReports extends Context.Service<
  SimulatorReports,
  {
    /** Tells something now. */
    readonly tell: (report: {
      readonly txid: string
      readonly report: AcquirerReport["report"]
      readonly endToEndId?: string | undefined
      readonly reason?: string | undefined
    }) => Effect.Effect<Outcome, Unavailable>
    /** Tells what is due; how many reports that was. */
    readonly tellDue: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/SimulatorReports") {
  static readonly layer = Layer.effect(
    SimulatorReports,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const reports = yield* AcquirerReports

      const tellOne = Effect.fnUntraced(function* (row: DueRow) {
        const outcome = yield* reports.receive({
          txid: row.txid,
          report: row.report,
          endToEndId: row.end_to_end_id ?? undefined,
          reason: row.reason ?? undefined
        })
        yield* sql`UPDATE simulator_reports SET reported_at = now() WHERE id = ${row.id}::uuid`
        return outcome
      }, orUnavailable)

      return SimulatorReports.of({
        tell: Effect.fn("SimulatorReports.tell")(function* (report) {
          const now = yield* Clock.currentTimeMillis
          // Leased to this call: the loop takes it up only if this process dies.
          const row = yield* dueReport(ids, { ...report, dueAtMs: now + LEASE_MS })
          return yield* tellOne(row)
        }, Effect.provideService(SqlClient, sql), orUnavailable),

        tellDue: Effect.gen(function* () {
          const due = yield* sql<DueRow>`
            UPDATE simulator_reports SET due_at = now() + ${LEASE_MS}::double precision * interval '1 millisecond'
            WHERE id IN (
              SELECT id FROM simulator_reports WHERE reported_at IS NULL AND due_at <= now()
              ORDER BY due_at LIMIT 100 FOR UPDATE SKIP LOCKED
            )
            RETURNING id, txid, report, end_to_end_id, reason`
          // One that cannot be told now holds up no other: its lease runs out and it is told again.
          const tellApart = (row: DueRow) =>
            Effect.catchCause(tellOne(row), (cause) => Effect.logWarning("a simulated report could not be told", cause))
          yield* Effect.forEach(due, tellApart, { concurrency: 8, discard: true })
          return due.length
        }).pipe(orUnavailable)
      })
    })
  )
}

/** Writes down something to be told at an instant. */
export const dueReport = Effect.fnUntraced(function* (
  ids: Ids["Service"],
  report: {
    readonly txid: string
    readonly report: AcquirerReport["report"]
    readonly endToEndId?: string | undefined
    readonly reason?: string | undefined
    readonly dueAtMs: number
  }
) {
  const sql = yield* SqlClient
  const { epochMs, id } = ids.next()
  const row: DueRow = {
    id,
    txid: report.txid,
    report: report.report,
    end_to_end_id:
      report.endToEndId ??
      (report.report === "paid"
        ? makeEndToEndId({ ispb: "00000000", atMs: epochMs, suffix: suffixFromBytes(randomBytes(SUFFIX_BYTES)) })
        : null),
    reason: report.reason ?? null
  }
  yield* sql`INSERT INTO simulator_reports (id, txid, report, end_to_end_id, reason, due_at)
    VALUES (${row.id}::uuid, ${row.txid}, ${row.report}, ${row.end_to_end_id}, ${row.reason},
      ${formatInstant(report.dueAtMs)}::timestamptz)`
  return row
})

interface DueRow {
  readonly id: string
  readonly txid: string
  readonly report: AcquirerReport["report"]
  readonly end_to_end_id: string | null
  readonly reason: string | null
}

const LEASE_MS = 10_000
