/** Exports of statements, read back by parsers of somebody else and by a verifier in another language. */
import { assert, layer } from "@effect/vitest"
import type { BalanceTransaction, Close } from "@pix-payments/api/operator/Books"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { formatInstant } from "@pix-payments/domain/Instant"
import { parse as parseCsv } from "csv-parse/sync"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Ofx } from "ofx-data-extractor"
import { parseSync } from "ofx-js"
import { closeDays } from "../support/Closing.ts"
import { operated, paidCharge, paidOut, payoutReaching } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Statements", (it) => {
  const days = { from: "2020-01-01", to: "2100-01-01" }

  /** The bytes of an export, and its headers. */
  const exported = (owner: string, query: Record<string, string>) =>
    Effect.flatMap(TestService, ({ operatorToken, operatorUrl }) =>
      Effect.promise(async () => {
        const answer = await fetch(
          `${operatorUrl}/operator/v1/${owner}/statement?${new URLSearchParams({ ...days, ...query })}`,
          { headers: { "x-operator-token": operatorToken } }
        )
        const bytes = Buffer.from(await answer.arrayBuffer())
        return { status: answer.status, headers: answer.headers, bytes, text: bytes.toString("utf8") }
      })
    )

  const customer = { name: "José & Açúcar <Ltda> ½", email: "jose@example.com", document: "01234567890" }

  /** An account with payments, a payout, and texts that a file has to quote. */
  const world = Effect.gen(function* () {
    const { makeCaller } = yield* TestService
    const { accountId, key } = yield* makeCaller({ account: { payout_fee: { fixed: 30, basis_points: 0 } } })
    yield* paidCharge(key, 12_345, { customer, reference: '=1+1;"x"' })
    yield* paidCharge(key, 12_345, { customer })
    const payout = yield* paidOut(key, { amount: 500 })
    yield* payoutReaching(key, payout.id, "completed")
    const { data } = yield* operated<{ data: ReadonlyArray<BalanceTransaction> }>(
      "GET",
      `/accounts/${accountId}/transactions?limit=100`
    )
    return { accountId, key, lines: data.toReversed() }
  })

  it.effect("OPR-258: CSV with the separator, decimal and byte order mark of the reader; no cell is a formula", () =>
    Effect.gen(function* () {
      const { accountId, lines } = yield* world
      const plain = yield* exported(`accounts/${accountId}`, { format: "csv" })
      assert.strictEqual(plain.headers.get("content-type"), "text/csv; charset=utf-8")
      assert.include(
        plain.headers.get("content-disposition"),
        `account-${accountId}-2020-01-01-${lines.at(-1)!.day}.csv`
      )
      const rows = parseCsv(plain.text, { columns: true }) as ReadonlyArray<Record<string, string>>
      assert.deepStrictEqual(
        rows.map(({ created_at }) => created_at),
        lines.map(({ created_at }) => localTime(created_at))
      )
      assert.deepStrictEqual(
        rows.map(({ balance_after, id, net, reference }) => [id, net, balance_after, reference]),
        lines.map(({ balance_after, id, net, reference }) => [
          id,
          (net / 100).toFixed(2),
          (balance_after! / 100).toFixed(2),
          reference === null ? "" : `'${reference}`
        ])
      )
      assert.match(rows[0]!["document"]!, /^\*\*\*/)
      const brazilian = yield* exported(`accounts/${accountId}`, {
        format: "csv",
        separator: ";",
        decimal: ",",
        bom: "true",
        reveal: "true"
      })
      assert.deepStrictEqual([...brazilian.bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf])
      const [first] = parseCsv(brazilian.text, { columns: true, delimiter: ";", bom: true }) as ReadonlyArray<
        Record<string, string>
      >
      assert.strictEqual(first!["net"], "123,45")
      assert.strictEqual(first!["document"], "012.345.678-90")
      assert.strictEqual(first!["counterparty"], customer.name)
    })
  )

  it.effect(
    "OPR-259: OFX 1.02 in Windows-1252 and 2.2, as two parsers read them: noon, unique memos, the closing balance",
    () =>
      Effect.gen(function* () {
        const { accountId, lines } = yield* world
        const statement_account = { bank: "341", branch: "0001", number: "12345-6" }
        const path = `/operator/v1/accounts/${accountId}`
        const { operate } = yield* TestService
        const wrong = { ...statement_account, bank: "60701190" }
        assert.strictEqual((yield* operate("PATCH", path, { body: { statement_account: wrong } })).status, 400)
        const before = parseSync((yield* exported(`accounts/${accountId}`, { format: "ofx" })).text)
        assert.strictEqual(before.OFX["BANKMSGSRSV1"].STMTTRNRS.STMTRS.BANKACCTFROM.BANKID, "000")
        const changed = yield* operate("PATCH", path, { body: { statement_account } })
        assert.deepInclude(changed.body, { statement_account })
        const one = yield* exported(`accounts/${accountId}`, { format: "ofx1" })
        const two = yield* exported(`accounts/${accountId}`, { format: "ofx" })
        const latin = new TextDecoder("windows-1252").decode(one.bytes)
        assert.include(latin, "CHARSET:1252")
        assert.include(latin, "José &amp; Açúcar &lt;Ltda&gt; ½")
        assert.isFalse(one.bytes.includes(Buffer.from("José", "utf8")))
        for (const text of [latin, two.text]) {
          const statement = parseSync(text).OFX["BANKMSGSRSV1"].STMTTRNRS.STMTRS
          assert.deepInclude(statement.BANKACCTFROM, { BANKID: "341", BRANCHID: "0001", ACCTID: "12345-6" })
          const posted: ReadonlyArray<Record<string, string>> = statement.BANKTRANLIST.STMTTRN
          assert.deepStrictEqual(
            posted.map(({ DTPOSTED, FITID, TRNAMT, TRNTYPE }) => [FITID, TRNAMT, TRNTYPE, DTPOSTED]),
            lines.map(({ day, id, net }) => [
              id,
              (net / 100).toFixed(2),
              net < 0 ? "DEBIT" : "CREDIT",
              `${day.replaceAll("-", "")}120000[-3:BRT]`
            ])
          )
          assert.strictEqual(new Set(posted.map(({ MEMO }) => MEMO)).size, lines.length)
          assert.isTrue(
            posted.every(({ MEMO }, at) => {
              const { created_at, end_to_end_id, id, type } = lines[at]!
              const named = type === "payout" || end_to_end_id === null ? "" : ` ${end_to_end_id}`
              return MEMO!.endsWith(` ${localTime(created_at)}${named} ${id.slice(-8)}`)
            })
          )
          assert.strictEqual(statement.LEDGERBAL.BALAMT, (lines.at(-1)!.balance_after! / 100).toFixed(2))
          const summary = new Ofx(text).getTransactionsSummary()
          assert.strictEqual(Math.round(summary.credit * 100), 24_690)
        }
      })
  )

  it.effect("OPR-258: a journal by a chart of accounts is in balance; what cannot be read is refused", () =>
    Effect.gen(function* () {
      const { accountId } = yield* world
      const { text } = yield* exported(`accounts/${accountId}`, {
        format: "journal",
        chart: "available=2.1.1.01, acquirer=1.1.1.02"
      })
      const marked = yield* exported(`accounts/${accountId}`, {
        format: "journal",
        chart: "available=2.1.1.01, acquirer=1.1.1.02",
        bom: "true"
      })
      assert.strictEqual(marked.text, `\uFEFF${text}`)
      const rows = parseCsv(text, { columns: true, delimiter: ";" }) as ReadonlyArray<Record<string, string>>
      const sums = new Map<string, number>()
      for (const { credit, debit, value } of rows) {
        const cents = Math.round(Number(value) * 100)
        sums.set(credit!, (sums.get(credit!) ?? 0) + cents)
        sums.set(debit!, (sums.get(debit!) ?? 0) - cents)
      }
      assert.deepStrictEqual(Object.fromEntries(sums), {
        "2.1.1.01": 24_160,
        "1.1.1.02": -24_190,
        payouts_in_transit: 0,
        fees: 30
      })
      for (const query of [
        { format: "journal", chart: "available" },
        { format: "journal", chart: "banana=3" },
        { format: "csv", from: "2020-01-02", to: "2020-01-01" },
        { format: "xls" }
      ]) {
        assert.strictEqual((yield* exported(`accounts/${accountId}`, query)).status, 400)
      }
      const bank = yield* exported(`connections/${SIMULATOR_CONNECTION}`, { format: "csv" })
      assert.isAbove(parseCsv(bank.text).length, 1)
    })
  )

  it.effect("OPR-258: an opening balance before its first day; a statement of more lines than a piece", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* world
      const sql = yield* SqlClient
      yield* closeDays(1)
      yield* paidCharge(key, 100)
      const [later] = (yield* operated<{ data: ReadonlyArray<BalanceTransaction> }>(
        "GET",
        `/accounts/${accountId}/transactions?limit=1`
      )).data
      const { text } = yield* exported(`accounts/${accountId}`, { format: "jsonl", from: later!.day })
      const [head] = text.split("\n").map((line) => (line === "" ? {} : JSON.parse(line)))
      assert.deepInclude(head, { object: "statement", opening: 24_160 })
      yield* sql`INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day)
        SELECT uuidv7(), ${accountId}::uuid, 'acquirer', 'available', 1, uuidv7(), 'charge.paid', now(), 1000 + n, '2050-01-01'
        FROM generate_series(1, 1700) n`
      const long = yield* exported(`accounts/${accountId}`, { format: "csv", from: "2050-01-01" })
      assert.strictEqual(parseCsv(long.text).length, 1701)
    })
  )

  it.effect("OPR-258: a statement that fails midway is no complete answer", () =>
    Effect.gen(function* () {
      const { accountId } = yield* world
      const { operatorToken, operatorUrl } = yield* TestService
      const sql = yield* SqlClient
      // The last piece reads the closes of the days.
      yield* Effect.acquireUseRelease(
        sql`ALTER TABLE closes RENAME COLUMN fees TO renamed`,
        () =>
          Effect.promise(async () => {
            const url = `${operatorUrl}/operator/v1/accounts/${accountId}/statement?from=2020-01-01&to=2100-01-01&format=csv`
            const answer = await fetch(url, { headers: { "x-operator-token": operatorToken } })
            assert.strictEqual(answer.status, 200)
            const read = await answer.text().then(
              () => "complete",
              () => "cut"
            )
            assert.strictEqual(read, "cut")
          }),
        () => sql`ALTER TABLE closes RENAME COLUMN renamed TO fees`
      )
    })
  )

  const hasPython = spawnSync("python3", ["--version"]).status === 0

  it.effect.skipIf(!hasPython)(
    "OPR-256: a program without our code recomputes closed days, and names what was tampered with",
    () =>
      Effect.gen(function* () {
        const { accountId, key } = yield* world
        const sql = yield* SqlClient
        const owner = `accounts/${accountId}`
        yield* closeDays(3)
        yield* paidCharge(key, 777)
        yield* closeDays(6)
        const { data } = yield* operated<{ data: ReadonlyArray<Close> }>("GET", `/${owner}/closes`)
        assert.strictEqual(data.length, 2)
        const folder = mkdtempSync(join(tmpdir(), "books-"))
        const verify = (name: string, text: string, ...others: ReadonlyArray<string>) => {
          const file = join(folder, name)
          writeFileSync(file, text)
          const script = join(import.meta.dirname, "../../../../examples/verify-books.py")
          const { status, stderr, stdout } = spawnSync("python3", [script, file, ...others], { encoding: "utf8" })
          return { file, status, text: stdout + stderr }
        }
        const account = yield* exported(owner, { format: "jsonl" })
        const before = verify("account.jsonl", account.text)
        assert.deepStrictEqual([before.status, before.text], [0, `1 files, 2 closes, 6 lines: fits\n`])
        const bank = yield* exported(`connections/${SIMULATOR_CONNECTION}`, { format: "jsonl" })
        assert.strictEqual(verify("bank.jsonl", bank.text).status, 0)
        assert.include(verify("cut.jsonl", account.text.slice(0, -20)).text, "Error")
        // Lines of a bank account have no balances: two that are moved in opposite directions keep every sum.
        const shifts = [7, -7]
        const shifted = bank.text.replaceAll(/"amount":(-?\d+),"fee":0,"net":(-?\d+)/g, (line, amount, net) => {
          const shift = shifts.shift()
          return shift === undefined ? line : `"amount":${Number(amount) + shift},"fee":0,"net":${Number(net) + shift}`
        })
        assert.strictEqual(shifts.length, 0)
        assert.include(verify("shifted.jsonl", shifted).text, "and its entry moves")
        const opened = account.text
          .replace(/"opening":0/, '"opening":5')
          .replace(/"closing":(\d+)\}\n$/, (_, closing) => `"closing":${Number(closing) + 5}}\n`)
        assert.include(verify("opened.jsonl", opened).text, "and the file makes 5")
        // The owner of the tables rewrites an entry, and all closes after it as our code would.
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SET LOCAL session_replication_role = replica`
            yield* sql`UPDATE ledger_transfers SET reason = 'adjustment' WHERE account_id = ${accountId}::uuid AND position = 1`
          })
        )
        const changed = yield* exported(owner, { format: "jsonl" })
        assert.include(
          verify("changed.jsonl", changed.text).text,
          `${data[1]!.day}: the entries are not those that were closed`
        )
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SET LOCAL session_replication_role = replica`
            yield* sql`DELETE FROM closes WHERE owner_id = ${accountId}::uuid`
            yield* sql`UPDATE ledger_accounts SET open_day = '2000-01-01' WHERE owner_id = ${accountId}::uuid AND kind = 'available'`
          })
        )
        yield* closeDays(6)
        const rewritten = yield* exported(owner, { format: "jsonl" })
        assert.strictEqual(verify("alone.jsonl", rewritten.text).status, 0)
        assert.include(
          verify("rewritten.jsonl", rewritten.text, before.file).text,
          "another file has another close of this day"
        )
        rmSync(folder, { recursive: true })
      })
  )
})

/** The time in São Paulo, three hours behind UTC. */
const localTime = (instant: string): string =>
  formatInstant(Date.parse(instant) - 3 * 3_600_000)
    .replace("T", " ")
    .slice(0, 19)
