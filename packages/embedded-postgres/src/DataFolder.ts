/**
 * The data folder: where each file is, and the rights to enter it.
 *
 * `postgres/` is the cluster, `postgres.new/` a cluster in creation, `postgres.log` the log of the server,
 * `postgres-password` the password (mode 0600), `service.lock` the process that uses the folder.
 */
import * as Effect from "effect/Effect"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { attempt } from "./Failure.ts"
import { foldersBetween } from "./Files.ts"
import { isRoot } from "./SystemProcess.ts"

export interface DataFolder {
  /** Without symbolic links. */
  readonly path: string
  readonly cluster: string
  /** Of the server while it runs: its process id first, whether it is ready last. */
  readonly pidFile: string
  readonly unfinishedCluster: string
  readonly password: string
  readonly log: string
  readonly lock: string
}

/** Opens the folder, and creates it and its parents where they do not exist. */
export const open = Effect.fnUntraced(function* (wanted: string) {
  const created = yield* attempt(`Cannot make the data folder ${wanted}`, () => Fs.mkdir(wanted, { recursive: true }))
  const path = yield* attempt(`Cannot open the data folder ${wanted}`, () => Fs.realpath(wanted))
  const entries = yield* attempt(`Cannot read the data folder ${path}`, () => Fs.readdir(path))
  // As root, the server runs as another user, who must be able to enter. A folder that was made just now, or that
  // contains nothing but the files above, may be opened to others.
  const openable =
    created !== undefined
      ? foldersBetween(created, wanted)
      : entries.every((name) => /^(postgres|service\.lock)/.test(name))
        ? [path]
        : []
  yield* Effect.forEach(isRoot() ? openable : [], (each) =>
    attempt(`Cannot change the mode of ${each}`, async () => {
      const { mode } = await Fs.stat(each)
      if ((mode & 0o111) !== 0o111) await Fs.chmod(each, (mode & 0o7777) | 0o111)
    })
  )
  const at = (name: string) => Path.join(path, name)
  return {
    path,
    cluster: at("postgres"),
    pidFile: at("postgres/postmaster.pid"),
    unfinishedCluster: at("postgres.new"),
    password: at("postgres-password"),
    log: at("postgres.log"),
    lock: at("service.lock")
  } satisfies DataFolder
})
