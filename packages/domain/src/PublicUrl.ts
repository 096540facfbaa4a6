/**
 * Webhook addresses: which URLs the service may call. URL-1 to URL-6.
 *
 * Guarantees
 * - A URL is judged as WHATWG parses it, which is how the sender connects to it.
 * - An address is public if it is global unicast and in no range of IANA's special-purpose registries. Any other
 *   address is refused.
 * - A host name is in ASCII form and fits DNS: 253 octets, labels of 63 (RFC 1035).
 * - Names are not resolved here. The server resolves them at registration and at every attempt, and passes their
 *   addresses to `mayReach`.
 */
import * as IpNetwork from "effect/net/IpNetwork"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { failsWith } from "./ErrorCode.ts"
import { upTo } from "./Text.ts"

/** A range of addresses of one family, both ends included. */
export interface Network {
  /** As it was written: `10.0.0.0/8`. */
  readonly cidr: string
  readonly family: 4 | 6
  readonly first: bigint
  readonly last: bigint
}

export type UrlRefusal =
  | "not-a-url"
  | "control-character"
  | "scheme-not-http"
  | "has-user-info"
  | "port-zero"
  | "malformed-name"
  | "name-too-long"
  | "private-name"
  | "private-address"

/** A `Name` has to be resolved, and each of its addresses judged with `mayReach`. */
export type UrlHost =
  | {
      readonly _tag: "Name"
      readonly name: string
      /** The URL has a final dot: no search list applies. */
      readonly isAbsolute: boolean
      /** A private name (URL-3): it may resolve into allowed networks only. */
      readonly isPrivate: boolean
    }
  | { readonly _tag: "Address"; readonly address: string }

export type UrlVerdict =
  | { readonly _tag: "Ok"; readonly url: URL; readonly host: UrlHost }
  | { readonly _tag: "Refused"; readonly reason: UrlRefusal }

/**
 * Judges the text of a URL. Private names (`localhost`, names below `.localhost`, `.local`, `.internal`) are refused if
 * `allowed` is empty; else `mayReach` admits them to those networks only.
 */
export const judgeUrl = (text: string, allowed: ReadonlyArray<Network>): UrlVerdict => {
  const url = parseHttpUrl(text)
  if (typeof url === "string") return refused(url)
  const host = url.hostname
  const literal = host.startsWith("[") ? host.slice(1, -1) : host
  const address = parseAddress(literal)
  if (address !== undefined) {
    return isPublic(address, allowed)
      ? { _tag: "Ok", url, host: { _tag: "Address", address: literal } }
      : refused("private-address")
  }
  // WHATWG keeps the final dot of an absolute name: `localhost.` is `localhost`.
  const name = host.endsWith(".") ? host.slice(0, -1) : host
  if (name.split(".").includes("")) return refused("malformed-name")
  const isPrivate = privateName.test(name)
  if (isPrivate && allowed.length === 0) return refused("private-name")
  return { _tag: "Ok", url, host: { _tag: "Name", name, isAbsolute: name !== host, isPrivate } }
}

/**
 * Whether deliveries may go to a host with these addresses: all addresses of a name, or the literal one. A private name
 * needs at least one address, and all of them in the allowed networks. Any other name is judged by its addresses.
 */
export const mayReach = (host: UrlHost, addresses: ReadonlyArray<string>, allowed: ReadonlyArray<Network>): boolean => {
  if (host._tag === "Name" && host.isPrivate) {
    return addresses.length > 0 && addresses.every((ip) => isAllowedAddress(ip, allowed))
  }
  return addresses.every((ip) => isPublicAddress(ip, allowed))
}

/** Whether deliveries may go to this address. False for text that is no address, and for zone ids. */
export const isPublicAddress = (ip: string, allowed: ReadonlyArray<Network>): boolean => {
  const address = parseAddress(ip)
  return address !== undefined && isPublic(address, allowed)
}

const isAllowedAddress = (ip: string, allowed: ReadonlyArray<Network>): boolean => {
  const address = parseAddress(ip)
  if (address === undefined) return false
  const inner = address.family === 6 ? embedded(address) : undefined
  return isIn(address, allowed) || (inner !== undefined && isIn(inner, allowed))
}

/** The networks of a setting such as `10.0.0.0/8,::1/128` (empty: none), or an error message. */
export const parseNetworks = (setting: string): Result.Result<ReadonlyArray<Network>, string> => {
  const networks: Array<Network> = []
  for (const part of setting.split(",")) {
    const cidr = part.trim()
    if (cidr === "") continue
    const parsed = IpNetwork.fromString(cidr)
    if (Result.isFailure(parsed))
      return Result.fail(`"${cidr}" is not a network in CIDR form: ${parsed.failure.message}`)
    networks.push(toNetwork(cidr, parsed.success))
  }
  return Result.succeed(networks)
}

/** The form in which equal URLs are equal text (EVT-9). Text that is no URL equals itself only. */
export const normalizeUrl = (text: string): string => URL.parse(text)?.href ?? text

/**
 * A webhook URL, as far as it can be judged without settings: URL-1, URL-4. Whether it is public depends on the allowed
 * networks: the server calls `judgeUrl` with them. NUL and lone surrogates are `VALIDATION_ERROR`.
 */
export const WebhookUrl = Schema.String.check(
  upTo(2048).abort(),
  Schema.makeFilter(
    (text: string) => !text.includes("\0") && text.isWellFormed(),
    { expected: "well-formed text" },
    true
  ),
  Schema.makeFilter((text: string) => typeof parseHttpUrl(text) !== "string", {
    expected: "an http or https URL without user info or control characters",
    ...failsWith("INVALID_WEBHOOK_URL"),
    toJsonSchema: () => [{ format: "uri" }, true],
    // What generated test values are taken from: random text practically never passes.
    arbitraryConstraint: { patterns: [{ source: "^https://[a-z]{1,12}\\.example/[a-z0-9]{0,12}$", flags: "" }] }
  })
)
export type WebhookUrl = typeof WebhookUrl.Type

const parseHttpUrl = (text: string): URL | UrlRefusal => {
  // WHATWG parsing drops line breaks and tabs, and C0 characters at both ends: the text would not be the URL.
  if (controlCharacter.test(text)) return "control-character"
  const url = URL.parse(text)
  if (url === null) return "not-a-url"
  if (url.protocol !== "http:" && url.protocol !== "https:") return "scheme-not-http"
  if (url.username !== "" || url.password !== "") return "has-user-info"
  if (url.port === "0") return "port-zero"
  if (url.hostname.length > MAX_HOST_OCTETS) return "name-too-long"
  if (url.hostname.split(".").some(({ length }) => length > MAX_LABEL_OCTETS)) return "name-too-long"
  return url
}

const refused = (reason: UrlRefusal): UrlVerdict => ({ _tag: "Refused", reason })

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

const MAX_HOST_OCTETS = 253
const MAX_LABEL_OCTETS = 63

// The host is lower case by now: WHATWG parsing has seen to it.
const privateName = /(?:^|\.)localhost$|\.(?:local|internal)$/

interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

const isPublic = (address: Address, allowed: ReadonlyArray<Network>): boolean => {
  if (isIn(address, allowed)) return true
  if (address.family === 4) return !isIn(address, notPublic4)
  const inner = embedded(address)
  if (inner !== undefined) return isPublic(inner, allowed)
  return isIn(address, global6) && !isIn(address, notPublic6) && !isIsatap(address)
}

const isIn = (address: Address, networks: ReadonlyArray<Network>): boolean =>
  networks.some(
    ({ family, first, last }) => family === address.family && first <= address.value && address.value <= last
  )

/** The IPv4 address that packets to this address reach: IPv4-mapped, and NAT64 under its well-known prefix. */
const embedded = ({ value }: Address): Address | undefined => {
  const prefix = value >> 32n
  return prefix === MAPPED || prefix === NAT64 ? { family: 4, value: value & 0xffff_ffffn } : undefined
}

const MAPPED = 0xffffn
const NAT64 = 0x0064_ff9b_0000_0000_0000_0000n

/** Interface ids `0000:5efe` and `0200:5efe` carry an IPv4 address over which packets are tunnelled. */
const isIsatap = ({ value }: Address): boolean => ((value >> 32n) & 0xfdff_ffffn) === 0x5efen

const parseAddress = (text: string): Address | undefined => {
  const parsed = NetAddress.ipFromString(text)
  return Result.isSuccess(parsed) ? toAddress(parsed.success) : undefined
}

const toAddress = (ip: NetAddress.IpAddress): Address => {
  const isV4 = NetAddress.isIpv4Address(ip)
  const octets: ReadonlyArray<number> = isV4 ? NetAddress.ipv4ToOctets(ip) : NetAddress.ipv6ToOctets(ip)
  let value = 0n
  for (const octet of octets) value = (value << 8n) | BigInt(octet)
  return { family: isV4 ? 4 : 6, value }
}

const toNetwork = (cidr: string, network: IpNetwork.IpNetwork): Network => {
  const { family, value } = toAddress(network.address)
  const hostBits = BigInt((family === 4 ? 32 : 128) - network.prefixLength)
  return { cidr, family, first: value, last: value | ((1n << hostBits) - 1n) }
}

const networks = (cidrs: ReadonlyArray<string>): ReadonlyArray<Network> =>
  cidrs.map((cidr) => toNetwork(cidr, IpNetwork.fromStringUnsafe(cidr)))

const notPublic4 = networks([
  "0.0.0.0/8", // this network; 0.0.0.0 reaches the machine itself
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT, and Alibaba's metadata service
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's platform service: a public number that answers only inside
  "169.254.0.0/16", // link-local, and the metadata services of the clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarking
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4" // reserved, and broadcast
])

/** All that is assigned as global unicast; loopback, unique-local, link-local, site-local and multicast lie outside. */
const global6 = networks(["2000::/3"])

const notPublic6 = networks([
  "2001::/23", // protocol assignments: Teredo, ORCHID, benchmarking, anycast of the own router
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4: tunnels to an IPv4 address
  "3fff::/20" // documentation
])
