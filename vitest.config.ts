import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/test/**/*.test.ts", "bench/test/**/*.test.ts"],
    globalSetup: ["packages/server/test/support/Postgres.ts"],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    maxWorkers: 2
  }
})
