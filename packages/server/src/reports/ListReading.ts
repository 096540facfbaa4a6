/**
 * The lists of a provider, read page by page and applied: what a sweep does with a range of time.
 *
 * Guarantees:
 * - a list that cannot be read is left out from there on, and delays no other list. A notification that fails delays none after it;
 * - an entry that cannot be read is an exception (`UnreadableEntries.ts`);
 * - one page is in memory, and each page renews the lease of the sweep.
 */
import * as Effect from "effect/Effect"
import { Metrics } from "../base/observability/Metrics.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import type { ListedIn } from "../payments/exceptions/UnreadableEntries.ts"
import { AcquirerUnclear, type Paged, type Provider, type Range } from "../providers/Acquirer.ts"
import { everyPage, SLICE_MS, type TimeRange } from "./ListPages.ts"
import { type Applied, nothingApplied, Reports, together } from "./Reports.ts"
import { type DueSweep, LEASE_MS, SweepStore } from "./SweepStore.ts"

export const listReading = Effect.gen(function* () {
  const store = yield* SweepStore
  const reports = yield* Reports
  const metrics = yield* Metrics

  /** Every page of a list, one after the other. */
  const pages = Effect.fnUntraced(function* <A>(
    { connectionId }: DueSweep,
    where: ListedIn,
    list: (range: Range) => Effect.Effect<Paged<A>, AcquirerUnclear>,
    apply: Apply<A>
  ) {
    let applied = nothingApplied
    const problem = yield* everyPage(
      where,
      (page) => Effect.andThen(store.extend(connectionId, LEASE_MS), list(page)),
      Effect.fnUntraced(function* ({ items, unreadable }) {
        applied = together(applied, yield* apply(connectionId, items, where))
        applied = together(applied, yield* reports.unreadable(connectionId, where, unreadable))
        applied = together(applied, { ...nothingApplied, listed: items.length + unreadable.length })
      })
    )
    if (problem === undefined) return applied
    yield* Effect.annotateLogs(Effect.logWarning(problem), { connection_id: connectionId, list: where.list })
    return together(applied, { ...nothingApplied, failures: 1 })
  })

  /** Reads a range of a list that the provider has, and applies it. */
  const readList = (due: DueSweep, { disputes, payouts, received }: Provider, where: ListedIn) => {
    const read = <A>(list: ((range: Range) => Effect.Effect<Paged<A>, AcquirerUnclear>) | undefined, apply: Apply<A>) =>
      list === undefined
        ? Effect.succeed(nothingApplied)
        : Effect.tap(pages(due, where, list, apply), ({ effects }) =>
            Effect.sync(() => metrics.sweepFound(due.connectionId, effects))
          )
    switch (where.list) {
      case "received":
        return read(received?.list, reports.received)
      case "returned":
        return read(received?.listReturned, reports.received)
      case "payouts":
        return read(payouts?.list, reports.payouts)
      case "disputes":
        return read(disputes?.list, reports.disputes)
    }
  }

  /** The lists that the provider has of what happened in a range. */
  const listsOf = (due: DueSweep, provider: Provider, met: { foreign: number }): ReadonlyArray<ReadList> => {
    const has = {
      received: provider.received !== undefined,
      payouts: provider.payouts?.list !== undefined,
      disputes: provider.disputes?.list !== undefined
    }
    return (["received", "payouts", "disputes"] as const)
      .filter((list) => has[list])
      .map(
        (list) => (range) =>
          Effect.tap(readList(due, provider, { ...range, list }), ({ foreign }) =>
            Effect.sync(() => {
              met.foreign += foreign
            })
          )
      )
  }

  /**
   * Slice by slice. A list that cannot be read is left out from there on; a notification that fails leaves out nothing.
   * `onComplete` is called for each slice before the first that is not complete. Fails with the first problem.
   */
  const readSlices = Effect.fnUntraced(function* (
    due: DueSweep,
    provider: Provider,
    { fromMs, toMs }: TimeRange,
    onComplete: (untilMs: number) => Effect.Effect<void, Unavailable>
  ) {
    const met = { foreign: 0 }
    let lists = listsOf(due, provider, met)
    let problem: AcquirerUnclear | undefined
    let startMs = fromMs
    while (true) {
      const slice = { fromMs: startMs, toMs: Math.min(startMs + SLICE_MS, toMs) }
      const readable: Array<ReadList> = []
      for (const list of lists) {
        const read = yield* Effect.catchTag(list(slice), "AcquirerUnclear", Effect.succeed)
        if (read instanceof AcquirerUnclear) {
          problem ??= read
          continue
        }
        readable.push(list)
        if (read.failures > 0) problem ??= unapplied(read)
      }
      if (problem === undefined) yield* onComplete(slice.toMs)
      else if (readable.length === 0) return yield* problem
      if (slice.toMs >= toMs) break
      lists = readable
      startMs = slice.toMs
    }
    if (met.foreign > 0) yield* store.metForeign(due.connectionId, met.foreign)
    if (problem !== undefined) return yield* problem
  })

  return { readList, readSlices }
})

/** Why a list that was read is not complete. */
export const unapplied = ({ failures }: Applied) =>
  new AcquirerUnclear({ reason: `notifications that could not be read or applied: ${failures}` })

type Apply<A> = (connectionId: string, page: ReadonlyArray<A>, where: ListedIn) => Effect.Effect<Applied, Unavailable>
type ReadList = (range: TimeRange) => Effect.Effect<Applied, AcquirerUnclear | Unavailable>
