/** Refusals of returns, of a charge's money and of an exception's: when one ends the order. */
import { assert, layer } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { NewCharges } from "../../src/payments/charges/NewCharges.ts"
import { ExceptionResolution } from "../../src/payments/exceptions/ExceptionResolution.ts"
import { ExceptionReturns } from "../../src/payments/exceptions/ExceptionReturns.ts"
import { RefundOrders } from "../../src/payments/refunds/RefundOrders.ts"
import { Acquirer, AcquirerRefused, AcquirerUnclear, type Progress } from "../../src/providers/Acquirer.ts"
import { newEndToEndId } from "../../src/providers/simulator/SimulatedInstitution.ts"
import { AcquirerNotifications } from "../../src/reports/AcquirerNotifications.ts"
import { domainServicesLayer } from "../support/DomainServices.ts"
import { unusedCapacity } from "../support/DueCalls.ts"

let answer: Effect.Effect<Progress, AcquirerRefused | AcquirerUnclear>
let asked = 0

const provider = Layer.effect(
  Acquirer,
  Effect.map(Acquirer, (simulated) =>
    Acquirer.of({
      providerFor: (connectionId) =>
        Effect.map(simulated.providerFor(connectionId), (others) => ({
          ...others,
          orderReturn: () =>
            Effect.suspend(() => {
              asked += 1
              return answer
            })
        }))
    })
  )
)

const accepted = Effect.succeed<Progress>({ _tag: "Accepted" })
const refused = Effect.fail(new AcquirerRefused({ reason: "PixDevolucaoInvalida" }))

const acquirerTimeoutMs = 1000

/** An order to return 1000 cents, which is not sent yet, and its parts. */
const kinds = ["refund", "return"] as const

layer(domainServicesLayer({ acquirerTimeoutMs }, provider), { excludeTestServices: true })(
  "The refusal of a return",
  (it) => {
    it.effect.each(kinds)(
      "CHG-26, BAL-12: ends no %s that was accepted, however often a repeated request is refused",
      (kind) =>
        Effect.gen(function* () {
          answer = accepted
          const id = yield* ordered(kind)
          answer = refused
          for (let attempts = 2; attempts <= 12; attempts += 1) {
            yield* (yield* claimed(kind, id)).call
            assert.deepStrictEqual(yield* orderOf(id), { state: "ordered", attempts })
          }
          answer = Effect.succeed({ _tag: "Completed" })
          yield* (yield* claimed(kind, id)).call
          assert.strictEqual((yield* orderOf(id)).state, "done")
        })
    )

    it.effect.each(kinds)(
      "CHG-26, BAL-12: ends no %s that another process saw accepted while it waited for its answer",
      (kind) =>
        Effect.gen(function* () {
          answer = Effect.fail(new AcquirerUnclear({ reason: "cut" }))
          const id = yield* ordered(kind)
          const sql = yield* SqlClient
          // The next request is the last that can be on its way.
          yield* sql`UPDATE acquirer_orders SET attempts = 8 WHERE id = ${id}::uuid`
          const gate = yield* Deferred.make<Progress, AcquirerRefused>()
          const arrived = yield* Deferred.make<void>()
          answer = Effect.andThen(Deferred.succeed(arrived, undefined), Deferred.await(gate))
          const stopped = yield* Effect.forkChild((yield* claimed(kind, id)).call)
          yield* Deferred.await(arrived)
          answer = accepted
          yield* (yield* claimed(kind, id)).call
          yield* Deferred.fail(gate, new AcquirerRefused({ reason: "PixDevolucaoInvalida" }))
          yield* Fiber.join(stopped)
          assert.deepStrictEqual(yield* orderOf(id), { state: "ordered", attempts: 10 })
        })
    )

    it.effect.each(kinds)(
      "CHG-26, BAL-12: a process that is stopped beyond its lease orders no %s when it goes on",
      (kind) =>
        Effect.gen(function* () {
          answer = Effect.fail(new AcquirerUnclear({ reason: "cut" }))
          const id = yield* ordered(kind)
          const { call } = yield* claimed(kind, id)
          const clock = yield* Clock.Clock
          const later = Object.assign(Object.create(clock) as Clock.Clock, {
            currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + acquirerTimeoutMs + 10_000)
          })
          asked = 0
          yield* Effect.provideService(call, Clock.Clock, later)
          assert.strictEqual(asked, 0)
          assert.deepStrictEqual(yield* orderOf(id), { state: "ordered", attempts: 2 })
        })
    )

    it.effect.each(kinds)("BAL-16: an answer that comes after its %s has ended otherwise is heard", (kind) =>
      Effect.gen(function* () {
        answer = accepted
        const id = yield* ordered(kind)
        const gate = yield* Deferred.make<Progress>()
        const arrived = yield* Deferred.make<void>()
        answer = Effect.andThen(Deferred.succeed(arrived, undefined), Deferred.await(gate))
        const waiting = yield* Effect.forkChild((yield* claimed(kind, id)).call)
        yield* Deferred.await(arrived)
        const { receive } = yield* AcquirerNotifications
        yield* receive({ _tag: "return.failed", orderId: id, reason: "NAO_REALIZADO" })
        assert.deepInclude(yield* orderOf(id), { state: "refused" })
        yield* Deferred.succeed(gate, { _tag: "Completed" })
        yield* Fiber.join(waiting)
        const sql = yield* SqlClient
        assert.deepStrictEqual(yield* sql`SELECT returned FROM acquirer_orders WHERE id = ${id}::uuid`, [
          { returned: 1000n }
        ])
      })
    )
  }
)

/** Orders a return, whose first request is answered; the id of the order. */
const ordered = (kind: (typeof kinds)[number]) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const newest = sql<{ id: string }>`SELECT id FROM acquirer_orders WHERE kind = ${kind} ORDER BY id DESC LIMIT 1`
    const { receive } = yield* AcquirerNotifications
    const endToEndId = newEndToEndId(yield* Clock.currentTimeMillis)
    if (kind === "return") {
      yield* receive({ _tag: "charge.paid", txid: "", endToEndId, amount: 1000 })
      const [exception] = yield* sql<{
        id: string
      }>`SELECT id FROM acquirer_exceptions WHERE end_to_end_id = ${endToEndId}`
      yield* Effect.exit(
        (yield* ExceptionResolution).resolve(exception!.id, { action: "return", reason: null }, "operator")
      )
    } else {
      const id = yield* charged
      yield* receive({ _tag: "charge.paid", txid: txidFromId(id), endToEndId, amount: 1000 })
      yield* Effect.exit((yield* RefundOrders).refund(id))
    }
    return (yield* newest)[0]!.id
  })

const charged = Effect.gen(function* () {
  const accounts = yield* Accounts
  const { id: accountId } = yield* accounts.create({
    name: "Loja",
    legal_name: "Loja Ltda",
    phone: "+5511999998888",
    document: "11222333000181",
    document_type: "cnpj"
  })
  const { id } = yield* accounts.createApplication(accountId, "Loja")
  const { charge } = yield* NewCharges.use((charges) =>
    charges.createForCheckout({ id, accountId }, undefined, {
      amount: 1000 as never,
      customer: { name: "Ana", email: "ana@example.com", document: "52998224725" }
    })
  )
  return charge.id
})

const orderOf = (id: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ state: string; attempts: number }>`
      SELECT state, attempts FROM acquirer_orders WHERE id = ${id}::uuid`
    return row!
  })

/** Claims an order, whose lease has expired. */
const claimed = (kind: (typeof kinds)[number], id: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`UPDATE acquirer_orders SET due_at = CASE WHEN id = ${id}::uuid THEN now() END WHERE state = 'ordered'`
    const { claimDue } = kind === "refund" ? yield* RefundOrders : yield* ExceptionReturns
    const { due } = yield* claimDue(unusedCapacity(1))
    assert.lengthOf(due, 1)
    return due[0]!
  })
