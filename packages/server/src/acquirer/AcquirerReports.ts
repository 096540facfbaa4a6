/**
 * The one place where what the acquirer tells us comes in.
 *
 * Guarantees: every report is recorded with what became of it; a repeated, late or out-of-order report changes
 * nothing; one settlement (end-to-end id) pays one charge.
 *
 * Source: design.md "The way through"; decisions.md "Charges".
 */
import type { ChargeReport } from "@pix-payments/domain/Charge"
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { Charges } from "../charges/Charges.ts"
import { Ids } from "../Ids.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"

export interface AcquirerReport {
  readonly txid: string
  readonly report: Extract<ChargeReport, "paid" | "failed">
  readonly endToEndId: string | undefined
  readonly reason: string | undefined
}

/** `applied`, or why it changed nothing: the state did not allow it, or we know no such charge. */
export type Outcome = "applied" | "ignored" | "unknown"

export class AcquirerReports extends Context.Service<
  AcquirerReports,
  {
    /** Fails only where the acquirer should report again. */
    readonly receive: (report: AcquirerReport) => Effect.Effect<Outcome, Unavailable>
  }
>()("@pix-payments/server/AcquirerReports") {
  static readonly layer = Layer.effect(
    AcquirerReports,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const charges = yield* Charges
      const ids = yield* Ids

      return AcquirerReports.of({
        receive: Effect.fn("AcquirerReports.receive")(function* (report) {
          const outcome = yield* applyTo(charges, report)
          const { epochMs, id } = ids.next()
          yield* orUnavailable(sql`
            INSERT INTO acquirer_reports (id, txid, report, end_to_end_id, reason, outcome, received_at)
            VALUES (${id}::uuid, ${report.txid}, ${report.report}, ${report.endToEndId ?? null},
              ${report.reason ?? null}, ${outcome}, to_timestamp(${epochMs}::double precision / 1000))`)
          return outcome
        })
      })
    })
  )
}

const applyTo = (
  charges: Charges["Service"],
  { endToEndId, reason, report, txid }: AcquirerReport
): Effect.Effect<Outcome, Unavailable> => {
  const id = idFromTxid(txid)
  if (id === undefined) return Effect.succeed("unknown")
  return charges.report(id, report, { endToEndId, reason }).pipe(
    Effect.map((moved): Outcome => (moved === undefined ? "ignored" : "applied")),
    Effect.catchTag("NotFoundError", () => Effect.succeed<Outcome>("unknown")),
    Effect.catchDefect((defect) => (isSettledAlready(defect) ? Effect.succeed<Outcome>("ignored") : Effect.die(defect)))
  )
}

/** The settlement has paid another charge: the unique index stopped a second credit. */
const isSettledAlready = (defect: unknown): boolean =>
  isSqlError(defect) && defect.reason._tag === "UniqueViolation" && defect.reason.constraint === "charges_settlement"
