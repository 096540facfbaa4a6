/**
 * The published build: one file, which imports only modules of Node.
 */
import { defineConfig } from "tsdown"

export default defineConfig({
  entry: { pix: "src/main.ts" },
  outDir: "dist",
  format: "esm",
  target: "node22",
  platform: "node",
  dts: false,
  clean: true,
  minify: true,
  fixedExtension: false,
  outputOptions: { codeSplitting: false },
  deps: { alwaysBundle: [/./] }
})
