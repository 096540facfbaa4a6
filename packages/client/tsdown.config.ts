/**
 * The published build: ESM and CommonJS, each with its declarations. One file per entry, and chunks for shared code.
 *
 * Guarantees: workspace packages are bundled. Nothing is imported.
 */
import { defineConfig } from "tsdown"

export default defineConfig({
  entry: ["src/index.ts", "src/webhooks.ts", "src/receiver.ts", "src/stores.ts", "src/testing.ts"],
  outDir: "dist",
  tsconfig: "tsconfig.build.json",
  format: ["esm", "cjs"],
  // The oldest Node of `engines` runs this.
  target: "es2022",
  platform: "neutral",
  dts: true,
  clean: true,
  fixedExtension: false,
  deps: { alwaysBundle: [/^@pix-payments\//] }
})
