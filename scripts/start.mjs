/**
 * Runs a program of the workspace for `npm start` and `npm run demo`: installs what it needs, and builds the service and its
 * dashboard, before.
 *
 * Guarantees:
 * - Node 20 and npm are enough.
 * - It installs no development tools, and removes none.
 * - An interrupted install is completed by the next start. A complete one is not repeated until the lock file changes.
 * - The service and the dashboard are built again where their sources or the lock file have changed. Where the service cannot
 *   be built, it runs from its sources. Where the dashboard cannot, the one before is used.
 * - Each step is one line on standard error, and what is downloaded says how far it is.
 *
 * Why not `pnpm run`: it installs the development tools, and takes more than a second when nothing is to be installed.
 */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { builds, isBuilt } from "./builds.mjs"
import { progressOf, showProgress } from "./progress.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, "node_modules")
/** Contains the hash of the lock file that is installed. Absent during an install. */
const stamp = join(modules, ".installed-for-start")
/** pnpm writes it last. It remembers `--prod`, with which `pnpm run` would never install development tools. */
const pnpmState = join(modules, ".pnpm-workspace-state-v1.json")

/** Projects whose dependencies `npm start` and `npm run demo` need. */
const PROJECTS = ["@pix-payments/server", "@pix-payments/dashboard", "@pix-payments/examples"]
const SERVICE = "packages/server/src/main.ts"
const BUILT_SERVICE = "packages/server/dist/main.js"
const PNPM = "pnpm@12.21.0"
const NODE_MAJOR = 26

/** Whether the system has a recent Node. npm puts `node_modules/.bin` into PATH, so this process may run on ours. */
const systemNodeIsRecent =
  Number(process.versions.node.split(".")[0]) >= NODE_MAJOR && !realpathSync(process.execPath).startsWith(modules)

const node = systemNodeIsRecent ? process.execPath : join(modules, ".bin", "node")

const lockHash = createHash("sha256")
  .update(readFileSync(join(root, "pnpm-lock.yaml")))
  .digest("hex")

const say = (line) => process.stderr.write(`${line}\n`)

const contentOf = (path) => (existsSync(path) ? readFileSync(path, "utf8") : undefined)

/** Also false where somebody removed a folder or left a `pnpm install` unfinished. */
const isInstalled = () =>
  contentOf(stamp) === lockHash &&
  existsSync(node) &&
  ["domain", "api", "api-pix", "embedded-postgres", "server", "dashboard"].every((name) => {
    const folder = join(root, "packages", name)
    const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    return Object.keys(dependencies).every((each) => existsSync(join(folder, "node_modules", each, "package.json")))
  })

const hasDevelopmentTools = () => /"devDependencies": ?true/.test(contentOf(join(modules, ".modules.yaml")) ?? "")

const install = async () => {
  const complete = hasDevelopmentTools()
  const flags = complete
    ? []
    : [
        "--prod",
        ...PROJECTS.flatMap((each) => ["--filter-prod", `${each}...`]),
        // The workspace's root has Node and nothing else that is not a development tool.
        ...(systemNodeIsRecent ? ["--filter-prod", "!pix-payments"] : [])
      ]
  const startedAt = Date.now()
  mkdirSync(modules, { recursive: true })
  rmSync(stamp, { force: true })

  say(
    existsSync(join(modules, ".modules.yaml"))
      ? "The lock file has changed, or an install was interrupted: installing from the npm registry."
      : `First start: installing from the npm registry, about ${systemNodeIsRecent ? 80 : 137} MB.`
  )
  say(`1/2 ${PNPM}, the package manager`)
  await run("npx", ["--yes", PNPM, "--version"])
  say(
    complete
      ? "2/2 the whole workspace, with its development tools"
      : `2/2 PostgreSQL 18${systemNodeIsRecent ? "" : `, Node ${NODE_MAJOR}`} and the packages of the service`
  )
  await run("npx", [
    "--yes",
    PNPM,
    "install",
    "--frozen-lockfile",
    // The lock file came with the code that is about to run. The check of its packages' age downloads their histories.
    "--trust-lockfile",
    "--config.confirm-modules-purge=false",
    ...flags
  ])
  if (!complete) rmSync(pnpmState, { force: true })
  writeFileSync(`${stamp}.new`, lockHash)
  renameSync(`${stamp}.new`, stamp)
  say(`Installed in ${Math.round((Date.now() - startedAt) / 1000)} s.`)
}

/** Runs a command to its end. Where it fails, prints its output and ends this process. */
const run = async (command, args) => {
  let output = ""
  const ended = showProgress(process.stderr, () => progressOf(output))
  const { code, signal } = await supervised(command, args, { stdio: ["ignore", "pipe", "pipe"] }, (chunk) => {
    output += chunk
  })
  ended()
  if (code === 0) return
  if (signal === null) {
    say(output.trim())
    say("The install failed: the reason is above. The next start continues it.")
  }
  end({ code, signal })
}

/** The signal that this process got while a child ran. */
let received

/** A child process that gets the signals of this one. */
const supervised = (command, args, options, onOutput) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, ...options })
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", onOutput)
    const forward = (signal) => {
      received = signal
      child.kill(signal)
    }
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"]
    for (const each of signals) process.on(each, forward)
    child.once("error", (error) => {
      say(`${command} cannot run: ${error.message}`)
      resolve({ code: 1, signal: null })
    })
    child.once("close", (code, signal) => {
      for (const each of signals) process.off(each, forward)
      resolve({ code, signal })
    })
  })

/** Ends this process the way the child ended. */
const end = ({ code, signal }) => {
  if (signal !== null) process.kill(process.pid, signal)
  process.exit(code ?? 1)
}

/** Builds it unless it is built. Returns whether it is. A build that fails has printed why. */
const built = async (build, otherwise) => {
  if (isBuilt(build)) return true
  const { code } = await supervised(node, [join(build.folder, "build.mjs")], { stdio: ["ignore", "ignore", "inherit"] })
  if (code !== 0 && received === undefined) say(`${build.name} could not be built: the reason is above. ${otherwise}`)
  return code === 0
}

if (!isInstalled()) await install()
const args = process.argv.slice(2)
if (args.includes(SERVICE)) {
  const [isServiceBuilt] = await Promise.all([
    built(builds.service, "It runs from its sources."),
    built(builds.dashboard, "The service runs with the one before, or without.")
  ])
  if (received !== undefined) end({ code: 1, signal: received })
  if (isServiceBuilt) args[args.indexOf(SERVICE)] = BUILT_SERVICE
}
// Compiled modules are kept for the next start.
const env = { NODE_COMPILE_CACHE: join(modules, ".cache", "node-compile"), ...process.env }
end(await supervised(node, args, { stdio: "inherit", env }))
