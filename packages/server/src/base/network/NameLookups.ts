/**
 * Cached name lookups for all accounts of a process.
 *
 * Guarantees:
 * - Lookups are scheduled fairly between accounts (`LookupScheduler`).
 * - A name has one query at a time, whichever accounts wait for it.
 * - A result, also a failure, is cached for up to 5 s. The cache is bounded.
 */
import * as Effect from "effect/Effect"
import { type LookupLimits, makeLookupScheduler } from "./LookupScheduler.ts"
import type { NameQuery, Resolution } from "./NameQuery.ts"

/** `Busy`: too many lookups wait. */
export type Lookup = Resolution | { readonly _tag: "Busy" }

export interface Name {
  readonly name: string
  readonly isAbsolute: boolean
}

export const makeNameLookups = (query: NameQuery, limits: LookupLimits, monotonicMs: () => number) => {
  const scheduler = makeLookupScheduler(limits)
  const cache = new Map<string, { readonly resolution: Resolution; readonly untilMs: number }>()
  const pending = new Map<string, Array<(resolution: Resolution) => void>>()

  const cached = (id: string): Resolution | undefined => {
    const entry = cache.get(id)
    if (entry === undefined) return undefined
    if (monotonicMs() < entry.untilMs) return entry.resolution
    cache.delete(id)
    return undefined
  }

  const store = (id: string, resolution: Resolution) => {
    const cachedMs = resolution._tag === "Resolved" ? Math.min(resolution.ttlMs, CACHED_MS) : CACHED_MS
    if (cache.size >= MAX_CACHED) {
      const [oldest] = cache.keys()
      if (oldest !== undefined) cache.delete(oldest)
    }
    cache.delete(id)
    cache.set(id, { resolution, untilMs: monotonicMs() + cachedMs })
  }

  const resolve = (id: string, { isAbsolute, name }: Name, then: (resolution: Resolution) => void) => {
    const waiters = pending.get(id)
    if (waiters !== undefined) return waiters.push(then)
    const callbacks = [then]
    pending.set(id, callbacks)
    void query(name, isAbsolute)
      .catch((): Resolution => ({ _tag: "NotAnswered" }))
      .then((resolution) => {
        pending.delete(id)
        store(id, resolution)
        for (const callback of callbacks) callback(resolution)
      })
    return
  }

  return {
    lookUp: (account: string, host: Name): Effect.Effect<Lookup> =>
      Effect.suspend(() => {
        // The search list does not apply to a name with a final dot.
        const id = host.isAbsolute ? `${host.name}.` : host.name
        const known = cached(id)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.callback<Lookup>((resume) => {
          // Joining a pending query takes no share.
          if (pending.has(id)) {
            resolve(id, host, (resolution) => resume(Effect.succeed(resolution)))
            return Effect.void
          }
          const job = {
            account,
            start: () => {
              const nowCached = cached(id)
              const end = (resolution: Resolution) => {
                scheduler.finished(account)
                resume(Effect.succeed(resolution))
              }
              if (nowCached === undefined) resolve(id, host, end)
              else queueMicrotask(() => end(nowCached))
            },
            refuse: () => resume(Effect.succeed({ _tag: "Busy" }))
          }
          scheduler.submit(job)
          return Effect.sync(() => scheduler.cancel(job))
        })
      }),
    counts: scheduler.counts
  }
}

const CACHED_MS = 5000
const MAX_CACHED = 4096
