/**
 * Packs a package as it is published, and makes projects that install it.
 *
 * Guarantees: no network. The tarball has no dependencies; other packages are linked from this workspace.
 */
import { execFile } from "node:child_process"
import { mkdir, readdir, realpath, rm, stat, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { promisify } from "node:util"

const run = promisify(execFile)
const client = join(import.meta.dirname, "../..")
const root = join(client, "../..")

// This workspace's Node comes first.
const path = [dirname(process.execPath), join(root, "node_modules/.bin"), process.env["PATH"]].join(":")

/** Builds and packs the client, or another package of the workspace. Returns the tarball's path. */
export const pack = async (folder: string, packageFolder = client): Promise<string> => {
  const [command, ...first] = pnpm()
  await exclusively(packageFolder, () =>
    run(command, [...first, "pack", "--pack-destination", folder], {
      cwd: packageFolder,
      env: { ...process.env, PATH: path }
    })
  )
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"))
  if (tarball === undefined) throw new Error("pnpm pack made no tarball")
  return join(folder, tarball)
}

/** Runs while no other test file packs the same package: packing empties `dist` first. */
const exclusively = async (packageFolder: string, work: () => Promise<unknown>): Promise<void> => {
  const lock = join(packageFolder, "node_modules/.packing")
  for (;;) {
    const isAcquired = await mkdir(lock).then(
      () => true,
      () => false
    )
    if (isAcquired) break
    const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Infinity }))
    // @effect-diagnostics-next-line globalDate:off -- a lock this old belongs to a killed process
    if (Date.now() - mtimeMs > 900_000) await rm(lock, { recursive: true, force: true })
    else await setTimeout(100)
  }
  try {
    await work()
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}

/** The output of `npm pack` for the client. */
export const npmPack = async (folder: string): Promise<string> => {
  try {
    return (await run("npm", ["pack", "--pack-destination", folder], { cwd: client, env: { PATH: path } })).stdout
  } catch (error) {
    return String(Object(error).stderr)
  }
}

/** The pnpm that started the tests, or the workspace's version. */
const pnpm = (): readonly [string, ...ReadonlyArray<string>] => {
  const own = process.env["npm_execpath"] ?? ""
  if (!/pnpm[^/]*$/.test(own)) return ["npx", "--yes", "pnpm@12.21.0"]
  return /\.[cm]?js$/.test(own) ? [process.execPath, own] : [own]
}

export interface Project {
  readonly folder: string
  /** Runs a file of the project with this workspace's Node, or with another command. Returns its output. */
  readonly run: (
    file: string,
    env: Readonly<Record<string, string>>,
    command?: ReadonlyArray<string>
  ) => Promise<string>
  /** The errors of this workspace's compiler, or of another one. */
  readonly typeCheck: (command?: ReadonlyArray<string>) => Promise<string>
}

/** Links packages of a `node_modules` into a project. */
export const link = async (folder: string, names: ReadonlyArray<string>, modules: string): Promise<void> => {
  for (const name of names) {
    const target = join(folder, "node_modules", name)
    await mkdir(dirname(target), { recursive: true })
    await symlink(await realpath(join(modules, name)), target)
  }
}

/** Makes a project with these files, and installs the tarball into it. */
export const install = async (
  folder: string,
  tarball: string,
  files: Readonly<Record<string, string>>,
  linked: ReadonlyArray<string> = [],
  modules = join(client, "node_modules")
): Promise<Project> => {
  for (const [name, text] of Object.entries({ "package.json": `{ "private": true }`, ...files })) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  const offline = [
    "--offline",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--no-package-lock",
    "--legacy-peer-deps"
  ]
  await run("npm", ["install", ...offline, tarball], { cwd: folder })
  await link(folder, linked, modules)
  return {
    folder,
    run: async (file, env, [command = process.execPath, ...first] = []) =>
      (await run(command, [...first, file], { cwd: folder, env: { PATH: path, ...env } })).stdout,
    typeCheck: async ([command = join(client, "node_modules/.bin/tsc"), ...first] = []) => {
      try {
        return (await run(command, [...first, "-p", "."], { cwd: folder, env: { PATH: path } })).stdout
      } catch (error) {
        return String(Object(error).stdout) + String(Object(error).stderr)
      }
    }
  }
}
