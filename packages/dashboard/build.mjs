/**
 * Builds the dashboard into `dist`, unless it is built from these sources already.
 *
 * Guarantees: `dist` is complete or absent. A build that fails leaves the one before and ends with 1.
 */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const folder = import.meta.dirname
const root = join(folder, "../..")
const built = join(folder, "dist")
const building = join(folder, `dist.${process.pid}`)
const STAMP = ".built-from"

/** All that a build depends on. The lock file stands for the installed packages. */
const SOURCES = [
  "pnpm-lock.yaml",
  ...["build.mjs", "index.html", "vite.config.mjs", "src"].map((name) => `packages/dashboard/${name}`),
  "packages/api/src",
  "packages/domain/src"
]

const filesIn = (path) =>
  statSync(join(root, path)).isDirectory()
    ? readdirSync(join(root, path))
        .toSorted()
        .flatMap((name) => filesIn(`${path}/${name}`))
    : [path]

const hashOfSources = () => {
  const hash = createHash("sha256")
  for (const file of SOURCES.flatMap(filesIn)) hash.update(`${file}\0`).update(readFileSync(join(root, file)))
  return hash.digest("hex")
}

/** Two tests may build at the same time. */
const isRunning = (pid) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const hash = hashOfSources()
const stamp = join(built, STAMP)

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== hash) {
  const startedAt = performance.now()
  // An earlier build was interrupted.
  for (const name of readdirSync(folder)) {
    if (name.startsWith("dist.") && !isRunning(Number(name.slice("dist.".length)))) {
      rmSync(join(folder, name), { recursive: true, force: true })
    }
  }
  try {
    const { build } = await import("vite")
    await build({ root: folder, logLevel: "warn", build: { outDir: building } })
    writeFileSync(join(building, STAMP), hash)
    rmSync(built, { recursive: true, force: true })
    renameSync(building, built)
    process.stderr.write(`Built the dashboard in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.\n`)
  } catch (error) {
    rmSync(building, { recursive: true, force: true })
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
