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

/** Folders and modules of the server, from the lowest. */
const server = [
  ["Errors.ts", "Ids.ts", "TokenStrength.ts", "AllowedHosts.ts", "BuiltDashboard.ts"],
  ["Settings.ts"],
  ["Secrets.ts"],
  ["observability/"],
  ["sql/"],
  ["network/"],
  ["approvals/"],
  ["accounts/"],
  ["operators/"],
  ["events/"],
  ["ledger/"],
  ["acquirer/"],
  ["providers/"],
  ["connections/"],
  ["charges/"],
  ["payouts/"],
  ["refunds/"],
  ["disputes/"],
  ["orders/"],
  ["exceptions/", "notifications/"],
  ["simulator/"],
  ["webhooks/"],
  ["operations/"],
  ["http/[^/]+$"],
  ["inbound/"],
  ["http/public/"],
  ["http/operator/"],
  ["startup/"],
  ["Service.ts"],
  ["main.ts", "cli.ts", "migrate.ts", "maintain.ts"]
].map((row) => row.map((place) => `^packages/server/src/${place}`))

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
    exclude: { path: ["/dist/", "/test/(runtimes|toolchains)/", "/\\.data/"] },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      extensions: [".ts", ".tsx", ".mjs", ".js"],
      conditionNames: ["import", "types", "default"]
    }
  }
}
