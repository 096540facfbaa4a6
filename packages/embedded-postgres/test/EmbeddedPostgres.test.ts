/** The embedded server keeps committed data however a run ends, and says why it cannot start. */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs/promises"
import { totalmem } from "node:os"
import * as Path from "node:path"
import { start } from "../src/EmbeddedPostgres.ts"
import { temporaryFolder } from "./support/TemporaryFolder.ts"

/** A data folder with a cluster, shared by the tests: `initdb` takes longer than the rest of a test. */
class UsedFolder extends Context.Service<UsedFolder, string>()("test/UsedFolder") {
  static readonly layer = Layer.effect(
    UsedFolder,
    Effect.tap(temporaryFolder, (dataDir) => Effect.scoped(start({ dataDir, database })))
  )
}

layer(UsedFolder.layer, { excludeTestServices: true })("EmbeddedPostgres", (it) => {
  it.effect("keeps the data from one start to the next", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder
      const first = yield* Effect.scoped(Effect.tap(start({ dataDir, database }), writeRow))
      assert.deepStrictEqual(yield* running(dataDir), undefined)
      const kept = yield* Effect.scoped(Effect.flatMap(start({ dataDir, database }), recall))
      assert.deepStrictEqual(kept, [{ word: "kept" }])
      const { mode } = yield* Effect.promise(() => Fs.stat(Path.join(first.dataDir, "postgres-password")))
      assert.strictEqual(mode & 0o777, 0o600)
    })
  )

  it.effect("is durable, listens on loopback only, and requires the password", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder
      const server = yield* start({ dataDir, database })
      const settings = yield* ask(
        server.url,
        `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit',
           'listen_addresses', 'unix_socket_directories', 'wal_level', 'autovacuum') ORDER BY name`
      )
      assert.deepStrictEqual(Object.fromEntries(settings.map(({ name, setting }) => [name, setting])), {
        autovacuum: "on",
        fsync: "on",
        full_page_writes: "on",
        listen_addresses: "127.0.0.1",
        synchronous_commit: "on",
        unix_socket_directories: "",
        wal_level: "replica"
      })
      const [{ mb } = { mb: 0 }] = yield* ask(
        server.url,
        "SELECT pg_size_bytes(current_setting('shared_buffers')) / 1048576 AS mb"
      )
      // 128 is PostgreSQL's default.
      if (totalmem() > 4 * 2 ** 30) assert.isAbove(Number(mb), 128)
      assert.isAtMost(Number(mb), 1024, "each start writes 2 % of it")
      const refused = yield* PgConnection.make({
        host: "127.0.0.1",
        port: server.port,
        username: "postgres",
        database
      }).pipe(Effect.scoped, Effect.flip)
      assert.strictEqual(refused.reason._tag, "AuthenticationError")
    })
  )

  it.effect("OPR-313: starts a server that is killed again, on its port and with its data", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder
      const server = yield* start({ dataDir, database })
      yield* writeRow(server)
      const killed = yield* running(dataDir)
      assert.isDefined(killed)
      process.kill(killed, "SIGKILL")
      const kept = yield* Effect.retry(recall(server), { schedule: Schedule.spaced("50 millis"), times: 1200 })
      assert.deepStrictEqual(kept, [{ word: "kept" }])
      assert.notStrictEqual(yield* running(dataDir), killed)
    })
  )

  it.effect("takes over from a process that was killed, with its data", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder
      const other = yield* otherProcess(dataDir)
      const left = yield* running(dataDir)
      assert.isDefined(left)
      yield* other.kill
      assert.deepStrictEqual(yield* running(dataDir), left)
      assert.deepStrictEqual(yield* recall(yield* start({ dataDir, database })), [{ word: "kept" }])
      assert.notStrictEqual(yield* running(dataDir), left)
    })
  )

  it.effect("takes over when the server was killed as well", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder
      const other = yield* otherProcess(dataDir)
      const left = yield* running(dataDir)
      yield* other.kill
      if (left !== undefined) process.kill(left, "SIGKILL")
      const kept = yield* Effect.scoped(Effect.flatMap(start({ dataDir, database }), recall))
      assert.deepStrictEqual(kept, [{ word: "kept" }])
    })
  )

  it.effect("refuses a folder that another process uses", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder
      const other = yield* otherProcess(dataDir)
      const left = yield* running(dataDir)
      const message = yield* refusal(dataDir)
      assert.include(
        message,
        `${dataDir} is in use by another process (${other.pid}). Stop that process, or choose another data folder.`
      )
      assert.deepStrictEqual(yield* running(dataDir), left)
    })
  )

  it.effect("starts once on a folder, even of several at the same moment after a crash", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryFolder
      yield* write(dataDir, "service.lock", "4194304\nlong gone\n")
      const outcomes = yield* Effect.forEach([1, 2, 3, 4], () => Effect.result(start({ dataDir, database })), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag).toSorted(), ["Failure", "Failure", "Failure", "Success"])
      assert.include(yield* refusal(dataDir), "in use")
    })
  )

  it.effect("recognises that the process id in the lock was reused", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder
      yield* write(dataDir, "service.lock", `${process.pid}\nanother start time\n`)
      yield* Effect.scoped(start({ dataDir, database }))
      assert.deepStrictEqual((yield* Effect.promise(() => Fs.readdir(dataDir))).toSorted(), [
        "postgres",
        "postgres-password",
        "postgres.log"
      ])
    })
  )

  it.effect("starts over after an interrupted first start", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryFolder
      yield* write(dataDir, "postgres-password", "")
      yield* write(dataDir, "postgres.new/PG_VERSION", "18\n")
      const server = yield* start({ dataDir, database })
      yield* writeRow(server)
      assert.deepStrictEqual(yield* recall(server), [{ word: "kept" }])
    })
  )

  it.effect("says why a folder cannot be used", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const at = (name: string) => Path.join(folder, name)
      yield* Effect.promise(() => Fs.chmod(folder, 0o711))

      yield* write(folder, "file", "")
      assert.include(
        yield* refusal(at("file")),
        "file: a file is in its place. Choose another data folder, or use another PostgreSQL server."
      )
      assert.include(
        yield* refusal(at("file/below")),
        "below: a file stands where a folder should be. Choose another data folder"
      )

      yield* write(folder, "occupied/postgres", "")
      assert.include(yield* refusal(at("occupied")), "postgres is a file, and the database needs a folder")

      yield* write(folder, "strange/postgres/notes.txt", "mine")
      assert.include(yield* refusal(at("strange")), "contains files that are not a PostgreSQL database")
    })
  )

  it.effect("does not open a database of another version, or one without its password", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder

      const password = yield* Effect.promise(() => Fs.readFile(Path.join(dataDir, "postgres-password"), "utf8"))
      yield* write(dataDir, "postgres-password", "something else\n")
      assert.include(yield* refusal(dataDir), "does not accept the password")
      yield* Effect.promise(() => Fs.rm(Path.join(dataDir, "postgres-password")))
      assert.include(yield* refusal(dataDir), "The password of the database")
      yield* write(dataDir, "postgres-password", password)

      yield* write(dataDir, "postgres/PG_VERSION", "17\n")
      assert.include(yield* refusal(dataDir), "was made by PostgreSQL 17")
      yield* write(dataDir, "postgres/PG_VERSION", "18\n")
      yield* Effect.scoped(start({ dataDir, database }))
    })
  )

  it.effect("reports the last log lines of a server that cannot start", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder
      const part = Path.join(dataDir, "postgres/global/pg_control")
      yield* Effect.promise(() => Fs.rename(part, `${part}.aside`))
      const message = yield* refusal(dataDir)
      yield* Effect.promise(() => Fs.rename(`${part}.aside`, part))
      assert.include(message, "PostgreSQL stopped while it started")
      assert.include(message, "could not find the database system")
    })
  )

  it.effect("names a given port that another process uses", () =>
    Effect.gen(function* () {
      const dataDir = yield* UsedFolder
      const first = yield* start({ dataDir: yield* temporaryFolder })
      const error = yield* Effect.flip(Effect.scoped(start({ dataDir, port: first.port })))
      assert.strictEqual(
        error.message,
        `Port ${first.port} of 127.0.0.1 is taken by another process. Choose another port for PostgreSQL.`
      )
    })
  )

  it.effect("names the alternatives in the words of the program that starts it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* write(folder, "postgres", "")
      const error = yield* Effect.flip(Effect.scoped(start({ dataDir: folder })))
      assert.strictEqual(
        error.explain({ "another-folder": "set FOLDER", "another-server": "set SERVER" }),
        `${folder}/postgres is a file, and the database needs a folder there. Set FOLDER, or set SERVER.`
      )
    })
  )

  it.effect.skipIf(!isRoot || process.platform !== "linux")(
    "works as root below a folder that is closed to others",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        yield* write(folder, "private", "")
        yield* Effect.promise(() => Fs.chmod(folder, 0o700))
        const { port } = yield* start({ dataDir: Path.join(folder, "data") })
        assert.isAbove(port, 0)
      })
  )

  it.effect.skipIf(isRoot)("names the folder that cannot be written", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryFolder
      yield* Effect.promise(() => Fs.chmod(dataDir, 0o500))
      assert.include(yield* refusal(dataDir), `Cannot write to the data folder ${dataDir}: permission denied`)
    })
  )
})

const database = 'kept "here"'

const isRoot = process.getuid?.() === 0

interface Server {
  readonly url: Redacted.Redacted<string>
}

const ask = (url: Redacted.Redacted<string>, statement: string) =>
  PgConnection.make({ url }).pipe(
    Effect.flatMap((connection) => connection.query(statement)),
    Effect.map(({ rows }) => rows),
    Effect.scoped
  )

const writeRow = ({ url }: Server) => ask(url, "CREATE TABLE memory AS SELECT 'kept' AS word")

/** The rows that `writeRow` wrote, which are then removed. */
const recall = ({ url }: Server) => Effect.tap(ask(url, "SELECT word FROM memory"), () => ask(url, "DROP TABLE memory"))

const refusal = (dataDir: string) =>
  start({ dataDir, database }).pipe(
    Effect.scoped,
    Effect.flip,
    Effect.map(({ message }) => message)
  )

const write = (folder: string, name: string, content: string) =>
  Effect.promise(async () => {
    const path = Path.join(folder, name)
    await Fs.mkdir(Path.dirname(path), { recursive: true })
    await Fs.writeFile(path, content)
  })

/** The process id of the server of a data folder. */
const running = (dataDir: string) =>
  Effect.promise(() =>
    Fs.readFile(Path.join(dataDir, "postgres/postmaster.pid"), "utf8").then(
      (content) => [Number(content.split("\n")[0])].find(isAlive),
      () => undefined
    )
  )

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Another process, which has started a server on the folder and written to it. */
const otherProcess = (dataDir: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, ["--input-type=module", "--eval", program, dataDir], {
        cwd: Path.dirname(import.meta.dirname),
        stdio: ["ignore", "pipe", "inherit"]
      })
      const exited = once(child, "exit")
      await Promise.race([once(child.stdout, "data"), exited])
      assert.isNull(child.exitCode)
      return {
        pid: child.pid,
        kill: Effect.promise(() => {
          child.kill("SIGKILL")
          return exited
        })
      }
    }),
    ({ kill }) => Effect.andThen(kill, stopServer(dataDir))
  )

const program = `
  import * as PgConnection from "@effect/sql-pg/PgConnection"
  import * as Effect from "effect/Effect"
  import { start } from "./src/EmbeddedPostgres.ts"

  await Effect.gen(function* () {
    const { url } = yield* start({ dataDir: process.argv[1], database: ${JSON.stringify(database)} })
    const { query } = yield* PgConnection.make({ url })
    yield* query("DROP TABLE IF EXISTS memory")
    yield* query("CREATE TABLE memory AS SELECT 'kept' AS word")
    console.log("ready")
    return yield* Effect.never
  }).pipe(Effect.scoped, Effect.runPromise)
`

/** A failed test leaves no server behind. */
const stopServer = (dataDir: string) =>
  Effect.gen(function* () {
    const pid = yield* running(dataDir)
    if (pid === undefined) return
    process.kill(pid, "SIGINT")
    yield* running(dataDir).pipe(
      Effect.repeat({ until: (left) => left === undefined, schedule: Schedule.spaced("20 millis") })
    )
  })
