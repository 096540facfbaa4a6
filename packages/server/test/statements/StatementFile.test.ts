/** Statement files of banks, read: OFX 1 and 2, CNAB 240, in their dialects. */
import { assert, describe, it } from "@effect/vitest"
import { randomFrom } from "@pix-payments/psp-double/Random"
import { bankDay, type Dialect, statementFile, tidy } from "@pix-payments/psp-double/statement/StatementFile"
import * as Result from "effect/Result"
import { MAX_FILE_BYTES, MAX_LINES, reading } from "../../src/statements/StatementFile.ts"
import { centsOf, endToEndIdIn } from "../../src/statements/StatementParts.ts"

const day = (text: string) => Date.parse(`${text}T15:00:00Z`)
const pixId = (letter: "E" | "D", index: number) =>
  `${letter}1234567820261126${String(1200).padStart(4, "0")}${String(index).padStart(11, "a")}`

const of = {
  bank: "364",
  branch: "0001",
  account: "12345-6",
  from: "2026-11-25",
  to: "2026-11-26",
  openingCents: 10_000,
  lines: [
    { atMs: day("2026-11-24"), cents: 500, endToEndId: pixId("E", 0), text: "PIX RECEBIDO Ana" },
    { atMs: day("2026-11-25"), cents: 123_456, endToEndId: pixId("E", 1), text: "PIX RECEBIDO João & Cia" },
    { atMs: day("2026-11-25"), cents: -150, endToEndId: "", text: "TARIFA PIX" },
    { atMs: day("2026-11-26"), cents: -3_000, endToEndId: pixId("D", 2), text: "PIX DEVOLVIDO" },
    { atMs: day("2026-11-26"), cents: -150, endToEndId: "", text: "TARIFA PIX" }
  ]
}

/** Reads a file at once. */
const resultOf = (bytes: Uint8Array) => {
  const turns = reading(bytes)
  while (true) {
    const { done, value } = turns.next()
    if (done === true) return value
  }
}

const read = (bytes: Uint8Array) => {
  const result = resultOf(bytes)
  assert.isTrue(Result.isSuccess(result), Result.isFailure(result) ? result.failure.reason : "")
  return Result.getOrThrow(result)
}

const refusalOf = (text: string | Uint8Array) => {
  const result = resultOf(typeof text === "string" ? Buffer.from(text) : text)
  return Result.isFailure(result) ? result.failure.reason : "it is read"
}

/** A dialect and lines from a seed. */
const drawn = (seed: number) => {
  const random = randomFrom(seed)
  const oneOf = <A>(...choices: ReadonlyArray<A>): A => choices[Math.floor(random() * choices.length)]!
  const dialect: Dialect = {
    format: oneOf("ofx1", "ofx2", "cnab240"),
    encoding: oneOf("windows-1252", "utf-8"),
    endTags: oneOf(true, false),
    comma: oneOf(true, false),
    unsigned: oneOf(true, false),
    sharedIds: oneOf(true, false),
    repeats: false,
    balances: oneOf(true, false),
    wrongBy: oneOf(0, 0, 7),
    noise: oneOf(true, false)
  }
  const lines = Array.from({ length: Math.floor(random() * 30) }, (_, index) => {
    const text = oneOf("PIX RECEBIDO José", "PIX ENVIADO", "TARIFA", "PIX DEVOLVIDO")
    return {
      atMs: day("2026-11-23") + Math.floor(random() * 5 * 86_400_000),
      cents: (1 + Math.floor(random() * 10 ** Math.ceil(random() * 9))) * oneOf(1, -1),
      endToEndId: text === "TARIFA" ? "" : pixId("E", index),
      text
    }
  })
  return { dialect, lines: lines.toSorted((a, b) => a.atMs - b.atMs) }
}

const core = (lines: ReadonlyArray<{ day: string; amount: number; endToEndId: string | null }>) =>
  lines.map(({ amount, day: of, endToEndId }) => `${of} ${amount} ${endToEndId ?? ""}`).toSorted()

describe("statement files", () => {
  it("OPR-273: the same lines come from every dialect, and balances are named as such", () => {
    for (let seed = 0; seed < 500; seed++) {
      const { dialect, lines } = drawn(seed)
      const found = read(statementFile({ ...of, openingCents: 0, lines }, dialect))
      const expected = lines
        .map(({ atMs, cents, endToEndId }) => ({ day: bankDay(atMs), amount: cents, endToEndId: endToEndId || null }))
        .filter((line) => line.day >= of.from && line.day <= of.to)
      assert.deepStrictEqual(core(found.lines), core(expected), `seed ${seed}`)
      assert.isTrue(found.unread.every(({ reason }) => reason === "it is a balance, not a movement"))
      assert.strictEqual(found.unread.length > 0, dialect.balances, `seed ${seed}`)
      if (dialect.format === "cnab240") assert.strictEqual(found.problems.length > 0, dialect.wrongBy !== 0)
      assert.strictEqual(found.account, "123456")
    }
  })

  it("OPR-273: a line that cannot be read is named with its number, and a repeated one too", () => {
    const file = Buffer.from(statementFile(of, tidy)).toString("latin1")
    const broken = file
      .replace("1234.56", "1.234")
      .replace("20261126120000[-3:BRT]</DTPOSTED>\r\n<TRNAMT>-30.00", "20261326120000</DTPOSTED>\r\n<TRNAMT>-30.00")
    const { closing, lines, unread } = read(Buffer.from(broken, "latin1"))
    assert.deepStrictEqual(core(lines), ["2026-11-25 -150 ", "2026-11-26 -150 "])
    assert.deepStrictEqual(
      unread.map(({ line, reason }) => [broken.split("\r\n").slice(line - 1)[0], reason]),
      [
        ["<STMTTRN>", "its amount cannot be read"],
        ["<STMTTRN>", "its day cannot be read"]
      ]
    )
    assert.include(unread[0]?.text, "João & Cia")
    assert.deepStrictEqual(closing, { day: "2026-11-26", amount: 130_656 })

    const repeated = read(statementFile(of, { ...tidy, repeats: true }))
    assert.lengthOf(repeated.lines, 4)
    assert.deepStrictEqual(
      repeated.unread.map(({ reason, text }) => [reason, text]),
      [
        [
          `it repeats line ${repeated.lines[0]!.line}: the same id, day, amount and text`,
          repeated.lines[0]!.description
        ]
      ]
    )
    // Where ids name different lines, two equal fees of a day are two.
    const fees = [...of.lines, { ...of.lines[4]! }]
    assert.lengthOf(read(statementFile({ ...of, lines: fees }, { ...tidy, sharedIds: true })).lines, 5)

    const cnab = Buffer.from(statementFile(of, { ...tidy, format: "cnab240" })).toString("latin1")
    const records = cnab.split("\r\n")
    const bad = [
      ...records.slice(0, 2),
      records[2]!.replace("0000000000", "00000x0000"),
      `${records[3]!} x`,
      ...records.slice(4)
    ]
    const found = read(Buffer.from(bad.join("\r\n"), "latin1"))
    assert.deepStrictEqual(
      found.unread.map(({ line }) => line),
      [3, 4]
    )
    assert.isNotEmpty(found.problems, "opening and lines miss the closing")
  })

  it("OPR-274: a file that is no statement of one account in reais, or is too large, is refused whole", () => {
    const file = Buffer.from(statementFile(of, tidy)).toString("latin1")
    assert.strictEqual(refusalOf(file.replace("BRL", "USD")), "it is not in reais")
    assert.strictEqual(
      refusalOf(file.replace("<BANKTRANLIST>", "<ACCTID>77</ACCTID><BANKTRANLIST>")),
      "it has several accounts"
    )
    assert.strictEqual(refusalOf(file.replaceAll("<STMTRS>", "<CCSTMTRS>")), "it is the statement of a card")
    assert.strictEqual(refusalOf("dia;valor\r\n"), "it is neither OFX nor CNAB 240")
    assert.strictEqual(refusalOf(""), "it is neither OFX nor CNAB 240")
    assert.strictEqual(refusalOf(new Uint8Array(MAX_FILE_BYTES + 1)), "it has more than 8 MiB")
    const line = { atMs: day("2026-11-25"), cents: 1, endToEndId: "", text: "T" }
    const many = { ...of, lines: Array.from({ length: MAX_LINES + 1 }, () => line) }
    assert.strictEqual(
      refusalOf(statementFile(many, { ...tidy, format: "ofx2", endTags: false })),
      `it has more than ${MAX_LINES} lines`
    )
  })

  it("OPR-273: amounts are read as banks write them, and an ambiguous one is not guessed", () => {
    const amounts = {
      "1234.56": 123_456,
      "-1234,56": -123_456,
      "1.234,56": 123_456,
      "-1,234.56": -123_456,
      "1.234.567": 123_456_700,
      "+12": 1200,
      "- 12,5": -1250,
      "R$ 0,01": 1,
      "-0.00": 0,
      "1.234": undefined,
      "1,234": undefined,
      "12.345,678": undefined,
      "": undefined,
      "1e3": undefined,
      "--1": undefined
    }
    for (const [text, cents] of Object.entries(amounts)) assert.strictEqual(centsOf(text), cents, text)
    assert.strictEqual(endToEndIdIn("", `PIX ${pixId("E", 7)}.`), pixId("E", 7))
    // A bank's number may have letters.
    assert.strictEqual(endToEndIdIn("PIX EA1B2C3D4202611261200abcdefghijk"), "EA1B2C3D4202611261200abcdefghijk")
    assert.isNull(endToEndIdIn(`x${pixId("E", 7)}`, `${pixId("E", 7)}9`))
  })

  it("OPR-273: an unsigned amount is what its type says, whatever balances are in the file, and else is named", () => {
    const file = (types: ReadonlyArray<string>, range: string, balance = "") =>
      Buffer.from(
        `OFXHEADER:100\r\n\r\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>BRL<BANKACCTFROM><BANKID>0341<ACCTID>12345-6` +
          `</BANKACCTFROM><BANKTRANLIST>${range}${balance}${types
            .map(
              (type, index) =>
                `<STMTTRN><TRNTYPE>${type}<DTPOSTED>20261126<TRNAMT>150.00<FITID>${index}<MEMO>PIX</STMTTRN>`
            )
            .join("")}</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>`
      )
    const range = "<DTSTART>20261126<DTEND>20261126"
    const balance = "<STMTTRN><TRNTYPE>OTHER<DTPOSTED>20261126<TRNAMT>-100.00<FITID>b<MEMO>SALDO ANTERIOR</STMTTRN>"
    const unsigned = "its amount has no sign, and its type does not say which way it went"
    const either = ["XFER", "POS", "INT", "DEBITO", "PIX"]
    const { lines, unread } = read(file(["CREDIT", "DEBIT", "REPEATPMT", ...either], range, balance))
    assert.deepStrictEqual(core(lines), ["2026-11-26 -15000 ", "2026-11-26 -15000 ", "2026-11-26 15000 "])
    assert.deepStrictEqual(
      unread.map(({ reason }) => reason),
      ["it is a balance, not a movement", ...either.map(() => unsigned)]
    )
    // A sign of nothing says nothing of the others, and a plus says which way.
    const zero = balance.replace("-100.00", "-0.00").replace("SALDO ANTERIOR", "ESTORNO")
    const signed = read(
      Buffer.from(file(["DEBIT", "XFER"], range, zero).toString().replace("XFER<DTPOSTED>20261126<TRNAMT>", "$&+"))
    )
    assert.deepStrictEqual(core(signed.lines), ["2026-11-26 -15000 ", "2026-11-26 15000 "])
    assert.deepStrictEqual(
      signed.unread.map(({ reason }) => reason),
      ["it moves nothing"]
    )
    // Days that are not said, or that the lines leave.
    for (const none of ["", "<DTSTART>00000000<DTEND>00000000"]) {
      const { from, problems, to } = read(file(["CREDIT"], none))
      assert.deepStrictEqual([from, to, problems], ["2026-11-26", "2026-11-26", ["its days cannot be read"]])
    }
  })
})
