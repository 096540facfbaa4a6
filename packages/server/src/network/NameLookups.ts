/**
 * The addresses of names, for all accounts of a process.
 *
 * Guarantees: look-ups are shared fairly between accounts (`LookupShares`); a name is asked for once at a time,
 * whichever accounts wait for it, and not again within seconds, whether it has addresses, has none or is not answered.
 * What is kept is bounded.
 */
import * as Effect from "effect/Effect"
import { type Shares, makeLookupScheduler } from "./LookupScheduler.ts"
import type { NameQuery, Resolution } from "./NameQuery.ts"

/** `Busy`: too many look-ups wait already. */
export type Lookup = Resolution | { readonly _tag: "Busy" }

export interface Name {
  readonly name: string
  readonly isAbsolute: boolean
}

export const makeNameLookups = (query: NameQuery, shares: Shares, monotonicMs: () => number) => {
  const places = makeLookupScheduler(shares)
  const cache = new Map<string, { readonly resolution: Resolution; readonly untilMs: number }>()
  const asked = new Map<string, Array<(resolution: Resolution) => void>>()

  const cached = (id: string): Resolution | undefined => {
    const entry = cache.get(id)
    if (entry === undefined) return undefined
    if (monotonicMs() < entry.untilMs) return entry.resolution
    cache.delete(id)
    return undefined
  }

  const keep = (id: string, resolution: Resolution) => {
    const keptMs = resolution._tag === "Resolved" ? Math.min(resolution.ttlMs, KEPT_MS) : KEPT_MS
    if (cache.size >= MOST_KEPT) {
      const [oldest] = cache.keys()
      if (oldest !== undefined) cache.delete(oldest)
    }
    cache.delete(id)
    cache.set(id, { resolution, untilMs: monotonicMs() + keptMs })
  }

  const ask = (id: string, { isAbsolute, name }: Name, then: (resolution: Resolution) => void) => {
    const others = asked.get(id)
    if (others !== undefined) return others.push(then)
    const all = [then]
    asked.set(id, all)
    void query(name, isAbsolute)
      .catch((): Resolution => ({ _tag: "NotAnswered" }))
      .then((resolution) => {
        asked.delete(id)
        keep(id, resolution)
        for (const each of all) each(resolution)
      })
    return
  }

  return {
    lookUp: (account: string, host: Name): Effect.Effect<Lookup> =>
      Effect.suspend(() => {
        // A name with a final dot is another one: the search list does not apply to it.
        const id = host.isAbsolute ? `${host.name}.` : host.name
        const known = cached(id)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.callback<Lookup>((resume) => {
          // What others are asking for takes no place.
          if (asked.has(id)) {
            ask(id, host, (resolution) => resume(Effect.succeed(resolution)))
            return Effect.void
          }
          const job = {
            account,
            begin: () => {
              const known = cached(id)
              const end = (resolution: Resolution) => {
                places.ended(account)
                resume(Effect.succeed(resolution))
              }
              if (known === undefined) ask(id, host, end)
              else queueMicrotask(() => end(known))
            },
            refuse: () => resume(Effect.succeed({ _tag: "Busy" }))
          }
          places.ask(job)
          return Effect.sync(() => places.leave(job))
        })
      }),
    counts: places.counts
  }
}

const KEPT_MS = 5000
const MOST_KEPT = 4096
