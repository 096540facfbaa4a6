/**
 * The builds: the dashboard, and the service as a few files that start faster than its many modules.
 *
 * Guarantees:
 * - A build is repeated where its sources, their configuration or the lock file have changed, and not otherwise.
 * - `dist` is complete or absent. A build that fails leaves the one before.
 * - Of two builds at once, one is kept, and both succeed.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const sourcesOf = (name) => [`packages/${name}/package.json`, `packages/${name}/src`]
const configured = (name) => [...sourcesOf(name), `packages/${name}/tsconfig.json`]

/** Each has a `build.mjs` in its folder. */
export const builds = {
  dashboard: {
    name: "The dashboard",
    folder: "packages/dashboard",
    /** A file of the result. */
    entry: "index.html",
    inputs: [
      "tsconfig.base.json",
      ...["dashboard", "api", "domain"].flatMap(configured),
      ...["build.mjs", "index.html", "vite.config.mjs"].map((name) => `packages/dashboard/${name}`)
    ]
  },
  service: {
    name: "The service",
    folder: "packages/server",
    entry: "main.js",
    inputs: [
      "packages/server/build.mjs",
      ...["server", "api", "api-pix", "domain", "embedded-postgres"].flatMap(sourcesOf)
    ]
  }
}

/** Whether `dist` is built from the sources as they are. */
export const isBuilt = (build) => {
  const dist = join(root, build.folder, "dist")
  try {
    return existsSync(join(dist, build.entry)) && readFileSync(join(dist, STAMP), "utf8") === hashOf(build)
  } catch {
    return false
  }
}

/**
 * Builds into `dist` unless it is built. `make` writes into the empty folder that it gets. Where it fails, the reason is
 * printed and the process will end with 1.
 */
export const runBuild = async (build, make) => {
  if (isBuilt(build)) return
  const startedAt = performance.now()
  const folder = join(root, build.folder)
  const building = join(folder, `dist.${process.pid}`)
  try {
    removeUnfinished(folder)
    mkdirSync(building)
    const hash = hashOf(build)
    await make(building)
    writeFileSync(join(building, STAMP), hash)
    await replace(build, building)
    process.stderr.write(`${build.name} is built, in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.\n`)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
  rmSync(building, { recursive: true, force: true })
}

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const STAMP = ".built-from"

/** Moves the new build to `dist`. Another build of the same sources may have been faster. */
const replace = async (build, building) => {
  const dist = join(root, build.folder, "dist")
  const old = `${building}.old`
  for (let attempt = 1; !isBuilt(build); attempt++) {
    try {
      if (existsSync(dist)) renameSync(dist, old)
      renameSync(building, dist)
    } catch (error) {
      // The other one is between these two steps, or was.
      if (attempt === 5) throw error
      await setTimeout(50)
    } finally {
      rmSync(old, { recursive: true, force: true })
    }
  }
}

/** Removes what interrupted builds left. */
const removeUnfinished = (folder) => {
  for (const name of readdirSync(folder)) {
    const pid = Number(/^dist\.(\d+)/.exec(name)?.[1])
    if (pid === process.pid || (pid > 0 && !isRunning(pid)))
      rmSync(join(folder, name), { recursive: true, force: true })
  }
}

/** Also of another user. */
const isRunning = (pid) => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === "EPERM"
  }
}

/** Editors write files that begin with a dot. */
const filesIn = (path) =>
  statSync(join(root, path)).isDirectory()
    ? readdirSync(join(root, path))
        .filter((name) => !name.startsWith("."))
        .toSorted()
        .flatMap((name) => filesIn(`${path}/${name}`))
    : [path]

/** The lock file stands for the installed packages. */
const hashOf = ({ inputs }) => {
  const hash = createHash("sha256")
  for (const file of ["pnpm-lock.yaml", "scripts/builds.mjs", ...inputs].flatMap(filesIn)) {
    hash.update(`${file}\0`).update(readFileSync(join(root, file)))
  }
  return hash.digest("hex")
}
