/**
 * What is published: ESM and its declarations, one file for each entry and chunks for what they share.
 *
 * Guarantees: the workspace's packages are bundled; nothing is imported.
 */
import { defineConfig } from "tsdown"

export default defineConfig({
  entry: ["src/index.ts", "src/webhooks.ts"],
  outDir: "dist",
  tsconfig: "tsconfig.build.json",
  format: "esm",
  // What the oldest Node of `engines` runs.
  target: "es2023",
  platform: "neutral",
  dts: true,
  clean: true,
  fixedExtension: false
})
