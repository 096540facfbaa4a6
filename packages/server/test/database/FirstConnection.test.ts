/**
 * "A start while PostgreSQL is away waits for it and says so; PgBouncer in transaction mode is refused at start with the
 * reason, and in session mode works as documented (it refuses `statement_timeout` as a start-up parameter)."
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import { once } from "node:events"
import * as Net from "node:net"
import { firstConnection, Patience, sessionSettings } from "../../src/database/FirstConnection.ts"
import { createDatabase } from "../support/Postgres.ts"
import { closedPort, eventually } from "../support/Receiver.ts"

describe("The first connection", () => {
  it.live("waits for a PostgreSQL that is away, and says so", () =>
    Effect.gen(function* () {
      const url = yield* createDatabase()
      const port = yield* closedPort
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(String(message)))
      const starting = yield* Effect.forkChild(
        firstConnection(at(url, port)).pipe(Effect.provideService(Logger.CurrentLoggers, new Set([logger]))),
        { startImmediately: true }
      )
      yield* eventually(
        Effect.sync(() => lines.length),
        (count) => count > 0
      )
      assert.match(lines[0]!, /^Waiting for the PostgreSQL of DATABASE_URL: .*ECONNREFUSED/)
      yield* listening(passedOn(url), port)
      assert.deepStrictEqual<unknown>(yield* Fiber.join(starting), sessionSettings)
    }).pipe(Effect.scoped)
  )

  it.live("OPR-336: beyond loopback without TLS warns; a program waits no longer than it is told", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(String(message)))
      const started = (url: string) =>
        Effect.flip(firstConnection(Redacted.make(url))).pipe(
          Effect.provideService(Logger.CurrentLoggers, new Set([logger])),
          Effect.provideService(Patience, 0)
        )
      const error = yield* started("postgresql://u:secret@db.invalid/payments")
      assert.match(error.message, /^The PostgreSQL of DATABASE_URL is away for 0 s: /)
      assert.lengthOf(lines, 1)
      assert.match(lines[0]!, /^The connection to the PostgreSQL at db\.invalid is not encrypted.*sslmode=require/)
      assert.notInclude(lines[0]!, "secret")
      yield* started("postgresql://u:secret@db.invalid/payments?sslmode=require")
      assert.lengthOf(lines, 1)
    })
  )

  it.live("does not wait where a person has to mend something", () =>
    Effect.gen(function* () {
      const url = new URL(Redacted.value(yield* createDatabase()))
      url.password = "another"
      const refused = yield* Effect.exit(firstConnection(Redacted.make(url.href)))
      assert.include(String(refused), "password authentication failed")
      url.pathname = "/nowhere"
      assert.isTrue(Exit.isFailure(yield* Effect.exit(firstConnection(Redacted.make(url.href)))))
    }).pipe(Effect.scoped)
  )

  it.live("behind a pooler that refuses settings, the role or the database has them", () =>
    Effect.gen(function* () {
      const url = yield* createDatabase()
      const pooled = at(url, yield* listening(refusingSettings(url)))
      const error = yield* Effect.flip(firstConnection(pooled))
      assert.strictEqual(error._tag, "UnsupportedPooler")
      assert.include(error.message, "ALTER ROLE CURRENT_USER SET statement_timeout = '5s';")
      const owner = yield* PgConnection.make({ url })
      const name = new URL(Redacted.value(url)).pathname.slice(1)
      for (const [setting, wanted] of Object.entries(sessionSettings)) {
        yield* owner.query(`ALTER DATABASE "${name}" SET ${setting} = '${wanted}'`, [], false)
      }
      assert.deepStrictEqual(yield* firstConnection(pooled), {})
    }).pipe(Effect.scoped)
  )

  it.live("refuses a pooler that drops settings, and names those", () =>
    Effect.gen(function* () {
      const url = yield* createDatabase()
      const dropped = ["statement_timeout", "lock_timeout", "plan_cache_mode"]
      const pooled = at(url, yield* listening(droppingSettings(url, dropped)))
      const error = yield* Effect.flip(firstConnection(pooled))
      assert.strictEqual(error._tag, "UnsupportedPooler")
      for (const [setting, wanted] of Object.entries(sessionSettings)) {
        const order = `ALTER ROLE CURRENT_USER SET ${setting} = '${wanted}';`
        if (dropped.includes(setting)) assert.include(error.message, order)
        else assert.notInclude(error.message, setting)
      }
      const owner = yield* PgConnection.make({ url })
      const name = new URL(Redacted.value(url)).pathname.slice(1)
      for (const [setting, wanted] of Object.entries(sessionSettings)) {
        yield* owner.query(`ALTER DATABASE "${name}" SET ${setting} = '${wanted}'`, [], false)
      }
      assert.deepStrictEqual<unknown>(yield* firstConnection(pooled), sessionSettings)
    }).pipe(Effect.scoped)
  )

  it.live("refuses a pooler that gives a session's server connection to others", () =>
    Effect.gen(function* () {
      const port = yield* listening(inTransactionMode)
      const error = yield* Effect.flip(firstConnection(Redacted.make(`postgresql://x@127.0.0.1:${port}/x`)))
      assert.strictEqual(error._tag, "UnsupportedPooler")
      assert.include(error.message, "pool_mode = session")
    }).pipe(Effect.scoped)
  )
})

const at = (url: Redacted.Redacted<string>, port: number) => {
  const elsewhere = new URL(Redacted.value(url))
  elsewhere.port = String(port)
  return Redacted.make(elsewhere.href)
}

const listening = (serve: (socket: Net.Socket) => void, port = 0) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const sockets = new Set<Net.Socket>()
        const server = Net.createServer((socket) => {
          sockets.add(socket)
          socket.on("error", () => {})
          serve(socket)
        })
        server.listen(port, "127.0.0.1")
        await once(server, "listening")
        return { server, sockets }
      }),
      ({ server, sockets }) =>
        Effect.sync(() => {
          server.close()
          for (const socket of sockets) socket.destroy()
        })
    ),
    ({ server }) => (server.address() as Net.AddressInfo).port
  )

const passedOn = (url: Redacted.Redacted<string>) => (socket: Net.Socket) => {
  const { hostname, port } = new URL(Redacted.value(url))
  const server = Net.connect(Number(port), hostname)
  server.on("error", () => {})
  socket.on("close", () => server.destroy())
  socket.pipe(server)
  server.pipe(socket)
}

const message = (type: string, ...parts: ReadonlyArray<Buffer>) => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const text = (value: string) => Buffer.from(`${value}\0`)
const int = (bytes: 2 | 4, ...values: ReadonlyArray<number>) => {
  const all = Buffer.alloc(bytes * values.length)
  for (const [index, value] of values.entries()) all.writeIntBE(value, index * bytes, bytes)
  return all
}

/** As PgBouncer answers a start-up parameter that it does not know. */
const refusingSettings = (url: Redacted.Redacted<string>) => (socket: Net.Socket) => {
  socket.once("data", (first) => {
    if (first.includes("statement_timeout")) {
      const fields = ["SFATAL", "C08P01", "Munsupported startup parameter: statement_timeout", ""]
      socket.end(message("E", ...fields.map(text)))
      return
    }
    socket.pause()
    passedOn(url)(socket)
    socket.unshift(first)
    socket.resume()
  })
}

/** As PgBouncer with these in `ignore_startup_parameters`. */
const droppingSettings = (url: Redacted.Redacted<string>, dropped: ReadonlyArray<string>) => (socket: Net.Socket) => {
  socket.once("data", (first: Buffer) => {
    // Its length, the version of the protocol, and names and values in turn.
    const fields = first.toString("utf8", 8).split("\0").slice(0, -2)
    const kept = fields.filter((_, index) => !dropped.includes(fields[index - (index % 2)]!))
    const body = Buffer.concat([first.subarray(4, 8), ...kept.map(text), Buffer.alloc(1)])
    socket.pause()
    passedOn(url)(socket)
    socket.unshift(Buffer.concat([int(4, body.length + 4), body]))
    socket.resume()
  })
}

/** As PgBouncer in transaction mode: all clients reach one server process, whose id differs from the first one reported. */
const inTransactionMode = (socket: Net.Socket) => {
  let isStarted = false
  let asksForPid = false
  const idle = message("Z", Buffer.from("I"))
  socket.on("data", (chunk) => {
    if (!isStarted) {
      isStarted = true
      socket.write(Buffer.concat([message("R", int(4, 0)), message("K", int(4, 1, 1)), idle]))
      return
    }
    if (chunk.includes("SELECT pg_backend_pid")) asksForPid = true
    else if (chunk.includes("BEGIN") || chunk.includes("ROLLBACK")) asksForPid = false
    const described = asksForPid
      ? message("T", int(2, 1), text("pid"), int(4, 0), int(2, 0), int(4, 23), int(2, 4), int(4, -1), int(2, 1))
      : message("n")
    const row = asksForPid ? message("D", int(2, 1), int(4, 4, 42)) : Buffer.alloc(0)
    const done = message("C", text(asksForPid ? "SELECT 1" : "BEGIN"))
    socket.write(Buffer.concat([message("1"), message("2"), described, row, done, idle]))
  })
}
