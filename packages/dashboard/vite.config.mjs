import { defineConfig } from "vite"

/** The prose of the OpenAPI document: no page shows it, and the first one has to be small. */
const text = String.raw`(?:"(?:[^"\\]|\\.)*"|\x60[^\x60]*\x60|[A-Z_]+)`
const prose = new RegExp(
  String.raw`\s*\.annotate(?:Key)?\(\s*(?:OpenApi\.(?:Summary|Description),\s*${text}|\{\s*description:\s*${text}\s*\})\s*\)`,
  "g"
)

const withoutProse = {
  name: "without-prose",
  enforce: "pre",
  transform: {
    filter: { id: /\/packages\/(?:api\/src\/operator|domain\/src)\// },
    handler: (code) => ({ code: code.replace(prose, ""), map: null })
  }
}

export default defineConfig({
  plugins: [withoutProse],
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
