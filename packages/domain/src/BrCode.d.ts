import * as Result from "effect/Result";
export type BrCodeReason = "account-missing" | "account-ambiguous" | "account-not-ascii" | "account-too-long" | "additional-info-on-dynamic" | "name-empty" | "city-empty" | "txid-malformed" | "postal-code-malformed" | "structure" | "checksum" | "field-missing" | "not-pix" | "amount";
declare const BrCodeError_base: new <A extends Record<string, any> = {}>(args: import("effect/Types").VoidIfEmpty<{ readonly [P in keyof A as P extends "_tag" ? never : P]: A[P]; }>) => import("effect/Cause").YieldableError & {
    readonly _tag: "BrCodeError";
} & Readonly<A>;
export declare class BrCodeError extends BrCodeError_base<{
    readonly reason: BrCodeReason;
    readonly message: string;
}> {
}
/** Either `payloadUrl` (dynamic: the payer's bank fetches the charge there) or `pixKey` (static). */
export interface BrCodeInput {
    readonly payloadUrl?: string;
    readonly pixKey?: string;
    /** Cents. Without one the payer chooses. */
    readonly amount?: number;
    readonly merchantName: string;
    readonly merchantCity: string;
    /** Of a static code; a dynamic one has it behind its URL. */
    readonly txid?: string;
    readonly singleUse: boolean;
    readonly postalCode?: string;
    /** Text for the payer, of a static code alone. */
    readonly additionalInfo?: string;
}
/** One element. Templates have children as well. */
export interface Tlv {
    readonly id: string;
    readonly value: string;
    readonly children?: ReadonlyArray<Tlv>;
}
export interface BrCode {
    /** Without scheme. */
    readonly payloadUrl?: string;
    readonly pixKey?: string;
    readonly additionalInfo?: string;
    /** The URL of a Pix Automático recurrence, without scheme. */
    readonly recurrenceUrl?: string;
    /** Cents. */
    readonly amount?: number;
    readonly merchantName: string;
    readonly merchantCity: string;
    readonly postalCode?: string;
    /** Absent when the code says `***`. */
    readonly txid?: string;
    readonly singleUse: boolean;
    readonly tlv: ReadonlyArray<Tlv>;
}
/** The text of a code. Name and city are folded to ASCII and cut to 25 and 15; nothing else is changed to fit. */
export declare const buildBrCode: (input: BrCodeInput) => Result.Result<string, BrCodeError>;
/** Reads a code: strict about structure and checksum, lenient about the lengths of the contents. */
export declare const parseBrCode: (text: string) => Result.Result<BrCode, BrCodeError>;
/** CRC-16/CCITT-FALSE of the text's UTF-8 bytes: polynomial 0x1021, from 0xFFFF, nothing reflected. */
export declare const crc16: (text: string) => number;
/** Printable ASCII: accents are dropped from their letters, other characters altogether, and white space is one space. */
export declare const foldToAscii: (text: string) => string;
export {};
