/**
 * What the bank has of a day and the books have not, looked up at the provider and applied.
 *
 * Guarantees:
 * - It is applied as a sweep does, so that it heals. A payout that came back, and that no list had in time, is raised as a sweep would
 *   raise it.
 * - There are at most `MOST_LOOKED_UP` look-ups.
 *
 * Rules: OPR-279.
 */
import { parseInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import { Acquirer, type Provider } from "../providers/Acquirer.ts"
import { AcquirerNotifications } from "../reports/AcquirerNotifications.ts"
import { Reports } from "../reports/Reports.ts"
import { BooksOfDay } from "./BooksOfDay.ts"
import type { BankLine, Entry } from "./FourLegs.ts"
import type { DueDay } from "./ReconciliationDays.ts"

/** Gives the ids of other keys, how much had an effect, and whether more is to be looked up. */
export const makeHealed = Effect.gen(function* () {
  const acquirer = yield* Acquirer
  const books = yield* BooksOfDay
  const reports = yield* Reports
  const notifications = yield* AcquirerNotifications

  /** Looks up what the bank received and applies it. Gives the ids of other keys, and how much had an effect. */
  const lookUp = Effect.fnUntraced(function* (
    connectionIds: ReadonlyArray<string>,
    provider: Provider,
    lines: ReadonlyArray<BankLine>
  ) {
    const foreign = new Set<string>()
    let effects = 0
    for (const { endToEndId } of lines) {
      if (provider.received === undefined || endToEndId === null || !endToEndId.startsWith("E")) continue
      // Without an answer it is missing, and is looked up again the next day.
      const pix = yield* Effect.catchTag(provider.received.find(endToEndId), "AcquirerUnclear", () => Effect.undefined)
      if (pix === undefined) continue
      let others = 0
      for (const connectionId of connectionIds) {
        const applied = yield* reports.received(connectionId, [pix])
        effects += applied.effects
        others += applied.foreign
      }
      if (others === connectionIds.length) foreign.add(endToEndId)
    }
    return { foreign, effects }
  })

  /** Raises payouts that came back. A rail that lists them knows them by the ids of their returns, as lines have to then. */
  const raiseSentBack = Effect.fnUntraced(function* (
    connectionIds: ReadonlyArray<string>,
    provider: Provider,
    lines: ReadonlyArray<BankLine>,
    day: string
  ) {
    if (provider.payouts === undefined) return 0
    const isListed = provider.payouts.list !== undefined
    const cameBack = lines.flatMap(({ amount, endToEndId }) =>
      endToEndId !== null && amount > 0 && (!isListed || endToEndId.startsWith("D"))
        ? [{ name: endToEndId, amount }]
        : []
    )
    let effects = 0
    for (const { amount, connectionId, name, payoutId } of yield* books.sentBack(connectionIds, cameBack, day)) {
      const atMs = parseInstant(`${day}T12:00:00`, "America/Sao_Paulo")
      const outcome = yield* notifications.receive({
        _tag: "payout.returned",
        connectionId,
        payoutId,
        externalId: name,
        amount,
        ...(atMs !== undefined && { atMs })
      })
      if (outcome === "exception") effects += 1
    }
    return effects
  })

  return Effect.fnUntraced(function* (
    { bankAccount, day }: DueDay,
    connectionIds: ReadonlyArray<string>,
    entries: ReadonlyArray<Entry>
  ) {
    const missing = entries.flatMap(({ bank, state }) =>
      state === "missing_here" && bank !== undefined && bank.day === day && bank.amount > 0 ? [bank] : []
    )
    const lines = missing.slice(0, MOST_LOOKED_UP)
    const isLeft = missing.length > lines.length
    const provider =
      lines.length === 0
        ? undefined
        : yield* Effect.catchTag(acquirer.providerFor(bankAccount), "AcquirerUnclear", () => Effect.undefined)
    if (provider === undefined) return { foreign: NONE, effects: 0, isLeft: false }
    const found = yield* lookUp(connectionIds, provider, lines)
    const rest = lines.filter(({ endToEndId }) => !found.foreign.has(endToEndId ?? ""))
    return { ...found, isLeft, effects: found.effects + (yield* raiseSentBack(connectionIds, provider, rest, day)) }
  })
})

const MOST_LOOKED_UP = 200

const NONE: ReadonlySet<string> = new Set()
