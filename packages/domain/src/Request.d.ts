import * as Cause from "effect/Cause";
import * as Result from "effect/Result";
import * as Schema from "effect/Schema";
import { type RequestCode } from "./ErrorCode.ts";
/** An optional field of a creation: `null` is the same as absent. */
export declare const nullable: <S extends Schema.Constraint>(schema: S) => Schema.optionalKey<Schema.NullOr<S>>;
/** A field that breaks a rule. */
export interface Violation {
    readonly code: RequestCode;
    readonly path: ReadonlyArray<PropertyKey>;
}
/** Why a request is refused: a code, and what it is about. */
export interface Refusal {
    readonly code: RequestCode;
    readonly details: ReadonlyArray<string> | undefined;
}
/**
 * Reads a request body. `rules` are checks over several fields; they see the raw body, so that they are
 * told together with the fields that fail by themselves.
 */
export declare const decoder: <S extends Schema.ConstraintDecoder<unknown>>(schema: S, rules?: (body: Readonly<Record<string, unknown>>) => ReadonlyArray<Violation>) => ((body: unknown) => Result.Result<S["Type"], Refusal>);
/** Picks the code that is answered, and lists what it is about. */
export declare const refusalOf: (violations: ReadonlyArray<Violation>, body: unknown) => Refusal;
/** Everything that a failed decode complains of. */
export declare const violationsOf: (cause: Cause.Cause<Schema.SchemaError>, body: unknown) => ReadonlyArray<Violation>;
