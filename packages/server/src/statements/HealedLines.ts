/**
 * What the bank has of a day and the books have not, looked up at the provider and applied.
 *
 * Guarantees:
 * - It is applied as a sweep does, so that it heals. A payout that came back, and that no list had in time, is raised as a sweep would
 *   raise it: never of a Pix that the provider has as received, or of which it did not say.
 * - Each line with a payout's own id is a return. Of equal lines at most as many are raised as the bank has.
 * - A comparison makes at most `MOST_LOOKED_UP` look-ups, for `LOOK_UPS_MS`, and ends them where the provider does not answer. The next one
 *   goes on behind them, until all have had their turn.
 *
 * Rules: OPR-279.
 */
import { parseInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Acquirer, type Provider } from "../providers/Acquirer.ts"
import { AcquirerNotifications } from "../reports/AcquirerNotifications.ts"
import { Reports } from "../reports/Reports.ts"
import { BankDays } from "./BankDays.ts"
import { BooksOfDay } from "./BooksOfDay.ts"
import type { BankLine, Entry } from "./FourLegs.ts"
import type { DueDay } from "./ReconciliationDays.ts"

/** A line that names its Pix or return. */
type NamedLine = BankLine & { readonly endToEndId: string }

/** Gives the ids of other keys, how much had an effect, and the last id that was looked up, where more are to be. */
export const makeHealed = Effect.gen(function* () {
  const acquirer = yield* Acquirer
  const bankDays = yield* BankDays
  const books = yield* BooksOfDay
  const reports = yield* Reports
  const notifications = yield* AcquirerNotifications

  /**
   * Looks up what the bank received, and applies it. `received`: the ids that the provider has. `unknown`: the lines whose Pix it says that it
   * has not received.
   */
  const lookUp = Effect.fnUntraced(function* (
    connectionIds: ReadonlyArray<string>,
    provider: Provider,
    lines: ReadonlyArray<NamedLine>
  ) {
    const foreign = new Set<string>()
    const received = new Set<string>()
    const unknown: Array<NamedLine> = []
    const until = (yield* Clock.currentTimeMillis) + LOOK_UPS_MS
    let effects = 0
    let unclear = 0
    let lookedUpTo: string | null = null
    for (const [index, line] of lines.entries()) {
      const isOver = index >= MOST_LOOKED_UP || unclear >= MOST_UNCLEAR || (yield* Clock.currentTimeMillis) >= until
      if (isOver) return { foreign, received, effects, unknown, lookedUpTo }
      lookedUpTo = line.endToEndId
      if (!line.endToEndId.startsWith("E")) {
        unknown.push(line)
        continue
      }
      if (provider.received === undefined) continue
      const pix = yield* Effect.catchTag(provider.received.find(line.endToEndId), "AcquirerUnclear", () =>
        Effect.succeed("unclear" as const)
      )
      unclear = pix === "unclear" ? unclear + 1 : 0
      if (pix === undefined) unknown.push(line)
      if (pix === "unclear" || pix === undefined) continue
      received.add(line.endToEndId)
      let others = 0
      for (const connectionId of connectionIds) {
        const applied = yield* reports.received(connectionId, [pix])
        effects += applied.effects
        others += applied.foreign
      }
      if (others === connectionIds.length) foreign.add(line.endToEndId)
    }
    return { foreign, received, effects, unknown, lookedUpTo: null }
  })

  /**
   * Raises payouts that came back. A rail that lists them knows them by the ids of their returns, as lines have to then. `open`: all
   * lines that may be of one.
   */
  const raiseSentBack = Effect.fnUntraced(function* (
    { bankAccount, day }: DueDay,
    connectionIds: ReadonlyArray<string>,
    { payouts }: Provider,
    lines: ReadonlyArray<NamedLine>,
    open: ReadonlyArray<NamedLine>
  ) {
    if (payouts === undefined) return 0
    const isListed = payouts.list !== undefined
    const mayBe = ({ endToEndId }: NamedLine) => !isListed || endToEndId.startsWith("D")
    const alike = Map.groupBy(open.filter(mayBe), ({ amount }) => amount)
    const cameBack = lines.filter(mayBe).map(({ amount, endToEndId: name, id: lineId }) => ({
      lineId,
      name,
      amount,
      isOnly: alike.get(amount)?.length === 1 && !isInCapitals(name)
    }))
    const sentBack = yield* books.sentBack(connectionIds, cameBack, day)
    const withOwnId = sentBack.flatMap(({ isByAmount, name }) => (isByAmount ? [] : [name]))
    const ofPayouts = withOwnId.length === 0 ? [] : yield* bankDays.named(bankAccount, withOwnId)
    const atMs = parseInstant(`${day}T12:00:00`, "America/Sao_Paulo")
    let effects = 0
    for (const { amount, connectionId, isByAmount, lineId, name, payoutId } of sentBack) {
      const returned = {
        _tag: "payout.returned",
        connectionId,
        payoutId,
        externalId: name,
        amount,
        isByAmount,
        ...(atMs !== undefined && { atMs })
      } as const
      // The movement of a line that was raised may pair with an equal line of another day, whose key is then free.
      const alike = ofPayouts.filter((line) => line.endToEndId === name && line.amount === amount).map(({ id }) => id)
      for (const one of isByAmount ? [undefined] : new Set([lineId, ...alike])) {
        const outcome = yield* notifications.receive({ ...returned, ...(one !== undefined && { lineId: one }) })
        if (outcome !== "exception") continue
        effects += 1
        break
      }
    }
    return effects
  })

  return Effect.fnUntraced(function* (
    due: DueDay,
    connectionIds: ReadonlyArray<string>,
    entries: ReadonlyArray<Entry>
  ) {
    const { bankAccount, day, lookedUpTo } = due
    const missing = entries
      .flatMap(({ bank, state }) => (state === "missing_here" && bank !== undefined && isNamed(bank) ? [bank] : []))
      .filter((line) => line.day === day && line.amount > 0)
      .toSorted((a, b) => (a.endToEndId < b.endToEndId ? -1 : a.endToEndId > b.endToEndId ? 1 : 0))
    const lines = missing.filter(({ endToEndId }) => lookedUpTo === null || endToEndId > lookedUpTo)
    if (lines.length === 0) return { ...NOTHING, lookedUpTo: null }
    const provider = yield* Effect.catchTag(
      acquirer.providerFor(bankAccount),
      "AcquirerUnclear",
      () => Effect.undefined
    )
    if (provider === undefined) return { ...NOTHING, lookedUpTo }
    const { received, unknown, ...found } = yield* lookUp(connectionIds, provider, lines)
    const open = missing.filter(({ endToEndId }) => !received.has(endToEndId))
    const raised = yield* raiseSentBack(due, connectionIds, provider, unknown, open)
    return { ...found, effects: found.effects + raised }
  })
})

/** Whether a bank may have written an id in capitals, which the provider then has not received. */
const isInCapitals = (id: string): boolean => id.startsWith("E") && /[A-Z]/.test(id.slice(21)) && !/[a-z]/.test(id)

const isNamed = (line: BankLine): line is NamedLine => line.endToEndId !== null

const MOST_LOOKED_UP = 200

/** A provider that is slow delays others by no more with each of its days, which take turns with theirs. */
const LOOK_UPS_MS = 30_000

/** Answers that do not come, in a row. */
const MOST_UNCLEAR = 3

const NOTHING = { foreign: new Set<string>(), effects: 0 }
