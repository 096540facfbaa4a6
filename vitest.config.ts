/** The tests in three projects, by how long they take. AGENTS.md has the times. */
import { defineConfig } from "vitest/config"

/** Kills, outages, random histories, hostile input, upgrades: minutes. */
const durability = "packages/server/test/durability/**/*.test.ts"

const limits = { testTimeout: 30_000, hookTimeout: 120_000 }

export default defineConfig({
  test: {
    globalSetup: ["packages/server/test/support/Postgres.ts"],
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "main",
          include: ["packages/*/test/**/*.test.ts", "examples/test/**/*.test.ts", "bench/test/**/*.test.ts"],
          exclude: [durability],
          ...limits
        }
      },
      { test: { name: "durability", include: [durability], ...limits } }
    ]
  }
})
