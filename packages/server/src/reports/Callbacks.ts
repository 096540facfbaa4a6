/**
 * The callbacks of providers: each is a reason to ask the provider.
 *
 * Guarantees:
 * - A callback credits nothing. The payment that it names is read from the provider, and applied as by a sweep. So is the outcome
 *   of a payout that has ended here. Only who paid is taken from it, at a provider that says so nowhere else.
 * - A payment that is not the connection's is left alone, by what the callback and the provider say of it (`Ownership.ts`).
 * - Payments are applied in chunks as the provider confirms them. What a repeated callback finds applied is not asked again.
 * - Every result but `unavailable` comes after the commit of what follows from it.
 * - The provider is not asked for payments that were applied, nor more than `MOST_MISSES` times a minute for payments that
 *   it does not have.
 */
import { decodeHook, type HookFact } from "@pix-payments/api-pix/Hooks"
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import {
  Acquirer,
  AcquirerUnclear,
  type Payer,
  type PayoutProgress,
  type PayoutQuestion,
  type ReceivedPix,
  type SentPayout
} from "../providers/Acquirer.ts"
import type { CallbackResult } from "../base/observability/Metrics.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import type { CallbackConnection } from "./CallbackConnections.ts"
import { Ownership } from "./Ownership.ts"
import { nothingApplied, Reports } from "./Reports.ts"
import { ReportStore } from "./ReportStore.ts"

export class Callbacks extends Context.Service<
  Callbacks,
  {
    /** Applies a callback whose sender was authenticated. `unavailable`: the provider should repeat it. */
    readonly receive: (connection: CallbackConnection, text: string) => Effect.Effect<CallbackResult>
  }
>()("@pix-payments/server/Callbacks") {
  static readonly layer = Layer.effect(
    Callbacks,
    Effect.gen(function* () {
      const acquirer = yield* Acquirer
      const store = yield* ReportStore
      const reports = yield* Reports
      const ownership = yield* Ownership
      const misses = makeMisses()

      /** The Pix of a fact. */
      const ask = Effect.fnUntraced(function* (connection: CallbackConnection, fact: PixReceived) {
        const { received } = yield* acquirer.providerFor(connection.id)
        if (received === undefined) return yield* new AcquirerUnclear({ reason: "the provider lists no payments" })
        const nowMs = yield* Clock.currentTimeMillis
        if (misses.isFull(connection.id, nowMs)) {
          return yield* new AcquirerUnclear({ reason: "too many callbacks name payments that do not exist" })
        }
        const pix = yield* received.find(fact.endToEndId)
        if (pix === undefined) {
          misses.add(connection.id, nowMs)
          return yield* new AcquirerUnclear({ reason: "the provider has no such payment" })
        }
        return withPayer(pix, fact)
      })

      /** Payments that were not applied before, each once. */
      const newPayments = Effect.fnUntraced(function* (id: string, facts: ReadonlyArray<PixReceived>) {
        const once = [...new Map(facts.map((fact) => [fact.endToEndId, fact])).values()]
        const payments = once.map((fact) => ({ fact, payment: paymentOf(id, fact.endToEndId) }))
        const notifications = payments.map(({ payment }) => payment)
        const known = yield* store.known(id, { notifications, recordKeys: [], orderIds: [], payoutIds: [] })
        // Whether a return was applied is known by the provider's id of it, which a callback lacks.
        return payments.flatMap(({ fact, payment }) =>
          fact.returnIds.length === 0 && known.isApplied(payment) ? [] : [fact]
        )
      })

      /** The inquiry of an open payout is due now. One that has ended is asked for here: it may have ended otherwise. */
      const applyPayouts = Effect.fnUntraced(function* (
        { id }: CallbackConnection,
        facts: ReadonlyArray<PayoutChanged>
      ) {
        if (facts.length === 0) return nothingApplied
        const names = facts.map((fact) => ({
          orderId: fact.id === undefined ? undefined : idFromTxid(fact.id),
          reference: fact.reference
        }))
        yield* store.inquireNow(id, names)
        const ended = yield* store.ended(id, names)
        if (ended.length === 0) return nothingApplied
        const { payouts: rail } = yield* acquirer.providerFor(id)
        const sent = yield* Effect.forEach(
          ended,
          (payout) => Effect.map(rail?.outcome(payout) ?? Effect.undefined, (progress) => sentFrom(payout, progress)),
          { concurrency: ASKED_AT_ONCE }
        )
        return yield* reports.payouts(id, sent.flat())
      })

      /** A sweep may have applied a payment earlier, without the payer that Efí names here alone. */
      const namePayers = (
        { id, profile }: CallbackConnection,
        facts: ReadonlyArray<PixReceived>,
        asked: ReadonlySet<PixReceived>
      ) =>
        store.namePayers(
          id,
          facts.flatMap((fact) => {
            const isNew = asked.has(fact) && fact.returnIds.length === 0
            const payer = profile.name === "efi" && !isNew ? payerOf(fact) : undefined
            return payer === undefined ? [] : [{ endToEndId: fact.endToEndId, payer }]
          })
        )

      const apply = Effect.fnUntraced(function* (
        connection: CallbackConnection,
        facts: ReadonlyArray<HookFact>
      ): Effect.fn.Return<CallbackResult, AcquirerUnclear | Unavailable> {
        const payments = facts.filter((fact) => fact._tag === "PixReceived")
        const named = payments.filter(({ key }) => key !== undefined)
        const isOwn = new Set(
          yield* ownership.own(connection.id, named, ({ key, ...fact }) => ({ ...fact, key: key ?? null }))
        )
        // Whose a payment without a key is, its provider may know.
        const own = payments.filter((fact) => fact.key === undefined || isOwn.has(fact))
        const asked = own.length === 0 ? [] : yield* newPayments(connection.id, own)
        let unanswered = 0
        let failed = 0
        let foreign = payments.length - own.length
        // What a chunk confirms is committed before the next one is asked: a repeated callback goes on after it.
        for (let start = 0; start < asked.length; start += CHUNK) {
          const chunk = asked.slice(start, start + CHUNK)
          const answers = yield* Effect.forEach(
            chunk,
            (fact) =>
              ask(connection, fact).pipe(
                Effect.tapError(({ reason }) => logFailure(connection, reason)),
                Effect.option
              ),
            { concurrency: ASKED_AT_ONCE }
          )
          const answered = answers.flatMap((answer) => (answer._tag === "Some" ? [answer.value] : []))
          const applied = yield* reports.received(connection.id, answered)
          unanswered += chunk.length - answered.length
          foreign += applied.foreign
          failed += applied.failures
        }
        const payouts = yield* applyPayouts(
          connection,
          facts.filter((fact) => fact._tag === "PayoutChanged")
        )
        yield* namePayers(connection, own, new Set(asked))
        if (failed + unanswered + payouts.failures > 0) return "unavailable"
        return foreign === facts.length ? "foreign" : "applied"
      })

      return Callbacks.of({
        receive: Effect.fn("Callbacks.receive")((connection, text) => {
          const decoded = decodeHook(connection.profile, text)
          // A provider would repeat a callback that it cannot correct. The sweep reads what it may mean.
          if (Result.isFailure(decoded)) return Effect.succeed<CallbackResult>("unknown")
          if (decoded.success._tag === "Check") return Effect.succeed<CallbackResult>("check")
          return apply(connection, decoded.success.facts).pipe(
            Effect.timeoutOrElse({
              duration: TIMEOUT_MS,
              orElse: () => Effect.fail(new AcquirerUnclear({ reason: "no answer in time" }))
            }),
            Effect.catch(({ reason }) => Effect.as(logFailure(connection, reason), "unavailable" as const))
          )
        })
      })
    })
  )
}

/** A payout as a list of sent payouts would have it, where its end is known. */
const sentFrom = ({ amount, id }: PayoutQuestion, progress: PayoutProgress | undefined): ReadonlyArray<SentPayout> =>
  progress?._tag === "Completed" || progress?._tag === "Failed"
    ? [
        {
          id,
          amount,
          key: null,
          endToEndId: progress._tag === "Completed" ? (progress.endToEndId ?? null) : null,
          progress,
          returns: []
        }
      ]
    : []

type PayoutChanged = Extract<HookFact, { readonly _tag: "PayoutChanged" }>
type PixReceived = Extract<HookFact, { readonly _tag: "PixReceived" }>

const logFailure = ({ id }: CallbackConnection, reason: string) =>
  Effect.annotateLogs(Effect.logWarning(`a callback could not be applied: ${reason}`), { connection_id: id })

const paymentOf = (connectionId: string, endToEndId: string) =>
  ({ _tag: "charge.paid", connectionId, txid: "", endToEndId }) as const

/** Efí names the payer in the callback alone. */
const payerOf = ({ payer }: PixReceived): Payer | undefined =>
  payer && { name: payer.name ?? null, document: payer.document ?? null }

const withPayer = (pix: ReceivedPix, fact: PixReceived): ReceivedPix => ({
  ...pix,
  payer: pix.payer ?? payerOf(fact) ?? null
})

/** How often each connection was asked in vain within the current minute. */
const makeMisses = () => {
  const counts = new Map<string, { sinceMs: number; count: number }>()
  const current = (connectionId: string, nowMs: number) => {
    const found = counts.get(connectionId)
    if (found !== undefined && nowMs - found.sinceMs < 60_000) return found
    const fresh = { sinceMs: nowMs, count: 0 }
    counts.set(connectionId, fresh)
    return fresh
  }
  return {
    isFull: (connectionId: string, nowMs: number) => current(connectionId, nowMs).count >= MOST_MISSES,
    add: (connectionId: string, nowMs: number) => {
      current(connectionId, nowMs).count += 1
    }
  }
}

const MOST_MISSES = 60
/** Of one callback. */
const ASKED_AT_ONCE = 4
/** Payments that are asked for and then applied. */
const CHUNK = 16
/** Providers wait for up to a minute. */
const TIMEOUT_MS = 20_000
