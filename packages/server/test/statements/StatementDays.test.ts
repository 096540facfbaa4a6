/**
 * Days of a simulated bank, written as files in broken dialects, read, and compared with books that hear late or never:
 * every line of the bank is joined to its order or named, and the difference of each day is explained cent by cent.
 *
 * `STATEMENT_SEEDS=1000` runs more histories.
 */
import { assert, describe, it } from "@effect/vitest"
import { type BookedLine, bookedLines } from "@pix-payments/psp-double/statement/BookedLines"
import { makeProvider } from "@pix-payments/psp-double/provider/Provider"
import { type Random, randomFrom } from "@pix-payments/psp-double/Random"
import { bankDay, type Dialect, statementFile } from "@pix-payments/psp-double/statement/StatementFile"
import * as Result from "effect/Result"
import { hasIds, type StoredLine, unionOf } from "../../src/statements/StoredLines.ts"
import { type BankLine, type BookMovement, compare, differenceOf, type Entry } from "../../src/statements/FourLegs.ts"
import { reading } from "../../src/statements/StatementFile.ts"

const SEEDS = Number(process.env["STATEMENT_SEEDS"] ?? 40)
const DAYS = 30
const DAY_MS = 86_400_000
const START_MS = Date.parse("2026-10-01T03:00:00Z")
const KEY = "7d9f0335-8dcc-4054-9bf9-0dbd61d36906"

const chosen = <A>(random: Random, ...of: ReadonlyArray<A>): A => of[Math.floor(random() * of.length)]!

/** Thirty days of payments, returns, payouts and payouts that came back, and what the bank books of them. */
const history = (seed: number) => {
  const random = randomFrom(seed)
  let nowMs = START_MS
  const provider = makeProvider({ now: () => nowMs, random, settings: { keys: [KEY], openingCents: 5_000_000 } })
  const received: Array<string> = []
  const sent: Array<string> = []
  for (let step = 0; step < 200; step++) {
    nowMs += Math.floor((random() * 2 * DAYS * DAY_MS) / 200)
    const cents = 100 * (1 + Math.floor(random() * 50))
    const what = random()
    if (what < 0.6) received.push(provider.receipts.receive({ key: KEY, cents }).endToEndId)
    else if (what < 0.75 && received.length > 0) {
      const half = Math.max(1, Math.floor(cents / 2))
      provider.receipts.orderReturn(chosen(random, ...received), `r${step}`, { cents: half })
    } else if (what < 0.93) {
      const payee = { key: "ana@example.com", document: undefined }
      if (Result.isSuccess(provider.payouts.send(`p${step}`, { cents, payerKey: KEY, payee }))) sent.push(`p${step}`)
    } else if (sent.length > 0) provider.payouts.receiveReturn(chosen(random, ...sent), 100)
    provider.settleDue()
  }
  return { random, provider, lines: bookedLines(provider) }
}

/** What the books have: most of it on its day, some a day late, little of it never. */
const booksOf = (lines: ReadonlyArray<BookedLine>, random: Random) =>
  lines.flatMap(({ atMs, cents, endToEndId }): ReadonlyArray<BookMovement> => {
    const chance = random()
    if (chance < 0.03) return []
    return [
      {
        id: `movement of ${endToEndId}`,
        day: bankDay(chance < 0.1 ? atMs + DAY_MS : atMs),
        amount: cents,
        ids: [endToEndId],
        hasOwnId: true,
        accountId: null,
        source: { object: "charge", id: endToEndId }
      }
    ]
  })

const drawnDialect = (random: Random): Dialect => ({
  format: chosen(random, "ofx1", "ofx2", "cnab240"),
  encoding: chosen(random, "windows-1252", "utf-8"),
  endTags: chosen(random, true, false),
  comma: chosen(random, true, false),
  unsigned: chosen(random, true, false),
  sharedIds: chosen(random, true, false),
  repeats: false,
  balances: chosen(random, true, false),
  wrongBy: 0,
  noise: chosen(random, true, false)
})

/** The lines of files that overlap, each line once, as they are stored. */
const imported = (files: ReadonlyArray<Uint8Array>): ReadonlyArray<BankLine> => {
  const stored: Array<StoredLine> = []
  for (const file of files) {
    const turns = reading(file)
    let turn = turns.next()
    while (turn.done !== true) turn = turns.next()
    const { lines } = Result.getOrThrow(turn.value)
    const isNamed = hasIds(lines)
    for (const line of unionOf(stored, lines).added) {
      stored.push({ ...line, id: String(stored.length).padStart(6, "0"), hasIds: isNamed })
    }
  }
  return stored
}

const dayAt = (index: number) => bankDay(START_MS + index * DAY_MS)

describe("days of a bank", () => {
  it("OPR-273, OPR-275, OPR-277, OPR-278: any history, in any dialects: every line is joined to its order or named", () => {
    for (let seed = 0; seed < SEEDS; seed++) {
      const { lines, provider, random } = history(seed)
      const fees = Array.from({ length: DAYS * 2 }, (_, index): BookedLine => ({
        atMs: START_MS + index * DAY_MS + 3_600_000,
        cents: -150,
        endToEndId: "",
        text: "TARIFA PIX"
      }))
      const all = [...lines, ...fees].toSorted((a, b) => a.atMs - b.atMs)
      // Weeks that overlap by a day, each in a dialect.
      const files = Array.from({ length: Math.ceil((DAYS * 2) / 6) }, (_, week) =>
        statementFile(
          {
            bank: "364",
            branch: "0001",
            account: "12345-6",
            from: dayAt(week * 6),
            to: dayAt(week * 6 + 6),
            openingCents: provider.settings.openingCents,
            lines: all
          },
          drawnDialect(random)
        )
      )
      const bank = imported(files)
      assert.strictEqual(bank.length, all.length, `seed ${seed}: each line is stored once`)
      assert.strictEqual(
        provider.settings.openingCents + lines.reduce((sum, { cents }) => sum + cents, 0),
        provider.balanceCents(),
        `seed ${seed}: opening and lines are the balance`
      )
      const books = booksOf(lines, random)
      const known = new Set(books.flatMap(({ ids }) => ids))
      let explained = 0
      for (let index = -1; index <= DAYS * 2 + 1; index++) {
        const day = dayAt(index)
        const around = new Set([dayAt(index - 1), day, dayAt(index + 1)])
        const entries = compare({
          day,
          bank: bank.filter((line) => around.has(line.day)),
          books: books.filter((movement) => around.has(movement.day)),
          facts: { unsettled: new Map(), foreign: new Set() },
          isLaterDayKnown: true
        })
        explained += entries.reduce((sum, entry) => sum + differenceOf(entry, day), 0)
        for (const entry of entries) if (entry.bank?.day === day) assertNamed(entry, known, `seed ${seed} ${day}`)
      }
      const total = (of: ReadonlyArray<{ readonly amount: number }>) => of.reduce((sum, { amount }) => sum + amount, 0)
      assert.strictEqual(explained, total(bank) - total(books), `seed ${seed}: each cent is explained`)
    }
  })
})

/** A line whose order the books have is joined to it; any other is named as what it is. */
const assertNamed = ({ bank, books, state }: Entry, known: ReadonlySet<string>, where: string) => {
  const id = bank?.endToEndId ?? null
  if (id === null) return assert.strictEqual(state, "bank_fee", where)
  if (!known.has(id)) return assert.strictEqual(state, "missing_here", `${where} ${id}`)
  assert.include(["matched", "timing"], state, `${where} ${id}`)
  assert.include(books?.ids ?? [], id, where)
}
