/** Builds the dashboard into `dist`. */
import { builds, runBuild } from "../../scripts/builds.mjs"

await runBuild(builds.dashboard, async (outDir) => {
  const { build } = await import("vite")
  await build({ root: import.meta.dirname, logLevel: "warn", build: { outDir } })
})
