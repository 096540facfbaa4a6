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

const days = "<DTSTART>20261126<DTEND>20261126"

/** OFX of one account, as little as a bank writes. */
const ofx = (list: string, { currency = "BRL", tail = "" } = {}) =>
  Buffer.from(
    `<OFX><STMTRS><CURDEF>${currency}<BANKACCTFROM><BANKID>0341<ACCTID>12345-6<ACCTTYPE>CHECKING</BANKACCTFROM>` +
      `<BANKTRANLIST>${list}</BANKTRANLIST>${tail}</STMTRS></OFX>`
  )

const transaction = (type: string, amount: string, memo = "PIX", name = "") =>
  `<STMTTRN><TRNTYPE>${type}<DTPOSTED>20261126<TRNAMT>${amount}<NAME>${name}<MEMO>${memo}</STMTTRN>`

const recordsOf = (statement: typeof of) =>
  Buffer.from(statementFile(statement, { ...tidy, format: "cnab240" }))
    .toString("latin1")
    .trimEnd()
    .split("\r\n")
    .map((record) => record.padEnd(240))

const fileOf = (records: ReadonlyArray<string>) => Buffer.from(`${records.join("\r\n")}\r\n`, "latin1")

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
      "-4.6000": -460,
      "1,530000": 153,
      "4.6001": undefined,
      "4.600": undefined,
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

  it("OPR-273, OPR-274: a file in reais is read, whatever the bank calls them and wherever its records end", () => {
    assert.lengthOf(read(ofx(`${days}${transaction("IN", "1.5000")}`, { currency: "BRC" })).lines, 1)
    const records = recordsOf(of)
    const joined = read(Buffer.from(`${records.join("")}\u001a`, "latin1"))
    assert.deepStrictEqual(joined, read(fileOf(records)))
    assert.deepStrictEqual([joined.lines.length, joined.unread, joined.problems], [4, [], []])
    for (const currency of ["   ", "000", "BRL", "USD"]) {
      const said = records.map((record) => record.replace("FBRL00001", `F${currency}00001`))
      const refusal = currency === "USD" ? "it is not in reais" : "it is read"
      assert.strictEqual(refusalOf(fileOf(said)), refusal, currency)
    }
  })

  it("OPR-273: an opening of the day before the first line says nothing of its day", () => {
    const late = of.lines.slice(3)
    const wednesday = recordsOf({ ...of, lines: late })
    const { from, opening, problems, to } = read(fileOf(wednesday))
    assert.deepStrictEqual([from, to, opening?.day, problems], ["2026-11-26", "2026-11-26", "2026-11-26", []])
    // A day without a line.
    const none = read(fileOf(recordsOf({ ...of, lines: [] })))
    assert.deepStrictEqual([none.from, none.to, none.opening?.day], ["2026-11-26", "2026-11-26", "2026-11-26"])
    const one = read(fileOf(recordsOf({ ...of, from: "2026-11-26", lines: [] })))
    assert.deepStrictEqual([one.from, one.to], ["2026-11-26", "2026-11-26"])
    // A lot for each day.
    const tuesday = recordsOf({ ...of, from: "2026-11-24", to: "2026-11-25", lines: of.lines.slice(1, 3) })
    const opens = recordsOf({ ...of, lines: of.lines.slice(1) })
    const both = read(fileOf([...tuesday.slice(0, -1), wednesday[1]!, ...opens.slice(-4)]))
    assert.deepStrictEqual([both.from, both.to, both.opening?.day], ["2026-11-25", "2026-11-26", "2026-11-25"])
    assert.deepStrictEqual([both.closing?.day, both.lines.length], ["2026-11-26", 4])
    const back = read(fileOf(recordsOf(of).map((record) => record.replace(/^(.{7}5.{134})26112026/, "$120112026"))))
    assert.deepStrictEqual([back.from, back.to], ["2026-11-25", "2026-11-26"])
    assert.include(back.problems, "its days cannot be read")
  })

  it("OPR-273: a file that was cut off is named, and what it ends in is not read", () => {
    const file = Buffer.from(statementFile(of, { ...tidy, endTags: false })).toString("latin1")
    const at = (text: string) => file.slice(0, file.lastIndexOf(text))
    const whole = read(Buffer.from(file, "latin1"))
    assert.deepStrictEqual([whole.problems, whole.lines.length], [[], 4])
    const within = read(Buffer.from(`${at("-30.00")}-3`, "latin1"))
    assert.deepStrictEqual([within.from, within.to, within.lines.length], ["2026-11-25", "2026-11-25", 2])
    assert.deepStrictEqual(
      within.unread.map(({ reason, text }) => [reason, text]),
      [["the file ends within it", "20261126120000[-3:BRT] -3"]]
    )
    const between = read(Buffer.from(at("<STMTTRN>").replace("<DTEND>20261126", "<DTEND>20261130"), "latin1"))
    assert.deepStrictEqual([between.to, between.unread, between.lines.length], ["2026-11-26", [], 3])
    const balance = read(Buffer.from(at("6.56"), "latin1"))
    assert.deepStrictEqual([balance.closing, balance.lines.length], [null, 4])
    for (const { problems } of [within, between, balance]) assert.include(problems, "it ends before its end")
    assert.strictEqual(
      refusalOf(
        "<OFX><BANKMSGSRSV1><STMTTRNRS><STATUS><CODE>15500<SEVERITY>ERROR</STATUS></STMTTRNRS></BANKMSGSRSV1></OFX>"
      ),
      "it has no statement"
    )

    const records = recordsOf(of)
    for (const [kept, lines] of [
      [-1, 4],
      [-2, 4],
      [-3, 3]
    ] as const) {
      const cut = read(fileOf(records.slice(0, kept)))
      assert.deepStrictEqual([cut.problems, cut.lines.length, cut.unread], [["it ends before its end"], lines, []])
    }
    const half = read(Buffer.from(records.slice(0, -2).join("\r\n").slice(0, -60), "latin1"))
    assert.deepStrictEqual(
      half.unread.map(({ line, reason }) => [line, reason]),
      [[6, "the file ends within it"]]
    )
    const trailer = read(Buffer.from(records.slice(0, -1).join("\r\n").slice(0, -90), "latin1"))
    assert.deepStrictEqual([trailer.closing, trailer.lines.length, trailer.unread.length], [null, 4, 1])
    assert.deepStrictEqual(read(fileOf(records.filter((_, index) => index !== 3))).problems.slice(0, 1), [
      "line 6: it counts 6 records, and its lot has 5"
    ])
  })

  it("OPR-273: a balance is known by its name or its text, and is none with an end-to-end id", () => {
    const texts = ["(=) SALDO", "000 SALDO DO DIA", "*SALDO DIA*", "SALDO_DIA", "<![CDATA[SALDO DO DIA]]>", "S A L D O"]
    const balances = texts.map((text) => transaction("CREDIT", "9.00", text))
    const named = transaction("CREDIT", "9.00", "SALDO ANTERIOR", "OUTROS")
    const movements = [
      transaction("CREDIT", "1.00", `PIX RECEBIDO ${pixId("E", 1)}`, "SALDO POSITIVO CONTABILIDADE LTDA"),
      transaction("CREDIT", "2.00", `<![CDATA[PIX A&B <1> ${pixId("E", 2)}]]>`),
      transaction("CREDIT", "3.00", `Doceria <3 Amor ${pixId("E", 3)}`),
      transaction("CREDIT", "4.00", "SALDOS E CIA"),
      transaction("CREDIT", "5.00", "25/11 14:22 00012345678900 SALDO POSITIVO CONT", "Pix - Recebido"),
      transaction("CREDIT", "6.00", "Saldo da reforma", "Joao Silva")
    ]
    const { lines, unread } = read(ofx(`${days}${balances.join("")}${named}${movements.join("")}`))
    assert.deepStrictEqual(
      unread.map(({ reason }) => reason),
      [...texts, "OUTROS"].map(() => "it is a balance, not a movement")
    )
    assert.deepStrictEqual(
      lines.map(({ amount, description, endToEndId }) => [amount, description, endToEndId]),
      [
        [100, `SALDO POSITIVO CONTABILIDADE LTDA PIX RECEBIDO ${pixId("E", 1)}`, pixId("E", 1)],
        [200, `PIX A&B <1> ${pixId("E", 2)}`, pixId("E", 2)],
        [300, `Doceria <3 Amor ${pixId("E", 3)}`, pixId("E", 3)],
        [400, "SALDOS E CIA", null],
        [500, "Pix - Recebido 25/11 14:22 00012345678900 SALDO POSITIVO CONT", null],
        [600, "Joao Silva Saldo da reforma", null]
      ]
    )
    const positive = { ...of.lines[3]!, text: "SALDO POSITIVO LTDA" }
    const found = read(
      fileOf(recordsOf({ ...of, lines: [positive, { ...positive, endToEndId: "", text: "* SALDO" }] }))
    )
    assert.deepStrictEqual([found.lines.length, found.unread.length], [1, 1])
  })

  it("OPR-273, OPR-274: of several lists of one account it has all days and the latest balance", () => {
    const list = (day: string) => `<BANKTRANLIST><DTSTART>${day}<DTEND>${day}</BANKTRANLIST>`
    const balance = (day: string, cents: string) => `<LEDGERBAL><BALAMT>${cents}<DTASOF>${day}</LEDGERBAL>`
    const lists = ofx(`</BANKTRANLIST>${list("20261102")}${list("20261101")}${list("20261103")}`, {
      tail: `${balance("20261103", "3.00")}</STMTRS><STMTRS>${balance("20261102", "2.00")}`
    })
    const all = read(lists)
    assert.deepStrictEqual([all.from, all.to, all.problems], ["2026-11-01", "2026-11-03", []])
    assert.deepStrictEqual(all.closing, { day: "2026-11-03", amount: 300 })
    const savings = "</STMTRS><STMTRS><BANKACCTFROM><BANKID>341<ACCTID>12345-6<ACCTTYPE>SAVINGS</BANKACCTFROM>"
    assert.strictEqual(refusalOf(ofx(days, { tail: savings })), "it has several accounts")
    assert.strictEqual(refusalOf(ofx(days, { tail: savings.replace("SAVINGS", "CHECKING") })), "it is read")
    const { from, problems, to } = read(ofx(`<DTSTART>20261127<DTEND>20261101${transaction("CREDIT", "1.00")}`))
    assert.deepStrictEqual([from, to, problems], ["2026-11-26", "2026-11-26", ["its days cannot be read"]])
  })

  it("OPR-273: which way money went is what the file says, and is not guessed from other lines", () => {
    const amounts = (...of: ReadonlyArray<string>) => {
      const all = of.map((each) => each.split(" ") as [string, string])
      const { lines, unread } = read(ofx(`${days}${all.map(([type, amount]) => transaction(type, amount)).join("")}`))
      return [lines.map(({ amount }) => amount), unread.map(({ reason }) => reason)]
    }
    const unsigned = "its amount has no sign, and its type does not say which way it went"
    assert.deepStrictEqual(amounts("DEBIT 8.00", "DEBIT -1.50", "PAYMENT 2.00", "DEBIT +3.00"), [
      [-150, 300],
      ["it is a debit without a minus sign, in a file that has minus signs", unsigned]
    ])
    assert.deepStrictEqual(amounts("PAYMENT 2.00", "FEE +3.00", "CREDIT 4.00"), [[300, 400], [unsigned]])
    assert.deepStrictEqual(amounts("PAYMENT 2.00", "FEE +3.00", "DEBIT 4.00"), [[-200, 300, -400], []])
    assert.deepStrictEqual(amounts("PAYMENT 2.00", "DEBIT +4.00", "DEBIT 0.00"), [
      [400],
      [unsigned, "it moves nothing"]
    ])
    assert.deepStrictEqual(amounts("OUT 2.00", "IN 4.00"), [[-200, 400], []])
  })
})
