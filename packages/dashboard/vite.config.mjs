import { defineConfig } from "vite"

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2024",
    // Each name contains a hash of the content, so that browsers keep it for good.
    assetsDir: "assets",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // On a slow machine the build is slow, which is no fault of a plugin.
    rolldownOptions: { checks: { pluginTimings: false } }
  }
})
