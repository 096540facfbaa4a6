/**
 * Reads what providers received, sent and dispute, so that a lost webhook delays a payment and loses none.
 *
 * Guarantees:
 * - Every minute each connection is swept from ten minutes before the end of its last complete sweep until now. Once in 24 hours its
 *   last five days are read again, in slices whose progress is stored, `LAST_DAYS_SLICES` in a sweep: what is new waits for no more.
 *   Nothing before the connection's creation is read.
 * - Once in 24 hours the payments of 190 days that have a return are read, in slices whose progress is stored: a return may come that
 *   late. A sweep reads `RETURN_SLICES` of them at most. After that, a MED that was
 *   lost and has no return is an exception (`UnreturnedLosses.ts`).
 * - A sweep is complete when every page was read and every notification of it was applied. Progress is stored for each slice, so
 *   that an outage of days is caught up across restarts.
 * - A list that cannot be read delays no other list. A notification that fails delays none after it: the sweep is
 *   repeated, and meanwhile the others are applied. An entry that cannot be read, or fails again and again, is an exception, and
 *   the sweep completes; it is read again (`UnreadableEntries.ts`).
 * - A slow or failing connection delays no other while fewer than `MAX_IN_FLIGHT` are swept by this process. One page of
 *   each is in memory.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Acquirer, type AcquirerUnclear, type Provider } from "../providers/Acquirer.ts"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { describeCause } from "../base/observability/SafeCause.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import { UnreadableEntries } from "../payments/exceptions/UnreadableEntries.ts"
import { UnreturnedLosses } from "../payments/exceptions/UnreturnedLosses.ts"
import { DISPUTE_MARGIN_MS, RETURN_SLICE_MS, SLICE_MS } from "./ListPages.ts"
import { listReading, unapplied } from "./ListReading.ts"
import { ReportStore } from "./ReportStore.ts"
import { type DueSweep, LEASE_MS, SweepStore } from "./SweepStore.ts"

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
      const acquirer = yield* Acquirer
      const entries = yield* UnreadableEntries
      const { readList, readSlices } = yield* listReading
      const losses = yield* UnreturnedLosses

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

      /** A slice that is not complete delays none after it: then all are read again within an hour. */
      const readReturns = Effect.fnUntraced(function* (due: DueSweep, provider: Provider) {
        let startMs = due.returnsFromMs
        let problem: Cause.Cause<AcquirerUnclear | Unavailable> | undefined
        if (provider.received === undefined) return
        for (let slice = 0; slice < RETURN_SLICES && startMs !== null; slice += 1) {
          const range = { fromMs: startMs, toMs: Math.min(startMs + RETURN_SLICE_MS, due.nowMs) }
          const read = yield* readList(due, provider, { list: "returned", ...range }).pipe(
            Effect.filterOrFail(({ failures }) => failures === 0, unapplied),
            Effect.exit
          )
          if (Exit.isFailure(read)) {
            problem ??= read.cause
            yield* store.returnsFailed(due.connectionId)
          }
          startMs = range.toMs < due.nowMs ? range.toMs : null
          const isWhole = yield* store.returnsRead(due.connectionId, startMs)
          if (startMs === null) yield* losses.raise(due.connectionId, isWhole)
        }
        if (problem !== undefined) return yield* Effect.failCause(problem)
      })

      /** A slice that is not complete delays none after it: then all from it on are read again, after a while. */
      const readLastDays = Effect.fnUntraced(function* (due: DueSweep, provider: Provider) {
        let startMs = due.lastDaysFromMs
        let problem: Cause.Cause<AcquirerUnclear | Unavailable> | undefined
        for (let slice = 0; slice < LAST_DAYS_SLICES && startMs !== null; slice += 1) {
          const range = { fromMs: startMs, toMs: Math.min(startMs + SLICE_MS, due.nowMs) }
          const read = yield* Effect.exit(readSlices(due, provider, range, () => Effect.void))
          if (Exit.isFailure(read)) {
            problem ??= read.cause
            yield* store.lastDaysFailed(due.connectionId, range.fromMs)
          }
          startMs = range.toMs < due.nowMs ? range.toMs : null
          yield* store.lastDaysRead(due.connectionId, startMs)
        }
        if (problem !== undefined) return yield* Effect.failCause(problem)
      })

      const sweep = Effect.fnUntraced(function* (due: DueSweep) {
        const { connectionId, createdAtMs, nowMs, sweptUntilMs } = due
        const provider = yield* acquirer.providerFor(connectionId)
        const fromMs = Math.min(Math.max(createdAtMs, (sweptUntilMs ?? createdAtMs) - OVERLAP_MS), nowMs)
        const recent = yield* Effect.result(
          readSlices(due, provider, { fromMs, toMs: nowMs }, (untilMs) => store.swept(connectionId, untilMs))
        )
        const outcomes = yield* Effect.result(readOpenDisputes(due, provider, nowMs))
        const returns = yield* Effect.result(readReturns(due, provider))
        const again = yield* Effect.result(readAgain(due, provider))
        yield* readLastDays(due, provider)
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

const MINUTE_MS = 60_000
const SWEEP_EVERY_MS = MINUTE_MS
/** Providers list a Pix with an instant that is minutes old, and their clocks differ from ours. */
const OVERLAP_MS = 10 * MINUTE_MS
/** Of one sweep: those of 190 days take ten minutes. */
const RETURN_SLICES = 4
/** Of one sweep: the last days have twenty. */
const LAST_DAYS_SLICES = 2
const MAX_IN_FLIGHT = 32
