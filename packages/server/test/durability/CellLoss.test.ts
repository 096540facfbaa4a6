/** Two cells of two servers each behind the router of `deploy/cells`: what callers of one see while the other is lost. */
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Ports } from "../support/Balancers.ts"
import { hasHaproxy, startHaproxy, startSmallRouter } from "../support/CellRouter.ts"
import { create, created } from "../support/ChargeRequests.ts"
import { assertLedgerHolds, balanceOf, operated, paidCharge, paidOut, payoutReaching } from "../support/Money.ts"
import { temporaryFolder } from "../support/Postgres.ts"
import { startProcess } from "../support/Process.ts"
import { closedPort, eventually } from "../support/Receiver.ts"
import { clientOf, newKey, TestService } from "../support/TestService.ts"

/** Of a drill: `pnpm run drill:cells`. */
const CREATIONS = Number(process.env["CELLS_CREATIONS"] ?? 0)
const OPERATOR_TOKEN = "the operator's token of these tests"

/** A cell with two servers on one PostgreSQL. Its API is called through the router, its operator surface is not. */
const startCell = Effect.fnUntraced(function* (name: string, routerPort: number) {
  const folder = yield* temporaryFolder
  const database = yield* EmbeddedPostgres.start({ dataDir: join(folder, "database") })
  const freePorts = Effect.all({ public: closedPort, operator: closedPort })
  const ports = [yield* freePorts, yield* freePorts] as const
  const start = (port: Ports) =>
    startProcess({
      CELL: name,
      DATABASE_URL: Redacted.value(database.url),
      DATA_DIR: folder,
      DATABASE_CONNECTIONS: "4",
      OPERATOR_TOKEN,
      PORT: String(port.public),
      OPERATOR_PORT: String(port.operator),
      SIMULATOR_SETTLE_MS: "0"
    })
  let servers = yield* Effect.forEach(ports, start)
  const inside = <A, E>(use: Effect.Effect<A, E, TestService>) =>
    Effect.gen(function* () {
      const urls = { publicUrl: `http://127.0.0.1:${routerPort}`, operatorUrl: `http://127.0.0.1:${ports[0].operator}` }
      const client = yield* clientOf(urls, OPERATOR_TOKEN)
      return yield* Effect.provideService(use, TestService, { ...client, databaseUrl: database.url })
    }).pipe(Effect.scoped)
  const postgresPid = () =>
    Number(readFileSync(join(database.dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0])
  return {
    ports,
    inside,
    /** Milliseconds of CPU of its servers and of its PostgreSQL so far. */
    cpuMs: () => [servers.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0), cpuMsOf(postgresPid())] as const,
    /** Its servers and its PostgreSQL, at once. */
    kill: Effect.gen(function* () {
      for (const server of servers) server.signal("SIGKILL")
      yield* Effect.sync(() => process.kill(postgresPid(), "SIGKILL"))
      yield* Effect.forEach(servers, ({ ended }) => ended)
    }),
    startAgain: Effect.gen(function* () {
      servers = yield* Effect.forEach(ports, start)
    })
  }
})

/** Two of them, behind one router. */
const startCells = Effect.gen(function* () {
  const routerPort = yield* closedPort
  const [a, b] = [yield* startCell("a", routerPort), yield* startCell("b", routerPort)]
  const start = hasHaproxy ? startHaproxy : startSmallRouter
  yield* start({
    public: routerPort,
    callbacks: yield* closedPort,
    servers: { a: a.ports, b: b.ports },
    keys: "",
    connections: ""
  })
  const answers = Effect.promise(() =>
    fetch(`http://127.0.0.1:${routerPort}/v1/account`).then(
      () => true,
      () => false
    )
  )
  yield* eventually(answers, (isThere) => isThere)
  /** The router's own answer to who watches it; the small one has none. */
  const health = (status: number) =>
    hasHaproxy
      ? eventually(
          Effect.promise(() => fetch(`http://127.0.0.1:${routerPort}/health`)),
          (answer) => answer.status === status
        )
      : Effect.void
  return { a, b, health }
})

/** An account that has created, been paid, refunded and paid out. */
const used = Effect.gen(function* () {
  const { makeCaller } = yield* TestService
  const caller = yield* makeCaller()
  const charge = yield* paidCharge(caller.key, 5000)
  yield* operated("POST", `/simulator/charges/${charge.id}/refund`, { amount: 500 })
  const payout = yield* paidOut(caller.key, { amount: 1500 })
  yield* payoutReaching(caller.key, payout.id, "completed")
  return { ...caller, available: (yield* balanceOf(caller.key)).available }
})

describe("two cells behind a router", () => {
  it.live(
    `OPR-391: one is killed, and callers of the other see nothing of it (${hasHaproxy ? "HAProxy" : "a small router"})`,
    () =>
      Effect.gen(function* () {
        const { a, b, health } = yield* startCells
        const [ofA, ofB] = [yield* a.inside(used), yield* b.inside(used)]
        yield* health(200)
        assert.match(ofA.key, /^pix_a\./)
        assert.match(ofB.key, /^pix_b\./)
        assert.deepStrictEqual([ofA.available, ofB.available], [3000, 3000])
        const idempotencyKey = newKey()
        const before = yield* a.inside(created(ofA.key, { amount: 700 }, idempotencyKey))

        const statuses: Array<number> = []
        const state = { isOver: false }
        const calling = Effect.gen(function* () {
          while (!state.isOver) statuses.push((yield* create(ofB.key)).status)
        })
        const callers = yield* Effect.forkChild(
          b.inside(
            Effect.all(
              Array.from({ length: 4 }, () => calling),
              { concurrency: "unbounded" }
            )
          )
        )
        const moreAnswers = Effect.suspend(() => {
          const enough = statuses.length + 200
          return eventually(
            Effect.sync(() => statuses.length),
            (count) => count >= enough
          )
        })
        yield* moreAnswers
        yield* a.kill
        const refused = yield* a.inside(eventually(create(ofA.key), ({ status }) => status === 503))
        assert.propertyVal(refused.body, "code", "SERVICE_UNAVAILABLE")
        assert.isDefined(refused.headers["retry-after"])
        yield* health(503)
        yield* moreAnswers
        yield* a.startAgain
        yield* health(200)
        yield* a.inside(
          Effect.gen(function* () {
            yield* eventually(create(ofA.key), ({ status }) => status === 201)
            assert.deepStrictEqual(yield* created(ofA.key, { amount: 700 }, idempotencyKey), before)
            assert.strictEqual((yield* balanceOf(ofA.key)).available, 3000)
            yield* assertLedgerHolds
          })
        )
        yield* moreAnswers
        state.isOver = true
        yield* Fiber.join(callers)
        assert.deepStrictEqual([...new Set(statuses)], [201])
        yield* b.inside(assertLedgerHolds)
      }).pipe(Effect.scoped)
  )

  it.live.skipIf(CREATIONS === 0)(
    "CPU for each creation with one cell and with two, in turns",
    () =>
      Effect.gen(function* () {
        const { a, b } = yield* startCells
        const cells = [a, b]
        const keys = yield* Effect.forEach(cells, ({ inside }) => inside(Effect.map(used, ({ key }) => key)))
        const load = (count: number, of: ReadonlyArray<number>) =>
          Effect.forEach(
            of,
            (index) =>
              cells[index]!.inside(
                Effect.forEach(Array.from({ length: count }), () => created(keys[index]!), {
                  concurrency: 16,
                  discard: true
                })
              ),
            { concurrency: "unbounded", discard: true }
          )
        yield* load(CREATIONS, [0, 1])
        const rounds: Array<string> = []
        for (const of of [[0], [0, 1], [1], [0, 1], [0], [1]]) {
          const before = of.map((index) => cells[index]!.cpuMs())
          yield* load(CREATIONS, of)
          const after = of.map((index) => cells[index]!.cpuMs())
          const spent = (part: 0 | 1) =>
            after.reduce((sum, each, at) => sum + each[part] - before[at]![part], 0) / (CREATIONS * of.length)
          rounds.push(
            `${of.length === 1 ? "one cell " : "two cells"}: ${(spent(0) * 1000).toFixed(0)} µs of the servers, ${(spent(1) * 1000).toFixed(0)} µs of PostgreSQL`
          )
        }
        yield* Effect.logInfo(rounds.join("\n"))
      }).pipe(Effect.scoped),
    3_600_000
  )
})

/** Of a process, its children, and those that have ended. */
const cpuMsOf = (pid: number): number => {
  const stat = (id: string) => {
    try {
      return readFileSync(`/proc/${id}/stat`, "utf8")
        .replace(/^.*\) /, "")
        .split(" ")
        .map(Number)
    } catch {
      return []
    }
  }
  const own = stat(String(pid))
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(stat)
    .filter(([, parent]) => parent === pid)
  // utime, stime, and those of ended children, in hundredths of a second.
  return [own.slice(11, 15), ...children.map((child) => child.slice(11, 13))]
    .flat()
    .reduce((sum, ticks) => sum + ticks * 10, 0)
}
