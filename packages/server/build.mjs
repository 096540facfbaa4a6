/**
 * Builds the programs of the service into `dist`, with the packages they import, except the binaries of PostgreSQL.
 *
 * Why: from the sources, Node finds and links some 800 modules one by one, and keeps a record of each.
 *
 * Nothing is removed or renamed. A call whose result nobody uses may be there for what it throws, and an optimizer that takes it
 * for pure changes what the service does. Stack traces can be read.
 */
import { join } from "node:path"
import { builds, runBuild } from "../../scripts/builds.mjs"

await runBuild(builds.service, async (dir) => {
  const { build } = await import("rolldown")
  const buildTogether = (...programs) =>
    build({
      input: Object.fromEntries(programs.map((name) => [name, join(import.meta.dirname, `src/${name}.ts`)])),
      platform: "node",
      tsconfig: false,
      treeshake: false,
      logLevel: "warn",
      output: {
        dir,
        format: "esm",
        minify: false,
        // V8 keeps the text: 3 MB less, as two bytes a character.
        comments: false,
        entryFileNames: "[name].js",
        chunkFileNames: "[name]-[hash].js"
      }
    })
  // Alone: modules that it shared with other programs would run before its first import, the compiler of schemas.
  await buildTogether("main")
  await buildTogether("reconcile")
  await buildTogether("migrate", "maintain", "secrets", "keysMap", "move")
})
