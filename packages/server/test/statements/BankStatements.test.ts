/** Statement files of banks come in: once, line by line once, of one account. */
import { assert, layer } from "@effect/vitest"
import type { BankStatement } from "@pix-payments/api/operator/BankStatements"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { BookedLine } from "@pix-payments/psp-double/statement/BookedLines"
import {
  bankDay,
  type Dialect,
  statementFile,
  type StatementOf,
  tidy
} from "@pix-payments/psp-double/statement/StatementFile"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { MOST_UNREAD } from "../../src/statements/BankStatementStore.ts"
import { assertRefused } from "../support/ChargeRequests.ts"
import { connectTo } from "../support/Connections.ts"
import { startDouble } from "../support/Bank.ts"
import { operated } from "../support/Money.ts"
import { connectedBank, connectedServiceLayer } from "../support/ConnectedBank.ts"
import { TestService } from "../support/TestService.ts"

const atNoon = (day: string) => Date.parse(`${day}T15:00:00Z`)
const fee = (day: string): BookedLine => ({ atMs: atNoon(day), cents: -150, endToEndId: "", text: "TARIFA PIX" })
const received = (day: string, index: number): BookedLine => ({
  atMs: atNoon(day),
  cents: 1000,
  endToEndId: `E1234567820261125120000000000${String(index).padStart(3, "0")}`,
  text: "PIX RECEBIDO José"
})

const of: StatementOf = {
  bank: "364",
  branch: "0001",
  account: "12345-6",
  from: "2026-11-24",
  to: "2026-11-25",
  openingCents: 0,
  lines: [received("2026-11-24", 1), fee("2026-11-24"), received("2026-11-25", 2), fee("2026-11-25")]
}

const importing = (file: Uint8Array, connectionId: string = SIMULATOR_CONNECTION) =>
  Effect.flatMap(TestService, ({ operate }) =>
    operate<BankStatement>("POST", "/operator/v1/bank-statements", {
      body: { connection_id: connectionId, content: Buffer.from(file).toString("base64") }
    })
  )

const written = (dialect: Partial<Dialect> = {}, changes: Partial<StatementOf> = {}) =>
  statementFile({ ...of, ...changes }, { ...tidy, ...dialect })

const counts = ({ lines_known, lines_new, lines_read, lines_unread }: BankStatement) => [
  lines_read,
  lines_known,
  lines_new,
  lines_unread
]

layer(TestService.layer(), { excludeTestServices: true })("bank statements", (it) => {
  it.effect("OPR-275: a file is stored once, and a line once, whichever forms of files have it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const first = yield* importing(written({ balances: true }))
      assert.strictEqual(first.status, 201, first.text)
      assert.deepStrictEqual(counts(first.body), [4, 0, 4, 2])
      assert.deepStrictEqual([first.body.from, first.body.to, first.body.closing], ["2026-11-24", "2026-11-25", 1700])
      assert.deepStrictEqual(
        first.body.unread.map(({ reason }) => reason),
        ["it is a balance, not a movement", "it is a balance, not a movement"]
      )
      const again = yield* importing(written({ balances: true }))
      assert.strictEqual(again.status, 200)
      assert.deepStrictEqual(again.body, first.body)

      // The same lines in another form, with one more day, and a second fee of the last one.
      const more = {
        to: "2026-11-26",
        lines: [...of.lines, fee("2026-11-25"), received("2026-11-26", 3)]
      }
      const second = yield* importing(written({ format: "cnab240", noise: true }, more))
      assert.strictEqual(second.status, 201, second.text)
      assert.deepStrictEqual(counts(second.body), [6, 4, 2, 0])
      assert.deepStrictEqual([second.body.opening, second.body.closing], [0, 2550])
      const third = yield* importing(written({ format: "ofx2", encoding: "utf-8", comma: true, unsigned: true }, more))
      assert.deepStrictEqual(counts(third.body), [6, 6, 0, 0])
      const [stored] = yield* sql<{ count: bigint; sum: bigint }>`
        SELECT count(*), sum(amount)::bigint AS sum FROM bank_statement_lines`
      assert.deepStrictEqual([Number(stored?.count), Number(stored?.sum)], [6, 2550])

      const { data } = yield* operated<{ data: ReadonlyArray<BankStatement> }>(
        "GET",
        `/bank-statements?connection_id=${SIMULATOR_CONNECTION}`
      )
      assert.deepStrictEqual(data, [third.body, second.body, first.body])
      assert.deepStrictEqual(yield* operated("GET", `/bank-statements/${first.body.id}`), first.body as never)
    })
  )

  it.effect(
    "OPR-275: a line is stored once with its id, whether files have ids, have none, or have them in capitals",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const text = Buffer.from(written({ format: "ofx2" })).toString("latin1")
        const id = /E\d{8}20\d{10}\w{11}/g
        const mixed = text.replaceAll(id, (found) => `${found.slice(0, -3)}aBc`)
        const bare = Buffer.from(text.replaceAll(id, ""), "latin1")
        const files = {
          bare,
          mixed: Buffer.from(mixed, "latin1"),
          capitals: Buffer.from(mixed.replaceAll("aBc", "ABC"), "latin1")
        }
        for (const [first, second, third] of [
          ["bare", "mixed", "capitals"],
          ["capitals", "bare", "mixed"],
          ["mixed", "capitals", "bare"]
        ] as const) {
          const connection = yield* connectTo(yield* startDouble())
          assert.deepStrictEqual(counts((yield* importing(files[first], connection.id)).body), [4, 0, 4, 0])
          assert.deepStrictEqual(counts((yield* importing(files[second], connection.id)).body), [4, 4, 0, 0])
          assert.deepStrictEqual(counts((yield* importing(files[third], connection.id)).body), [4, 4, 0, 0])
          const stored = yield* sql<{ amount: bigint; id: string | null }>`
          SELECT amount, right(end_to_end_id, 3) AS id FROM bank_statement_lines
          WHERE connection_id = ${connection.id}::uuid ORDER BY day, amount`
          assert.deepStrictEqual(
            stored.map(({ amount, id }) => [Number(amount), id]),
            [
              [-150, null],
              [1000, "aBc"],
              [-150, null],
              [1000, "aBc"]
            ]
          )
        }
      })
  )

  it.effect("OPR-275: one file sent by many at the same moment is stored once", () =>
    Effect.gen(function* () {
      const connection = yield* connectTo(yield* startDouble())
      const all = yield* Effect.forEach(Array.from({ length: 8 }), () => importing(written(), connection.id), {
        concurrency: 8
      })
      assert.deepStrictEqual(all.map(({ status }) => status).toSorted(), [200, 200, 200, 200, 200, 200, 200, 201])
      assert.lengthOf(new Set(all.map(({ body }) => body.id)), 1)
    })
  )

  it.effect("OPR-274, OPR-276: what is no statement, or is of another account, stores nothing", () =>
    Effect.gen(function* () {
      const connection = yield* connectTo(yield* startDouble())
      assertRefused(yield* importing(Buffer.from("date;value")), "VALIDATION_ERROR", ["content"])
      assertRefused(yield* importing(written(), "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"), "VALIDATION_ERROR", [
        "connection_id"
      ])
      const { operate } = yield* TestService
      const body = { connection_id: connection.id, content: "no base64" }
      assertRefused(yield* operate("POST", "/operator/v1/bank-statements", { body }), "VALIDATION_ERROR", ["content"])

      assert.strictEqual((yield* importing(written(), connection.id)).status, 201)
      for (const account of ["99999-1", "12345-7", "0001123457", "0001999991", "3456"]) {
        assertRefused(yield* importing(written({}, { account }), connection.id), "INVALID_STATE")
      }
      // Another bank may have the same number.
      assertRefused(yield* importing(written({}, { bank: "341" }), connection.id), "INVALID_STATE")
      // CNAB has the check digit in a column of its own, and some banks leave it out.
      assert.strictEqual((yield* importing(written({}, { account: "12345" }), connection.id)).status, 201)
      // Others write the branch before the number, in OFX only.
      for (const account of ["0001123456", "0001/12345"]) {
        assert.strictEqual((yield* importing(written({}, { account }), connection.id)).status, 201, account)
      }
      assert.strictEqual((yield* importing(written({ format: "cnab240" }), connection.id)).status, 201)
      const { data } = yield* operated<{ data: ReadonlyArray<BankStatement> }>(
        "GET",
        `/bank-statements?connection_id=${connection.id}`
      )
      assert.lengthOf(data, 5)
    })
  )

  it.effect("OPR-276: a line of a day that is to come is named, and not a movement", () =>
    Effect.gen(function* () {
      const connection = yield* connectTo(yield* startDouble())
      const late = { to: "9999-12-31", lines: [...of.lines, received("2031-01-01", 9)] }
      for (const format of ["ofx1", "cnab240"] as const) {
        const { body, status, text } = yield* importing(written({ format }, late), connection.id)
        assert.strictEqual(status, 201, text)
        assert.strictEqual(body.lines_read, of.lines.length)
        assert.deepStrictEqual(
          body.unread.map(({ reason }) => reason),
          ["its day is to come"]
        )
        assert.isTrue(body.from === "2026-11-24" && body.to! < "2031", text)
        assert.isNull(body.closing)
      }
    })
  )

  it.effect("OPR-276, OPR-280: the days of a file end today, although its header says the end of the month", () =>
    Effect.gen(function* () {
      const connection = yield* connectTo(yield* startDouble())
      const nowMs = yield* Clock.currentTimeMillis
      const dayIn = (days: number) => bankDay(nowMs + days * 86_400_000)
      const month = { from: dayIn(-2), to: dayIn(3), lines: [received(dayIn(-1), 1)] }
      const { body } = yield* importing(written({}, month), connection.id)
      assert.deepStrictEqual([body.from, body.to], [dayIn(-2), dayIn(0)])

      // A line of the Monday to come is of a weekend: its day is in the file.
      const monday = { ...month, lines: [...month.lines, received(dayIn(2), 2)] }
      assert.strictEqual((yield* importing(written({}, monday), connection.id)).body.to, dayIn(2))
    })
  )

  it.effect("OPR-273: what a file says of itself and is not so is named", () =>
    Effect.gen(function* () {
      const connection = yield* connectTo(yield* startDouble())
      const { body } = yield* importing(written({ format: "cnab240", wrongBy: 7 }), connection.id)
      assert.deepStrictEqual(
        body.problems.map((problem) => problem.replace(/^line \d+: /, "")),
        [
          "its credits are 2007 cents, and those of the lines 2000 cents",
          "opening and lines are 1700 cents, and its closing is 1707 cents"
        ]
      )
    })
  )
})

layer(connectedServiceLayer(), { excludeTestServices: true })("bank statements of a connection", (it) => {
  it.effect("OPR-273: of many lines that are not read, those are named that may be movements", () =>
    Effect.gen(function* () {
      const day = "2026-11-25"
      const balance = `<STMTTRN><TRNTYPE>OTHER<DTPOSTED>20261125<TRNAMT>10.00<MEMO>SALDO DO DIA</STMTTRN>`
      const file = Buffer.from(
        `OFXHEADER:100\r\n\r\n<OFX><STMTRS><CURDEF>BRL<BANKACCTFROM><BANKID>0341<ACCTID>99999-9</BANKACCTFROM><BANKTRANLIST>` +
          `<DTSTART>20261125<DTEND>20261125${balance.repeat(MOST_UNREAD + 20)}` +
          `<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20261125<TRNAMT>1.234<MEMO>PIX</STMTTRN></BANKTRANLIST></STMTRS></OFX>`
      )
      const { connectionId } = yield* connectedBank()
      const { body } = yield* importing(file, connectionId)
      assert.deepStrictEqual([body.from, body.lines_unread, body.unread.length], [day, MOST_UNREAD + 21, MOST_UNREAD])
      assert.strictEqual(body.unread[0]?.reason, "its amount cannot be read")
    })
  )

  it.effect("OPR-276: the connection's own account decides, whatever file came first", () =>
    Effect.gen(function* () {
      const { connectionId } = yield* connectedBank()
      const { operate } = yield* TestService
      const says = (statement_account: object | null) =>
        operate("PATCH", `/operator/v1/connections/${connectionId}`, { body: { statement_account } })
      const other = written({}, { bank: "341", account: "99887-7" })
      assert.strictEqual((yield* importing(other, connectionId)).status, 201)
      assert.strictEqual((yield* importing(written(), connectionId)).status, 409)
      assert.strictEqual((yield* says({ bank: "364", branch: "0001", number: "12345-6" })).status, 200)
      assert.strictEqual((yield* importing(written(), connectionId)).status, 201)
      const next = written({}, { bank: "341", account: "99887-7", to: "2026-11-24" })
      assert.strictEqual((yield* importing(next, connectionId)).status, 409)
    })
  )
})
