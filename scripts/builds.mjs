/**
 * What is built from sources: the dashboard, and the service as a few files that start faster than its many modules.
 *
 * Guarantees:
 * - A build is repeated where its sources or the lock file have changed, and not otherwise.
 * - `dist` is complete or absent. A build that fails leaves the one before.
 */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** Each has a `build.mjs` in its folder. */
export const builds = {
  dashboard: {
    name: "the dashboard",
    folder: "packages/dashboard",
    inputs: [
      ...["build.mjs", "index.html", "vite.config.mjs", "src"].map((name) => `packages/dashboard/${name}`),
      "packages/api/src",
      "packages/domain/src"
    ]
  },
  service: {
    name: "the service",
    folder: "packages/server",
    inputs: [
      "packages/server/build.mjs",
      ...["server", "api", "api-pix", "domain", "embedded-postgres"].map((name) => `packages/${name}/src`)
    ]
  }
}

/** Whether `dist` is built from the sources as they are. */
export const isBuilt = (build) => {
  const stamp = join(root, build.folder, "dist", STAMP)
  return existsSync(stamp) && readFileSync(stamp, "utf8") === hashOf(build)
}

/**
 * Builds into `dist` unless it is built. `make` writes to the folder that it gets. Where it fails, the reason is printed and
 * the process will end with 1.
 */
export const runBuild = async (build, make) => {
  if (isBuilt(build)) return
  const startedAt = performance.now()
  const hash = hashOf(build)
  const folder = join(root, build.folder)
  const building = join(folder, `dist.${process.pid}`)
  // An earlier build was interrupted.
  for (const name of readdirSync(folder)) {
    if (name.startsWith("dist.") && !isRunning(Number(name.slice("dist.".length)))) {
      rmSync(join(folder, name), { recursive: true, force: true })
    }
  }
  try {
    await make(building)
    writeFileSync(join(building, STAMP), hash)
    rmSync(join(folder, "dist"), { recursive: true, force: true })
    renameSync(building, join(folder, "dist"))
    process.stderr.write(`Built ${build.name} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.\n`)
  } catch (error) {
    rmSync(building, { recursive: true, force: true })
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const STAMP = ".built-from"

const filesIn = (path) =>
  statSync(join(root, path)).isDirectory()
    ? readdirSync(join(root, path))
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

/** Two tests may build at the same time. */
const isRunning = (pid) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
