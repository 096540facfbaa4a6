/** The comparison of a bank's day with the books, by itself. */
import { assert, describe, it } from "@effect/vitest"
import { randomFrom } from "@pix-payments/psp-double/Random"
import {
  type BankLine,
  type BookMovement,
  compare,
  type Day,
  dayAfter,
  DAYS_AROUND,
  differenceOf,
  type Entry,
  openIds
} from "../../src/statements/FourLegs.ts"

const DAY = "2026-11-25"
const NEXT = "2026-11-26"
const BEFORE = "2026-11-24"

let made = 0
const line = (amount: number, endToEndId: string | null, changes: Partial<BankLine> = {}): BankLine => ({
  id: `line ${++made}`,
  day: DAY,
  amount,
  endToEndId,
  description: "TRANSFERENCIA",
  ...changes
})
const movement = (amount: number, ids: ReadonlyArray<string>, day = DAY): BookMovement => ({
  id: `movement ${++made}`,
  day,
  amount,
  ids,
  hasOwnId: ids.length > 0,
  accountId: null,
  source: { object: "charge", id: `charge ${made}` }
})

const day = (changes: Partial<Day>): Day => ({
  day: DAY,
  bank: [],
  books: [],
  facts: { unsettled: new Map(), foreign: new Set() },
  isLaterDayKnown: true,
  ...changes
})

const shown = (entries: ReadonlyArray<Entry>) =>
  entries.map(({ bank, books, state }) => `${state} ${bank?.amount ?? "-"} ${books?.amount ?? "-"}`).toSorted()

/** A day as `BankReconciliation` compares it: what is loaded around it, in any order, then what has the open ids on any day. */
const comparedByItself = (
  of: string,
  bank: ReadonlyArray<BankLine>,
  books: ReadonlyArray<BookMovement>,
  pick: (...of: ReadonlyArray<boolean>) => boolean
) => {
  const near = (side: { readonly day: string }) =>
    side.day >= dayAfter(of, -DAYS_AROUND) && side.day <= dayAfter(of, DAYS_AROUND)
  const ordered = <A>(sides: ReadonlyArray<A>) => (pick(true, false) ? sides : sides.toReversed())
  const open = openIds(bank.filter(near), books.filter(near))
  const linesOf = (ids: ReadonlyArray<string>) =>
    bank.filter(({ endToEndId }) => endToEndId !== null && ids.includes(endToEndId))
  const names = [...open.ofLines, ...linesOf(open.ofBooks).flatMap(({ endToEndId }) => endToEndId ?? [])]
  const found = books.filter(({ ids }) => ids.some((id) => names.includes(id)))
  const named = books.filter(({ source }) => found.some((each) => each.source.id === source.id))
  const lines = linesOf([...names, ...named.flatMap(({ ids }) => ids)])
  return compare(
    day({
      day: of,
      bank: ordered(bank.filter((each) => near(each) || lines.includes(each))),
      books: ordered(books.filter((each) => near(each) || named.includes(each)))
    })
  )
}

describe("four legs", () => {
  it("OPR-277: an investment of the owner is no Pix of the same amount", () => {
    const books = [movement(1000, ["E1"]), movement(-500, ["E2"])]
    const bank = [
      line(1000, null, { description: "RESGATE CDB" }),
      line(-500, null, { description: "APLICAÇÃO AUTOMATICA" }),
      line(1000, null, { description: "TRANSF RECEBIDA RESGATE LTDA" })
    ]
    assert.deepStrictEqual(shown(compare(day({ bank, books }))), [
      "matched 1000 1000",
      "missing_there - -500",
      "owner -500 -",
      "owner 1000 -"
    ])
  })

  it("OPR-277: lines and movements pair by id, then by amount, and each has one state", () => {
    const entries = compare(
      day({
        bank: [
          line(1000, "E1"),
          line(2000, "E2"),
          line(300, "E3"),
          line(400, "E4", { day: NEXT }),
          line(500, null, { description: "PIX RECEBIDO" }),
          line(-150, null, { description: "TARIFA PIX" }),
          line(-90_000, null, { description: "APLICACAO CDB" }),
          line(70, null, { description: "PIX RECEBIDO ANA" }),
          line(-800, "E8"),
          line(900, "E9"),
          line(-50, "D1")
        ],
        books: [
          movement(1000, ["E1"]),
          movement(2500, ["E2"]),
          movement(400, ["E4"]),
          movement(500, ["E5"]),
          movement(600, ["E6"]),
          movement(-50, ["D1", "E1"])
        ],
        facts: { unsettled: new Map([["E8", { object: "payout", id: "p" }]]), foreign: new Set(["E9"]) }
      })
    )
    assert.deepStrictEqual(
      shown(entries),
      [
        "amount_differs 2000 2500",
        "bank_fee -150 -",
        "matched -50 -50",
        "matched 1000 1000",
        "matched 500 500",
        "missing_here 300 -",
        "missing_here 70 -",
        "missing_there - 600",
        "other_key 900 -",
        "owner -90000 -",
        "state_differs -800 -",
        "timing 400 400"
      ].toSorted()
    )
  })

  it("OPR-277: a line whose id the bank writes in capitals pairs with its movement", () => {
    const bank = [line(1000, "E12345678202611251200ABCDEFGHIJK")]
    const books = [movement(1000, ["E12345678202611251200abcdefghijk"])]
    assert.deepStrictEqual(shown(compare(day({ bank, books }))), ["matched 1000 1000"])
  })

  it("OPR-277: an amount pairs nothing that has another id, and a fee pairs nothing", () => {
    assert.deepStrictEqual(shown(compare(day({ bank: [line(700, "E1")], books: [movement(700, ["E2"])] }))), [
      "missing_here 700 -",
      "missing_there - 700"
    ])
    assert.deepStrictEqual(shown(compare(day({ bank: [line(700, "D9")], books: [movement(700, [])] }))), [
      "matched 700 700"
    ])
    const fee = line(-150, null, { description: "TARIFA" })
    assert.deepStrictEqual(shown(compare(day({ bank: [fee], books: [movement(-150, ["E1"], NEXT)] }))), [
      "bank_fee -150 -"
    ])
    assert.deepStrictEqual(shown(compare(day({ bank: [fee], books: [movement(-150, ["E1"])] }))), [
      "bank_fee -150 -",
      "missing_there - -150"
    ])
    // Somebody who was paid may be called so.
    const paid = line(-150, null, { description: "PIX ENVIADO CESTA BASICA LTDA" })
    assert.deepStrictEqual(shown(compare(day({ bank: [paid], books: [movement(-150, ["E1"])] }))), [
      "matched -150 -150"
    ])
    assert.deepStrictEqual(shown(compare(day({ bank: [paid] }))), ["missing_here -150 -"])
    const late = compare(day({ bank: [line(700, null)], books: [movement(700, ["E1"], NEXT)] }))
    assert.deepStrictEqual(shown(late), ["timing 700 700"])
  })

  it("OPR-277: of several with one id and amount, those of one day pair", () => {
    const early = "2026-11-20"
    const bank = [line(-10, "E1", { day: early }), line(-10, "E1")]
    const books = [movement(-10, ["E1"]), movement(-10, ["E1"], early), movement(-10, ["E1"])]
    assert.deepStrictEqual(shown(compare(day({ bank, books }))), ["matched -10 -10", "missing_there - -10"])
    // One that the bank booked a day late is of its own movement on both days, whatever repeats it later.
    const booked = [line(-10, "E2"), line(-10, "E2", { day: "2026-11-21" })]
    const moved = [movement(-10, ["E2"], "2026-11-20")]
    assert.deepStrictEqual(shown(compare(day({ bank: booked, books: moved }))), ["missing_here -10 -"])
    assert.deepStrictEqual(shown(compare(day({ day: "2026-11-21", bank: booked, books: moved }))), ["timing -10 -10"])
  })

  it("OPR-277: what the books have at the end of a day may be on the bank's next one", () => {
    const alone = day({ books: [movement(700, ["E1"])] })
    assert.deepStrictEqual(shown(compare({ ...alone, isLaterDayKnown: false })), ["timing - 700"])
    assert.deepStrictEqual(shown(compare(alone)), ["missing_there - 700"])
    const [entry] = compare(day({ bank: [line(700, "E7")], books: [movement(700, ["E1"])] }))
    assert.deepStrictEqual(
      entry?.suggestions.map(({ amount }) => amount),
      [700]
    )
  })

  it("OPR-278: entries of any day sum up to its difference, and each side is in one of them", () => {
    for (let seed = 0; seed < 2000; seed++) {
      const random = randomFrom(seed)
      const pick = <A>(...of: ReadonlyArray<A>): A => of[Math.floor(random() * of.length)]!
      const some = <A>(make: () => A): ReadonlyArray<A> => Array.from({ length: Math.floor(random() * 14) }, make)
      const days = [BEFORE, DAY, NEXT]
      const amount = () => pick(100, 100, 200, 300, 12_345) * pick(1, -1)
      const bank = some(() =>
        line(amount(), pick(null, "E1", "E2", "E3", "D4", "D5"), {
          day: pick(...days),
          description: pick("PIX", "TARIFA", "TED")
        })
      )
      const books = some(() => movement(amount(), pick([], ["E1"], ["E2"], ["E3", "D4"], ["E6"]), pick(...days)))
      for (const of of days) {
        const entries = compare(day({ day: of, bank, books, isLaterDayKnown: pick(true, false) }))
        const total = (side: ReadonlyArray<{ day: string; amount: number }>) =>
          side.filter((each) => each.day === of).reduce((sum, each) => sum + each.amount, 0)
        const explained = entries.reduce((sum, entry) => sum + differenceOf(entry, of), 0)
        assert.strictEqual(explained, total(bank) - total(books), `seed ${seed}`)
        const sides = entries.flatMap((entry) => [entry.bank, entry.books]).filter((side) => side?.day === of)
        const expected = [...bank, ...books].filter((side) => side.day === of)
        assert.strictEqual(sides.length, expected.length, `seed ${seed}`)
        assert.strictEqual(new Set(sides).size, sides.length, `seed ${seed}`)
        for (const entry of entries) {
          if (entry.state === "matched") assert.strictEqual(differenceOf(entry, of), 0, `seed ${seed}`)
        }
      }
    }
  })

  it("OPR-277: a line or movement between two of the other side pairs with one, alike on both days", () => {
    const unnamed = (amount: number, of: string) => line(amount, null, { day: of, description: "PIX" })
    const cases: ReadonlyArray<readonly [ReadonlyArray<BankLine>, ReadonlyArray<BookMovement>, ReadonlyArray<string>]> =
      [
        [
          [unnamed(1000, DAY)],
          [movement(1000, ["Ea"], BEFORE), movement(1000, ["Eb"], NEXT)],
          ["timing 25/24", "timing 25/24", "missing_there -/26"]
        ],
        [
          [unnamed(1000, BEFORE), unnamed(1000, NEXT)],
          [movement(1000, ["Ea"])],
          ["missing_here 24/-", "timing 26/25", "timing 26/25"]
        ],
        [
          [unnamed(1000, NEXT)],
          [movement(1000, ["Ea"], BEFORE), movement(1000, ["Eb"])],
          ["missing_there -/24", "timing 26/25", "timing 26/25"]
        ]
      ]
    for (const [bank, books, expected] of cases) {
      const found = [BEFORE, DAY, NEXT].flatMap((of) => compare(day({ day: of, bank, books })))
      assert.deepStrictEqual(
        found.map((entry) => `${entry.state} ${entry.bank?.day.slice(8) ?? "-"}/${entry.books?.day.slice(8) ?? "-"}`),
        expected
      )
    }
  })

  it("OPR-277, OPR-278: days that are compared by themselves agree about each pair, by amount and by id", () => {
    for (let seed = 0; seed < 2000; seed++) {
      const random = randomFrom(seed)
      const pick = <A>(...of: ReadonlyArray<A>): A => of[Math.floor(random() * of.length)]!
      const days = Array.from({ length: 12 }, (_, index) => dayAfter(DAY, index))
      const some = <A>(make: (day: string) => A): ReadonlyArray<A> =>
        Array.from({ length: Math.floor(random() * 16) }, () => make(pick(...days)))
      const hasIds = pick(true, false)
      const bank = some((of) =>
        line(pick(1000, 1000, 2000), hasIds ? pick(null, null, "E1", "E2", "D2", "E3") : null, {
          day: of,
          description: "PIX"
        })
      )
      const books = some((of) => {
        const ids = hasIds ? pick([], ["E1"], ["E2"], ["D2", "E2"], ["E3"]) : [`E of ${++made}`]
        const source = { object: "charge", id: ids.at(-1) ?? `charge ${++made}` }
        return { ...movement(pick(1000, 1000, 2000), ids, of), source, hasOwnId: pick(true, ids.length > 0, false) }
      })
      // Of each side, the entries of all days that have it.
      const found = new Map<string, Set<string>>()
      let unexplained = 0
      for (const of of days) {
        for (const entry of comparedByItself(of, bank, books, pick)) {
          const { bank: its, books: ours, state } = entry
          if (state !== "matched" && state !== "timing") unexplained += differenceOf(entry, of)
          for (const side of [its, ours]) {
            if (side === undefined) continue
            found.set(side.id, (found.get(side.id) ?? new Set()).add(`${state} ${its?.id} ${ours?.id}`))
          }
        }
      }
      for (const [id, entries] of found) assert.strictEqual(entries.size, 1, `seed ${seed}: ${id} ${[...entries]}`)
      assert.strictEqual(found.size, bank.length + books.length, `seed ${seed}`)
      const total = (side: ReadonlyArray<{ readonly amount: number }>) =>
        side.reduce((sum, each) => sum + each.amount, 0)
      assert.strictEqual(unexplained, total(bank) - total(books), `seed ${seed}`)
    }
  })

  it("OPR-278: the work of a day grows with its lines, not with their square: 30,000 are compared in a test", () => {
    const ids = Array.from({ length: 30_000 }, (_, index) => `E${index}`)
    const bank = ids.map((id) => line(100, id))
    const books = ids.toReversed().map((id) => movement(100, [id]))
    const unnamed = ids.map(() => line(100, null, { description: "PIX" }))
    assert.isTrue(compare(day({ bank, books })).every(({ state }) => state === "matched"))
    const others = ids.map((id) => line(100, `${id} of another`))
    assert.isTrue(compare(day({ bank: others, books })).every(({ state }) => state.startsWith("missing")))
    assert.isTrue(compare(day({ bank: unnamed, books })).every(({ state }) => state === "matched"))
  })
})
