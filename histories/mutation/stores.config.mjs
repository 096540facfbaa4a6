/**
 * Mutation testing of the stores of money with the tests that have a database: `pnpm run mutation:stores`. It takes hours; `--mutate <files>`
 * takes some, as `--mutate "packages/server/src/payments/refunds/*.ts"`. SQL is text and is not mutated: `histories/convict` takes guards out of it.
 */
import decisions from "./stryker.config.mjs"

export default {
  ...decisions,
  vitest: { configFile: "histories/mutation/stores.vitest.config.ts", related: false },
  mutate: ["packages/server/src/{ledger,payments/{payouts,refunds,disputes,exceptions}}/**/*.ts", "!**/*Decision.ts"],
  ignorePatterns: [".data"],
  dryRunTimeoutMinutes: 60,
  // A test that waits for a lock or for the machine is no mutant that hangs.
  timeoutMS: 60_000,
  timeoutFactor: 4,
  jsonReporter: { fileName: ".data/mutation-stores.json" }
}
