/**
 * The hosts file and the search list of resolv.conf (hosts(5), resolv.conf(5), RFC 6761 6.3).
 *
 * Guarantees: a changed file is read again within 5 s. A missing file counts as empty.
 */
import type { LookupAddress } from "node:dns"
import { readFile } from "node:fs/promises"
import { isIP } from "node:net"

/** The addresses of each name, in lower case. */
export type Hosts = ReadonlyMap<string, ReadonlyArray<LookupAddress>>

export interface SearchList {
  readonly domains: ReadonlyArray<string>
  /** A name with at least so many dots is tried as it is before the search list, any other after it. */
  readonly ndots: number
}

/** Returns the function that reads both files, cached for 5 s. */
export const makeSystemNames = (
  files: { readonly hosts: string; readonly resolvConf: string },
  monotonicMs: () => number
) => {
  const read = (path: string) => readFile(path, "utf8").catch(() => "")
  const load = async () => {
    const [hosts, resolvConf] = await Promise.all([read(files.hosts), read(files.resolvConf)])
    return { hosts: parseHosts(hosts), search: parseSearchList(resolvConf) }
  }
  let loaded: ReturnType<typeof load> | undefined
  let loadedAtMs = 0
  return (): ReturnType<typeof load> => {
    const now = monotonicMs()
    if (loaded === undefined || now - loadedAtMs >= FRESH_MS) {
      loaded = load()
      loadedAtMs = now
    }
    return loaded
  }
}

const FRESH_MS = 5000

export const parseHosts = (text: string): Hosts => {
  const hosts = new Map<string, Array<LookupAddress>>()
  for (const [address = "", ...names] of fieldsOf(text, /#.*/)) {
    // A link-local address with its zone stays, so that it is refused as a forbidden address.
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names) {
      const addresses = hosts.get(name.toLowerCase()) ?? []
      hosts.set(name.toLowerCase(), addresses)
      addresses.push({ address, family })
    }
  }
  // Never resolved by a server (RFC 6761), also where the file does not list it.
  return hosts.has("localhost") ? hosts : hosts.set("localhost", LOOPBACK)
}

const LOOPBACK: Array<LookupAddress> = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 }
]

export const parseSearchList = (text: string): SearchList => {
  let domains: ReadonlyArray<string> = []
  let ndots = 1
  for (const [keyword, ...values] of fieldsOf(text, /[#;].*/)) {
    // The last one counts.
    if (keyword === "search" || keyword === "domain") domains = values
    if (keyword === "options") {
      for (const value of values) {
        const [, dots] = /^ndots:(\d+)$/.exec(value) ?? []
        if (dots !== undefined) ndots = Math.min(Number(dots), 15)
      }
    }
  }
  const withoutDots = domains.map((domain) => domain.replace(/^\.+|\.+$/g, ""))
  return { domains: withoutDots.filter((domain) => domain !== "").slice(0, MAX_DOMAINS), ndots }
}

// The limit of glibc before 2.26. Each may cost a query without an answer.
const MAX_DOMAINS = 6

const fieldsOf = (text: string, comment: RegExp): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .split("\n")
    .map((line) => line.replace(comment, "").trim())
    .filter((line) => line !== "")
    .map((line) => line.split(/\s+/))

/** The names to query, in order. */
export const candidatesOf = (
  name: string,
  isAbsolute: boolean,
  { domains, ndots }: SearchList
): ReadonlyArray<string> => {
  if (isAbsolute) return [name]
  const below = domains.map((domain) => `${name}.${domain}`).filter(({ length }) => length <= MAX_NAME_OCTETS)
  const dots = name.split(".").length - 1
  return dots >= ndots ? [name, ...below] : [...below, name]
}

const MAX_NAME_OCTETS = 253
