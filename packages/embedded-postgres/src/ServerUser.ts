/**
 * The system user that PostgreSQL runs as. PostgreSQL refuses to run as root, so root starts it as another user.
 */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { promisify } from "node:util"
import type { DataFolder } from "./DataFolder.ts"
import { attempt, elsewhere, failure } from "./Failure.ts"
import { foldersBetween, readIfPresent, undefinedIfAbsent } from "./Files.ts"
import { environment, isRoot } from "./SystemProcess.ts"

export interface ServerUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** Whether the process gets the capability to enter folders that are closed to the user, such as a 0700 home. */
  readonly entersClosedFolders: boolean
}

/** The user of a cluster, undefined where that is the user of this process. */
export const choose = Effect.fnUntraced(function* (folder: DataFolder, postgres: string) {
  const user = yield* ownerOf(folder)
  return user === undefined ? undefined : yield* ableToEnter(user, folder.path, postgres)
})

/** How a program is run as the user: the file to execute, the arguments before the program's own, the spawn options. */
export const runAs = (user: ServerUser | undefined, program: string) => {
  if (user === undefined) return { file: program, args: [], options: {} }
  if (!user.entersClosedFolders) return { file: program, args: [], options: { uid: user.uid, gid: user.gid } }
  const args = [
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    "--clear-groups",
    // CAP_DAC_READ_SEARCH alone. Without no_setuid_fixup, access(2) would ignore it.
    "--securebits=+no_setuid_fixup",
    "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
    program
  ]
  return { file: "setpriv", args, options: {} }
}

const ownerOf = Effect.fnUntraced(function* (folder: DataFolder) {
  const cluster = yield* attempt(`Cannot look at ${folder.cluster}`, () => undefinedIfAbsent(Fs.stat(folder.cluster)))
  if (cluster !== undefined && !cluster.isDirectory()) {
    return yield* failure(`${folder.cluster} is a file, and the database needs a folder there`, {
      alternatives: elsewhere
    })
  }
  if (!isRoot()) {
    if (cluster !== undefined && cluster.uid !== process.getuid?.()) {
      return yield* failure(
        `The database in ${folder.cluster} belongs to another user (id ${cluster.uid}): it was made by that user or by root`,
        { remedies: ["run as before"], alternatives: elsewhere }
      )
    }
    return undefined
  }
  if (cluster !== undefined && cluster.uid !== 0) {
    const { uid, gid } = cluster
    return { name: `with id ${uid}`, uid, gid, entersClosedFolders: false } satisfies ServerUser
  }
  const user = yield* unprivilegedUser
  if (cluster !== undefined && (yield* readIfPresent(Path.join(folder.cluster, "PG_VERSION"))) !== undefined) {
    return yield* failure(`The database in ${folder.cluster} belongs to root, and PostgreSQL refuses to run as root`, {
      remedies: [`give it to the user ${user.name}: chown -R ${user.name} ${folder.cluster} ${folder.password}`]
    })
  }
  return user
})

const unprivilegedUser = Effect.gen(function* () {
  const accounts = yield* attempt("Cannot read /etc/passwd", () => Fs.readFile("/etc/passwd", "utf8"))
  const found = ["postgres", "_postgres", "nobody"]
    .map((name) => new RegExp(`^${name}:[^:]*:(-?\\d+):(-?\\d+):`, "m").exec(accounts))
    .find((match) => match !== null)
  if (found === undefined) {
    return yield* failure(
      "PostgreSQL refuses to run as root, and this system has neither a user `postgres` nor `nobody`",
      { remedies: ["run as an ordinary user"], alternatives: ["another-server"] }
    )
  }
  // macOS writes the ids of `nobody` as -2.
  return {
    name: found[0].slice(0, found[0].indexOf(":")),
    uid: Number(found[1]) >>> 0,
    gid: Number(found[2]) >>> 0,
    entersClosedFolders: false
  } satisfies ServerUser
})

/** The user, with the capability to enter closed folders if one is on the way to the data or to the programs. */
const ableToEnter = Effect.fnUntraced(function* (user: ServerUser, dataFolder: string, postgres: string) {
  for (const target of [dataFolder, Path.dirname(postgres)]) {
    for (const folder of foldersBetween(Path.parse(target).root, target)) {
      const { mode, uid, gid } = yield* attempt(`Cannot look at ${folder}`, () => Fs.stat(folder))
      const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
      if ((mode & bit) !== 0) continue
      const capable = { ...user, entersClosedFolders: true }
      if (yield* canRun(capable, postgres)) return capable
      return yield* failure(
        `PostgreSQL refuses to run as root, and the user ${user.name} that it would run as cannot enter ${folder}, on the way to ${target}`,
        {
          remedies: [`let others enter (chmod o+x ${folder})`, "run as an ordinary user"],
          alternatives: target === dataFolder ? elsewhere : ["another-server"]
        }
      )
    }
  }
  return user
})

const canRun = (user: ServerUser, program: string): Effect.Effect<boolean> => {
  const { args, file, options } = runAs(user, program)
  return Effect.promise(() =>
    promisify(execFile)(file, [...args, "--version"], { ...options, env: environment }).then(
      () => true,
      () => false
    )
  )
}
