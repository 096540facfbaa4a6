/**
 * The runtimes other than Node that the client supports, from npm packages for Linux on x64. They are outside the workspace:
 * `pnpm run runtimes:install`, part of `npm run test:all`, installs them.
 *
 * Guarantees: tests run the installed tarball and download nothing. A runtime that is missing is reported, and fails the tests
 * only with `RUNTIMES=required`.
 */
import { execFileSync } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { rolldown } from "rolldown"
import type { Project } from "./Tarball.ts"

export interface Runtime {
  readonly name: string
  /** Why it cannot run here, or `undefined`. */
  readonly unavailable: string | undefined
  /** Runs the function `run` of a module, which reads `process.env`. Returns its output. */
  readonly run: (project: Project, module: string, env: Readonly<Record<string, string>>) => Promise<string>
}

const runtimesPackage = createRequire(join(import.meta.dirname, "../runtimes/package.json"))

const runtime = (
  name: string,
  binary: string,
  run: (path: string, ...parameters: Parameters<Runtime["run"]>) => Promise<string>
): Runtime => {
  const path = pathOf(binary)
  const unavailable = path === undefined ? "is not installed: pnpm run runtimes:install" : executionProblem(path)
  return {
    name,
    unavailable,
    run: (...parameters) => {
      if (path === undefined || unavailable !== undefined) throw new Error(`${name} ${unavailable}`)
      return run(path, ...parameters)
    }
  }
}

/** Why a binary cannot be executed: another processor, another C library, an incomplete download. */
const executionProblem = (path: string): string | undefined => {
  try {
    execFileSync(path, ["--version"], { stdio: "ignore", timeout: 10_000 })
    return undefined
  } catch (error) {
    return `cannot be executed: ${error instanceof Error ? error.message : String(error)}`
  }
}

const pathOf = (binary: string): string | undefined => {
  const [scope, name, ...file] = binary.split("/")
  try {
    return join(dirname(runtimesPackage.resolve(`${scope}/${name}/package.json`)), ...file)
  } catch {
    return undefined
  }
}

/** Whether a missing runtime fails the tests. */
export const isRequired = process.env["RUNTIMES"] === "required"

export const runtimes: ReadonlyArray<Runtime> = [
  runtime("Bun", "@oven/bun-linux-x64/bin/bun", async (path, project, module, env) => {
    await writeFile(join(project.folder, "bun.mjs"), `${module}\nvoid run()\n`)
    return project.run("bun.mjs", env, [path])
  }),
  runtime("Deno", "@deno/linux-x64-glibc/deno", async (path, project, module, env) => {
    await writeFile(join(project.folder, "deno.mjs"), `${module}\nvoid run()\n`)
    const command = [path, "run", "--cached-only", "--node-modules-dir=manual", "--allow-env", "--allow-net"]
    return project.run(
      "deno.mjs",
      { ...env, DENO_DIR: join(project.folder, ".deno"), DENO_NO_UPDATE_CHECK: "1" },
      command
    )
  }),
  // A worker is one bundled module, and may send requests only while it handles one: here its `test` handler.
  runtime("workerd", "@cloudflare/workerd-linux-64/bin/workerd", async (path, project, module, env) => {
    const [main, bundled] = ["worker.mjs", "worker.bundled.mjs"]
    const variables = `const process = ${JSON.stringify({ env })}`
    await writeFile(join(project.folder, main), `${variables}\n${module}\nexport default { test: run }\n`)
    const bundle = await rolldown({ input: join(project.folder, main), platform: "browser", logLevel: "silent" })
    await bundle.write({ file: join(project.folder, bundled), format: "esm" })
    await bundle.close()
    await writeFile(join(project.folder, "worker.capnp"), workerConfig(bundled))
    return project.run("worker.capnp", {}, [path, "test"])
  })
]

const workerConfig = (file: string) => `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (
      name = "main",
      worker = (
        modules = [(name = "main", esModule = embed "${file}")],
        compatibilityDate = "2026-11-01",
        globalOutbound = "local"
      )
    ),
    (name = "local", network = (allow = ["private"]))
  ]
);
`
