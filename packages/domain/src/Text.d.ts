/**
 * Text as the service takes it: bounded in code points, well formed, and free of control characters
 * other than line breaks and tabs (NUL is never storable).
 *
 * Source: decisions.md "Finer points" (lengths count code points).
 */
import * as Schema from "effect/Schema";
/** A string of `minimum` to `maximum` code points without control characters. */
export declare const text: (minimum: number, maximum: number) => Schema.String;
/** True for text that can be stored, shown and signed: no control characters, no lone surrogate. */
export declare const isPrintable: (value: string) => boolean;
