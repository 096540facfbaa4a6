/**
 * The published build: ESM and CommonJS, each with its declarations; one file for each entry and chunks for what they share.
 *
 * Guarantees: the workspace's packages are bundled; nothing is imported.
 */
import { defineConfig } from "tsdown"

export default defineConfig({
  entry: ["src/index.ts", "src/webhooks.ts", "src/receiver.ts", "src/testing.ts"],
  outDir: "dist",
  tsconfig: "tsconfig.build.json",
  format: ["esm", "cjs"],
  // What the oldest Node of `engines` runs.
  target: "es2022",
  platform: "neutral",
  dts: true,
  clean: true,
  fixedExtension: false
})
