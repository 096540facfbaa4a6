/**
 * Golden files of the exports, in `fixtures/statements`: what programs of others import does not change unseen. `WRITE_GOLDEN=1`
 * writes them. Parsers of somebody else read them back.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Close } from "@pix-payments/api/operator/Books"
import { parse as parseCsv } from "csv-parse/sync"
import * as DateTime from "effect/DateTime"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Ofx } from "ofx-data-extractor"
import { parseSync } from "ofx-js"
import { toTransaction } from "../../src/ledger/BookResources.ts"
import type { LineDetail } from "../../src/ledger/LineDetails.ts"
import type { Movement } from "../../src/ledger/Lines.ts"
import { brazilian, closesCsv, csv } from "../../src/ledger/statements/Csv.ts"
import type { Format, StatementFacts, StatementLine } from "../../src/ledger/statements/Format.ts"
import { journal } from "../../src/ledger/statements/Journal.ts"
import { jsonLines } from "../../src/ledger/statements/JsonLines.ts"
import { ofx1, ofx2 } from "../../src/ledger/statements/Ofx.ts"

const folder = join(import.meta.dirname, "../fixtures/statements")

const ACCOUNT = "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"
const OPENING = 100_000

const facts: StatementFacts = {
  book: "account",
  ownerId: ACCOUNT,
  name: "Padaria do Zé",
  from: "2026-11-01",
  to: "2026-11-30",
  timezone: "America/Sao_Paulo",
  opening: OPENING,
  bank: { code: "341", branch: "0001", number: "12345-6" },
  madeAtMs: Date.parse("2026-12-01T12:00:00Z")
}

/** Late in the evening in Brazil, which is the next day in UTC. */
const instant = (day: number) => DateTime.toDateUtc(DateTime.makeUnsafe(`2026-11-${day + 1}T02:30:00Z`))

type Moved = Pick<Movement, "type" | "debit" | "credit"> & { readonly amount: number; readonly fee?: number }

const moved: ReadonlyArray<readonly [Moved, Partial<LineDetail>]> = [
  [
    { type: "charge", debit: "acquirer", credit: "available", amount: 12_345 },
    {
      endToEndId: "E12345678202611200230000000000001",
      txid: "01a2027c27ce74b688f706b8f8b33cb6",
      reference: '=1+1;"x"',
      counterparty: { name: "José & Açúcar <Ltda> ½ Łódź", document: "***.444.777-**" },
      paymentCode: "17",
      disputeId: "01a2027c-27ce-74b6-88f7-0000000000dd"
    }
  ],
  // The same payer, amount and day.
  [
    { type: "charge", debit: "acquirer", credit: "available", amount: 12_345 },
    {
      endToEndId: "E12345678202611200230000000000002",
      counterparty: { name: "José & Açúcar <Ltda> ½ Łódź", document: "***.444.777-**" }
    }
  ],
  [
    { type: "payout", debit: "available", credit: "payouts_in_transit", amount: 5030, fee: 30 },
    { endToEndId: "E12345678202611200230000000000003", reference: "aluguel", orderFee: 30 }
  ],
  [{ type: "adjustment", debit: "fees", credit: "available", amount: 30 }, { reference: "tarifa cobrada duas vezes" }]
]

const lines = moved.map(([{ amount, fee = null, ...ends }, detail], index): StatementLine => {
  const position = index + 1
  const id = `01a2027c-27ce-74b6-88f7-00000000000${position}`
  const balance = moved
    .slice(0, position)
    .reduce((sum, [each]) => sum + (each.credit === "available" ? each.amount : -each.amount), OPENING)
  const movement: Movement = {
    ...ends,
    id,
    account_id: ACCOUNT,
    connection_id: null,
    resource_id: id,
    source_id: null,
    position: BigInt(position),
    amount: BigInt(amount),
    fee: fee === null ? null : BigInt(fee),
    created_at: instant(20),
    debit_after: ends.debit === "available" ? BigInt(balance) : null,
    credit_after: ends.credit === "available" ? BigInt(balance) : null,
    day: "2026-11-20",
    reason: ends.type,
    adjusted_because: ends.type === "adjustment" ? detail.reference! : null
  }
  const behind: LineDetail = {
    source: { object: ends.type === "payout" || ends.type === "adjustment" ? ends.type : "charge", id },
    endToEndId: null,
    returnId: null,
    txid: null,
    reference: null,
    counterparty: null,
    paymentCode: null,
    orderFee: null,
    disputeId: null,
    availableOn: null,
    ...detail
  }
  return {
    movement,
    balance,
    at: "2026-11-20 23:30:00",
    transaction: toTransaction({ accountId: ACCOUNT, balance: "available" }, movement, behind)
  }
})

const close: Close = {
  id: "01a2027c-27ce-74b6-88f7-0000000000aa",
  object: "close",
  account_id: ACCOUNT,
  connection_id: null,
  day: "2026-11-20",
  opening: OPENING,
  credits: 24_720,
  debits: 5030,
  fees: 30,
  closing: 119_690,
  lines: 4,
  last_position: 4,
  balances: { available: 119_690 },
  lines_hash: "1".repeat(64),
  previous_hash: null,
  hash: "2".repeat(64),
  created_at: "2026-11-21T03:10:00.000Z"
}

const made = ({ begin, encode = (text) => Buffer.from(text), end, line }: Format): Buffer =>
  Buffer.from(
    encode(
      begin(facts) +
        lines.map(line).join("") +
        end({ lines: lines.length, closing: lines.at(-1)!.balance, closes: [close] }, facts)
    )
  )

const chart = { available: "2.1.1.01", acquirer: "1.1.1.02", payouts_in_transit: "2.1.1.09", fees: "3.1.1.01" }

const files: ReadonlyArray<readonly [name: string, bytes: Buffer]> = [
  ["plain.csv", made(csv({ separator: ",", decimal: ".", bom: false }))],
  ["brazilian.csv", made(csv(brazilian))],
  ["1.02.ofx", made(ofx1)],
  ["2.2.ofx", made(ofx2)],
  ["journal.csv", made(journal(chart, { decimal: ",", bom: false }))],
  ["statement.jsonl", made(jsonLines)],
  ["closes.csv", Buffer.from(closesCsv([close], brazilian))]
]

describe("Golden statements", () => {
  if (process.env["WRITE_GOLDEN"] === "1") {
    mkdirSync(folder, { recursive: true })
    for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes)
  }

  const golden = (name: string) => readFileSync(join(folder, name))

  it.each(files)("OPR-258, OPR-259, OPR-261: %s has the bytes that it had", (name, bytes) => {
    assert.strictEqual(bytes.toString("latin1"), golden(name).toString("latin1"))
  })

  it("OPR-258: a CSV parser reads the same figures from both dialects, and texts that spreadsheets do not run", () => {
    const read = (name: string, delimiter: string): ReadonlyArray<Record<string, string>> =>
      parseCsv(golden(name), { columns: true, delimiter, bom: true })
    const [plain, brazil] = [read("plain.csv", ","), read("brazilian.csv", ";")]
    assert.deepStrictEqual(
      plain.map(({ net }) => Number(net)),
      [123.45, 123.45, -50.3, 0.3]
    )
    assert.deepStrictEqual(
      brazil.map(({ net }) => Number(net!.replace(",", "."))),
      [123.45, 123.45, -50.3, 0.3]
    )
    assert.deepStrictEqual([plain[0]!["reference"], brazil[0]!["reference"]], [`'=1+1;"x"`, `'=1+1;"x"`])
    assert.strictEqual(plain.at(-1)!["balance_after"], "1196.90")
    assert.deepStrictEqual(
      plain.map(({ dispute_id, order_fee }) => `${dispute_id} ${order_fee}`),
      ["01a2027c-27ce-74b6-88f7-0000000000dd ", " ", " 0.30", " "]
    )
    assert.strictEqual(brazil[2]!["order_fee"], "0,30")
    const entries: ReadonlyArray<Record<string, string>> = parseCsv(golden("journal.csv"), {
      columns: true,
      delimiter: ";"
    })
    assert.deepStrictEqual(
      entries.map(({ credit, debit, value }) => [debit, credit, value]),
      [
        ["1.1.1.02", "2.1.1.01", "123,45"],
        ["1.1.1.02", "2.1.1.01", "123,45"],
        ["2.1.1.01", "2.1.1.09", "50,30"],
        ["3.1.1.01", "2.1.1.01", "0,30"]
      ]
    )
    const [closed]: ReadonlyArray<Record<string, string>> = parseCsv(golden("closes.csv"), {
      columns: true,
      delimiter: ";",
      bom: true
    })
    assert.deepInclude(closed, { day: "2026-11-20", opening: "1000,00", closing: "1196,90", lines: "4" })
  })

  it("OPR-259: two parsers read both OFX: the day of Brazil, unique memos and the closing balance", () => {
    const texts = [new TextDecoder("windows-1252").decode(golden("1.02.ofx")), golden("2.2.ofx").toString()]
    // Windows-1252 has no Ł and no ź.
    assert.include(texts[0], "José &amp; Açúcar &lt;Ltda&gt; ½ ?ódz")
    assert.include(texts[1], "José &amp; Açúcar &lt;Ltda&gt; ½ Łódź")
    for (const text of texts) {
      const { BANKTRANLIST: list, LEDGERBAL: balance } = parseSync(text).OFX["BANKMSGSRSV1"].STMTTRNRS.STMTRS
      const posted: ReadonlyArray<Record<string, string>> = list.STMTTRN
      assert.deepStrictEqual(
        posted.map(({ DTPOSTED, TRNAMT }) => [DTPOSTED, TRNAMT]),
        ["123.45", "123.45", "-50.30", "0.30"].map((amount) => ["20261120120000[-3:BRT]", amount])
      )
      assert.strictEqual(new Set(posted.map(({ MEMO }) => MEMO)).size, 4)
      assert.strictEqual(balance.BALAMT, "1196.90")
      const extracted = new Ofx(text).getBankTransferList()
      assert.deepStrictEqual(
        extracted.map(({ TRNAMT }) => Number(TRNAMT)),
        [123.45, 123.45, -50.3, 0.3]
      )
    }
  })
})
