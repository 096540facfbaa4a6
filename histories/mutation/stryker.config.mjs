/** Mutation testing of `domain` and of the pure decisions: `pnpm run mutation`. Some forty minutes on two cores. */
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "histories/mutation/vitest.config.ts", related: false },
  mutate: [
    "packages/domain/src/*.ts",
    "!packages/domain/src/EventCatalog.ts",
    "packages/server/src/**/*Decision.ts",
    // Their texts are schemas and descriptions, which the tests of `api` compare with documents.
    "!packages/domain/src/{Installation,Operator,Approval}.ts"
  ],
  mutator: { excludedMutations: ["StringLiteral"] },
  coverageAnalysis: "perTest",
  ignoreStatic: true,
  concurrency: 1,
  // TypeScript 7 has no compiler API, which rewrites tsconfig.json in the sandbox: it finds none under this name.
  tsconfigFile: "none.json",
  tempDirName: "node_modules/.cache/stryker",
  ignorePatterns: [
    ".data",
    "bench",
    "examples",
    "deploy",
    "docs",
    "histories/judge",
    "**/dist*",
    "packages/{cli,client,client-effect,dashboard,psp-double,embedded-postgres}/test"
  ],
  reporters: ["clear-text", "json"],
  clearTextReporter: { allowColor: false, reportTests: false, reportMutants: true, reportScoreTable: true },
  jsonReporter: { fileName: ".data/mutation.json" },
  thresholds: { high: 95, low: 90, break: null }
}
