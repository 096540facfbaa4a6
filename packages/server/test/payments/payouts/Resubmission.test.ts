/** Payouts that the provider does not find. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { Acquirer, AcquirerUnclear, type PayoutProgress } from "../../../src/providers/Acquirer.ts"
import { Ids } from "../../../src/base/Ids.ts"
import { waiting } from "../../../src/operations/WorkGauges.ts"
import { PayoutSubmission } from "../../../src/payments/payouts/PayoutSubmission.ts"
import { AcquirerNotifications } from "../../../src/reports/AcquirerNotifications.ts"
import { orderIdOfPayout } from "../../support/Payouts.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"
import { runDue, unusedCapacity } from "../../support/DueCalls.ts"

/** The ids under which payouts are ordered. */
const orderIds = new Map<string, string>()

/** A provider's payouts: those that it was sent, and those that it shows. */
const sent: Array<string> = []
let accepts: (id: string) => Effect.Effect<PayoutProgress, AcquirerUnclear>
let shows: (id: string) => Effect.Effect<PayoutProgress>

const provider = Layer.effect(
  Acquirer,
  Effect.map(Acquirer, (simulated) =>
    Acquirer.of({
      providerFor: (connectionId) =>
        Effect.map(simulated.providerFor(connectionId), (others) => ({
          ...others,
          payouts: {
            send: ({ id }) =>
              Effect.suspend(() => {
                sent.push(id)
                return accepts(id)
              }),
            outcome: ({ id }) => Effect.suspend(() => shows(id))
          }
        }))
    })
  )
)

const accepted: PayoutProgress = { _tag: "Accepted" }
const refused: PayoutProgress = { _tag: "Refused", reason: "pagamento_negado" }
const notFound: PayoutProgress = { _tag: "NotFound" }
const completed: PayoutProgress = { _tag: "Completed", endToEndId: undefined }
const failed: PayoutProgress = { _tag: "Failed", reason: "devolvido" }

layer(domainServicesLayer({ acquirerTimeoutMs: 1000, simulatorSettleMs: 0, databaseConnections: 8 }, provider), {
  excludeTestServices: true
})("A payout that the provider does not find", (it) => {
  it.effect("PAY-6: one that was lost before it was done is sent again under its id, and completes once", () =>
    Effect.gen(function* () {
      accepts = () => Effect.succeed(accepted)
      shows = () => Effect.succeed(notFound)
      const id = yield* processing
      yield* submitDue(id)
      assert.deepStrictEqual(sentOf(id), 1)
      const processedAt = yield* processedAtOf(id)
      // Within the grace it may be late.
      for (let inquiry = 0; inquiry < 3; inquiry += 1) yield* submitDue(id)
      assert.deepStrictEqual(sentOf(id), 1)
      yield* longAgo(id)
      const shifted = yield* processedAtOf(id)
      assert.isBelow(shifted!, processedAt!)
      yield* submitDue(id)
      assert.deepStrictEqual(sentOf(id), 2)
      assert.strictEqual(yield* statusOf(id), "processing")
      assert.strictEqual(yield* processedAtOf(id), shifted)
      // Its next inquiry comes after another grace.
      assert.isAbove(yield* dueInMs(id), 110_000)
      shows = () => Effect.succeed(completed)
      yield* submitDue(id)
      assert.strictEqual(yield* statusOf(id), "completed")
      assert.deepStrictEqual(sentOf(id), 2)
    })
  )

  it.effect("PAY-6, PAY-5: a refusal is final, unless a request before it may still arrive", () =>
    Effect.gen(function* () {
      accepts = () => Effect.succeed(refused)
      const first = yield* processing
      yield* submitDue(first)
      assert.strictEqual(yield* statusOf(first), "failed")

      accepts = () => Effect.fail(new AcquirerUnclear({ reason: "cut" }))
      const id = yield* processing
      yield* submitDue(id)
      accepts = () => Effect.succeed(refused)
      // 1, 2, 4, … 64 s after the request before.
      for (let request = 1; request <= 7; request += 1) {
        yield* submitDue(id)
        assert.strictEqual(yield* statusOf(id), "processing")
      }
      assert.isAbove(yield* dueInMs(id), 110_000)
      yield* submitDue(id)
      assert.strictEqual(yield* statusOf(id), "failed")
      assert.strictEqual(sentOf(id), 9)
    })
  )

  it.effect("PAY-6, PAY-5: one that was accepted never fails because a repeated request is refused", () =>
    Effect.gen(function* () {
      accepts = () => Effect.succeed(accepted)
      shows = () => Effect.succeed(notFound)
      const id = yield* processing
      yield* submitDue(id)
      accepts = () => Effect.succeed(refused)
      for (let request = 2; request <= 12; request += 1) {
        yield* longAgo(id)
        yield* submitDue(id)
        assert.strictEqual(sentOf(id), request)
        assert.strictEqual(yield* statusOf(id), "processing")
        assert.isAbove(yield* dueInMs(id), 110_000)
      }
      shows = () => Effect.succeed(completed)
      yield* submitDue(id)
      assert.strictEqual(yield* statusOf(id), "completed")
    })
  )

  it.effect.each([accepted, undefined])(
    "PAY-6, PAY-5: a process that is stopped while it sends fails no payout that another one sends meanwhile: %o",
    (answerToOther) =>
      Effect.gen(function* () {
        const id = yield* processing
        const gate = yield* Deferred.make<PayoutProgress>()
        const arrived = yield* Deferred.make<void>()
        accepts = () => Effect.andThen(Deferred.succeed(arrived, undefined), Deferred.await(gate))
        const stopped = yield* Effect.forkChild(submitDue(id))
        yield* Deferred.await(arrived)
        accepts = () =>
          answerToOther === undefined
            ? Effect.fail(new AcquirerUnclear({ reason: "cut" }))
            : Effect.succeed(answerToOther)
        yield* submitDue(id)
        const { due_at } = yield* row(id)
        yield* Deferred.succeed(gate, refused)
        yield* Fiber.join(stopped)
        assert.strictEqual(yield* statusOf(id), "processing")
        assert.deepStrictEqual((yield* row(id)).due_at, due_at)
      })
  )

  it.effect("PAY-6: a process that is stopped after it claimed a payout sends it no more when it goes on", () =>
    Effect.gen(function* () {
      accepts = () => Effect.succeed(refused)
      const id = yield* processing
      yield* makeDue(id)
      const { claimDue } = yield* PayoutSubmission
      const { due } = yield* claimDue(unusedCapacity(1))
      const clock = yield* Clock.Clock
      const leaseMs = 1000 + 10_000
      const later = Object.assign(Object.create(clock) as Clock.Clock, {
        currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + leaseMs)
      })
      yield* Effect.provideService(due[0]!.call, Clock.Clock, later)
      assert.strictEqual(sentOf(id), 0)
      assert.strictEqual(yield* statusOf(id), "processing")
    })
  )

  it.effect("BAL-16: an answer that comes after the payout has ended otherwise is an exception", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      accepts = () => Effect.succeed(accepted)
      const id = yield* processing
      yield* submitDue(id)
      const gate = yield* Deferred.make<PayoutProgress>()
      const arrived = yield* Deferred.make<void>()
      shows = () => Effect.andThen(Deferred.succeed(arrived, undefined), Deferred.await(gate))
      const waiting = yield* Effect.forkChild(submitDue(id))
      yield* Deferred.await(arrived)
      const { receive } = yield* AcquirerNotifications
      assert.strictEqual(yield* receive({ _tag: "payout.failed", payoutId: id, reason: "closed" }), "applied")
      yield* Deferred.succeed(gate, completed)
      yield* Fiber.join(waiting)
      assert.strictEqual(yield* statusOf(id), "failed")
      assert.deepStrictEqual(
        yield* sql`SELECT kind, unallocated FROM acquirer_exceptions WHERE payout_id = ${id}::uuid`,
        [{ kind: "contradictory_outcome", unallocated: -500n }]
      )
    })
  )

  it.effect("PAY-6: one that is shown late is not sent again, and never fails meanwhile", () =>
    Effect.gen(function* () {
      accepts = () => Effect.succeed(accepted)
      shows = () => Effect.succeed(notFound)
      const id = yield* processing
      yield* submitDue(id)
      for (let inquiry = 0; inquiry < 3; inquiry += 1) {
        yield* submitDue(id)
        assert.strictEqual(yield* statusOf(id), "processing")
      }
      shows = () => Effect.succeed(completed)
      yield* longAgo(id)
      yield* submitDue(id)
      assert.strictEqual(yield* statusOf(id), "completed")
      assert.deepStrictEqual(sentOf(id), 1)
    })
  )

  it.effect("PAY-6: a process that ends after it sent a payout again leaves a grace before the next time", () =>
    Effect.gen(function* () {
      accepts = () => Effect.succeed(accepted)
      shows = () => Effect.succeed(notFound)
      const id = yield* processing
      yield* submitDue(id)
      yield* longAgo(id)
      let dueWhileSending = 0
      const services = yield* Effect.context<SqlClient>()
      accepts = () =>
        dueInMs(id).pipe(
          Effect.tap((ms) =>
            Effect.sync(() => {
              dueWhileSending = ms
            })
          ),
          Effect.orDie,
          Effect.provide(services),
          Effect.andThen(Effect.fail(new AcquirerUnclear({ reason: "no answer" })))
        )
      yield* submitDue(id)
      assert.isAbove(dueWhileSending, 110_000)
      assert.isAbove(yield* dueInMs(id), 110_000)
      assert.strictEqual(yield* statusOf(id), "processing")
    })
  )

  it.effect(
    "PAY-6, PAY-5: a process that ends while it repeats a request leaves a grace before a refusal is final",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const services = yield* Effect.context<SqlClient>()
        const cut = Effect.fail(new AcquirerUnclear({ reason: "cut" }))
        accepts = () => cut
        const id = yield* processing
        for (let request = 0; request < 7; request += 1) yield* submitDue(id)
        for (const request of ["the eighth", "the ninth"]) {
          let dueWhileSending = 0
          accepts = () =>
            Effect.orDie(Effect.provide(dueInMs(id), services)).pipe(
              Effect.tap((ms) =>
                Effect.sync(() => {
                  dueWhileSending = ms
                })
              ),
              Effect.andThen(cut)
            )
          yield* submitDue(id)
          assert.isAbove(dueWhileSending, 110_000, request)
        }
        assert.strictEqual(
          (yield* sql<{ attempts: number }>`SELECT attempts FROM payouts WHERE id = ${id}::uuid`)[0]?.attempts,
          9
        )
      })
  )

  it.effect.each([completed, failed])(
    "PAY-16, PAY-6: of an account that may not send now, one with an unclear answer is looked up, and not sent: $_tag",
    (end) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        accepts = () => Effect.fail(new AcquirerUnclear({ reason: "cut" }))
        const id = yield* processing
        yield* submitDue(id)
        const pause = (isPaused: boolean) =>
          sql`UPDATE accounts SET payouts_paused = ${isPaused}
            WHERE id = (SELECT account_id FROM payouts WHERE id = ${id}::uuid)`
        const counted = yield* gauge
        yield* pause(true)
        // A rail that does not have it says nothing of the request that may be on its way.
        for (const answer of [notFound, accepted]) {
          shows = () => Effect.succeed(answer)
          yield* submitDue(id)
          assert.deepStrictEqual(
            [yield* statusOf(id), yield* processedAtOf(id), sentOf(id)],
            ["processing", undefined, 1]
          )
          assert.isAbove(yield* dueInMs(id), 50_000)
        }
        // The gauge, and so its alert, still counts it.
        assert.strictEqual(yield* gauge, counted)
        // No look-up is an attempt, after which a refusal could be final.
        assert.strictEqual((yield* row(id)).attempts, 1)
        yield* pause(false)
        accepts = () => Effect.succeed(refused)
        yield* submitDue(id)
        assert.deepStrictEqual([yield* statusOf(id), sentOf(id)], ["processing", 2])
        yield* pause(true)
        shows = () => Effect.succeed(end)
        yield* submitDue(id)
        assert.deepStrictEqual([yield* statusOf(id), sentOf(id)], [end._tag.toLowerCase(), 2])
      })
  )

  it.effect("PAY-16: of an account that may not send now, it is not sent again", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      accepts = () => Effect.succeed(accepted)
      shows = () => Effect.succeed(notFound)
      const id = yield* processing
      yield* submitDue(id)
      yield* longAgo(id)
      yield* sql`UPDATE accounts SET payouts_paused = true WHERE id = (SELECT account_id FROM payouts WHERE id = ${id}::uuid)`
      yield* submitDue(id)
      assert.deepStrictEqual(sentOf(id), 1)
      yield* sql`UPDATE accounts SET payouts_paused = false`
      yield* submitDue(id)
      assert.deepStrictEqual(sentOf(id), 2)
    })
  )
})

const sentOf = (id: string): number => sent.filter((each) => each === orderIds.get(id)).length

/** A payout that is covered and was not sent. */
const processing = Effect.gen(function* () {
  const sql = yield* SqlClient
  const accounts = yield* Accounts
  const { id: accountId } = yield* accounts.create({
    name: "Loja",
    legal_name: "Loja Ltda",
    phone: "+5511999998888",
    document: "11222333000181",
    document_type: "cnpj"
  })
  const { id } = (yield* Ids).next()
  yield* sql`
    INSERT INTO payouts (id, account_id, origin, status, method, amount, fee, pix_key_type, pix_key, created_at, sequence,
      due_at)
    VALUES (${id}::uuid, ${accountId}::uuid, 'dashboard', 'processing', 'pix', 500, 0, 'email', 'ana@example.com', now(), 1,
      now())`
  orderIds.set(id, yield* orderIdOfPayout(id))
  return id
})

/** Submits it, or asks for its outcome, now. */
const submitDue = Effect.fnUntraced(function* (id: string) {
  const { claimDue } = yield* PayoutSubmission
  yield* makeDue(id)
  assert.strictEqual(yield* runDue(claimDue), 1)
})

/** It is due, and no other payout is. */
const makeDue = (id: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`
      UPDATE payouts SET due_at = CASE WHEN id = ${id}::uuid THEN now() ELSE now() + interval '1 hour' END
      WHERE status = 'processing'`
  )

/** It was sent longer ago than the grace. */
const longAgo = (id: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`UPDATE payouts SET processed_at = processed_at - interval '3 minutes' WHERE id = ${id}::uuid`
  )

const row = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient
  const [found] = yield* sql<{
    status: string
    attempts: number
    processed_at: Date | null
    due_at: Date | null
    due_in_ms: number
  }>`
    SELECT status, attempts, processed_at, due_at, (extract(epoch FROM due_at - clock_timestamp()) * 1000)::double precision AS due_in_ms
    FROM payouts WHERE id = ${id}::uuid`
  return found!
})

/** The payouts that the gauge of those without an outcome counts. */
const gauge = Effect.flatMap(SqlClient, (sql) =>
  Effect.map(sql.unsafe<{ kind: string; count: bigint }>(waiting), (found) =>
    Number(found.find(({ kind }) => kind === "payouts")?.count)
  )
)

const statusOf = (id: string) => Effect.map(row(id), ({ status }) => status)
const processedAtOf = (id: string) => Effect.map(row(id), ({ processed_at }) => processed_at?.getTime())
const dueInMs = (id: string) => Effect.map(row(id), ({ due_in_ms }) => due_in_ms)
