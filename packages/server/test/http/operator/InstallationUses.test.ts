/** How many entries of the audit log uses of the installation's token make. */
import { CurrentOperator, type Operator } from "@pix-payments/api/Security"
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import { InstallationUses } from "../../../src/http/operator/InstallationUses.ts"
import { AuditLog } from "../../../src/operations/AuditLog.ts"
import { installation } from "../../../src/operators/Operator.ts"
import { Unavailable } from "../../../src/database/Unavailable.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const operator: Operator = { ...installation, via: "installation", sessionId: null }

/** Uses with a clock of a test, and what ends them. */
const started = Effect.gen(function* () {
  const clock = yield* TestClock.make()
  const scope = yield* Scope.make()
  const uses = yield* Layer.buildWithScope(Layer.fresh(InstallationUses.layer), scope).pipe(
    Effect.map(Context.get(InstallationUses)),
    Effect.provideService(Clock.Clock, clock)
  )
  let requests = 0
  const use = (route: string, address: string) =>
    Effect.suspend(() =>
      uses.record(
        {
          arrival: { id: "", epochMs: 0 },
          requestId: `use-${++requests}`,
          route,
          keyId: null,
          accountId: null,
          resourceId: null,
          address,
          traceId: null
        },
        "GET"
      )
    ).pipe(Effect.provideService(CurrentOperator, operator))
  return { clock, use, stop: Scope.close(scope, Exit.void) }
})

const entriesOf = (address: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) =>
      sql`SELECT after, request_id, via FROM audit WHERE address = ${address} AND action = 'installation.use' ORDER BY id`
  )

layer(TestService.layer(), { excludeTestServices: true })("Uses of the installation's token", (it) => {
  it.effect("OPR-40: a thousand uses of a route from an address within a minute are two entries", () =>
    Effect.gen(function* () {
      const { clock, stop, use } = yield* started
      const [first, second] = ["127.0.9.1", "127.0.9.2"] as const
      const entry = (after: object, id: number) => ({ after, request_id: `use-${id}`, via: "installation" })
      yield* use("/a", first)
      yield* Effect.replicateEffect(use("/a", first), 999, { concurrency: 20, discard: true })
      yield* use("/a", second)
      yield* use("/b", second)
      assert.deepStrictEqual(yield* entriesOf(first), [entry({ route: "GET /a" }, 1)])
      const ofSecond = [entry({ route: "GET /a" }, 1001), entry({ route: "GET /b" }, 1002)]
      assert.deepStrictEqual(yield* entriesOf(second), ofSecond)

      yield* clock.adjust("1 minute")
      const ofMinute = [entry({ route: "GET /a" }, 1), entry({ route: "GET /a", count: 999 }, 1000)]
      assert.deepStrictEqual(yield* eventually(entriesOf(first), (rows) => rows.length > 1), ofMinute)

      // The next minute begins with an entry, and ends with the process.
      for (let i = 0; i < 3; i++) yield* use("/a", first)
      const ofNext = [entry({ route: "GET /a" }, 1003), entry({ route: "GET /a", count: 2 }, 1005)]
      assert.deepStrictEqual(yield* entriesOf(first), [...ofMinute, ofNext[0]!])
      yield* stop
      assert.deepStrictEqual(yield* entriesOf(first), [...ofMinute, ...ofNext])
      assert.deepStrictEqual(yield* entriesOf(second), ofSecond)
    })
  )

  it.effect("OPR-40: a use whose entry cannot be written is not served, and a number is written later", () =>
    Effect.gen(function* () {
      const audit = yield* AuditLog
      let isAway = true
      const failing = AuditLog.of({
        ...audit,
        recordUse: (...use) =>
          isAway ? Effect.fail(new Unavailable({ reason: "database-away" })) : audit.recordUse(...use)
      })
      const { clock, stop, use } = yield* Effect.provideService(started, AuditLog, failing)
      const from = "127.0.9.3"
      for (let i = 0; i < 2; i++) assert.instanceOf(yield* Effect.flip(use("/a", from)), Unavailable)
      isAway = false
      for (let i = 0; i < 3; i++) yield* use("/a", from)
      isAway = true
      yield* clock.adjust("1 minute")
      yield* Effect.flip(use("/a", from))
      isAway = false
      yield* use("/a", from)
      yield* stop
      const rows = yield* entriesOf(from)
      assert.deepStrictEqual(
        rows.map((row) => Object(row["after"]).count ?? 1),
        [1, 1, 2]
      )
    })
  )
})
