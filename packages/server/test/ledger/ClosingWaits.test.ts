/** How long the closing of bank accounts waits for open transactions, which may have read the day that ended. */
import { assert, layer } from "@effect/vitest"
import type { Close } from "@pix-payments/api/operator/Books"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { closeDays } from "../support/Closing.ts"
import { operated, paidCharge, type Verification } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Waits of daily closes", (it) => {
  const closesOf = (owner: string) =>
    Effect.map(operated<{ data: ReadonlyArray<Close> }>("GET", `/${owner}/closes`), ({ data }) => data.toReversed())

  const inFull = operated<Verification>("GET", "/ledger/verify?full=true")

  /** The waits of an effect, in milliseconds, which end at once, or with `during`. */
  const countingWaits = Effect.fnUntraced(function* <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    during: () => Effect.Effect<unknown> = () => Effect.void
  ) {
    const clock = yield* Clock.Clock
    const waits: Array<number> = []
    const sleep = (duration: Duration.Duration) =>
      Effect.suspend(() => {
        waits.push(Duration.toMillis(duration))
        return waits.length > 1000 ? Effect.die("it waits without a bound") : Effect.asVoid(during())
      })
    yield* Effect.provideService(effect, Clock.Clock, Object.assign(Object.create(clock) as Clock.Clock, { sleep }))
    return waits
  })

  /** Days ahead of the clock by which a test closes. */
  let ahead = 1

  it.effect(
    "OPR-255: an open transaction delays no account, and bank accounts for six seconds or until a later round",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        const bank = `connections/${SIMULATOR_CONNECTION}`
        yield* paidCharge(key, 100)
        const before = (yield* closesOf(bank)).length
        ahead += 3
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT 1`
            // The service has other connections.
            const waits = yield* countingWaits(closeDays(ahead))
            assert.deepStrictEqual(
              waits,
              Array.from({ length: 60 }, () => 100)
            )
            assert.strictEqual((yield* closesOf(`accounts/${accountId}`)).length, 1)
            assert.strictEqual((yield* closesOf(bank)).length, before)
          })
        )
        yield* closeDays(ahead)
        assert.isAbove((yield* closesOf(bank)).length, before)
        assert.deepStrictEqual((yield* inFull).closes, [])
      })
  )

  it.effect("OPR-255: bank accounts are closed in the round in which the open transaction ends", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const clock = yield* Clock.Clock
      const { key } = yield* makeCaller()
      const bank = `connections/${SIMULATOR_CONNECTION}`
      yield* paidCharge(key, 100)
      const before = (yield* closesOf(bank)).length
      ahead += 3
      const hasBegun = yield* Deferred.make<void>()
      const isWaiting = yield* Deferred.make<void>()
      const hasEnded = yield* Deferred.make<void>()
      const open = yield* Effect.forkChild(
        sql
          .withTransaction(
            Effect.andThen(
              sql`SELECT 1`,
              Effect.andThen(Deferred.succeed(hasBegun, undefined), Deferred.await(isWaiting))
            )
          )
          .pipe(Effect.ensuring(Deferred.succeed(hasEnded, undefined)))
      )
      yield* Deferred.await(hasBegun)
      // Transactions of loops may be open at the same moment: they have the time that a service gives them.
      const waits = yield* countingWaits(closeDays(ahead), () =>
        Effect.andThen(
          Deferred.succeed(isWaiting, undefined),
          Effect.andThen(Deferred.await(hasEnded), clock.sleep(Duration.millis(100)))
        )
      )
      assert.isAbove(waits.length, 0)
      assert.isBelow(waits.length, 60)
      yield* Fiber.join(open)
      assert.isAbove((yield* closesOf(bank)).length, before)
    })
  )
})
