/**
 * The packed `pix`, installed by npm into an empty folder, and run as a process.
 *
 * Guarantee: it is packed once for the same sources, whichever test file comes first.
 */
import { pack } from "@pix-payments/client/test/Tarball"
import * as Effect from "effect/Effect"
import { execFile, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

const packageFolder = join(import.meta.dirname, "../..")
const root = join(packageFolder, "../..")

const sourcesHash = (): string => {
  const hash = createHash("sha256").update(readFileSync(join(root, "pnpm-lock.yaml")))
  const files = ["packages/cli/src", "packages/api/src", "packages/domain/src"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .toSorted()
      .map((name) => `${folder}/${name}`)
      .filter((name) => name.endsWith(".ts"))
  )
  const bundled = ["packages/api/examples.json", "packages/api/guides.json"]
  for (const name of ["packages/cli/package.json", "packages/cli/tsdown.config.ts", ...bundled, ...files]) {
    hash.update(`${name}\0`).update(readFileSync(join(root, name)))
  }
  return hash.digest("hex").slice(0, 16)
}

/** The folder of the project that has the packed package and nothing else. */
export const installed = async (): Promise<string> => {
  const folder = join(packageFolder, "node_modules/.packed", sourcesHash())
  if (existsSync(folder)) return folder
  const draft = await mkdtemp(join(tmpdir(), "pix-cli-"))
  const tarball = await pack(draft, packageFolder)
  await writeFile(join(draft, "package.json"), `{ "private": true }`)
  await promisify(execFile)("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: draft })
  await mkdir(join(folder, ".."), { recursive: true })
  // Another test file may have been faster.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }))
  return folder
}

/** Whether there is `script` (util-linux), which gives `pix` a terminal. */
export const hasTerminal = process.platform === "linux" && existsSync("/usr/bin/script")

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Options {
  readonly env?: Readonly<Record<string, string>>
  /** Written to standard input, which then ends. */
  readonly input?: string
  readonly node?: string
  /** On a terminal of `script` (util-linux). Everything is then in `out`, and `input` is ignored. */
  readonly onTerminal?: boolean
  /** On a terminal: the file that standard output goes to. */
  readonly outFile?: string
  /** On a terminal: the file that standard error goes to. */
  readonly errFile?: string
}

export interface Running {
  readonly out: () => string
  readonly err: () => string
  /** The lines of standard output, each as JSON. */
  readonly lines: () => ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly signal: (name: NodeJS.Signals) => void
  /** Presses keys on the terminal. */
  readonly type: (keys: string) => void
  readonly ended: Effect.Effect<Ended>
}

/** Starts `pix`, which ends with the scope. */
export const start = (
  args: ReadonlyArray<string>,
  { env = {}, input, node = process.execPath, onTerminal = false, errFile, outFile }: Options = {}
) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = await installed()
      const home = await mkdtemp(join(tmpdir(), "pix-home-"))
      const command = [node, join(folder, "node_modules/.bin/pix"), ...args]
      const quoted = command.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(" ")
      const [program, ...words] = onTerminal
        ? [
            "script",
            "-qec",
            `stty cols 200; exec ${quoted}` +
              (outFile === undefined ? "" : ` > '${outFile}'`) +
              (errFile === undefined ? "" : ` 2> '${errFile}'`),
            "/dev/null"
          ]
        : command
      const child = spawn(program!, words, {
        env: { PATH: process.env["PATH"], HOME: home, ...env },
        stdio: ["pipe", "pipe", "pipe"]
      })
      const written = { out: "", err: "" }
      child.stdout.on("data", (chunk: Buffer) => (written.out += chunk.toString()))
      child.stderr.on("data", (chunk: Buffer) => (written.err += chunk.toString()))
      child.stdin.on("error", () => {})
      if (!onTerminal) child.stdin.end(input ?? "")
      const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, ...written })))
      return {
        out: () => written.out,
        err: () => written.err,
        lines: () =>
          written.out
            .split("\n")
            .slice(0, -1)
            .map((line) => JSON.parse(line)),
        signal: (name: NodeJS.Signals) => void child.kill(name),
        type: (keys: string) => void child.stdin.write(keys),
        ended: Effect.promise(() => ended),
        home
      }
    }),
    ({ ended, home, signal }) => {
      signal("SIGKILL")
      return Effect.andThen(
        ended,
        Effect.promise(() => rm(home, { recursive: true, force: true }))
      )
    }
  )

/** Runs `pix` to its end. */
export const pix = (args: ReadonlyArray<string>, options?: Options): Effect.Effect<Ended> =>
  Effect.scoped(Effect.flatMap(start(args, options), ({ ended }) => ended))
