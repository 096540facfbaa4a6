/**
 * The package as it is published, and projects that install it. The network is not needed: the tarball has no
 * dependencies, and what a project needs beside it is linked from this workspace.
 */
import { execFile } from "node:child_process"
import { mkdir, readdir, realpath, rm, stat, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { promisify } from "node:util"

const run = promisify(execFile)
const client = join(import.meta.dirname, "../..")
const root = join(client, "../..")

// The Node of this workspace first, whatever else the machine has.
const path = [dirname(process.execPath), join(root, "node_modules/.bin"), process.env["PATH"]].join(":")

/** Builds and packs the client, or another package of the workspace; gives the tarball's path. */
export const pack = async (folder: string, place = client): Promise<string> => {
  const [command, ...first] = pnpm()
  await alone(place, () =>
    run(command, [...first, "pack", "--pack-destination", folder], {
      cwd: place,
      env: { ...process.env, PATH: path }
    })
  )
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"))
  if (tarball === undefined) throw new Error("nothing was packed")
  return join(folder, tarball)
}

/** Runs while no other test file packs the same package: each empties its `dist` first. */
const alone = async (place: string, work: () => Promise<unknown>): Promise<void> => {
  const lock = join(place, "node_modules/.packing")
  for (;;) {
    const isMine = await mkdir(lock).then(
      () => true,
      () => false
    )
    if (isMine) break
    const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Infinity }))
    // @effect-diagnostics-next-line globalDate:off -- its process was killed
    if (Date.now() - mtimeMs > 240_000) await rm(lock, { recursive: true, force: true })
    else await setTimeout(100)
  }
  try {
    await work()
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}

/** What npm says of packing the client. */
export const npmPack = async (folder: string): Promise<string> => {
  try {
    return (await run("npm", ["pack", "--pack-destination", folder], { cwd: client, env: { PATH: path } })).stdout
  } catch (error) {
    return String(Object(error).stderr)
  }
}

/** The pnpm that runs this, or the one that the workspace names. */
const pnpm = (): readonly [string, ...ReadonlyArray<string>] => {
  const own = process.env["npm_execpath"] ?? ""
  if (!/pnpm[^/]*$/.test(own)) return ["npx", "--yes", "pnpm@12.21.0"]
  return /\.[cm]?js$/.test(own) ? [process.execPath, own] : [own]
}

export interface Project {
  readonly folder: string
  /** Runs a file of the project with the Node of this workspace, or another command; what it prints. */
  readonly run: (
    file: string,
    env: Readonly<Record<string, string>>,
    command?: ReadonlyArray<string>
  ) => Promise<string>
  /** The complaints of this workspace's compiler, or of another one. */
  readonly typeCheck: (command?: ReadonlyArray<string>) => Promise<string>
}

/** Makes a project of these files and installs the tarball into it. */
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
  for (const name of linked) {
    const target = join(folder, "node_modules", name)
    await mkdir(dirname(target), { recursive: true })
    await symlink(await realpath(join(modules, name)), target)
  }
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
