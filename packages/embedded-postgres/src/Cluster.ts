/**
 * The database cluster of a data folder, and its password.
 *
 * Guarantees:
 * - existing data is never overwritten: a cluster is created under another name and renamed when it is complete;
 * - an interrupted creation starts over;
 * - each cluster has a random password.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { promisify } from "node:util"
import { majorVersion } from "./Binaries.ts"
import type { DataFolder } from "./DataFolder.ts"
import { attempt, elsewhere, failure, lastLines, reasonOf } from "./Failure.ts"
import { readIfPresent, undefinedIfAbsent } from "./Files.ts"
import { runAs, type ServerUser } from "./ServerUser.ts"
import { environment } from "./SystemProcess.ts"

/** The superuser of every cluster. */
export const superuser = "postgres"

/** Creates the cluster if there is none, and returns the superuser's password. */
export const ensure = Effect.fnUntraced(function* (folder: DataFolder, user: ServerUser | undefined, initdb: string) {
  const entries =
    (yield* attempt(`Cannot read ${folder.cluster}`, () => undefinedIfAbsent(Fs.readdir(folder.cluster)))) ?? []
  if (entries.length === 0) return yield* create(folder, user, initdb)

  const version = (yield* readIfPresent(Path.join(folder.cluster, "PG_VERSION")))?.trim()
  if (version === undefined) {
    return yield* failure(`${folder.cluster} contains files that are not a PostgreSQL database`, {
      remedies: ["move it away"],
      alternatives: elsewhere
    })
  }
  if (version !== majorVersion) {
    return yield* failure(
      `The database in ${folder.cluster} was made by PostgreSQL ${version}, and this is PostgreSQL ${majorVersion}`,
      { remedies: [`dump it with pg_dump ${version} and restore it`, "move it away"], alternatives: elsewhere }
    )
  }
  const password = (yield* readIfPresent(folder.password))?.trim()
  if (password === undefined || password === "") {
    return yield* failure(`The password of the database in ${folder.cluster} is missing`, {
      remedies: [`restore ${folder.password}`],
      alternatives: elsewhere
    })
  }
  return Redacted.make(password)
})

const create = Effect.fnUntraced(function* (folder: DataFolder, user: ServerUser | undefined, initdb: string) {
  yield* Effect.logInfo(`Creating a PostgreSQL database cluster in ${folder.cluster}`)
  const password = randomBytes(24).toString("hex")
  yield* attempt(`Cannot prepare the data folder ${folder.path}`, async () => {
    await Fs.rm(folder.unfinishedCluster, { recursive: true, force: true, maxRetries: 3 })
    await Fs.rm(folder.password, { force: true })
    await Fs.mkdir(folder.unfinishedCluster, { mode: 0o700 })
    await Fs.writeFile(folder.password, `${password}\n`, { mode: 0o600, flag: "wx", flush: true })
    if (user !== undefined) {
      await Fs.chown(folder.unfinishedCluster, user.uid, user.gid)
      await Fs.chown(folder.password, user.uid, user.gid)
    }
  })
  const options = [
    `--pgdata=${folder.unfinishedCluster}`,
    `--username=${superuser}`,
    `--pwfile=${folder.password}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions"
  ]
  const command = runAs(user, initdb)
  yield* Effect.tryPromise({
    try: (signal) =>
      promisify(execFile)(command.file, [...command.args, ...options], {
        ...command.options,
        env: environment,
        cwd: folder.path,
        signal
      }),
    catch: (cause) =>
      failure(`Cannot make a database in ${folder.path}: ${lastLines(outputOf(cause))}`, { alternatives: elsewhere })
  })
  yield* attempt(`Cannot put the database in place at ${folder.cluster}`, async () => {
    await Fs.rename(folder.unfinishedCluster, folder.cluster)
    // The rename must be as durable as the commits that follow.
    const handle = await Fs.open(folder.path)
    await handle.sync().finally(() => handle.close())
  })
  return Redacted.make(password)
})

/** What a failed command wrote to its standard error, or why it could not run. */
const outputOf = (cause: unknown): string =>
  typeof cause === "object" &&
  cause !== null &&
  "stderr" in cause &&
  typeof cause.stderr === "string" &&
  cause.stderr !== ""
    ? cause.stderr
    : reasonOf(cause)
