/**
 * A MED (Mecanismo Especial de Devolução) against a Pix charge.
 *
 * Source: payments-api-v1.md "dispute data", "Dispute `status`"; decisions.md "Disputes".
 */
import * as Schema from "effect/Schema";
export declare const DisputeStatus: Schema.Literals<readonly ["open", "under_review", "won", "lost"]>;
export type DisputeStatus = typeof DisputeStatus.Type;
/** A dispute as its events and the operator surface show it. */
export declare const Dispute: Schema.Struct<{
    readonly object: Schema.Literal<"dispute">;
    readonly id: Schema.String;
    readonly charge_id: Schema.String;
    readonly status: Schema.Union<readonly [Schema.Literals<readonly ["open", "under_review", "won", "lost"]>, Schema.StringForLiteralAutocomplete]>;
    readonly amount: Schema.brand<Schema.Int, "Cents">;
    readonly currency: Schema.Literal<"BRL">;
    readonly reason: Schema.NullOr<Schema.String>;
    readonly reference: Schema.NullOr<Schema.String>;
    readonly opened_at: Schema.NullOr<Schema.String>;
    readonly defense_deadline_at: Schema.NullOr<Schema.String>;
    readonly resolved_at: Schema.NullOr<Schema.String>;
    readonly arrived_resolved: Schema.Boolean;
    readonly message: Schema.optionalKey<Schema.String>;
    readonly sequence: Schema.Int;
}>;
export type Dispute = typeof Dispute.Type;
/** The time for a defense where the acquirer names none. */
export declare const DEFENSE_PERIOD_MS: number;
/** What can happen to a dispute after it is opened. */
export type DisputeReport = "defended" | "won" | "lost";
export interface DisputeTransition {
    readonly report: DisputeReport;
    readonly from: ReadonlyArray<DisputeStatus>;
    readonly to: DisputeStatus;
    readonly events: ReadonlyArray<string>;
}
/** Every transition there is. `lost` is final even after a `won`. */
export declare const disputeTransitions: ReadonlyArray<DisputeTransition>;
/** The transition that a report makes from a state, or `undefined` where it changes nothing. */
export declare const disputeTransition: (report: DisputeReport, from: DisputeStatus) => DisputeTransition | undefined;
