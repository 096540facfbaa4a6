/** Lines of files that overlap: each is stored once, in whichever form its bank writes the file. */
import { assert, describe, it } from "@effect/vitest"
import { type Random, randomFrom } from "@pix-payments/psp-double/Random"
import { hasIds, type StoredLine, unionOf } from "../../src/statements/StoredLines.ts"
import type { StatementLine } from "../../src/statements/StatementParts.ts"

type Form = "ids" | "capitals" | "none"

const line = (endToEndId: string | null, description: string): StatementLine => ({
  line: 1,
  day: "2026-11-25",
  amount: 1000,
  description,
  endToEndId,
  bankId: null
})

/** A day's lines as a file has them. Pix are alike without their ids, and so are transfers that are no Pix. */
const inForm = (lines: ReadonlyArray<StatementLine>, form: Form): ReadonlyArray<StatementLine> =>
  lines.map((each) => ({
    ...each,
    description: form === "none" ? each.description.slice(0, 3) : each.description,
    endToEndId:
      form === "none" ? null : form === "capitals" ? (each.endToEndId?.toUpperCase() ?? null) : each.endToEndId
  }))

/** What is stored after files, and how many lines each of them added. */
const storedOf = (files: ReadonlyArray<ReadonlyArray<StatementLine>>) => {
  const stored: Array<StoredLine> = []
  const counts = files.map((lines) => {
    const { added, named } = unionOf(stored, lines)
    for (const each of named) {
      const at = stored.findIndex(({ id }) => id === each.id)
      assert.notMatch(stored[at]!.endToEndId ?? "", /[a-z]/, "only a line without its id gets one")
      stored[at] = { ...each, hasIds: true }
    }
    const isNamed = hasIds(lines)
    for (const each of added) stored.push({ ...each, id: String(stored.length).padStart(5, "0"), hasIds: isNamed })
    return added.length
  })
  return { stored, counts }
}

describe("stored lines", () => {
  it("OPR-275: any files of a day, in any forms: each line once, and with its id where a file of the whole day has that", () => {
    for (let seed = 0; seed < 2000; seed++) {
      const random = randomFrom(seed)
      const day = Array.from({ length: upTo(random, 6) }, (_, index) =>
        random() < 0.3
          ? line(null, chosen(random, "TED RECEBIDA", "DOC RECEBIDO"))
          : line(`E1234567820261125${1000 + index}aBcDeFgHiJk`, "PIX RECEBIDO")
      )
      const files = Array.from({ length: upTo(random, 5) }, () =>
        inForm(day.slice(0, upTo(random, day.length)), chosen<Form>(random, "ids", "capitals", "none"))
      )
      const whole = [inForm(day, "ids"), inForm(day, "none")]
      const { stored } = storedOf([...files, ...(random() < 0.5 ? whole : whole.toReversed())])
      const idsOf = (lines: ReadonlyArray<{ readonly endToEndId: string | null }>) =>
        lines.map(({ endToEndId }) => endToEndId ?? "").toSorted()
      assert.deepStrictEqual(idsOf(stored), idsOf(day), `seed ${seed}`)
    }
  })

  it("OPR-275: a transfer without an id, of a file that has ids, is no Pix that a later file adds", () => {
    const morning = [line(null, "TED RECEBIDA"), { ...line("E1234567820261125100000000000001", "PIX"), amount: 5 }]
    const pix = line("E1234567820261125110000000000002", "PIX RECEBIDO")
    assert.deepStrictEqual(storedOf([morning, [pix]]).counts, [2, 1])
    assert.deepStrictEqual(storedOf([[pix], morning]).counts, [1, 2])
    // And what a file without ids calls otherwise is one of both.
    assert.deepStrictEqual(storedOf([morning, [pix], [line(null, "A"), line(null, "B")]]).counts, [2, 1, 0])
  })

  it("OPR-275: a message in the form of an id does not make a file one with ids", () => {
    const pix = Array.from({ length: 20 }, (_, index) =>
      line(`E1234567820261125${1000 + index}aBcDeFgHiJk`, "PIX RECEBIDO")
    )
    const bare = [...inForm(pix, "none"), { ...line("E99999999202611251200zzzzzzzzzzz", "PIX"), amount: 7 }]
    assert.deepStrictEqual(storedOf([bare, pix]).counts, [21, 0])
    assert.deepStrictEqual(storedOf([pix, bare]).counts, [20, 1])
  })

  it("OPR-275: fifty thousand equal lines are compared at once", () => {
    const many = (form: Form) =>
      inForm(
        Array.from({ length: 50_000 }, (_, index) => line(`E${index}`, "PIX")),
        form
      )
    assert.deepStrictEqual(storedOf([many("none"), many("none")]).counts, [50_000, 0])
    const { added, named } = unionOf(
      many("none").map((each, index) => ({ ...each, id: `${index}`, hasIds: false })),
      many("ids")
    )
    assert.deepStrictEqual([added.length, named.length], [0, 50_000])
  })
})

const upTo = (random: Random, most: number): number => 1 + Math.floor(random() * most)

const chosen = <A>(random: Random, ...of: ReadonlyArray<A>): A => of[upTo(random, of.length) - 1]!
