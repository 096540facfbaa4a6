/**
 * The versions of Node and TypeScript, and the frameworks, that the client is tested with. They are outside the workspace:
 * `pnpm run runtimes:install`, part of `npm run test:all`, installs them.
 *
 * Guarantees: tests download nothing. A missing tool is reported, and fails the tests only with `RUNTIMES=required`.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"

/** The folder where they are installed. */
export const modules = join(import.meta.dirname, "../toolchains/node_modules")

const pathOf = (...parts: ReadonlyArray<string>): string | undefined => {
  const path = join(modules, ...parts)
  return existsSync(path) ? path : undefined
}

/** Every supported Node, the oldest of `engines` first. `path` is `undefined` if it is not installed. */
export const nodes: ReadonlyArray<{ readonly name: string; readonly path: string | undefined }> = [
  ...["20", "22", "24"].map((major) => ({
    name: `Node ${major}`,
    path: pathOf(`node-${major}-${process.arch}`, "bin/node")
  })),
  { name: "Node 26", path: process.execPath }
]

/** Every supported TypeScript. 7 is this workspace's. */
export const compilers: ReadonlyArray<{ readonly name: string; readonly path: string | undefined }> = [
  ...["5.4", "5.9", "6"].map((version) => ({
    name: `TypeScript ${version}`,
    path: pathOf(`typescript-${version}`, "bin/tsc")
  })),
  { name: "TypeScript 7", path: join(import.meta.dirname, "../../node_modules/typescript/bin/tsc") }
]

export const jest = pathOf("jest/bin/jest.js")
