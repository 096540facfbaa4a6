/**
 * The list envelope, and the query that every list takes.
 *
 * Source: payments-api-v1.md "List envelope", "Pagination".
 */
import * as Schema from "effect/Schema";
export declare const defaultLimit = 20;
/** `{ object: "list", data, has_more }` of some resource. */
export declare const listOf: <S extends Schema.Constraint>(item: S) => Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<S>;
    readonly has_more: Schema.Boolean;
}>;
/** A page of a list whose items are already in their wire form. */
export interface Page<A> {
    readonly object: "list";
    readonly data: ReadonlyArray<A>;
    readonly has_more: boolean;
}
/** Cuts a page out of up to `limit + 1` items read. */
export declare const pageOf: <A>(itemsRead: ReadonlyArray<A>, limit: number) => Page<A>;
export declare const Limit: Schema.Int;
export declare const StartingAfter: Schema.String;
/** The query fields of a list without filters of its own. */
export declare const listQuery: {
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
};
