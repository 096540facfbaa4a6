/**
 * Which module may import which: `pnpm run layers`.
 *
 * A row of a list may import the rows above it and itself, never a row below. No module is in an import cycle.
 */

/** Packages, from the one that imports nothing to those that import most. */
const packages = [
  "packages/embedded-postgres",
  "packages/domain",
  "packages/psp-double",
  "packages/api-pix",
  "packages/api",
  "packages/dashboard",
  "packages/client",
  "packages/client-effect",
  "packages/cli",
  "packages/server"
]

/**
 * Folders and programs of `packages/server/src`, from the lowest, each with what it has. `docs/architecture.md` shows this list, and
 * `packages/server/test/Folders.test.ts` compares them.
 */
export const serverFolders = [
  ["BuiltDashboard.ts", "where the built dashboard is"],
  ["base/", "errors, ids, settings, secrets, observability, addresses of the network: nothing of payments"],
  ["database/", "the pool, batches, statements, lists, what happens when the database fails: no table"],
  ["operators/", "operators, their tokens and sessions, approvals, which account a resource belongs to"],
  ["ledger/", "transfers, balances, releases, verification"],
  ["accounts/", "accounts, applications, keys, the cache of callers, brakes"],
  ["events/", "changes, the outbox, the event log and its readers"],
  ["providers/[^/]+$", "the port: what a provider is asked and says, orders to providers, and the rows of both"],
  ["providers/api-pix/", "the port on providers that speak the central bank's API Pix"],
  ["providers/simulator/", "the port on a simulated institution, for tests and the first start"],
  ["providers/connections/", "connections to providers, their credentials and checks"],
  ["payments/words/", "words by which charges and payouts are found"],
  ["payments/charges/", "charges: decisions, a service, a store with the SQL, cancellations"],
  ["payments/payouts/[^/]+$", "payouts: decisions about them, a service, a store, and their submission"],
  ["payments/payouts/creation/", "new payouts: decided on terms and balances, and stored"],
  ["payments/refunds/", "refunds: decisions, rows, orders to the provider, returns that it reports"],
  ["payments/disputes/", "disputes: decisions, rows, defenses"],
  ["payments/exceptions/", "money that fits no charge, and what operators do with it"],
  ["receipts/", "receipts of money that moved: their text, page, PDF and code"],
  ["reports/", "what providers say: callbacks and sweeps as read, notifications applied"],
  ["statements/", "statement files of banks: read, stored, reconciled with the books"],
  ["webhooks/deliveries/", "the rows of deliveries and their attempts"],
  ["webhooks/queue/", "claims of deliveries, leases, capacity"],
  ["webhooks/fan-out/", "from an outbox row to its deliveries"],
  ["webhooks/sending/", "attempts over HTTP, and the loops that make them"],
  ["webhooks/endpoints/", "registered endpoints, test deliveries"],
  ["alerts/", "alerts of operators: what is found, the channels, the messages"],
  ["operations/", "audit log, request log, statistics, search, timelines"],
  ["schema/", "baseline, migrations, privileges, partitions, retention"],
  ["cells/", "an account that moves to another cell"],
  ["http/pipeline/", "one HTTP pipeline for all listeners"],
  ["http/callbacks/", "the listener of providers' callbacks"],
  ["http/public/", "the listener of `/v1`: guard and handlers"],
  ["http/operator/", "the listener of operators and the dashboard: guard and handlers"],
  ["startup/", "demo account, messages, worker processes"],
  ["Service.ts", "one layer of all of it"],
  [
    "[a-z][a-zA-Z]*[.]ts$",
    "the programs: the service, migrations, maintenance, comparisons with banks, sealing, keys by cell, moves"
  ]
]

const server = serverFolders.map(([place]) => [`^packages/server/src/${place}`])

/** Folders and programs of the bench. */
const bench = [["^bench/load/"], ["^bench/peers/"], ["^bench/measure/"], ["^bench/[^/]+$"]]

const upward = (name, rows) =>
  rows.slice(0, -1).map((row, index) => ({
    name: `${name}: ${row.join(", ")} imports upward`,
    severity: "error",
    from: { path: row },
    to: { path: rows.slice(index + 1).flat() }
  }))

const everyPlace = server.flat()

export default {
  forbidden: [
    { name: "import cycle", severity: "error", from: {}, to: { circular: true } },
    {
      name: "a place of the server without a row in .dependency-cruiser.mjs",
      severity: "error",
      from: { path: "^packages/server/src/", pathNot: everyPlace },
      to: {}
    },
    { name: "unknown import", severity: "error", from: { path: "^packages/" }, to: { couldNotResolve: true } },
    {
      name: "sources import tests",
      severity: "error",
      from: { path: "^packages/[^/]+/src/" },
      to: { path: "^packages/[^/]+/test/" }
    },
    {
      name: "the service imports the double of a provider",
      severity: "error",
      from: { path: "^packages/[^/]+/src/", pathNot: "^packages/psp-double/" },
      to: { path: "^packages/psp-double/" }
    },
    {
      name: "the judge knows something of the service",
      comment: "its models import each other only; what starts the processes also PostgreSQL and the double of a bank",
      severity: "error",
      from: { path: "^histories/judge/" },
      to: { pathNot: "^(histories/judge/|node:|crypto$)" }
    },
    {
      name: "histories import the service",
      severity: "error",
      from: { path: "^histories/" },
      to: { path: "^(packages|bench|examples)/", pathNot: "^packages/(embedded-postgres|psp-double)/src/" }
    },
    {
      name: "somebody imports histories",
      severity: "error",
      from: { pathNot: "^histories/" },
      to: { path: "^histories/" }
    },
    ...upward(
      "packages",
      packages.map((folder) => [`^${folder}/src/`])
    ),
    ...upward("server", server),
    ...upward("bench", bench)
  ],
  options: {
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    exclude: { path: ["/dist/", "/test/(runtimes|toolchains|collections)/", "/\\.data/"] },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      extensions: [".ts", ".tsx", ".mjs", ".js"],
      conditionNames: ["import", "types", "default"]
    }
  }
}
