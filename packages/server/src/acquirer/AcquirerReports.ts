/**
 * The one place where what the acquirer tells us comes in.
 *
 * Guarantees: every report is recorded with what became of it; a repeated, late or out-of-order report changes
 * nothing; one settlement (end-to-end id) pays one charge.
 *
 * Source: design.md "The way through"; decisions.md "Charges", "Payouts", "Disputes".
 */
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { Charges } from "../charges/Charges.ts"
import { Disputes } from "../disputes/Disputes.ts"
import type { NotFoundError } from "../Errors.ts"
import { Ids } from "../Ids.ts"
import { Payouts } from "../payouts/Payouts.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"

const Txid = { txid: Schema.String }
const Dispute = { disputeId: Schema.String }
const Payout = { payoutId: Schema.String }

export const AcquirerReport = Schema.Union([
  Schema.TaggedStruct("charge.paid", { ...Txid, endToEndId: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("charge.failed", { ...Txid, reason: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("charge.refunded", Txid),
  Schema.TaggedStruct("med.opened", {
    ...Txid,
    reason: Schema.String,
    defenseDeadlineAtMs: Schema.optionalKey(Schema.Finite)
  }),
  // The institution returned the Pix, and no MED had been opened.
  Schema.TaggedStruct("charge.returned", { ...Txid, as: Schema.Literals(["refunded", "charged_back"]) }),
  Schema.TaggedStruct("med.message", { ...Dispute, text: Schema.String }),
  Schema.TaggedStruct("med.won", Dispute),
  Schema.TaggedStruct("med.lost", Dispute),
  Schema.TaggedStruct("payout.completed", { ...Payout, endToEndId: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("payout.failed", { ...Payout, reason: Schema.String })
])
export type AcquirerReport = typeof AcquirerReport.Type

/** `applied`, or why it changed nothing: the state did not allow it, or it names nothing that we know. */
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
      const ids = yield* Ids
      const charges = yield* Charges
      const payouts = yield* Payouts
      const disputes = yield* Disputes

      /** What the report moves: `undefined` where it changes nothing. */
      const apply = (report: AcquirerReport): Effect.Effect<unknown, NotFoundError | Unavailable> => {
        switch (report._tag) {
          case "charge.paid":
            return charges.report(chargeIdOf(report), "paid", { endToEndId: report.endToEndId })
          case "charge.failed":
            return charges.report(chargeIdOf(report), "failed", { reason: report.reason })
          case "charge.refunded":
            return disputes.returned(chargeIdOf(report), { as: "refunded", withoutNotice: false })
          case "charge.returned":
            return disputes.returned(chargeIdOf(report), { as: report.as, withoutNotice: true })
          case "med.opened":
            return disputes.open(chargeIdOf(report), {
              reason: report.reason,
              defenseDeadlineAtMs: report.defenseDeadlineAtMs
            })
          case "med.message":
            return disputes.reply(report.disputeId, report.text)
          case "med.won":
            return disputes.resolve(report.disputeId, "won")
          case "med.lost":
            return disputes.resolve(report.disputeId, "lost")
          case "payout.completed":
            return payouts.report(report.payoutId, "completed", { endToEndId: report.endToEndId })
          case "payout.failed":
            return payouts.report(report.payoutId, "failed", { reason: report.reason })
        }
      }

      return AcquirerReports.of({
        receive: Effect.fn("AcquirerReports.receive")(function* (report) {
          const outcome = yield* apply(report).pipe(
            Effect.map((moved): Outcome => (moved === undefined ? "ignored" : "applied")),
            Effect.catchTag("NotFoundError", () => Effect.succeed<Outcome>("unknown")),
            Effect.catchDefect((defect) =>
              isSettledAlready(defect) ? Effect.succeed<Outcome>("ignored") : Effect.die(defect)
            )
          )
          const { epochMs, id } = ids.next()
          yield* orUnavailable(sql`
            INSERT INTO acquirer_reports (id, subject, report, outcome, received_at)
            VALUES (${id}::uuid, ${subjectOf(report)}, ${JSON.stringify(report)}::json, ${outcome},
              to_timestamp(${epochMs}::double precision / 1000))`)
          return outcome
        })
      })
    })
  )
}

/** The settlement has paid another charge: the unique index stopped a second credit. */
const isSettledAlready = (defect: unknown): boolean =>
  isSqlError(defect) && defect.reason._tag === "UniqueViolation" && defect.reason.constraint === "charges_settlement"

/** What a report is about, as the acquirer names it. */
const subjectOf = (report: AcquirerReport): string =>
  "txid" in report ? report.txid : "disputeId" in report ? report.disputeId : report.payoutId

// A text that is no txid of ours names no charge: the services answer so.
const chargeIdOf = ({ txid }: { readonly txid: string }): string => idFromTxid(txid) ?? NO_CHARGE

const NO_CHARGE = "00000000-0000-0000-0000-000000000000"
