/**
 * The hosts that a listener answers to, so that a name that an attacker controls (DNS rebinding) reaches nothing.
 *
 * Source: operator-api.md (`OPERATOR_HOSTS`: separated by commas; port and case are ignored).
 */
import * as Result from "effect/Result"

/** Where `OPERATOR_HOSTS` is not set. */
export const defaultHosts: ReadonlyArray<string> = ["localhost", "127.0.0.1", "[::1]"]

/** Reads `OPERATOR_HOSTS`. */
export const parseHosts = (text: string): Result.Result<ReadonlyArray<string>, string> => {
  const hosts: Array<string> = []
  for (const part of text.split(",").map((each) => each.trim())) {
    if (part === "") continue
    const host = hostnameOf(part)
    if (host === undefined) return Result.fail(`"${part}" is not a host`)
    hosts.push(host)
  }
  return hosts.length === 0 ? Result.fail("expected hosts, separated by commas") : Result.succeed(hosts)
}

/** The host of a `Host` header, in lower case and without its port; `undefined` where it is none. */
export const hostnameOf = (header: string): string | undefined => {
  const [, host] = authority.exec(header) ?? []
  return host?.toLowerCase()
}

// A name or an IPv4 address, or an IPv6 address in brackets, and perhaps a port.
const authority = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i
