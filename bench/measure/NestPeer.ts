/**
 * Installs and compiles the peer `nestjs+orm`, whose packages are outside the workspace.
 */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { BenchError } from "./Processes.ts"

const folder = fileURLToPath(new URL("../peers/nestjs-orm", import.meta.url))
const workspace = fileURLToPath(new URL("../..", import.meta.url))

/** The compiled program. */
export const program = join(folder, ".data/nestjs-orm/main.js")

// pnpm writes this file when an installation is complete.
export const isInstalled = (): boolean => existsSync(join(folder, "node_modules/.modules.yaml"))

/** Installs the packages from the registry; false where that fails. */
export const install = Effect.promise(async () => {
  const command = ["--yes", "pnpm@12.21.0", "--silent", "run", "peers:install"]
  await promisify(execFile)("npx", command, { cwd: workspace }).catch(() => {})
  return isInstalled()
})

/** Compiles once per process: Node strips types, but does not run decorators. `tsc -b` skips what has not changed. */
export const compile = Effect.tryPromise({
  try: () => {
    const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"))
    return promisify(execFile)(process.execPath, [join(typescript, "bin/tsc"), "-b", folder])
  },
  catch: (cause) => new BenchError({ message: `bench/peers/nestjs-orm does not compile: ${String(cause)}` })
}).pipe(Effect.asVoid, Effect.cached, Effect.runSync)
