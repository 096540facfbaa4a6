/**
 * Reads what providers received, sent and dispute, so that a lost webhook delays a payment and loses none.
 *
 * Guarantees:
 * - Every minute each connection is swept from ten minutes before the end of its last complete sweep until now, and once
 *   in 24 hours its last three days. Nothing before the connection's creation is read.
 * - Once in 24 hours the payments of 90 days that have a return are read, and once in 7 days those of 190 days, in slices whose
 *   progress is stored: a return may come that late. A sweep reads `RETURN_SLICES` of them at most. After that, a MED that was
 *   lost and has no return is an exception (`UnreturnedLosses.ts`).
 * - A sweep is complete when every page was read and every notification of it was applied. Progress is stored for each
 *   slice of `SLICE_MS`, so that an outage of days is caught up across restarts.
 * - A list that cannot be read delays no other list. A notification that fails delays none after it: the sweep is
 *   repeated, and meanwhile the others are applied. An entry that cannot be read, or fails again and again, is an exception, and
 *   the sweep completes; it is read again (`UnreadableEntries.ts`).
 * - A slow or failing connection delays no other while fewer than `MAX_IN_FLIGHT` are swept by this process. One page of
 *   each is in memory.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Acquirer, AcquirerUnclear, type Paged, type Provider, type Range } from "../providers/Acquirer.ts"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { Metrics } from "../base/observability/Metrics.ts"
import { describeCause } from "../base/observability/SafeCause.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import { type ListedIn, UnreadableEntries } from "../payments/exceptions/UnreadableEntries.ts"
import { UnreturnedLosses } from "../payments/exceptions/UnreturnedLosses.ts"
import { everyPage, SLICE_MS, type TimeRange } from "./ListPages.ts"
import { type Applied, nothingApplied, Reports, together } from "./Reports.ts"
import { ReportStore } from "./ReportStore.ts"
import { DEEP_EVERY_MS, type DueSweep, SweepStore } from "./SweepStore.ts"

export class Sweep extends Context.Service<
  Sweep,
  {
    /**
     * Claims up to `limit` connections that are due. Each effect sweeps one and never fails: a sweep that is not complete
     * is repeated.
     */
    readonly claimDue: (limit: number) => Effect.Effect<ReadonlyArray<Effect.Effect<void>>, Unavailable>
  }
>()("@pix-payments/server/Sweep") {
  static readonly layer = Layer.effect(
    Sweep,
    Effect.gen(function* () {
      const store = yield* SweepStore
      const reportStore = yield* ReportStore
      const reports = yield* Reports
      const acquirer = yield* Acquirer
      const entries = yield* UnreadableEntries
      const losses = yield* UnreturnedLosses
      const metrics = yield* Metrics

      /** Every page of a list, one after the other. */
      const pages = Effect.fnUntraced(function* <A>(
        { connectionId }: DueSweep,
        where: ListedIn,
        list: (range: Range) => Effect.Effect<Paged<A>, AcquirerUnclear>,
        apply: Apply<A>
      ) {
        let applied = nothingApplied
        yield* everyPage(
          where,
          (page) => Effect.andThen(store.extend(connectionId, LEASE_MS), list(page)),
          Effect.fnUntraced(function* ({ items, unreadable }) {
            applied = together(applied, yield* apply(connectionId, items, where))
            const unread = yield* entries.raise(connectionId, where, unreadable)
            applied = together(applied, { ...nothingApplied, unread, listed: items.length + unreadable.length })
          })
        )
        return applied
      })

      /** Reads a range of a list that the provider has, and applies it. */
      const readList = (due: DueSweep, { disputes, payouts, received }: Provider, where: ListedIn) => {
        const read = <A>(
          list: ((range: Range) => Effect.Effect<Paged<A>, AcquirerUnclear>) | undefined,
          apply: Apply<A>
        ) =>
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

      /** Entries that could not be read or applied: those that can are closed. */
      const readAgain = Effect.fnUntraced(function* (due: DueSweep, provider: Provider) {
        const dueEntries = yield* entries.claimDue(due.connectionId)
        const ranges = Map.groupBy(dueEntries, ({ fromMs, list, toMs }) => `${list} ${fromMs} ${toMs}`)
        for (const same of ranges.values()) {
          const { failures, listed, unread } = yield* readList(due, provider, same[0]!)
          // A list that is empty now says nothing of what it had.
          if (failures > 0 || listed === 0) continue
          yield* entries.close(
            due.connectionId,
            same.filter(({ digest }) => !unread.includes(digest))
          )
        }
      })

      /** Disputes are listed by their opening: those that are open here are read again, for their outcome. */
      const readOpenDisputes = Effect.fnUntraced(function* (due: DueSweep, provider: Provider, toMs: number) {
        if (provider.disputes?.list === undefined) return
        const oldestMs = yield* reportStore.oldestOpenDispute(due.connectionId)
        if (oldestMs === undefined) return
        yield* readList(due, provider, { list: "disputes", fromMs: oldestMs - DISPUTE_MARGIN_MS, toMs })
      })

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
            if (read.failures > 0) {
              problem ??= new AcquirerUnclear({ reason: `${read.failures} notifications could not be read or applied` })
            }
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

      /** What fails to be applied is read again the next day. */
      const readReturns = Effect.fnUntraced(function* (due: DueSweep, provider: Provider) {
        let startMs = due.returnsFromMs
        if (provider.received === undefined) return
        for (let slice = 0; slice < RETURN_SLICES && startMs !== null; slice += 1) {
          const toMs = Math.min(startMs + RETURN_SLICE_MS, due.nowMs)
          yield* readList(due, provider, { list: "returned", fromMs: startMs, toMs })
          startMs = toMs < due.nowMs ? toMs : null
          if (startMs === null) yield* losses.raise(due.connectionId)
          yield* store.returnsRead(due.connectionId, startMs)
        }
      })

      const sweep = Effect.fnUntraced(function* (due: DueSweep) {
        const { connectionId, createdAtMs, isDeepDue, nowMs, sweptUntilMs } = due
        const provider = yield* acquirer.providerFor(connectionId)
        const since = (fromMs: number) => ({ fromMs: Math.min(Math.max(createdAtMs, fromMs), nowMs), toMs: nowMs })
        const recent = yield* Effect.result(
          readSlices(due, provider, since((sweptUntilMs ?? createdAtMs) - OVERLAP_MS), (untilMs) =>
            store.swept(connectionId, untilMs)
          )
        )
        const outcomes = yield* Effect.result(readOpenDisputes(due, provider, nowMs))
        const returns = yield* Effect.result(readReturns(due, provider))
        const again = yield* Effect.result(readAgain(due, provider))
        if (isDeepDue) {
          yield* store.deepAgainIn(connectionId, DEEP_RETRY_MS)
          yield* readSlices(due, provider, since(nowMs - DEEP_MS), () => Effect.void)
          yield* store.deepAgainIn(connectionId, DEEP_EVERY_MS)
        }
        yield* Effect.fromResult(recent)
        yield* Effect.fromResult(outcomes)
        yield* Effect.fromResult(returns)
        yield* Effect.fromResult(again)
      })

      const sweepApart = (due: DueSweep) =>
        sweep(due).pipe(
          Effect.catchCause((cause) =>
            Effect.annotateLogs(Effect.logWarning("a sweep is not complete and is repeated", describeCause(cause)), {
              connection_id: due.connectionId
            })
          ),
          // Where it fails, the lease runs out.
          Effect.ensuring(Effect.ignore(store.release(due.connectionId, SWEEP_EVERY_MS)))
        )

      return Sweep.of({
        claimDue: (limit) => Effect.map(store.claim(limit, LEASE_MS), (due) => due.map(sweepApart))
      })
    })
  )
}

/** Sweeps what is due until its scope closes. */
export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const sweep = yield* Sweep
    const inFlight = yield* FiberSet.make<void>()
    const round = Effect.gen(function* () {
      const free = MAX_IN_FLIGHT - (yield* FiberSet.size(inFlight))
      if (free <= 0) return 0
      const due = yield* sweep.claimDue(free)
      for (const one of due) yield* FiberSet.run(inFlight, one)
      return due.length
    })
    yield* Effect.forkScoped(BackgroundLoop.run("sweeps", round, Effect.sleep("1 second")))
  })
)

type Apply<A> = (connectionId: string, page: ReadonlyArray<A>, where: ListedIn) => Effect.Effect<Applied, Unavailable>
type ReadList = (range: TimeRange) => Effect.Effect<Applied, AcquirerUnclear | Unavailable>

const MINUTE_MS = 60_000
const SWEEP_EVERY_MS = MINUTE_MS
/** Providers list a Pix with an instant that is minutes old, and their clocks differ from ours. */
const OVERLAP_MS = 10 * MINUTE_MS
const RETURN_SLICE_MS = 5 * 24 * 60 * MINUTE_MS
/** Of one sweep: those of 190 days take ten minutes. */
const RETURN_SLICES = 4
const DEEP_MS = 3 * 24 * 60 * MINUTE_MS
/** After a sweep of the last days that was not complete. */
const DEEP_RETRY_MS = 10 * MINUTE_MS
/** The document does not say by which instant disputes are listed. */
const DISPUTE_MARGIN_MS = 24 * 60 * MINUTE_MS
/** Longer than one page takes. */
const LEASE_MS = 3 * MINUTE_MS
const MAX_IN_FLIGHT = 32
