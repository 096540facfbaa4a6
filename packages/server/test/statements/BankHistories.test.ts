/**
 * Thirty days of a bank account at a provider's double: lost callbacks, second payments, partial returns, late MEDs, payouts that
 * fail or are sent back. The bank's statement is imported in broken dialects, night by night, and closes and comparisons follow.
 *
 * Whatever the seed: the books close and chain, every line of the bank is joined to its order or named, the differences are the
 * bank's fees and what the owner moved, cent by cent, and the bank has what is owed.
 *
 * `BANK_HISTORIES=100` runs more histories, `BANK_FIRST=101` begins later, `BANK_SEED=42` repeats one.
 */
import { assert, layer } from "@effect/vitest"
import type { BalanceTransaction, Close } from "@pix-payments/api/operator/Books"
import type { Reconciliation, ReconciliationLine } from "@pix-payments/api/operator/Reconciliations"
import { txidFromId } from "@pix-payments/domain/Txid"
import { inter } from "@pix-payments/psp-double/http/Profiles"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import type { Fate, PayoutError } from "@pix-payments/psp-double/provider/State"
import { type Random, randomFrom } from "@pix-payments/psp-double/Random"
import { type BookedLine, bookedLines } from "@pix-payments/psp-double/statement/BookedLines"
import { bankDay, type Dialect, statementFile } from "@pix-payments/psp-double/statement/StatementFile"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { ListenAddresses } from "../../src/http/pipeline/ListenAddresses.ts"
import { BankBalances } from "../../src/statements/BankBalances.ts"
import { BankReconciliation } from "../../src/statements/BankReconciliation.ts"
import { CallbackConnections } from "../../src/reports/CallbackConnections.ts"
import {
  assertChained,
  assertJoined,
  assertOwed,
  assertRecomputed,
  assertRunning,
  chosen,
  everyRow
} from "../support/BookFacts.ts"
import { startDouble } from "../support/Bank.ts"
import { DAYS, order, type Resource, resolveOne, underWay } from "../support/BookHistory.ts"
import { create } from "../support/ChargeRequests.ts"
import { closeEnded } from "../support/Closing.ts"
import { connectedServiceLayer, progressOf, sweepNow } from "../support/ConnectedBank.ts"
import { connectTo, operatorCredentials } from "../support/Connections.ts"
import { availableOf, operated, payOut } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { seedsOf } from "../support/Seeds.ts"
import { TestService } from "../support/TestService.ts"

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** A bank account at a double, whose clock is the service's. */
interface World {
  readonly random: Random
  readonly double: PspDouble
  readonly connectionId: string
  readonly accountId: string
  readonly key: string
  readonly url: string
  readonly secretUrl: string
  /** What the bank books beside Pix. */
  readonly others: Array<BookedLine>
  readonly charges: Array<string>
  /** Amounts of payouts. Where two are the same, nobody can say which of them an amount that came back is of (OPR-279). */
  readonly sent: Set<number>
  readonly pass: (ms: number) => Effect.Effect<void>
}

const SOON_MS = 10_000

/** An outcome that comes at once, or soon. */
const fateOf = <Failure>(random: Random, failed: Failure): Fate<Failure> => {
  const afterMs = random() < 0.7 ? 0 : SOON_MS
  return random() < 0.15 ? { _tag: "Failed", afterMs, with: failed } : { _tag: "Done", afterMs }
}

const makeWorld = Effect.fnUntraced(function* (seed: number, clock: { aheadMs: number }) {
  const { makeCaller } = yield* TestService
  const random = randomFrom(seed)
  const isEfi = random() < 0.6
  const failed: PayoutError = { code: "AC03", origin: "Recebedor", reason: "account closed" }
  const { aheadMs } = clock
  const double = yield* startDouble({
    seed,
    // @effect-diagnostics-next-line globalDate:off -- as the double does
    now: () => Date.now() + aheadMs,
    ...(isEfi ? { profile: "efi" as const } : { variant: inter }),
    settings: {
      openingCents: 1_000_000,
      payoutFate: () => fateOf(random, failed),
      returnFate: () => fateOf(random, "refused")
    },
    faults: { "hook-never": 0.3, "hook-twice": 0.1 }
  })
  const { id: connectionId } = yield* connectTo(double, {
    profile: isEfi ? "efi" : "inter",
    credentials: { ...operatorCredentials(double), ...(isEfi ? {} : { current_account: "1" }) }
  })
  // Sweeps read nothing from before a connection.
  const sql = yield* SqlClient
  yield* sql`UPDATE acquirer_connections SET created_at = now() - interval '40 days' WHERE id = ${connectionId}::uuid`
  yield* (yield* CallbackConnections).refresh
  const { accountId, key } = yield* makeCaller({ account: { payout_fee: { fixed: 30, basis_points: 50 } } })
  yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: connectionId })
  const url = `${(yield* ListenAddresses).acquirer}/${connectionId}`
  double.provider.webhooks.put(double.key, url)
  const pass = (ms: number) => {
    clock.aheadMs += ms
    return Effect.promise(() => double.advance(ms))
  }
  const world: World = {
    random,
    double,
    connectionId,
    accountId,
    key,
    url,
    secretUrl: url,
    others: [],
    charges: [],
    sent: new Set(),
    pass
  }
  return world
})

const ALWAYS = [{ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }, () => true, { page: 0, size: 10_000 }] as const

/** One step of a history. What the state does not allow is refused, and changes nothing. */
const step = Effect.fnUntraced(function* ({ accountId, charges, double, key, random, sent: amounts }: World) {
  const { operate } = yield* TestService
  const { infractions, payouts, receipts } = double.provider
  const what = random()
  // A charge may have the amount of a payout.
  const cents = (random() < 0.1 ? chosen(random, [...amounts]) : undefined) ?? 500 + Math.floor(random() * 20_000)
  const paid = chosen(random, charges)
  const pix = chosen(random, receipts.list(...ALWAYS).items)
  if (what < 0.4 || paid === undefined || pix === undefined) {
    const { body, status } = yield* create(key, {
      amount: cents,
      reference: `order-${charges.length}`,
      expires_in: null
    })
    if (status !== 201) return
    yield* eventually(
      operate<Resource>("GET", `/operator/v1/charges/${body.id}`),
      ({ body: { status: now } }) => now !== "waiting"
    )
    if (receipts.payCob(txidFromId(body.id))._tag === "Success") charges.push(body.id)
  } else if (what < 0.45) receipts.payCob(txidFromId(paid))
  else if (what < 0.5) receipts.receive({ key: double.key, cents })
  else if (what < 0.6) yield* order(`/charges/${paid}/refund`, { amount: Math.ceil(cents / 20) })
  else if (what < 0.65) receipts.takeBack(pix.endToEndId, Math.ceil(pix.cents / 3))
  else if (what < 0.7) {
    const opened = infractions.open(pix.endToEndId)
    if (opened._tag === "Success" && random() < 0.3) infractions.close(opened.success.id, "REJEITADA")
  } else if (what < 0.75) {
    const open = infractions.list(ALWAYS[0], ALWAYS[2]).items.filter(({ status }) => status === "ABERTA")
    const infraction = chosen(random, open)
    if (infraction !== undefined) infractions.close(infraction.id, random() < 0.6 ? "ACEITA" : "REJEITADA")
  } else if (what < 0.8) yield* resolveOne(random, accountId)
  else if (what < 0.93) {
    let amount = Math.max(500, Math.ceil(cents / 4))
    while (amounts.has(amount)) amount++
    amounts.add(amount)
    yield* payOut(key, { amount })
  } else {
    const sent = chosen(random, payouts.list(ALWAYS[0], ({ status }) => status === "REALIZADO", ALWAYS[2]).items)
    if (sent !== undefined && sent.returned.length === 0) payouts.receiveReturn(sent.id, sent.cents)
  }
})

/**
 * The service asks for what it waits for, and time passes, until nothing is under way. A request is under way in the first ten seconds of
 * its lease of twenty: what is due after them waits, so that no second one is sent beside it.
 */
const settled = ({ pass }: World) =>
  Effect.flatMap(SqlClient, (sql) =>
    eventually(
      Effect.gen(function* () {
        yield* pass(SOON_MS)
        const isSoon = sql`due_at > now() AND due_at < now() + interval '9 seconds'`
        yield* sql`UPDATE payouts SET due_at = now() WHERE status = 'processing' AND ${isSoon}`
        yield* sql`UPDATE acquirer_orders SET due_at = now() WHERE state = 'ordered' AND ${isSoon}`
        yield* Effect.sleep(100)
        return yield* underWay
      }),
      ({ length }) => length === 0
    )
  )

/** A sweep reads from three days ago, and the daily one from five, to PostgreSQL's now, before which the histories are. */
const sweep = (world: World) => {
  const nowMs = world.double.now()
  const swept = Effect.andThen(sweepNow(world, nowMs - 3 * DAY_MS), progressOf(world))
  // One with a call that took too long is repeated.
  return eventually(swept, ({ swept_until: until }) => until !== null && until.getTime() >= nowMs)
}

const drawnDialect = (random: Random): Dialect => {
  const either = () => random() < 0.5
  return {
    format: chosen(random, ["ofx1", "ofx2", "cnab240"] as const)!,
    encoding: either() ? "utf-8" : "windows-1252",
    endTags: either(),
    comma: either(),
    unsigned: either(),
    sharedIds: either(),
    repeats: false,
    balances: either(),
    wrongBy: random() < 0.2 ? 100 : 0,
    noise: either()
  }
}

const linesOf = ({ double, others }: World) =>
  [...bookedLines(double.provider), ...others].toSorted((a, b) => a.atMs - b.atMs)

/** No day waits for its comparison. The service's own loop looks every second. */
const compared = Effect.gen(function* () {
  const { compareDue } = yield* BankReconciliation
  const sql = yield* SqlClient
  yield* Effect.repeat(compareDue, { until: (count) => count === 0 })
  yield* eventually(sql`SELECT FROM reconciliations WHERE status = 'requested'`, ({ length }) => length === 0)
})

const importing = (world: World, from: string, to: string) =>
  Effect.gen(function* () {
    const { operate } = yield* TestService
    const { connectionId, random } = world
    const of = {
      bank: "364",
      branch: "0001",
      account: "12345-6",
      from,
      to,
      openingCents: 1_000_000,
      lines: linesOf(world)
    }
    const content = Buffer.from(statementFile(of, drawnDialect(random))).toString("base64")
    const { status, text } = yield* operate("POST", "/operator/v1/bank-statements", {
      body: { connection_id: connectionId, content }
    })
    assert.include([200, 201], status, text)
    yield* compared
  })

/** A day's steps at growing hours, then the night: most nights close, and the bank's file comes. */
const live = Effect.fnUntraced(function* (world: World) {
  const { double, others, pass, random } = world
  const today = bankDay(double.now())
  const midnightMs = Date.parse(`${today}T03:00:00Z`) + DAY_MS
  const count = Math.floor(random() * 5)
  for (let index = 0; index < count; index++) {
    yield* pass(Math.floor((random() * (midnightMs - 2 * HOUR_MS - double.now())) / 2))
    yield* step(world)
  }
  const extra = (cents: number, text: string) => others.push({ atMs: double.now(), cents, endToEndId: "", text })
  if (random() < 0.5) extra(-150, "TARIFA PIX")
  if (random() < 0.1) extra(-150, "TARIFA PIX")
  if (random() < 0.1) extra(-50_000, "APLICACAO CDB")
  if (random() < 0.6) yield* settled(world)
  if (random() < 0.4) yield* sweep(world)
  yield* pass(midnightMs + 15 * 60_000 - double.now())
  if (random() < 0.85) yield* closeEnded
  yield* (yield* BankBalances).requestNightly
  if (random() < 0.7) yield* importing(world, today, today)
  return today
})

const history = Effect.fnUntraced(function* (seed: number, clock: { aheadMs: number }) {
  const world = yield* makeWorld(seed, clock)
  const { accountId, connectionId, double, key, pass } = world
  // The first day begins with its midnight.
  yield* pass(Date.parse(`${bankDay(double.now())}T03:00:00Z`) + DAY_MS + 60_000 - double.now())
  const sql = yield* SqlClient
  const first = bankDay(double.now())
  for (let day = 0; day < DAYS; day++) yield* live(world)
  for (let quiet = 0; quiet < 2; quiet++) {
    // The daily look for returns of the last 90 days.
    yield* sql`UPDATE acquirer_connections SET returns_at = NULL WHERE id = ${connectionId}::uuid`
    yield* sweep(world)
    yield* settled(world)
    yield* importing(world, first, bankDay(double.now()))
    yield* pass(DAY_MS)
    yield* closeEnded
    yield* (yield* BankBalances).requestNightly
    yield* compared
  }
  const last = bankDay(double.now())
  yield* importing(world, first, last)
  // What the books learned later is compared daily: what one comparison finds, perhaps beside another one, the next has.
  for (let times = 0; times < 2; times++) {
    for (let atMs = Date.parse(`${first}T15:00:00Z`); bankDay(atMs) <= last; atMs += DAY_MS) {
      const day = bankDay(atMs)
      yield* operated("POST", "/reconciliations", { connection_id: connectionId, day }, 202)
    }
    yield* compared
  }
  yield* pass(DAY_MS)
  yield* closeEnded

  const lines = yield* everyRow<BalanceTransaction>(`/accounts/${accountId}/transactions`)
  assert.strictEqual(assertRunning(lines), yield* availableOf(key))
  assertChained(yield* everyRow<Close>(`/accounts/${accountId}/closes`), lines)
  const bank = yield* everyRow<BalanceTransaction>(`/connections/${connectionId}/transactions`)
  assertChained(yield* everyRow<Close>(`/connections/${connectionId}/closes`), bank)
  assertJoined(bank)
  const moved = bank.reduce((sum, { net }) => sum + net, 0)
  assert.strictEqual(moved, double.provider.balanceCents() - 1_000_000, "the books have what the bank moved")
  yield* assertOwed(moved)

  const days = yield* everyRow<Reconciliation>(`/reconciliations?connection_id=${connectionId}`)
  // Nothing is on its way at the end: what the bank has beyond the books is what it had before them.
  const [lastRead] = days.filter(({ balance }) => balance !== null).toSorted((a, b) => (a.day < b.day ? 1 : -1))
  assert.deepStrictEqual([lastRead?.balance?.difference, lastRead?.balance?.problem], [1_000_000, null])
  const named = new Map<string, number>()
  for (const day of days) {
    assert.deepStrictEqual([day.status, day.reason], ["done", null], day.day)
    const entries = yield* everyRow<ReconciliationLine>(`/reconciliations/${day.id}/lines`)
    const sum = entries.reduce((total, { difference }) => total + difference, 0)
    assert.deepStrictEqual([sum, day.bank_total - day.books_total], [day.difference, day.difference], day.day)
    for (const { difference, source, state } of entries) {
      named.set(state, (named.get(state) ?? 0) + difference)
      if (state === "timing") assert.isNotNull(source)
    }
  }
  const cents = (text: string) =>
    world.others.reduce((sum, line) => (line.text.startsWith(text) ? sum + line.cents : sum), 0)
  const total = (of: (day: Reconciliation) => number) => days.reduce((sum, day) => sum + of(day), 0)
  assert.deepStrictEqual(
    [total(({ bank_total }) => bank_total), total(({ books_total }) => books_total)],
    [linesOf(world).reduce((sum, line) => sum + line.cents, 0), moved]
  )
  named.delete("matched")
  assert.deepStrictEqual(
    Object.fromEntries([...named].filter(([, difference]) => difference !== 0)),
    Object.fromEntries(
      [["bank_fee", cents("TARIFA")] as const, ["owner", cents("APLICACAO")] as const].filter(
        ([, difference]) => difference !== 0
      )
    )
  )
  assert.deepStrictEqual(
    [...named.keys()].filter((state) => !["timing", "bank_fee", "owner"].includes(state)),
    []
  )
  yield* assertRecomputed(`accounts/${accountId}`)
  yield* assertRecomputed(`connections/${connectionId}`)
  assert.deepStrictEqual(double.defects, [])
})

for (const seed of seedsOf("BANK", 1)) {
  const clock = { aheadMs: -(DAYS + 4) * DAY_MS }
  const ahead = Layer.effect(
    Clock.Clock,
    Effect.map(Clock.Clock, (real) =>
      Object.assign(Object.create(real) as Clock.Clock, {
        currentTimeMillisUnsafe: () => real.currentTimeMillisUnsafe() + clock.aheadMs,
        currentTimeMillis: Effect.map(real.currentTimeMillis, (ms) => ms + clock.aheadMs)
      })
    )
  )
  layer(connectedServiceLayer().pipe(Layer.provideMerge(ahead)), {
    excludeTestServices: true
  })("Histories of a bank account", (it) => {
    it.effect(`OPR-255, OPR-256, OPR-273, OPR-275, OPR-277, OPR-278, OPR-279, OPR-281: seed ${seed}`, () =>
      history(seed, clock).pipe(Effect.scoped)
    )
  })
}
