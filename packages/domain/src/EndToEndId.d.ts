import * as Schema from "effect/Schema";
export declare const EndToEndId: Schema.brand<Schema.String, "EndToEndId">;
export type EndToEndId = typeof EndToEndId.Type;
/** `E` + ISPB + `yyyyMMddHHmm` in UTC + suffix. Throws when a part has not its form: that is a mistake of ours. */
export declare const makeEndToEndId: (parts: {
    readonly ispb: string;
    /** The instant of the order, in epoch milliseconds. */
    readonly atMs: number;
    /** 11 letters or digits, see `suffixFromBytes`. */
    readonly suffix: string;
}) => EndToEndId;
/** How many random bytes `suffixFromBytes` takes. */
export declare const SUFFIX_BYTES = 22;
/** 11 letters or digits from `SUFFIX_BYTES` random bytes: two bytes a character, so that the bias is negligible. */
export declare const suffixFromBytes: (bytes: Uint8Array) => string;
