/**
 * Asks for the addresses of one name.
 *
 * Guarantees: the hosts file comes first, for every name; then DNS, IPv4 and IPv6 at once, along the search list. It takes
 * no thread and ends within `deadlineMs`, whatever the servers do.
 *
 * Why not `dns.lookup`: it blocks a thread of Node's few for as long as a server does not answer, 10 s and more; a name in
 * a silent zone stops the look-ups of everybody, and file access with them.
 */
import * as Effect from "effect/Effect"
import { type LookupAddress, promises as dns, type RecordWithTtl } from "node:dns"
import { candidatesOf, makeSystemNames } from "./SystemNames.ts"

/** Where names are looked up. */
export interface NameSources {
  readonly hosts: string
  readonly resolvConf: string
  /** `127.0.0.1:5353`; unset: those of resolv.conf. */
  readonly servers: ReadonlyArray<string> | undefined
  /** How long a server has for its first answer; how often each is asked; how long a look-up takes in all. */
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

/** All addresses that a name has, or why none is known. */
export type Resolution =
  | { readonly _tag: "Resolved"; readonly addresses: ReadonlyArray<LookupAddress>; readonly ttlMs: number }
  /** There is no such name, or it has no address. */
  | { readonly _tag: "NoSuchName" }
  /** Nobody answered, or with a failure: it may resolve at the next attempt. */
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
    const listed = hosts.get(name)
    if (listed !== undefined) return { _tag: "Resolved", addresses: listed, ttlMs: Infinity }

    // One for each look-up: making it costs 40 µs; canceling it ends the queries of this name and no others.
    const resolver = new dns.Resolver({
      timeout: sources.timeoutMs,
      tries: sources.tries,
      maxTimeout: 2 * sources.timeoutMs
    })
    if (sources.servers !== undefined) resolver.setServers(sources.servers)
    resolvers.add(resolver)
    let isLate = false
    const deadline = setTimeout(() => {
      isLate = true
      resolver.cancel()
    }, sources.deadlineMs)
    try {
      let unanswered = false
      for (const candidate of candidatesOf(name, isAbsolute, search)) {
        const resolution = await addressesOf(resolver, candidate)
        if (resolution._tag === "Resolved") return resolution
        unanswered ||= resolution._tag === "NotAnswered"
        if (isLate) break
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

const recordsOf = (asked: Promise<ReadonlyArray<RecordWithTtl>>, family: 4 | 6) =>
  asked.then(
    (records) => ({
      addresses: records.map(({ address }) => ({ address, family })),
      ttlMs: 1000 * Math.min(...records.map(({ ttl }) => ttl))
    }),
    (error: NodeJS.ErrnoException) => (noRecord.has(error.code ?? "") ? ("none" as const) : ("unanswered" as const))
  )

/** That there is no such record, or that none can have that name. Everything else may pass. */
const noRecord = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"])
