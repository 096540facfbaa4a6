/**
 * `pnpm run grow:books`: the books of one account and one bank account with many lines, over 300 days. Measures pages, the daily
 * close, `ledger verify` and the exports.
 *
 * `BOOK_LINES` (10000,100000,1000000) are the lines of each, one database for each number. A tenth of them, 100,000 at most, is of
 * yesterday. Of more lines than `BOOK_EXPORTS_UP_TO` (1000000), a CSV has all days, and each other format the month before this one.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { TODAY } from "@pix-payments/server/database/statements/Days"
import { addLines, CHARGES_OF_COPY, type Days, LINES_OF_COPY } from "./growth/Books.ts"
import { download, withPeak } from "./growth/Downloads.ts"
import { get, measurePaths, type Server } from "./growth/Reads.ts"
import { violationsIn, withDatabase } from "./measure/Database.ts"
import { makeOldPartitions } from "./measure/OldPartitions.ts"
import { keepsAll, type StartOptions, startEmptyServer, startServer } from "./measure/OurServer.ts"
import { call } from "./measure/PaidCharges.ts"
import { BenchError } from "./measure/Processes.ts"
import { makeTestbed, temporaryFolder, type Testbed } from "./measure/Testbed.ts"

const sizes = (process.env["BOOK_LINES"] ?? "10000,100000,1000000").split(",").map(Number)
const exportsUpTo = Number(process.env["BOOK_EXPORTS_UP_TO"] ?? 1_000_000)
const print = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

const run = Effect.gen(function* () {
  const folder = yield* temporaryFolder("pix-payments-books-")
  const testbed = yield* makeTestbed(folder, false)
  yield* print(`Books of one account and one bank account; ${testbed.machine.processor}`)
  yield* Effect.forEach(sizes, (lines) => Effect.scoped(measure(testbed, lines)), { discard: true })
})

const measure = Effect.fnUntraced(function* (testbed: Testbed, lines: number) {
  const options = yield* testbed.provision(`books-${lines}`, [])
  const { databaseUrl } = options
  const { apiKey } = yield* Effect.scoped(makeTemplate(options))
  yield* makeOldPartitions(databaseUrl, MONTHS)
  const ofYesterday = Math.min(MOST_OF_A_DAY, Math.round(lines / 10))
  yield* print(`\n## ${lines} lines\n`)
  yield* fill(databaseUrl, lines - ofYesterday, { from: DAYS, before: 1 })
  yield* Effect.scoped(closeDays(options, 2))
  yield* fill(databaseUrl, ofYesterday, { from: 1, before: 0 })
  const { pid, ...started } = yield* closeDays(options, 1)
  const server = { ...started, apiKey }
  yield* readAll(server, databaseUrl)
  yield* verifyAll(server)
  yield* exportAll(server, pid, databaseUrl, lines <= exportsUpTo)
})

/** The transfers that are copied: the books of a new account, which has no other ones. */
const makeTemplate = Effect.fnUntraced(function* (options: StartOptions) {
  const server = yield* startServer(options, keepsAll)
  yield* withDatabase(options.databaseUrl, (database) =>
    database.query("UPDATE accounts SET auto_payout_enabled = true, payout_fee_fixed = 50")
  )
  const headers = () => ({ "x-api-key": server.apiKey, "idempotency-key": randomUUID() })
  for (let made = 0; made < CHARGES_OF_COPY; made++) {
    const { id } = yield* call(server.port, "/v1/charges", headers(), { ...charge, reference: `pedido-${made}` })
    yield* call(
      server.operatorPort,
      `/operator/v1/simulator/charges/${id}/pay`,
      { "x-operator-token": server.token },
      {}
    )
  }
  yield* call(server.port, "/v1/payouts", headers(), payout)
  const missing = yield* violationsIn(options.databaseUrl, async (database) => {
    const { rows } = await database.query<{ count: number }>("SELECT count(*)::integer AS count FROM ledger_transfers")
    return rows[0]?.count === LINES_OF_COPY ? [] : [`${rows[0]?.count} transfers, and not ${LINES_OF_COPY}`]
  })
  if (missing.length > 0) return yield* new BenchError({ message: missing.join("; ") })
  return server
})

const fill = Effect.fnUntraced(function* (databaseUrl: string, lines: number, days: Days) {
  const at = performance.now()
  const added = yield* addLines(databaseUrl, lines, days, (share) => {
    process.stderr.write(`\r${Math.round(share * 100)} % `)
  })
  yield* print(`- ${added} lines inserted in ${secondsSince(at).toFixed(0)} s`)
})

/** Starts the service, and waits until both books are closed up to a day before today. */
const closeDays = Effect.fnUntraced(function* (options: StartOptions, daysAgo: number) {
  const at = performance.now()
  const server = yield* startEmptyServer(options, keepsAll)
  const pid = server.child.pid
  const closed = withDatabase(options.databaseUrl, async (database) => {
    while ((await database.query(`SELECT FROM closes WHERE day = ${TODAY} - ${daysAgo}`)).rowCount !== 2) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
  const { peakMiB } = yield* withPeak(pid, closed)
  yield* print(
    `- both books closed ${secondsSince(at).toFixed(1)} s after the start of the service, which took ` +
      `${(server.startedInMs / 1000).toFixed(1)} s; at most ${peakMiB.toFixed(0)} MiB`
  )
  return { ...server, pid }
})

const readAll = Effect.fnUntraced(function* (server: Server, databaseUrl: string) {
  const { account, connection, middle, day } = yield* placesOf(databaseUrl)
  const lines = `/operator/v1/accounts/${account}/transactions`
  const bank = `/operator/v1/connections/${connection}/transactions`
  const paths = new Map([
    ["first page of an account", `${lines}?limit=100`],
    ["a page in the middle", `${lines}?limit=100&starting_after=${middle}`],
    ["a day in the middle", `${lines}?limit=100&from=${day}&to=${day}`],
    ["its payouts", `${lines}?limit=100&type=payout`],
    ["an amount that none has", `${lines}?limit=100&amount_min=99999999`],
    ["first page of the bank account", `${bank}?limit=100`],
    ["a page in the middle of it", `${bank}?limit=100&starting_after=${middle}`],
    ["closes of the account", `/operator/v1/accounts/${account}/closes?limit=100`],
    ["`ledger verify`", "/operator/v1/ledger/verify"]
  ])
  // What the service does after its start is over.
  yield* Effect.sleep("15 seconds")
  const reads = yield* measurePaths(server, databaseUrl, [...paths.values()], RUNS)
  yield* print("\n| read | median ms | slowest ms |\n|---|---|---|")
  for (const [at, name] of [...paths.keys()].entries()) {
    const { medianMs, slowestMs } = reads[at]!
    yield* print(`| ${name} | ${medianMs.toFixed(1)} | ${slowestMs.toFixed(1)} |`)
  }
})

/** The books must be consistent, also when all of them are read. */
const verifyAll = Effect.fnUntraced(function* (server: Server) {
  const at = performance.now()
  const text = yield* get(server, "/operator/v1/ledger/verify?full=true")
  if (!(JSON.parse(text) as { readonly consistent: boolean }).consistent) {
    return yield* new BenchError({ message: `the books are not consistent: ${text.slice(0, 1000)}` })
  }
  yield* print(`\n- \`ledger verify --full\`: ${secondsSince(at).toFixed(1)} s, consistent`)
})

const exportAll = Effect.fnUntraced(function* (server: Server, pid: number, databaseUrl: string, isAllDays: boolean) {
  const { account, connection, ofMonth, ...all } = yield* placesOf(databaseUrl)
  const { month } = all
  const others = isAllDays ? all : { from: `${month}-01`, to: all.monthEnd, of: ofMonth }
  const path = (owner: string, format: string, { from, to }: Pick<Places, "from" | "to">) =>
    `/operator/v1/${owner}/statement?from=${from}&to=${to}&format=${format}`
  const files = [
    ["csv", path(`accounts/${account}`, "csv", all), all.of] as const,
    ...["ofx1", "ofx", "journal", "jsonl"].map(
      (format) => [format, path(`accounts/${account}`, format, others), others.of] as const
    ),
    ["bank account, csv", path(`connections/${connection}`, "csv", others), ofBank(others.of)] as const
  ]
  yield* print(
    "\n| export | transfers read | seconds | of these a second | MB | most MiB of the process |\n|---|---|---|---|---|---|"
  )
  for (const [name, path, lines] of files) {
    const { bytes, peakMiB, seconds } = yield* download(server, pid, path)
    yield* print(
      `| ${name} | ${lines} | ${seconds.toFixed(1)} | ${Math.round(lines / seconds)} | ${(bytes / 1e6).toFixed(0)} | ${peakMiB.toFixed(0)} |`
    )
  }
  const zip = yield* download(server, pid, `/operator/v1/closes/${month}/package?account_id=${account}`)
  yield* print(
    `\n- the package of ${month}: ${zip.seconds.toFixed(1)} s, ${(zip.bytes / 1e6).toFixed(1)} MB; at most ${zip.peakMiB.toFixed(0)} MiB`
  )
})

/** What the paths name: the account, the bank account, the line and day in the middle, all days, and the month before this one. */
const placesOf = (databaseUrl: string) =>
  withDatabase(databaseUrl, async (database) => {
    const { rows } = await database.query<Places>(
      `WITH bounds AS (SELECT min(day) AS first, max(day) AS last, max(position) AS lines FROM ledger_transfers),
       middle AS (
         SELECT id, day FROM ledger_transfers, bounds WHERE position >= lines / 2 AND credit = 'available'
           AND connection_id IS NOT NULL ORDER BY position LIMIT 1
       )
       SELECT a.id AS account, '${SIMULATOR_CONNECTION}' AS connection, m.id AS middle, m.day::text AS day, first::text AS from,
         last::text AS to, to_char(${TODAY} - interval '1 month', 'YYYY-MM') AS month, lines::integer AS of,
         (date_trunc('month', ${TODAY}) - interval '1 day')::date::text AS "monthEnd",
         (SELECT count(*)::integer FROM ledger_transfers t WHERE t.account_id = a.id
           AND date_trunc('month', t.day) = date_trunc('month', ${TODAY} - interval '1 month')) AS "ofMonth"
       FROM accounts a, bounds, middle m`
    )
    return rows[0]!
  })

interface Places {
  readonly account: string
  readonly connection: string
  readonly middle: string
  readonly day: string
  readonly from: string
  readonly to: string
  readonly month: string
  readonly monthEnd: string
  readonly of: number
  readonly ofMonth: number
}

/** Of an account's transfers, those that its bank moved. */
const ofBank = (transfers: number): number => Math.round((transfers / LINES_OF_COPY) * (CHARGES_OF_COPY + 1))

const secondsSince = (at: number): number => (performance.now() - at) / 1000

const charge = {
  amount: 1990,
  description: "Pedido 10000 na loja",
  customer: {
    name: "Maria Oliveira da Silva",
    document: "52998224725",
    email: "cliente@example.com.br",
    phone: "+5511987654321"
  }
}

const payout = {
  amount: 9000,
  method: "pix",
  pix_key_type: "email",
  pix_key: "someone@example.com",
  recipient_name: "Maria Oliveira da Silva",
  reference: "saque-1"
}

const DAYS = 300
const MONTHS = 11
const MOST_OF_A_DAY = 100_000
const RUNS = 3

// Ends its processes where it is ended.
NodeRuntime.runMain(Effect.scoped(run))
