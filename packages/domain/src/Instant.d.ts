import * as Schema from "effect/Schema";
/** An instant as the service writes it. */
export declare const Instant: Schema.String;
/** The wire form of a time in epoch milliseconds. */
export declare const formatInstant: (epochMs: number) => string;
/**
 * Epoch milliseconds of an ISO 8601 instant with an offset or `Z`, or `undefined` where the text names no instant.
 * What lies between two milliseconds is given as half way, since a number cannot hold it exactly.
 */
export declare const parseInstant: (text: string) => number | undefined;
/** An instant as a caller may send it. */
export declare const InstantInput: Schema.String;
