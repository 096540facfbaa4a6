/**
 * Every Node that `pix` supports, the oldest first.
 *
 * Guarantee: a Node that is not installed is reported, and fails its tests with `RUNTIMES=required`.
 */
import { nodes } from "@pix-payments/client/test/Toolchains"

interface Supported {
  readonly name: string
  /** True if its tests do not run here. */
  readonly isSkipped: boolean
  /** The program. Throws if it is not installed. */
  readonly program: () => string
}

export const supported: ReadonlyArray<Supported> = nodes
  .filter(({ name }) => name !== "Node 20")
  .map(({ name, path }) => ({
    name,
    isSkipped: path === undefined && process.env["RUNTIMES"] !== "required",
    program: () => {
      if (path === undefined) throw new Error(`${name} is not installed: pnpm run runtimes:install`)
      return path
    }
  }))

/** The oldest and the newest, with which the longer tests run. */
export const ends: ReadonlyArray<Supported> = [supported[0]!, supported.at(-1)!]

for (const { isSkipped, name } of supported) {
  if (isSkipped) process.stderr.write(`The command line is not tested under ${name}, which is not installed\n`)
}
