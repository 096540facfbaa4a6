/**
 * The published build: ESM with its declarations.
 *
 * Guarantees: workspace packages are bundled. `effect` is the only import.
 */
import { defineConfig } from "tsdown"

export default defineConfig({
  entry: ["src/index.ts"],
  outDir: "dist",
  tsconfig: "../tsconfig.client-effect.json",
  format: "esm",
  target: "es2023",
  platform: "neutral",
  dts: true,
  clean: true,
  fixedExtension: false,
  deps: { alwaysBundle: [/^@pix-payments\//], neverBundle: [/^effect($|\/)/] }
})
