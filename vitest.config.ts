/**
 * The tests in four projects. AGENTS.md has how long each takes.
 *
 * - `fast`: units, properties, and the whole service in as many tests as fit into a minute.
 * - `service`: tests of the service that wait, load or start processes, other runtimes, and the bench.
 * - `browser`: the dashboard in one Chromium, which all files share.
 * - `durability`: kills, outages, random histories, hostile input, upgrades.
 *
 * A test has ten minutes, because the machine may be busy: a limit only ends what hangs. A test that fails is run once more. The
 * output ends with lists of what failed and of what passed at the second attempt, and why: each is a fault to find.
 *
 * Why: a file of `fast` shares its process with others, because loading Effect takes longer than most files. A test that
 * counts metrics, which belong to the process, is in `service`.
 */
import { defineConfig } from "vitest/config"
import type { Reporter } from "vitest/reporters"

const durability = ["packages/server/test/durability/**/*.test.ts"]

const browser = ["packages/server/test/browser/*.test.ts"]

const service = [
  "bench/test/**/*.test.ts",
  "examples/test/**/*.test.ts",
  "packages/cli/test/**/{BrowserLogin,Commands,Completions,Drill,Export,Listen,Package,ReceiverAnswers,Robustness,Terminal,Trigger}.test.ts",
  "packages/client*/test/**/{FlakyNetwork,Package,Payments,PaymentsClient,Toolchains}.test.ts",
  "packages/api-pix/test/**/*.test.ts",
  "packages/embedded-postgres/test/**/*.test.ts",
  "packages/psp-double/test/**/{Bacen,Efi,Faults,Hooks,Main,Mtls,PspMachine}.test.ts",
  ...[
    "base/network/PublicAddress",
    "base/observability/{Redaction,ServiceLog}",
    "database/{WatchedListen,WriteSlots}",
    "database/batching/Bisection",
    "database/statements/Plans",
    "events/{EventOrder,EventStreamAccess,EventStreamProcesses,Outbox}",
    "http/callbacks/Callbacks",
    "http/operator/OperatorGuard",
    "http/operator/sign-in/OperatorToken",
    "http/pipeline/{Drain,ErrorOrder,InFlight,Lists,Pages,Security,SocketBounds,Unavailable}",
    "ledger/*",
    "operations/FailingEndpoints",
    "operators/{SignIns,SingleSignOn}",
    "payments/charges/{ChargeRecovery,CreationFields,CreationProperties,Emission,Settlement}",
    "payments/exceptions/AnyOrder",
    "payments/payouts/{Outcomes,Pauses}",
    "payments/refunds/{RefundHistories,Refunds}",
    "providers/{Acquirers,OpenCircuit}",
    "providers/connections/CredentialsInLog",
    "reports/{AcquirerNotifications,PayoutReports,SettlementClaims,Sweep}",
    "schema/Privileges",
    "schema/partitions/{ChangesRetention,Conversion,DeliveriesConversion,DeliveriesOfMonths,IndexRebuild,Money,Retention}",
    "startup/*",
    "webhooks/deliveries/{Deliveries,DeliveryRetries,FailedDeliveries,OperatorStops,PausedDeliveries}",
    "webhooks/endpoints/{EndpointChanges,WebhookEndpoints}",
    "webhooks/fan-out/{FanOut,FanOutQuarantine}",
    "webhooks/sending/{DeliveryLimits,Dispatch,TenantLimits}"
  ].map((files) => `packages/server/test/${files}.test.ts`)
]

const installed = "**/node_modules/**"

/**
 * Lists at the end, last of all, the tests that failed and those that passed at the second attempt, with their first errors, which
 * name the seed of a random test.
 */
const failures = (): Reporter => {
  const lists = { Failed: new Array<string>(), "Passed at the second attempt only": new Array<string>() }
  return {
    onTestCaseResult: (test) => {
      const { errors = [], state } = test.result()
      if (state !== "failed" && test.diagnostic()?.flaky !== true) return
      const messages = errors.map(({ message }) => message.slice(0, 1000).replaceAll(/^/gm, "    "))
      const list = state === "failed" ? lists.Failed : lists["Passed at the second attempt only"]
      list.push([`  ${test.module.relativeModuleId} > ${test.fullName}`, ...messages].join("\n"))
    },
    onTestRunEnd: () => {
      for (const [title, tests] of Object.entries(lists)) {
        if (tests.length > 0) process.stdout.write(`${title}:\n${tests.join("\n")}\n`)
      }
    }
  }
}

export default defineConfig({
  test: {
    reporters: ["default", failures()],
    globalSetup: ["packages/server/test/support/BuiltService.ts", "packages/server/test/support/Postgres.ts"],
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "fast",
          include: ["packages/*/test/**/*.test.ts"],
          exclude: [installed, ...service, ...browser, ...durability],
          isolate: false,
          retry: 1,
          testTimeout: 600_000,
          hookTimeout: 600_000
        }
      },
      {
        test: {
          name: "service",
          include: service,
          exclude: [installed],
          retry: 1,
          testTimeout: 600_000,
          hookTimeout: 600_000
        }
      },
      {
        test: {
          name: "browser",
          include: browser,
          exclude: [installed],
          globalSetup: ["packages/server/test/browser/Chromium.ts"],
          retry: 1,
          testTimeout: 600_000,
          hookTimeout: 600_000
        }
      },
      {
        test: {
          name: "durability",
          include: durability,
          retry: 1,
          testTimeout: 600_000,
          hookTimeout: 600_000
        }
      }
    ]
  }
})
