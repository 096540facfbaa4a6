/**
 * The tests in five projects.
 *
 * - `tests`: all that is in none of the others: units, properties, and the service over HTTP.
 * - `browser`: the dashboard in one Chromium, which all files share.
 * - `slow`: of both of these, the files that take longest: two thirds of their time.
 * - `durability`: kills, outages, random histories, hostile input, a million rows.
 * - `runtimes`: what is installed or built, as processes: the packed clients and `pix`, also under other Nodes, runtimes, compilers
 *   and frameworks; the examples and tasks of integrators; the bench and its peers.
 *
 * `npm test` runs the first two, in eight minutes; `npm run test:all` all.
 *
 * A test has ten minutes, because the machine may be busy: a limit only ends what hangs. None is run a second time. The output ends
 * with a list of what failed, and why.
 *
 * Why files share their process: loading Effect takes longer than most of them. So a test counts only those metrics and log lines
 * that are of its own service.
 */
import { appendFileSync, mkdirSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"

import { defineConfig } from "vitest/config"
import type { Reporter } from "vitest/reporters"

const durability = [
  "packages/server/test/durability/**/*.test.ts",
  "packages/server/test/**/{*Histories,AnyOrder}.test.ts",
  "packages/server/test/database/statements/Plans.test.ts",
  "packages/embedded-postgres/test/EmbeddedPostgres.test.ts",
  "histories/test/Storm.test.ts"
]

/** Of the tests, what takes longest. */
const slow = [
  "histories/test/Judge.test.ts",
  "packages/api-pix/test/{Faults,PayoutRails,WrongAnswers}.test.ts",
  "packages/client/test/FlakyNetwork.test.ts",
  "packages/server/test/accounts/{ApiKeys,CallerGeneration,Limits}.test.ts",
  "packages/server/test/base/observability/{Redaction,Traces}.test.ts",
  "packages/server/test/database/batching/Bisection.test.ts",
  "packages/server/test/events/{EventOrder,EventStreamAccess,EventStreamProcesses}.test.ts",
  "packages/server/test/http/callbacks/Callbacks.test.ts",
  "packages/server/test/http/operator/sign-in/OperatorToken.test.ts",
  "packages/server/test/http/pipeline/{BodyCosts,Drain,Lists,RequestBody,Security,SocketBounds}.test.ts",
  "packages/server/test/ledger/{ConcurrentPayouts,MonthlyPackage,Statements}.test.ts",
  "packages/server/test/operations/{AlertRules,Filters,SealedSecrets,Search,Statistics}.test.ts",
  "packages/server/test/operators/{AccountLimits,LyingIdentityProvider,PersonalData,SingleSignOn,Walk}.test.ts",
  "packages/server/test/operators/approvals/{Bypass,Changed,Duplicates,FourEyes,Races,Summary}.test.ts",
  "packages/server/test/payments/charges/{ChargeRecovery,CreationFields,CreationProperties}.test.ts",
  "packages/server/test/payments/disputes/Defenses.test.ts",
  "packages/server/test/payments/exceptions/Arrival.test.ts",
  "packages/server/test/payments/payouts/Restores.test.ts",
  "packages/server/test/providers/Acquirers.test.ts",
  "packages/server/test/providers/connections/{Bulkheads,Management}.test.ts",
  "packages/server/test/reports/{Ownership,RestoreComparison,SettlementClaims,Sweep,SweepFailures,UnreadableEntries}.test.ts",
  "packages/server/test/schema/{Migrations,Privileges}.test.ts",
  "packages/server/test/schema/partitions/{ChangesRetention,IndexRebuild,Money,Retention}.test.ts",
  "packages/server/test/startup/{Cell,ConcurrentStarts,DatabaseTls,Outward,WorkerMetrics}.test.ts",
  "packages/server/test/statements/{BankBalances,BankReconciliation,HealedLines}.test.ts",
  "packages/server/test/webhooks/endpoints/{EndpointChanges,WebhookEndpoints}.test.ts",
  "packages/server/test/webhooks/sending/{DeliveryLimits,Dispatch}.test.ts",
  "packages/server/test/webhooks/fan-out/FanOutQuarantine.test.ts",
  "packages/server/test/browser/!(Approvals|Cells|FirstDay|Pictures|Reveal|Size|TerminalSignIn|Waiting).test.ts"
]

const browser = ["packages/server/test/browser/*.test.ts"]

const runtimes = [
  "packages/server/test/startup/{BuiltPrograms,SafeStart,Start}.test.ts",
  "packages/{client,client-effect}/test/{Package,Toolchains}.test.ts",
  // All that starts `pix`.
  "packages/cli/test/!(Address|Completions|Heartbeat|Help|Money|OperatorClient|SseLines).test.ts",
  "bench/test/*.test.ts",
  "examples/test/{Collections,Demo,DemoBank,Guides,Languages,Prism,Shop,Tasks}.test.ts"
]

/**
 * Lists at the end, last of all, the tests that failed, with their errors and differences, which name the seed of a random test. The list is in
 * `.vitest/failed.txt` too: where one run follows another, it is shown again after the last one.
 */
const failures = (): Reporter => {
  const failed: Array<string> = []
  return {
    onTestCaseResult: (test) => {
      const { errors = [], state } = test.result()
      if (state !== "failed") return
      const messages = errors.map(({ diff = "", message }) =>
        `${message}\n${stripVTControlCharacters(diff)}`.trimEnd().slice(0, 2000).replaceAll(/^/gm, "    ")
      )
      failed.push([`  ${test.module.relativeModuleId} > ${test.fullName}`, ...messages].join("\n"))
    },
    onTestRunEnd: () => {
      if (failed.length === 0) return
      const list = `Failed:\n${failed.join("\n")}\n`
      process.stdout.write(list)
      mkdirSync(".vitest", { recursive: true })
      appendFileSync(".vitest/failed.txt", list)
    }
  }
}

const shared = {
  isolate: false,
  testTimeout: 600_000,
  hookTimeout: 600_000,
  setupFiles: ["packages/server/test/support/WholeDay.ts"]
}

export default defineConfig({
  test: {
    reporters: ["default", failures()],
    globalSetup: ["packages/server/test/support/BuiltService.ts", "packages/server/test/support/Postgres.ts"],
    // More than the processors of a small machine: tests wait for due times and for processes that start. `npm test` has six, because
    // its tests wait more.
    maxWorkers: 4,
    projects: [
      {
        test: {
          ...shared,
          name: "tests",
          include: ["{packages,bench,examples,histories}/**/test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...browser, ...slow, ...durability, ...runtimes]
        }
      },
      {
        test: {
          ...shared,
          name: "browser",
          include: browser,
          exclude: slow,
          globalSetup: ["packages/server/test/browser/Chromium.ts"]
        }
      },
      {
        test: {
          ...shared,
          name: "slow",
          include: slow,
          globalSetup: ["packages/server/test/browser/Chromium.ts"]
        }
      },
      { test: { ...shared, name: "durability", include: durability, isolate: true } },
      { test: { ...shared, name: "runtimes", include: runtimes, isolate: true } }
    ]
  }
})
