/**
 * The dispute: a MED (Mecanismo Especial de Devolução) against a Pix charge. DSP-1 to DSP-11.
 */
import * as Schema from "effect/Schema"
import { Cents } from "./Cents.ts"
import { Instant } from "./Instant.ts"
import { open } from "./OpenEnum.ts"

export const DisputeStatus = Schema.Literals(["open", "under_review", "won", "lost"])
export type DisputeStatus = typeof DisputeStatus.Type

/** A dispute as its events and the operator interface show it. */
export const Dispute = Schema.Struct({
  object: Schema.Literal("dispute"),
  id: Schema.String.annotate({ format: "uuid" }),
  charge_id: Schema.String.annotate({ format: "uuid" }),
  status: open(DisputeStatus),
  amount: Cents.annotate({ description: "Blocked amount in cents." }),
  currency: Schema.Literal("BRL"),
  reason: Schema.NullOr(Schema.String),
  reference: Schema.NullOr(Schema.String).annotate({ description: "The charge's." }),
  opened_at: Schema.NullOr(Instant),
  defense_deadline_at: Schema.NullOr(Instant),
  resolved_at: Schema.NullOr(Instant),
  arrived_resolved: Schema.Boolean,
  message: Schema.optionalKey(Schema.String),
  sequence: Schema.Int
}).annotate({ identifier: "Dispute" })
export type Dispute = typeof Dispute.Type

/** The time for a defense if the acquirer sets none (DSP-6). */
export const DEFENSE_PERIOD_MS = 7 * 24 * 60 * 60 * 1000

/** An outcome or order that may change the state of a dispute. */
export type DisputeReport = "defended" | "won" | "lost"

export interface DisputeTransition {
  readonly report: DisputeReport
  readonly from: ReadonlyArray<DisputeStatus>
  readonly to: DisputeStatus
  readonly events: ReadonlyArray<string>
}

/** Every transition (DSP-2). `lost` is final, also after `won`. */
export const disputeTransitions: ReadonlyArray<DisputeTransition> = [
  { report: "defended", from: ["open"], to: "under_review", events: [] },
  { report: "won", from: ["open", "under_review"], to: "won", events: ["won"] },
  { report: "lost", from: ["open", "under_review", "won"], to: "lost", events: ["lost"] }
]

/** The transition of a report from a state, or `undefined` if it changes nothing. */
export const disputeTransition = (report: DisputeReport, from: DisputeStatus): DisputeTransition | undefined =>
  disputeTransitions.find((transition) => transition.report === report && transition.from.includes(from))

/**
 * Which MED a return is probably of: one that was lost before its return was reported, or one that is open and was opened before
 * it. One of its amount is sooner meant than another, then the largest: ids do not say which is older, because clocks of servers
 * differ.
 */
export const medOfReturn = <
  Lost extends { readonly amount: number },
  Open extends { readonly amount: number; readonly openedAtMs: number }
>(
  { amount, atMs = Infinity }: { readonly amount: number | undefined; readonly atMs: number | undefined },
  lost: ReadonlyArray<Lost>,
  all: ReadonlyArray<Open>
): { readonly lost?: Lost; readonly open?: Open } => {
  const open = all.filter(({ openedAtMs }) => atMs + WHOLE_SECOND_MS > openedAtMs)
  const isMeant = (of: { readonly amount: number }) => of.amount === amount
  const exact = lost.find(isMeant)
  if (exact !== undefined) return { lost: exact }
  const other = open.find(isMeant)
  if (other !== undefined) return { open: other }
  const largest = largestOf(lost)
  if (largest !== undefined) return { lost: largest }
  const contesting = largestOf(open)
  return contesting === undefined ? {} : { open: contesting }
}

/**
 * Which return, of those that no MED is known for, is that of a MED that is lost: one of its amount, else the largest, and none of
 * before its opening. Each MED that is lost has one return, so that in the end every pairing is right in sum.
 */
export const returnOfLoss = <Return extends { readonly amount: number; readonly atMs: number }>(
  { amount, openedAtMs }: { readonly amount: number | undefined; readonly openedAtMs: number },
  returns: ReadonlyArray<Return>
): Return | undefined => {
  const since = returns.filter(({ atMs }) => atMs + WHOLE_SECOND_MS > openedAtMs)
  return since.find((one) => one.amount === amount) ?? largestOf(since)
}

/** Lists may have instants of whole seconds. */
const WHOLE_SECOND_MS = 1000

const largestOf = <A extends { readonly amount: number }>(all: ReadonlyArray<A>): A | undefined =>
  all.toSorted((a, b) => b.amount - a.amount)[0]
