/**
 * Follows the event log for all readers of this process.
 *
 * Guarantees:
 * - While a reader waits, one statement per `POLL_MS` reads what was committed, by any process, for all of them. Without
 *   readers nothing is read.
 * - A reader that is further behind than what is kept in memory reads from the database.
 * - What is kept in memory is bounded, in changes and in bytes.
 *
 * Why a poll: a commit is read once all earlier transactions have ended, which no signal announces.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Latch from "effect/Latch"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import {
  type CommittedChange,
  comparePositions,
  endOf,
  type EventFilter,
  EventLog,
  eventsAfter,
  type EventsRemoved,
  type Position,
  type StreamedEvent
} from "./EventLog.ts"

export interface EventBatch {
  readonly events: ReadonlyArray<StreamedEvent>
  /** The position to continue after. */
  readonly end: Position
  /** Whether there may be more to read at once. */
  readonly isMore: boolean
}

export class EventFeed extends Context.Service<
  EventFeed,
  {
    /** At most `limit` events after a position. Where there is none, waits for one up to `waitMs`. */
    readonly next: (request: {
      readonly after: Position
      readonly filter: EventFilter
      readonly limit: number
      readonly waitMs: number
    }) => Effect.Effect<EventBatch, EventsRemoved | Unavailable>
  }
>()("@pix-payments/server/EventFeed") {
  static readonly layer = Layer.effect(
    EventFeed,
    Effect.gen(function* () {
      const log = yield* EventLog
      const tail = makeTail()
      const hasReaders = Latch.makeUnsafe(false)

      /** Reads what was committed since; returns how much. */
      const follow = Effect.gen(function* () {
        const from = tail.end()
        if (from === undefined) return 0
        const { changes, end, isMore } = yield* log.read(from, EVERYTHING)
        tail.append(changes, end)
        return isMore ? 1 : 0
      }).pipe(
        // Readers read from the database, which says which of them have missed events.
        Effect.catchTag("EventsRemoved", () => Effect.as(Effect.sync(tail.clear), 0))
      )

      let unread = 0
      const round = Effect.suspend(() => {
        // Readers write between two waits.
        unread = tail.readers() > 0 ? 0 : unread + 1
        if (unread < LINGER_ROUNDS) return follow
        tail.clear()
        hasReaders.closeUnsafe()
        return Effect.succeed(0)
      })
      yield* Effect.forkScoped(
        BackgroundLoop.run("event feed", round, Effect.andThen(hasReaders.await, Effect.sleep(POLL_MS)))
      )

      const moved = (from: Position, waitMs: number) =>
        Effect.callback<void>((resume) => {
          hasReaders.openUnsafe()
          return Effect.sync(tail.onMoved(from, () => resume(Effect.void)))
        }).pipe(Effect.timeoutOption(waitMs))

      const read = (
        after: Position,
        filter: EventFilter,
        limit: number
      ): Effect.Effect<EventBatch, EventsRemoved | Unavailable> => {
        const inMemory = tail.after(after)
        return inMemory === undefined
          ? Effect.map(log.read(after, filter), (page) =>
              batchOf(page.changes, page.end, page.isMore, after, filter, limit)
            )
          : Effect.succeed(batchOf(inMemory.changes, inMemory.end, false, after, filter, limit))
      }

      return EventFeed.of({
        next: Effect.fnUntraced(function* ({ after, filter, limit, waitMs }) {
          const until = (yield* Clock.currentTimeMillis) + waitMs
          let from = after
          while (true) {
            const batch = yield* read(from, filter, limit)
            const left = until - (yield* Clock.currentTimeMillis)
            if (batch.events.length > 0 || left <= 0) return batch
            from = batch.end
            if (!batch.isMore) yield* moved(from, left)
          }
        })
      })
    })
  )
}

const EVERYTHING: EventFilter = { accountIds: undefined, applicationId: undefined, events: undefined }

const POLL_MS = 40
/** How often the log is read on without a reader that waits. */
const LINGER_ROUNDS = 50
const MAX_CHANGES = 2000
const MAX_BYTES = 4 * 1024 * 1024

const batchOf = (
  changes: ReadonlyArray<CommittedChange>,
  end: Position,
  isMore: boolean,
  after: Position,
  filter: EventFilter,
  limit: number
): EventBatch => {
  const events: Array<StreamedEvent> = []
  for (const change of changes) {
    for (const event of eventsAfter(change, after, filter)) {
      if (events.length === limit) return { events, end: events.at(-1)!.position, isMore: true }
      events.push(event)
    }
  }
  return { events, end: comparePositions(end, after) < 0 ? after : end, isMore }
}

/** The last changes, and who waits for the next. */
export const makeTail = () => {
  let changes: Array<CommittedChange> = []
  let bytes = 0
  // Undefined until the first reader waits.
  let span: { start: Position; end: Position } | undefined
  const waiting = new Set<() => void>()

  return {
    end: (): Position | undefined => span?.end,
    readers: (): number => waiting.size,

    clear: (): void => {
      changes = []
      bytes = 0
      span = undefined
      for (const wake of waiting) wake()
    },

    append: (read: ReadonlyArray<CommittedChange>, end: Position): void => {
      if (span === undefined || comparePositions(end, span.end) <= 0) return
      for (const change of read) {
        if (comparePositions(endOf(change), span.end) <= 0) continue
        changes.push(change)
        bytes += change.data.length
      }
      span.end = end
      let removed = 0
      while (changes.length - removed > MAX_CHANGES || (bytes > MAX_BYTES && removed < changes.length)) {
        const change = changes[removed++]!
        bytes -= change.data.length
        span.start = endOf(change)
      }
      if (removed > 0) changes = changes.slice(removed)
      for (const wake of waiting) wake()
    },

    /** The changes after a position; `undefined` where they are not all here. */
    after: (
      position: Position
    ): { readonly changes: ReadonlyArray<CommittedChange>; readonly end: Position } | undefined => {
      if (span === undefined || comparePositions(position, span.start) < 0) return undefined
      return { changes: changes.slice(firstAfter(changes, position)), end: span.end }
    },

    /** Calls `wake` once something was read after a position. Returns what cancels it. */
    onMoved: (position: Position, wake: () => void): (() => void) => {
      span ??= { start: position, end: position }
      const entry = () => {
        if (span !== undefined && comparePositions(span.end, position) <= 0) return
        waiting.delete(entry)
        wake()
      }
      waiting.add(entry)
      entry()
      return () => waiting.delete(entry)
    }
  }
}

/** The index of the first change that has, or may have, events after a position. */
const firstAfter = (changes: ReadonlyArray<CommittedChange>, position: Position): number => {
  let low = 0
  let high = changes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (comparePositions(endOf(changes[middle]!), position) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
