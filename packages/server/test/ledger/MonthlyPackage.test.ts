/** The package of a month: one zip of all statements and the closes, read back by programs of somebody else. */
import { assert, layer } from "@effect/vitest"
import type { BalanceTransaction, Close } from "@pix-payments/api/operator/Books"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { formatInstant } from "@pix-payments/domain/Instant"
import { parse as parseCsv } from "csv-parse/sync"
import * as Effect from "effect/Effect"
import * as Zip from "effect/encoding/Zip"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Ofx } from "ofx-data-extractor"
import { allowCloses, closeDays, refuseCloses, tampered } from "../support/Closing.ts"
import { operated, paidCharge } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { TestService } from "../support/TestService.ts"

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Package", (it) => {
  const fetched = (path: string) =>
    Effect.flatMap(TestService, ({ operatorToken, operatorUrl }) =>
      Effect.promise(async () => {
        const answer = await fetch(`${operatorUrl}/operator/v1/${path}`, {
          headers: { "x-operator-token": operatorToken }
        })
        return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
      })
    )

  /** The files of a zip, by their names. */
  const unzipped = (bytes: Buffer) =>
    Stream.make<[Uint8Array]>(bytes).pipe(
      Stream.pipeThroughChannel(Zip.decode()),
      Stream.mapEffect(({ body, header }) =>
        Effect.map(Stream.runCollect(body ?? Stream.empty), (chunks) => [header.path, Buffer.concat(chunks)] as const)
      ),
      Stream.runCollect,
      Effect.map((files) => new Map(files))
    )

  const linesOf = (owner: string) =>
    Effect.map(
      operated<{ data: ReadonlyArray<BalanceTransaction> }>("GET", `/${owner}/transactions?limit=100`),
      ({ data }) => data.toReversed()
    )

  it.effect("OPR-261: a month that has not ended, or whose days are not all closed, says so in each name", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const nameOf = (query: string, month: string) =>
        Effect.map(
          fetched(`closes/${month}/package?${query}`),
          ({ headers }) => /filename="(.*)\.zip"/.exec(headers.get("content-disposition") ?? "")?.[1]
        )
      const one = `account_id=${accountId}`
      const bank = `connection_id=${SIMULATOR_CONNECTION}`
      assert.strictEqual(yield* nameOf(one, "2020-02"), `account-${accountId}-2020-02`)
      assert.strictEqual(yield* nameOf(bank, "2020-02"), `connection-${SIMULATOR_CONNECTION}-2020-02`)
      yield* paidCharge(key, 100)
      const [line] = yield* linesOf(`accounts/${accountId}`)
      const month = line!.day.slice(0, 7)
      assert.strictEqual(yield* nameOf(one, month), `account-${accountId}-${month}-incomplete-until-${line!.day}`)
      const { bytes, headers } = yield* fetched(
        `accounts/${accountId}/statement?format=ofx1&from=${month}-01&to=${lastDayOf(month)}`
      )
      // No program takes the balance of today for that of the month's end.
      assert.include(headers.get("content-disposition"), `account-${accountId}-${month}-01-${line!.day}.ofx`)
      const until = `${line!.day.replaceAll("-", "")}120000[-3:BRT]`
      assert.include(bytes.toString("latin1"), `<DTEND>${until}</DTEND>`)
      assert.include(bytes.toString("latin1"), `<BALAMT>1.00</BALAMT><DTASOF>${until}</DTASOF>`)
      // A month that has ended, with a day of an account and of its bank account that no night has closed.
      yield* refuseCloses(SIMULATOR_CONNECTION, "INSERT ON closes")
      yield* sql`INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day,
          connection_id)
        SELECT uuidv7(), ${accountId}::uuid, 'acquirer', 'available', 1, uuidv7(), 'charge.paid', now(), 1, '2020-02-10',
          ${SIMULATOR_CONNECTION}::uuid`
      yield* refuseCloses(accountId, "UPDATE ON ledger_accounts")
      yield* tampered(
        `UPDATE ledger_accounts SET open_day = '2020-02-10' WHERE owner_id = '${accountId}' AND kind = 'available'`
      )
      for (const [query, name] of [
        [one, `account-${accountId}`],
        [bank, `connection-${SIMULATOR_CONNECTION}`]
      ] as const) {
        assert.strictEqual(yield* nameOf(query, "2020-02"), `${name}-2020-02-incomplete-until-2020-02-29`)
        assert.strictEqual(yield* nameOf(query, "2020-01"), `${name}-2020-01`)
      }
      yield* allowCloses("UPDATE ON ledger_accounts")
      yield* allowCloses("INSERT ON closes")
    })
  )

  it.effect("OPR-261: a month has each statement as it is by itself, and the closes of its days", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const customer = { name: "José; Açúcar", email: "jose@example.com", document: "11144477735" }
      yield* paidCharge(key, 12_345, { customer })
      yield* paidCharge(key, 167)
      yield* closeDays(1)
      const [line] = yield* linesOf(`accounts/${accountId}`)
      const month = line!.day.slice(0, 7)
      const { bytes, headers, status } = yield* fetched(`closes/${month}/package?account_id=${accountId}`)
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "application/zip")
      const name = `account-${accountId}-${month}-incomplete-until-${line!.day}`
      assert.include(headers.get("content-disposition"), `${name}.zip`)
      const files = yield* unzipped(bytes)
      const endings = ["csv", "ofx", "2.2.ofx", "journal.csv", "jsonl", "closes.csv"]
      assert.deepStrictEqual(
        [...files.keys()],
        endings.map((ending) => `${name}.${ending}`)
      )
      const file = (ending: string) => files.get(`${name}.${ending}`)!
      const days = `from=${month}-01&to=${lastDayOf(month)}`
      for (const [ending, query] of [
        ["csv", "format=csv&separator=%3B&decimal=%2C&bom=true"],
        ["journal.csv", "format=journal&decimal=%2C"],
        ["jsonl", "format=jsonl"]
      ] as const) {
        const alone = yield* fetched(`accounts/${accountId}/statement?${days}&${query}`)
        assert.strictEqual(file(ending).toString(), alone.bytes.toString(), ending)
      }
      const rows = parseCsv(file("csv").toString(), { columns: true, delimiter: ";", bom: true })
      assert.deepStrictEqual(
        (rows as ReadonlyArray<Record<string, string>>).map(({ net }) => net),
        ["123,45", "1,67"]
      )
      const ofx = new Ofx(file("ofx").toString("latin1")).getBankTransferList()
      assert.deepStrictEqual(
        ofx.map(({ TRNAMT }) => Number(TRNAMT)),
        [123.45, 1.67]
      )
      const { data } = yield* operated<{ data: ReadonlyArray<Close> }>("GET", `/accounts/${accountId}/closes`)
      const closes = parseCsv(file("closes.csv").toString(), { columns: true, delimiter: ";", bom: true })
      assert.deepStrictEqual(
        (closes as ReadonlyArray<Record<string, string>>).map(({ closing, day, hash }) => [day, closing, hash]),
        data.map(({ day, hash }) => [day, "125,12", hash])
      )
      const bank = yield* fetched(`closes/${month}/package?connection_id=${SIMULATOR_CONNECTION}`)
      const ofBank = yield* unzipped(bank.bytes)
      const statement = ofBank
        .get(`connection-${SIMULATOR_CONNECTION}-${month}-incomplete-until-${line!.day}.csv`)!
        .toString()
      // The order behind each line of the bank.
      assert.include(statement, `charge:${line!.source.id}`)
    })
  )

  const hasPython = spawnSync("python3", ["--version"]).status === 0

  it.effect.skipIf(!hasPython)(
    "OPR-261: a package of more lines than a piece is a zip that another program opens",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId } = yield* makeCaller()
        yield* sql`INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position,
          day, credit_after)
        SELECT uuidv7(), ${accountId}::uuid, 'acquirer', 'available', 1, uuidv7(), 'charge.paid', now(), n, '2020-02-28', n
        FROM generate_series(1, 1700) n`
        const { bytes } = yield* fetched(`closes/2020-02/package?account_id=${accountId}`)
        const folder = mkdtempSync(join(tmpdir(), "package-"))
        const archive = join(folder, "package.zip")
        writeFileSync(archive, bytes)
        const script = `import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
print(sorted(len(z.read(n).splitlines()) for n in z.namelist() if not n.endswith("ofx")))`
        const { stderr, stdout } = spawnSync("python3", ["-c", script, archive], { encoding: "utf8" })
        // The closes' header; CSV and journal with theirs; JSON Lines with a head and an end.
        assert.strictEqual(stdout.trim(), "[1, 1701, 1701, 1702]", stderr)
        rmSync(folder, { recursive: true })
      })
  )

  it.effect("OPR-261: it is of one account or connection, of a month, and of the operator's accounts", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId } = yield* makeCaller()
      const { accountId: other } = yield* makeCaller()
      const one = `account_id=${accountId}`
      const bank = `connection_id=${SIMULATOR_CONNECTION}`
      const statusOf = (path: string) => Effect.map(fetched(`closes/${path}`), ({ status }) => status)
      assert.strictEqual(yield* statusOf("2026-11/package"), 400)
      assert.strictEqual(yield* statusOf(`2026-11/package?${one}&${bank}`), 400)
      assert.strictEqual(yield* statusOf(`2026-11/package?${one}&chart=x`), 400)
      assert.strictEqual(yield* statusOf(`2026-13/package?${one}`), 404)
      assert.strictEqual(yield* statusOf("2026-11/package?account_id=01a1fd37-d21e-717f-8451-d23f26a8797f"), 404)
      const { call } = yield* makeOperator("viewer", [accountId])
      const limited = (query: string) =>
        Effect.map(call("GET", `/operator/v1/closes/2026-11/package?${query}`), ({ status }) => status)
      assert.strictEqual(yield* limited(`account_id=${accountId.toUpperCase()}`), 200)
      assert.strictEqual(yield* limited(`account_id=${other}`), 404)
      assert.strictEqual(yield* limited(bank), 404)
    })
  )
})

const lastDayOf = (month: string): string => {
  const [year = 0, number = 0] = month.split("-").map(Number)
  return formatInstant(Date.UTC(year, number, 0)).slice(0, 10)
}
