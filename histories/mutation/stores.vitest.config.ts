/**
 * The tests of money that have a database and no built program, which mutation testing of the stores runs. Each file has a process of its
 * own: what tests cover is counted in the first file only of those that share one.
 */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    testTimeout: 60_000,
    globalSetup: ["packages/server/test/support/Postgres.ts"],
    include: process.env["MUTATION_TESTS"]?.split(",") ?? [
      "packages/server/test/{ledger,payments,operations,http/operator}/**/!(*Histories|AnyOrder|SealedSecrets|OperatorToken).test.ts"
    ]
  }
})
