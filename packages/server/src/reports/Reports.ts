/**
 * Applies what a provider reports, by webhook or in the pages of a sweep, as notifications.
 *
 * Guarantees:
 * - What is not the connection's is left alone, and counted (`Ownership.ts`).
 * - Facts that were applied before, or that changed nothing and never will, are skipped, by one statement per page. So are
 *   outcomes that are known; one that contradicts the books is not (BAL-16).
 * - The deadline of a dispute that is open here is the one that was listed last (DSP-6): one statement per page where any moved.
 * - The notifications of one Pix are applied in order: its payment, then its returns. One that fails leaves out those after
 *   it, and nothing else of the page. An entry of a list that fails again and again is set aside (`UnreadableEntries.ts`).
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ReceivedPix, ReportedDispute, SentPayout, UnreadableEntry } from "../providers/Acquirer.ts"
import { type AcquirerNotification, isEffect, isFinal, recordKeyOf } from "../providers/AcquirerNotification.ts"
import { type ListedIn, type SetAside, UnreadableEntries } from "../payments/exceptions/UnreadableEntries.ts"
import { AcquirerNotifications } from "./AcquirerNotifications.ts"
import { describeCause } from "../base/observability/SafeCause.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import {
  disputeDecided,
  disputeOpened,
  failedReturns,
  notificationsOfPayout,
  notificationsOfPix,
  orderIdOf,
  type Otherwise,
  otherPayout,
  otherReturns
} from "./ProviderReports.ts"
import { type Marks, Ownership } from "./Ownership.ts"
import { type Facts, type Known, type KnownDispute, type MovedDeadline, ReportStore } from "./ReportStore.ts"

export interface Applied {
  /** Notifications that had an effect. */
  readonly effects: number
  /** Notifications that failed and have to be applied again. */
  readonly failures: number
  /** Entries that are not the connection's. */
  readonly foreign: number
  /** Digests of entries that could not be read, or that are set aside because they fail. */
  readonly unread: ReadonlyArray<string>
  /** Entries that the list had. */
  readonly listed: number
}

export const nothingApplied: Applied = { effects: 0, failures: 0, foreign: 0, unread: [], listed: 0 }
export const together = (a: Applied, b: Applied): Applied => ({
  effects: a.effects + b.effects,
  failures: a.failures + b.failures,
  foreign: a.foreign + b.foreign,
  unread: [...a.unread, ...b.unread],
  listed: a.listed + b.listed
})

/** `where`: the list that has the page. Nothing is set aside of what a callback led to. */
type Apply<A> = (connectionId: string, page: ReadonlyArray<A>, where?: ListedIn) => Effect.Effect<Applied, Unavailable>

export class Reports extends Context.Service<
  Reports,
  {
    readonly received: Apply<ReceivedPix>
    readonly payouts: Apply<SentPayout>
    readonly disputes: Apply<ReportedDispute>
    /** Raises the entries of a page that cannot be read. One that there is no place for has failed. */
    readonly unreadable: (
      connectionId: string,
      where: ListedIn,
      entries: ReadonlyArray<UnreadableEntry>
    ) => Effect.Effect<Applied, Unavailable>
  }
>()("@pix-payments/server/Reports") {
  static readonly layer = Layer.effect(
    Reports,
    Effect.gen(function* () {
      const store = yield* ReportStore
      const { applyOwn, applyPage, raise } = yield* pages

      return Reports.of({
        received: (connectionId, page, where) =>
          applyOwn(
            connectionId,
            page,
            (pix) => pix,
            (own) =>
              applyPage(
                connectionId,
                where,
                own,
                (pix) => ({
                  notifications: failedReturns(connectionId, pix),
                  orderIds: pix.returns.flatMap((of) => orderIdOf(of) ?? [])
                }),
                (pix, { orders }) => notificationsOfPix(connectionId, pix, orders),
                (pix, known) => otherReturns(connectionId, pix, known)
              )
          ),

        payouts: Effect.fnUntraced(function* (connectionId, sent, where) {
          const payoutOf = yield* store.payoutsOf(sent.flatMap(({ id }) => id ?? []))
          const page = sent.map((each) => ({ ...each, id: payoutOf.get(each.id ?? "") ?? null }))
          return yield* applyOwn(
            connectionId,
            page,
            ({ id, key }) => ({ payoutId: id, key }),
            (own) =>
              applyPage(
                connectionId,
                where,
                own,
                ({ id }) => ({ payoutIds: id === null ? [] : [id] }),
                (payout, { payouts }) =>
                  notificationsOfPayout(connectionId, payout, (id) => payouts.of(id, payout.amount) === "ours"),
                (payout, { payouts }) => otherPayout(payout, payouts)
              )
          )
        }),

        disputes: yield* disputes,

        unreadable: (connectionId, where, entries) =>
          applyOwn(
            connectionId,
            entries,
            ({ marks: { endToEndId = null, key = null, txid } }) => ({ txid, endToEndId, key }),
            (own) => raise(connectionId, where, own)
          )
      })
    })
  )
}

const disputes = Effect.gen(function* () {
  const store = yield* ReportStore
  const { applyOwn, applyPage } = yield* pages

  const apply: Apply<ReportedDispute> = (connectionId, page, where) =>
    applyOwn(
      connectionId,
      page,
      ({ endToEndId, key }) => ({ endToEndId, key }),
      Effect.fnUntraced(function* (own) {
        const opened = yield* applyPage(
          connectionId,
          where,
          own,
          () => ({}),
          (of) => [disputeOpened(connectionId, of)]
        )
        const ours = yield* store.disputes(
          connectionId,
          own.map(({ externalId }) => externalId)
        )
        const decided = own.filter(isDecided)
        const outcomes = yield* applyPage(
          connectionId,
          where,
          decided,
          () => ({}),
          (of) => {
            const dispute = ours.get(of.externalId)
            if (dispute === undefined || dispute.status === of.status) return []
            const outcome = disputeDecided(connectionId, dispute.id, of)
            return outcome === undefined ? [] : [outcome]
          }
        )
        yield* store.moveDeadlines(own.flatMap((of) => movedDeadline(of, ours.get(of.externalId)) ?? []))
        return together(opened, outcomes)
      })
    )
  return apply
})

const isDecided = ({ status }: Pick<ReportedDispute, "status">) => status === "won" || status === "lost"

/** The deadline of an open dispute, where the provider gives another one. */
const movedDeadline = (of: ReportedDispute, ours: KnownDispute | undefined): MovedDeadline | undefined => {
  const { defenseDeadlineAtMs } = of
  if (ours === undefined || defenseDeadlineAtMs === null || isDecided(of) || isDecided(ours)) return undefined
  return ours.defenseDeadlineAtMs === defenseDeadlineAtMs ? undefined : { id: ours.id, defenseDeadlineAtMs }
}

/** Applies the entries of a page. */
const pages = Effect.gen(function* () {
  const store = yield* ReportStore
  const notifications = yield* AcquirerNotifications
  const ownership = yield* Ownership
  const unreadable = yield* UnreadableEntries

  /** `onDefect` says what becomes of one that fails by itself, and not because the database is away. */
  const applyOne = (
    notification: AcquirerNotification,
    onDefect: (reason: string) => Effect.Effect<Applied, Unavailable>
  ): Effect.Effect<Applied, Unavailable> =>
    Effect.matchCauseEffect(notifications.receive(notification), {
      onSuccess: (outcome) => Effect.succeed({ ...nothingApplied, effects: isEffect(outcome) ? 1 : 0 }),
      onFailure: (cause) =>
        Effect.andThen(
          Effect.annotateLogs(Effect.logWarning("a notification could not be applied", describeCause(cause)), {
            connection_id: notification.connectionId,
            notification: notification._tag
          }),
          Cause.hasDies(cause) ? onDefect(describeCause(cause).split("\n")[0]!) : Effect.succeed(oneFailure)
        )
    })

  const applyInOrder = Effect.fnUntraced(function* (
    list: ReadonlyArray<AcquirerNotification>,
    onDefect: (reason: string) => Effect.Effect<Applied, Unavailable>
  ) {
    let applied = nothingApplied
    for (const notification of list) {
      applied = together(applied, yield* applyOne(notification, onDefect))
      if (applied.failures > 0 || applied.unread.length > 0) break
    }
    return applied
  })

  /** Sets an entry aside that failed too often. */
  const setAside = (connectionId: string, where: ListedIn | undefined, item: Entry) => (reason: string) => {
    if (where === undefined) return Effect.succeed(oneFailure)
    const endToEndId = item.endToEndId ?? undefined
    const name = endToEndId && `${endToEndId}/fails`
    const entry = { text: textOf(item), reason: `it fails to be applied: ${reason}`, name, endToEndId }
    return Effect.map(unreadable.failed(connectionId, where, entry), (digest): Applied =>
      digest === undefined ? oneFailure : { ...nothingApplied, unread: [digest] }
    )
  }

  /** Those that there is no place for have failed. A callback leaves them to the list, which has them too. */
  const raise = (connectionId: string, where: ListedIn | undefined, entries: ReadonlyArray<SetAside>) =>
    where === undefined || entries.length === 0
      ? Effect.succeed(nothingApplied)
      : Effect.map(unreadable.raise(connectionId, where, entries), (unread): Applied => ({
          ...nothingApplied,
          unread,
          failures: entries.length - unread.length
        }))

  const applyPage = Effect.fnUntraced(function* <A extends Entry>(
    connectionId: string,
    where: ListedIn | undefined,
    page: ReadonlyArray<A>,
    alsoOf: (item: A) => Partial<Omit<Facts, "recordKeys">>,
    listOf: (item: A, known: Ours) => ReadonlyArray<AcquirerNotification>,
    othersOf: (item: A, known: Known) => ReadonlyArray<Otherwise> = () => []
  ) {
    if (page.length === 0) return nothingApplied
    const also = page.map(alsoOf)
    const notifications = page.flatMap((item) => possible(item, listOf))
    const known = yield* store.known(connectionId, {
      notifications: [...notifications, ...also.flatMap((of) => of.notifications ?? [])],
      recordKeys: notifications.flatMap((notification) => recordKeyOf(notification) ?? []),
      orderIds: also.flatMap(({ orderIds = [] }) => orderIds),
      payoutIds: also.flatMap(({ payoutIds = [] }) => payoutIds)
    })
    const isWithoutEffect = (notification: AcquirerNotification) => {
      const key = recordKeyOf(notification)
      return key !== undefined && isFinal(notification) && known.recordKeys.has(key)
    }
    const isNew = (notification: AcquirerNotification) =>
      !known.isApplied(notification) && !isWithoutEffect(notification)
    const lists = page.map((item) => ({ item, list: listOf(item, known).filter(isNew) }))
    const all = yield* Effect.forEach(
      lists.filter(({ list }) => list.length > 0),
      ({ item, list }) => applyInOrder(list, setAside(connectionId, where, item)),
      { concurrency: CONCURRENCY }
    )
    const others = page.flatMap((item) =>
      othersOf(item, known).map((other) => ({ ...other, text: textOf(item), endToEndId: item.endToEndId ?? undefined }))
    )
    return together(all.reduce(together, nothingApplied), yield* raise(connectionId, where, others))
  })

  /** Applies those that are the connection's, and counts the others. */
  const applyOwn = Effect.fnUntraced(function* <A>(
    connectionId: string,
    page: ReadonlyArray<A>,
    marksOf: (item: A) => Marks,
    apply: (own: ReadonlyArray<A>) => Effect.Effect<Applied, Unavailable>
  ) {
    const own = yield* ownership.own(connectionId, page, marksOf)
    return together(yield* apply(own), { ...nothingApplied, foreign: page.length - own.length })
  })

  return { applyOwn, applyPage, raise }
})

/** An entry of a list. */
interface Entry {
  readonly endToEndId: string | null
}

const oneFailure: Applied = { ...nothingApplied, failures: 1 }

const textOf = (item: Entry) => Buffer.from(JSON.stringify(item)).subarray(0, MOST_BYTES).toString()

/** Of what an exception shows of an entry. */
const MOST_BYTES = 4096

/** Which orders and payouts are ours. */
type Ours = Pick<Known, "orders" | "payouts">

/** Which notification a fact is depends on what is known of it: all that it can be. */
const possible = <A>(item: A, listOf: (item: A, known: Ours) => ReadonlyArray<AcquirerNotification>) =>
  [never, always].flatMap((ours) => listOf(item, ours))

const never: Ours = { orders: { of: () => "not-ours" }, payouts: { of: () => "not-ours" } }
const always: Ours = { orders: { of: () => "ours" }, payouts: { of: () => "ours" } }

/** Notifications of one page that are applied at the same time. */
const CONCURRENCY = 8
