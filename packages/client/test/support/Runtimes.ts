/**
 * The runtimes beside Node that the client is for, as packages of the registry have them for Linux on x64. They are outside
 * the workspace: `pnpm run runtimes:install`, which `npm test` does, brings them.
 *
 * Guarantees: what runs is the tarball that the project has installed; nothing is fetched for it, and nothing is kept. One
 * that cannot run here is told so, and is a failure only where `RUNTIMES=required`.
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
  readonly lacking: string | undefined
  /** Runs what a module declares as `run`, which reads `process.env`; what it prints. */
  readonly run: (project: Project, module: string, env: Readonly<Record<string, string>>) => Promise<string>
}

const place = createRequire(join(import.meta.dirname, "../runtimes/package.json"))

const runtime = (
  name: string,
  binary: string,
  run: (path: string, ...parameters: Parameters<Runtime["run"]>) => Promise<string>
): Runtime => {
  const path = pathOf(binary)
  const lacking = path === undefined ? "is not installed: pnpm run runtimes:install" : whyNot(path)
  return {
    name,
    lacking,
    run: (...parameters) => {
      if (path === undefined || lacking !== undefined) throw new Error(`${name} ${lacking}`)
      return run(path, ...parameters)
    }
  }
}

/** Why a binary cannot be executed: it may be for another processor or another C library, or be half of one. */
const whyNot = (path: string): string | undefined => {
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
    return join(dirname(place.resolve(`${scope}/${name}/package.json`)), ...file)
  } catch {
    return undefined
  }
}

/** Whether one that cannot run is a failure. */
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
  // A worker is one module, as bundlers make it, and may ask others only while it answers somebody: here its own test.
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
