/**
 * Resolves one name: the hosts file, then DNS (IPv4 and IPv6 in parallel) through the search list.
 *
 * Guarantees: a query blocks no thread and ends within `deadlineMs`.
 *
 * Why not `dns.lookup`: docs/decisions/0020-names-without-threads.md.
 */
import * as Effect from "effect/Effect"
import { type LookupAddress, promises as dns, type RecordWithTtl } from "node:dns"
import { candidatesOf, makeSystemNames } from "./SystemNames.ts"

/** Where and how names are resolved. */
export interface NameSources {
  readonly hosts: string
  readonly resolvConf: string
  /** Such as `127.0.0.1:5353`; by default those of resolv.conf. */
  readonly servers: ReadonlyArray<string> | undefined
  /** The timeout of a server's first try, the tries of each server, and the limit of a whole query. */
  readonly timeoutMs: number
  readonly tries: number
  readonly deadlineMs: number
}

export const systemSources: NameSources = {
  hosts: "/etc/hosts",
  resolvConf: "/etc/resolv.conf",
  servers: undefined,
  timeoutMs: 1000,
  tries: 2,
  deadlineMs: 5000
}

/** All addresses of a name, or why there is none. */
export type Resolution =
  | { readonly _tag: "Resolved"; readonly addresses: ReadonlyArray<LookupAddress>; readonly ttlMs: number }
  /** The name does not exist, or has no address. */
  | { readonly _tag: "NoSuchName" }
  /** No server answered, or one failed: the name may resolve later. */
  | { readonly _tag: "NotAnswered" }

export type NameQuery = (name: string, isAbsolute: boolean) => Promise<Resolution>

export const makeNameQuery = Effect.fnUntraced(function* (sources: NameSources, monotonicMs: () => number) {
  const system = makeSystemNames(sources, monotonicMs)
  const resolvers = new Set<dns.Resolver>()
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const resolver of resolvers) resolver.cancel()
    })
  )

  const query: NameQuery = async (name, isAbsolute) => {
    const { hosts, search } = await system()
    const fromHostsFile = hosts.get(name)
    if (fromHostsFile !== undefined) return { _tag: "Resolved", addresses: fromHostsFile, ttlMs: Infinity }

    // One for each query, because `cancel` ends all queries of a resolver. Measured: creating one takes 40 µs.
    const resolver = new dns.Resolver({
      timeout: sources.timeoutMs,
      tries: sources.tries,
      maxTimeout: 2 * sources.timeoutMs
    })
    if (sources.servers !== undefined) resolver.setServers(sources.servers)
    resolvers.add(resolver)
    let isOverDeadline = false
    const deadline = setTimeout(() => {
      isOverDeadline = true
      resolver.cancel()
    }, sources.deadlineMs)
    try {
      let unanswered = false
      for (const candidate of candidatesOf(name, isAbsolute, search)) {
        const resolution = await addressesOf(resolver, candidate)
        if (resolution._tag === "Resolved") return resolution
        unanswered ||= resolution._tag === "NotAnswered"
        if (isOverDeadline) break
      }
      return unanswered ? { _tag: "NotAnswered" } : { _tag: "NoSuchName" }
    } finally {
      clearTimeout(deadline)
      resolvers.delete(resolver)
    }
  }
  return query
})

const addressesOf = async (resolver: dns.Resolver, name: string): Promise<Resolution> => {
  const answers = await Promise.all([
    recordsOf(resolver.resolve4(name, { ttl: true }), 4),
    recordsOf(resolver.resolve6(name, { ttl: true }), 6)
  ])
  const addresses = answers.flatMap((answer) => (answer === "none" || answer === "unanswered" ? [] : answer.addresses))
  if (addresses.length === 0) return { _tag: answers.includes("unanswered") ? "NotAnswered" : "NoSuchName" }
  const ttls = answers.map((answer) => (typeof answer === "string" ? Infinity : answer.ttlMs))
  return { _tag: "Resolved", addresses, ttlMs: Math.min(...ttls) }
}

const recordsOf = (query: Promise<ReadonlyArray<RecordWithTtl>>, family: 4 | 6) =>
  query.then(
    (records) => ({
      addresses: records.map(({ address }) => ({ address, family })),
      ttlMs: 1000 * Math.min(...records.map(({ ttl }) => ttl))
    }),
    (error: NodeJS.ErrnoException) => (noRecord.has(error.code ?? "") ? ("none" as const) : ("unanswered" as const))
  )

/** Errors of a name without such a record. All others may be transient. */
const noRecord = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"])
