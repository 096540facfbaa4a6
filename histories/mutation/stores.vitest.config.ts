/** The tests of money in the database, which mutation testing of the stores runs. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    isolate: false,
    testTimeout: 60_000,
    globalSetup: ["packages/server/test/support/Postgres.ts"],
    include: process.env["MUTATION_TESTS"]?.split(",") ?? [
      "packages/server/test/{ledger,payments,operations,reports,http/operator}/**/!(*Histories|AnyOrder).test.ts"
    ]
  }
})
