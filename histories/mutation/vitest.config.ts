/** The tests without a database, which mutation testing runs: of `domain`, and of the pure decisions. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    testTimeout: 60_000,
    include: process.env["MUTATION_TESTS"]?.split(",") ?? [
      "packages/domain/test/*.test.ts",
      "packages/server/test/payments/**/*Decision.test.ts"
    ]
  }
})
