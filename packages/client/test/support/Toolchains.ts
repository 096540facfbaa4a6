/**
 * The Nodes, compilers and frameworks beside this workspace's that the client is tested with. They are outside the
 * workspace: `pnpm run runtimes:install`, which `npm test` does, brings them.
 *
 * Guarantees: nothing is fetched for a test. What is not installed here is named, and is a failure only where
 * `RUNTIMES=required`.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"

/** Where they are installed. */
export const modules = join(import.meta.dirname, "../toolchains/node_modules")

const pathOf = (...parts: ReadonlyArray<string>): string | undefined => {
  const path = join(modules, ...parts)
  return existsSync(path) ? path : undefined
}

/** Every Node that the client is for, the oldest of `engines` first; no path where it is not to be had. */
export const nodes: ReadonlyArray<{ readonly name: string; readonly path: string | undefined }> = [
  ...["20", "22", "24"].map((major) => ({
    name: `Node ${major}`,
    path: pathOf(`node-${major}-${process.arch}`, "bin/node")
  })),
  { name: "Node 26", path: process.execPath }
]

/** Every TypeScript that the client is for; 7 is this workspace's. */
export const compilers: ReadonlyArray<{ readonly name: string; readonly path: string | undefined }> = [
  ...["5.4", "5.9", "6"].map((version) => ({
    name: `TypeScript ${version}`,
    path: pathOf(`typescript-${version}`, "bin/tsc")
  })),
  { name: "TypeScript 7", path: join(import.meta.dirname, "../../node_modules/typescript/bin/tsc") }
]

export const jest = pathOf("jest/bin/jest.js")
