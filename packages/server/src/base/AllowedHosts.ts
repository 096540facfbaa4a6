/**
 * The hosts that the operator listener answers to, against DNS rebinding.
 *
 * Rules: OPR-7.
 */
import * as Result from "effect/Result"

/** This machine, as URLs write it. The default of `OPERATOR_HOSTS`. */
export const loopbackHosts: ReadonlyArray<string> = ["localhost", "127.0.0.1", "[::1]"]

/** Parses `OPERATOR_HOSTS`: hosts separated by commas. Port and case are ignored. */
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

/** The host of a `Host` header, in lower case and without its port; `undefined` where it is malformed. */
export const hostnameOf = (header: string): string | undefined => {
  const [, host] = authority.exec(header) ?? []
  return host?.toLowerCase()
}

// A name, an IPv4 address or an IPv6 address in brackets, with an optional port.
const authority = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i
