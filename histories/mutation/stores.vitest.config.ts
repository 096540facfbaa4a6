/** The tests of money that have a database and no built program, which mutation testing of the stores runs. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    isolate: false,
    testTimeout: 60_000,
    globalSetup: ["packages/server/test/support/Postgres.ts"],
    include: process.env["MUTATION_TESTS"]?.split(",") ?? [
      "packages/server/test/{ledger,payments,operations,http/operator}/**/!(*Histories|AnyOrder|SealedSecrets|OperatorToken).test.ts"
    ]
  }
})
