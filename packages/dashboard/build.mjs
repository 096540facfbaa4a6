/** Builds the dashboard into `dist`. */
import { builds, runBuild } from "../../scripts/builds.mjs"

// Also where tests build it: their environment would make it larger, with the lines of its sources.
process.env.NODE_ENV = "production"

await runBuild(builds.dashboard, async (outDir) => {
  const { build } = await import("vite")
  await build({ root: import.meta.dirname, logLevel: "warn", build: { outDir } })
})
