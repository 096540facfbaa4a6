/**
 * The PostgreSQL server as a child process.
 *
 * Guarantees:
 * - it is durable (fsync, full page writes, synchronous commit) and listens on 127.0.0.1 alone, and on a Unix socket where asked;
 * - Ctrl-C does not reach it: it stops when the scope closes, so that requests in flight can finish;
 * - a server that a killed process left running is stopped before another one starts on its folder;
 * - a server that exits is started again on its port, with its last words in the log.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs/promises"
import * as Net from "node:net"
import { totalmem } from "node:os"
import { awaitReady } from "./Connection.ts"
import type { DataFolder } from "./DataFolder.ts"
import { attempt, elsewhere, failure, lastLines } from "./Failure.ts"
import { readIfPresent, remove } from "./Files.ts"
import { runAs, type ServerUser } from "./ServerUser.ts"
import { environment, isAlive, outputOf, signal } from "./SystemProcess.ts"

/** A sixteenth of the memory that this process may use. PostgreSQL takes it as pages are read; each start writes 2 % of it. */
const sharedBuffersMb = () => {
  const usableMb = Math.min(totalmem(), process.constrainedMemory() || Infinity) / 2 ** 20
  return Math.round(Math.min(1024, Math.max(128, usableMb / 16)))
}

/** Set on the command line, which takes precedence over `postgresql.conf` and `ALTER SYSTEM`. */
const defaults = {
  listen_addresses: "127.0.0.1",
  shared_buffers: `${sharedBuffersMb()}MB`,
  // WAL files are recycled: creating one delays every commit (measured: 45 ms).
  min_wal_size: "1GB",
  max_wal_size: "4GB",
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  timezone: "UTC",
  log_timezone: "UTC"
}

export interface ServerOptions {
  readonly folder: DataFolder
  readonly user: ServerUser | undefined
  /** The path of the program. */
  readonly postgres: string
  readonly password: Redacted.Redacted<string>
  readonly database: string
  /** A free port if undefined. */
  readonly port: number | undefined
  readonly maxConnections: number
  readonly socketFolder: string | undefined
  /** They win over those above. */
  readonly settings: Readonly<Record<string, string>>
}

/** Starts the server, waits until it is ready, keeps it running, and stops it with the scope. Returns its port. */
export const launch = Effect.fnUntraced(function* (options: ServerOptions) {
  // It closes after the fiber that would start another server.
  const servers = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
  const start = (port: number | undefined) => Scope.provide(launchPatiently({ ...options, port }), servers)
  const first = yield* start(options.port)
  yield* Effect.forkScoped(
    Effect.gen(function* () {
      for (let server = first; ;) {
        const log = yield* server.exited
        yield* Effect.logError(`PostgreSQL exited, and is started again (${options.folder.log}): ${log}`)
        server = yield* Effect.andThen(stopLeftover(options.folder), start(first.port)).pipe(
          Effect.tapError((error) => Effect.logError(`PostgreSQL cannot be started again: ${error.message}`)),
          Effect.retry(restarts)
        )
        yield* Effect.logInfo("PostgreSQL runs again")
      }
    })
  )
  return first.port
})

/** Until it succeeds, at most half a minute apart. */
const restarts = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

const launchPatiently = (options: ServerOptions) =>
  launchOnce(options).pipe(
    // A free port may be lost to another process, and the last server's memory is freed a moment after its exit.
    Effect.retry({
      schedule: Schedule.spaced("200 millis"),
      times: 10,
      while: (error) =>
        error._tag === "ServerExited" &&
        (error.log.includes("shared memory block") || (error.portIsTaken && options.port === undefined))
    }),
    Effect.catchTag("ServerExited", ({ log, port, portIsTaken }) =>
      portIsTaken
        ? failure(`Port ${port} of 127.0.0.1 is taken by another process`, {
            remedies: ["choose another port for PostgreSQL"]
          })
        : failure(`PostgreSQL stopped while it started: ${log}`, { alternatives: elsewhere })
    )
  )

/** Stops the server that a killed process left running on this folder, and removes its `postmaster.pid`. */
export const stopLeftover = Effect.fnUntraced(function* (folder: DataFolder) {
  const pid = Number((yield* readIfPresent(folder.pidFile))?.split("\n")[0])
  if (isAlive(pid) && (yield* serves(pid, folder.cluster))) {
    yield* Effect.logInfo(`Stopping the PostgreSQL server that the last run left behind (process ${pid})`)
    const exited = serves(pid, folder.cluster).pipe(
      Effect.repeat({ until: (running) => !running, schedule: Schedule.spaced("20 millis") })
    )
    const stopped = yield* shutDown((name) => signal(pid, name), exited)
    if (!stopped) {
      return yield* failure(`The PostgreSQL server of ${folder.cluster} (process ${pid}) does not stop`, {
        remedies: ["stop it by hand, and start again"]
      })
    }
  }
  // PostgreSQL refuses to start while any process has this id, also a zombie or another program. We have the lock on
  // the folder. Sessions that outlive their server are still found: they use its shared memory.
  yield* remove(folder.pidFile)
})

class ServerExited extends Data.TaggedError("ServerExited")<{ readonly port: number; readonly log: string }> {
  get portIsTaken(): boolean {
    return this.log.includes("Address already in use")
  }
}

interface Server {
  readonly process: ChildProcess
  readonly exited: Deferred.Deferred<void>
  /** The last lines of its log. */
  readonly log: Effect.Effect<string>
}

const launchOnce = Effect.fnUntraced(function* (options: ServerOptions) {
  const { database, folder, password } = options
  const port = options.port ?? (yield* freePort)
  const server = yield* Effect.acquireRelease(spawnServer(options, port), stop)
  const exited = Effect.andThen(Deferred.await(server.exited), server.log)
  yield* Effect.raceFirst(
    awaitReady({ port, password }, database, folder, server.log),
    Effect.flatMap(exited, (log) => Effect.fail(new ServerExited({ port, log })))
  )
  return { port, exited }
})

/** Spawns in a new session, because Ctrl-C in a terminal reaches every process of the foreground group. */
const spawnServer = (
  { folder, maxConnections, postgres, settings, socketFolder = "", user }: ServerOptions,
  port: number
) =>
  Effect.acquireUseRelease(
    attempt(`Cannot write ${folder.log}`, () => Fs.open(folder.log, "a", 0o600)),
    (log) =>
      attempt(`Cannot run ${postgres}`, async (): Promise<Server> => {
        const { size } = await log.stat()
        const command = runAs(user, postgres)
        const flags = Object.entries({
          ...defaults,
          unix_socket_directories: socketFolder,
          max_connections: `${maxConnections}`,
          ...settings
        })
        const child = spawn(
          command.file,
          [
            ...command.args,
            "-D",
            folder.cluster,
            "-p",
            `${port}`,
            ...flags.flatMap(([name, value]) => ["-c", `${name}=${value}`])
          ],
          {
            ...command.options,
            env: environment,
            cwd: folder.path,
            detached: true,
            stdio: ["ignore", log.fd, log.fd]
          }
        )
        const exited = Deferred.makeUnsafe<void>()
        child.once("exit", () => Deferred.doneUnsafe(exited, Effect.void))
        await once(child, "spawn")
        return {
          process: child,
          exited,
          log: attempt(`Cannot read ${folder.log}`, () => Fs.readFile(folder.log)).pipe(
            Effect.map((bytes) => lastLines(bytes.subarray(size).toString("utf8"))),
            Effect.orElseSucceed(() => "")
          )
        }
      }),
    (log) => Effect.promise(() => log.close())
  )

const stop = (server: Server) =>
  Effect.flatMap(
    shutDown((name) => server.process.kill(name), Effect.interruptible(Deferred.await(server.exited))),
    (stopped) => (stopped ? Effect.void : Effect.logError(`PostgreSQL (process ${server.process.pid}) does not stop`))
  )

/** A fast shutdown (sessions end, all is written), after 10 s an immediate one (the next start recovers). */
const shutDown = (send: (signal: NodeJS.Signals) => void, exited: Effect.Effect<unknown>) => {
  const within10s = (name: NodeJS.Signals) =>
    Effect.sync(() => send(name)).pipe(
      Effect.andThen(exited),
      Effect.as(true),
      Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.succeed(false) })
    )
  return Effect.flatMap(within10s("SIGINT"), (stopped) => (stopped ? Effect.succeed(true) : within10s("SIGQUIT")))
}

/** Whether a process is the PostgreSQL server of this cluster. */
const serves = (pid: number, cluster: string): Effect.Effect<boolean> =>
  process.platform === "linux"
    ? Effect.tryPromise(() => Fs.readlink(`/proc/${pid}/cwd`)).pipe(
        Effect.map((folder) => folder === cluster),
        Effect.orElseSucceed(() => false)
      )
    : Effect.map(outputOf("ps", "-o", "command=", "-p", `${pid}`), (line) => line.includes(`-D ${cluster} `))

const freePort = attempt("There is no free port on 127.0.0.1", async () => {
  const probe = Net.createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  probe.close()
  await once(probe, "close")
  return typeof address === "object" && address !== null ? address.port : Promise.reject(new Error("no address"))
})
