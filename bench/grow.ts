/**
 * `pnpm run grow`: a database after months of paid charges, made of copies of rows that the service stored itself. Prints
 * bytes and WAL of a paid charge, and what each list, report and statement of the service costs.
 *
 * `GROW_CHARGES` (a million), `GROW_MONTHS` (10) and `GROW_ACCOUNTS` (3) say how much. With `GROW_TABLES=charges,changes,charge_settlements`
 * no other rows are copied, and reads alone are measured: ten million fit in 40 GB. `GROW_EVENTS` are the events of the
 * endpoint, separated by commas; by default every event, of which a paid charge has three. Bytes are those after
 * `pnpm run maintain`, which rebuilds indexes of past months.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { grow } from "./growth/Copies.ts"
import { measureReads } from "./growth/Reads.ts"
import { type Size, sizes } from "./growth/Sizes.ts"
import { measureStatements, prepareStatementCounts, type StatementCost } from "./growth/Statements.ts"
import { payCharges, startWithEndpoint } from "./measure/PaidCharges.ts"
import { measureWal, type Wal } from "./growth/Wal.ts"
import { withDatabase } from "./measure/Database.ts"
import { makeOldPartitions } from "./measure/OldPartitions.ts"
import { maintain } from "./measure/OurServer.ts"
import { makeTestbed, temporaryFolder } from "./measure/Testbed.ts"

const charges = Number(process.env["GROW_CHARGES"] ?? 1_000_000)
const months = Number(process.env["GROW_MONTHS"] ?? 10)
const accounts = Number(process.env["GROW_ACCOUNTS"] ?? 3)
const tables = process.env["GROW_TABLES"]?.split(",")
const events = process.env["GROW_EVENTS"]?.split(",")
const print = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

const run = Effect.gen(function* () {
  const folder = yield* temporaryFolder("pix-payments-grow-")
  yield* prepareStatementCounts(folder)
  const testbed = yield* makeTestbed(folder, false)
  const options = yield* testbed.provision("growth", [])
  const { databaseUrl } = options
  const server = yield* startWithEndpoint(options, events === undefined ? {} : { events })
  yield* print(`${charges} paid charges over ${months} months, ${accounts} accounts; ${testbed.machine.processor}`)
  yield* payCharges(server, databaseUrl, TEMPLATES / 2, 8)
  for (const { atOnce, count } of walMeasured) {
    const wal = yield* measureWal(databaseUrl, payCharges(server, databaseUrl, count, atOnce))
    yield* print(`\nWAL of a paid charge, ${atOnce} at once\n\n${walTable(wal, count)}\n`)
  }
  const [{ count } = { count: 0 }] = yield* withDatabase(databaseUrl, async (database) => {
    const { rows } = await database.query<{ count: number }>("SELECT count(*)::integer AS count FROM charges")
    return rows
  })
  yield* makeOldPartitions(databaseUrl, months)
  const before = yield* sizes(databaseUrl)
  const startedAt = performance.now()
  const copies = Math.max(1, Math.round(charges / count))
  yield* grow(databaseUrl, { copies, months, accounts, tables }, (done) => {
    process.stderr.write(`\r${Math.round((done / copies) * 100)} %`)
  })
  // Indexes of past months are rebuilt, as they are in an installation.
  yield* maintain(databaseUrl)
  yield* print(`\ngrown in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  yield* print(sizesTable(yield* sizes(databaseUrl), before, copies * count))

  const countingAt = performance.now()
  yield* counted(databaseUrl)
  yield* print(`status counts of ${copies * count} charges: ${Math.round((performance.now() - countingAt) / 1000)} s`)
  const reads = yield* measureReads(server, databaseUrl, RUNS)
  yield* print("\n| read | median ms | slowest ms | pages |\n|---|---|---|---|")
  for (const { medianMs, pages, path, slowestMs } of reads) {
    yield* print(`| \`${path}\` | ${medianMs.toFixed(1)} | ${slowestMs.toFixed(1)} | ${pages} |`)
  }
  if (tables !== undefined) return
  const paid = Effect.andThen(payCharges(server, databaseUrl, STATEMENT_CHARGES, 8), Effect.sleep(LOOPS))
  const statements = yield* measureStatements(databaseUrl, paid)
  yield* print(
    `\n${STATEMENT_CHARGES} more charges paid, and ${LOOPS} of the background loops\n\n${statementsTable(statements)}`
  )
})

const statementsTable = (statements: ReadonlyArray<StatementCost>): string =>
  [
    "| statement | calls | mean ms | slowest ms | pages | rows |",
    "|---|---|---|---|---|---|",
    ...statements.map(
      ({ calls, meanMs, pages, rows, slowestMs, text }) =>
        `| \`${text.replaceAll(/[`|]/g, " ")}\` | ${calls} | ${meanMs.toFixed(2)} | ${slowestMs.toFixed(1)} | ${pages.toFixed(0)} | ${rows.toFixed(1)} |`
    )
  ].join("\n")

/** Waits until every change is in the counts of `/stats`. */
const counted = (databaseUrl: string) =>
  Effect.repeat(
    withDatabase(databaseUrl, async (database) => {
      const { rows } = await database.query<{ left: boolean }>(
        `SELECT EXISTS (SELECT FROM changes, status_counts_position p
           WHERE (changes.transaction_id, changes.id) > (p.transaction_id, p.change_id)) AS left`
      )
      return rows[0]?.left !== true
    }),
    { until: (isCounted) => isCounted, schedule: Schedule.spaced("500 millis") }
  )

/** Bytes that the copies added, for each paid charge. */
const sizesTable = (after: ReadonlyArray<Size>, before: ReadonlyArray<Size>, count: number): string => {
  const added = after.map((size) => {
    const earlier = before.find(({ index, table }) => table === size.table && index === size.index)
    return { ...size, bytes: (size.bytes - (earlier?.bytes ?? 0)) / count }
  })
  const total = added.reduce((sum, { bytes }) => sum + bytes, 0)
  const lines = added
    .filter(({ bytes }) => bytes >= 1)
    .map(({ bytes, index, table }) => `| ${table} | ${index ?? ""} | ${Math.round(bytes)} |`)
  return ["\n| table | index | bytes |", "|---|---|---|", ...lines, `| all | | ${Math.round(total)} |`].join("\n")
}

/** Bytes of WAL for each paid charge. */
const walTable = ({ bytes, bytesWithBank, tables }: Wal, count: number): string => {
  const total = (name: string, all: number) => `| ${name} | ${Math.round(all / count)} | |`
  const lines = tables
    .filter(({ heap, indexes }) => heap + indexes >= 10 * count)
    .map((of) => `| ${of.table} | ${Math.round(of.heap / count)} | ${Math.round(of.indexes / count)} |`)
  return [
    "| table | rows | indexes |",
    "|---|---|---|",
    ...lines,
    total("all", bytes),
    total("with a real bank", bytesWithBank)
  ].join("\n")
}

const TEMPLATES = 100
/** Enough charges that new pages of each table weigh little. */
const walMeasured = [
  { atOnce: 1, count: 300 },
  { atOnce: 8, count: 1000 },
  { atOnce: 64, count: 1500 }
]
const RUNS = 5
const STATEMENT_CHARGES = 200
/** Longer than the pause of any loop but the maintenance of partitions. */
const LOOPS = "70 seconds"

// Ends its processes where it is ended.
NodeRuntime.runMain(Effect.scoped(run))
