/**
 * The tests in three projects. AGENTS.md has how long each takes.
 *
 * - `fast`: units, properties, and the whole service in as many tests as fit into a minute.
 * - `service`: tests of the service that wait, load or start processes, other runtimes, and the bench.
 * - `durability`: kills, outages, random histories, hostile input, upgrades.
 *
 * Why: a file of `fast` shares its process with others, because loading Effect takes longer than most files. A test that
 * counts metrics, which belong to the process, is in `service`.
 */
import { defineConfig } from "vitest/config"

const durability = ["packages/server/test/durability/**/*.test.ts"]

const service = [
  "bench/test/**/*.test.ts",
  "examples/test/**/*.test.ts",
  "packages/client*/test/**/{FlakyNetwork,Package,Payments,PaymentsClient,Toolchains}.test.ts",
  "packages/api-pix/test/**/*.test.ts",
  "packages/embedded-postgres/test/**/*.test.ts",
  "packages/psp-double/test/**/{Bacen,Efi,Faults,Hooks,Main,Mtls,PspMachine}.test.ts",
  ...[
    "acquirers/*",
    "charges/{ChargeRecovery,CreationFields,CreationProperties,Emission,Settlement}",
    "events/{EventOrder,EventStreamAccess,EventStreamProcesses,Outbox}",
    "http/{Drain,ErrorOrder,InFlight,Lists,Pages,Security,SocketBounds,Unavailable}",
    "browser/*",
    "inbound/{Callbacks,PayoutReports,Sweep}",
    "exceptions/AnyOrder",
    "http/operator/{OperatorGuard,OperatorToken}",
    "operators/SignIns",
    "ledger/*",
    "network/PublicAddress",
    "notifications/*",
    "connections/CredentialsInLog",
    "observability/{Redaction,ServiceLog}",
    "orders/Refunds",
    "refunds/*",
    "payouts/{Outcomes,Pauses}",
    "sql/{Bisection,Plans,Privileges,WatchedListen,WriteSlots}",
    "startup/*",
    "webhooks/{Deliveries,DeliveryLimits,DeliveryRetries,Dispatch,EndpointChanges,FailedDeliveries}",
    "webhooks/{FanOut,FanOutQuarantine,OperatorStops,PausedDeliveries,TenantLimits,WebhookEndpoints}"
  ].map((files) => `packages/server/test/${files}.test.ts`),
  "packages/server/test/Cli.test.ts"
]

const installed = "**/node_modules/**"

export default defineConfig({
  test: {
    globalSetup: ["packages/server/test/support/Postgres.ts"],
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "fast",
          include: ["packages/*/test/**/*.test.ts"],
          exclude: [installed, ...service, ...durability],
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 120_000
        }
      },
      {
        test: {
          name: "service",
          include: service,
          exclude: [installed],
          testTimeout: 30_000,
          hookTimeout: 120_000
        }
      },
      {
        test: {
          name: "durability",
          include: durability,
          testTimeout: 30_000,
          hookTimeout: 120_000
        }
      }
    ]
  }
})
