import * as Result from "effect/Result";
import * as Schema from "effect/Schema";
/** A range of addresses of one family, both ends included. */
export interface Network {
    /** As it was written: `10.0.0.0/8`. */
    readonly cidr: string;
    readonly family: 4 | 6;
    readonly first: bigint;
    readonly last: bigint;
}
export type UrlRefusal = "not-a-url" | "scheme-not-http" | "has-user-info" | "port-zero" | "malformed-name" | "private-name" | "private-address";
/** A host that is a name has still to be resolved and each of its addresses judged. */
export type UrlHost = {
    readonly _tag: "Name";
    readonly name: string;
} | {
    readonly _tag: "Address";
    readonly address: string;
};
export type UrlVerdict = {
    readonly _tag: "Ok";
    readonly url: URL;
    readonly host: UrlHost;
} | {
    readonly _tag: "Refused";
    readonly reason: UrlRefusal;
};
/**
 * Judges a URL's text. With an empty `allowed` list, names that are private by definition (`localhost` and what is
 * below `.localhost`, `.local`, `.internal`) are refused at once; with allowed networks they pass as names, since
 * those judge the addresses behind them.
 */
export declare const judgeUrl: (text: string, allowed: ReadonlyArray<Network>) => UrlVerdict;
/** Whether deliveries may go to this address. False as well for what is no address, zone ids included. */
export declare const isPublicAddress: (ip: string, allowed: ReadonlyArray<Network>) => boolean;
/** The networks of a setting such as `10.0.0.0/8,::1/128` (empty: none), or what is wrong with it. */
export declare const parseNetworks: (setting: string) => Result.Result<ReadonlyArray<Network>, string>;
/** The text by which two destinations are equal. Text that is no URL equals only itself. */
export declare const normalizeUrl: (text: string) => string;
/**
 * The text of a webhook URL, as far as it can be judged without settings: an http or https URL without user info.
 * Whether it is public depends on the installation's allowed networks: the server calls `judgeUrl` with them.
 */
export declare const WebhookUrl: Schema.String;
export type WebhookUrl = typeof WebhookUrl.Type;
