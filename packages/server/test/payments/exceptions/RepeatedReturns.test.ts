/** Returns of exceptions that are asked for more than once. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { makeEndToEndId } from "@pix-payments/domain/EndToEndId"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Acquirer, AcquirerRefused, AcquirerUnclear, type Progress } from "../../../src/providers/Acquirer.ts"
import { ExceptionResolution } from "../../../src/payments/exceptions/ExceptionResolution.ts"
import { ExceptionReturns } from "../../../src/payments/exceptions/ExceptionReturns.ts"
import { AcquirerNotifications } from "../../../src/reports/AcquirerNotifications.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"
import { unusedCapacity } from "../../support/DueCalls.ts"
import { eventually } from "../../support/Receiver.ts"

let answer: Effect.Effect<Progress, AcquirerRefused | AcquirerUnclear>

const provider = Layer.effect(
  Acquirer,
  Effect.map(Acquirer, (simulated) =>
    Acquirer.of({
      providerFor: (connectionId) =>
        Effect.map(simulated.providerFor(connectionId), (others) => ({
          ...others,
          orderReturn: () => Effect.suspend(() => answer)
        }))
    })
  )
)

layer(domainServicesLayer({ acquirerTimeoutMs: 1000 }, provider), { excludeTestServices: true })(
  "A return of an exception",
  (it) => {
    it.effect("BAL-12: is refused for good only when no request before can still arrive", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { find, resolve } = yield* ExceptionResolution
        const id = yield* raised("AbCdEfGhIjK")
        answer = Effect.fail(new AcquirerUnclear({ reason: "cut" }))
        yield* Effect.exit(resolve(id, { action: "return", reason: null }, "operator"))
        answer = refused
        for (let attempts = 2; attempts <= 8; attempts++) {
          const [order] = yield* claimed(id)
          yield* order!.call
          assert.deepStrictEqual(yield* orderOf(id), { state: "ordered", attempts })
        }
        const [order] = yield* claimed(id)
        yield* order!.call
        assert.deepStrictEqual(yield* orderOf(id), { state: "refused", attempts: 9 })
        const exception = yield* find(id)
        assert.deepInclude(exception, { status: "open", unallocated: 700 })
        assert.include(exception.failureReason, "PixDevolucaoInvalida")
        assert.deepStrictEqual(yield* sql`SELECT 1 FROM acquirer_orders WHERE state = 'ordered'`, [])
      })
    )

    it.effect("BAL-12: is not refused by the answer to a request that another process has repeated since", () =>
      Effect.gen(function* () {
        const { find, resolve } = yield* ExceptionResolution
        const id = yield* raised("BbCdEfGhIjK")
        const gate = yield* Deferred.make<Progress, AcquirerRefused>()
        answer = Deferred.await(gate)
        const first = yield* Effect.forkChild(resolve(id, { action: "return", reason: null }, "operator"), {
          startImmediately: true
        })
        yield* eventually(orderOf(id), (order) => order !== undefined)
        const [again] = yield* claimed(id)
        yield* Deferred.fail(gate, new AcquirerRefused({ reason: "PixDevolucaoInvalida" }))
        yield* Fiber.await(first)
        assert.deepStrictEqual(yield* orderOf(id), { state: "ordered", attempts: 2 })
        answer = Effect.succeed({ _tag: "Completed" })
        yield* again!.call
        assert.deepInclude(yield* find(id), { status: "resolved", unallocated: 0 })
      })
    )

    it.effect("BAL-11, BAL-12: the first request of a return by rule is refused for good", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { find } = yield* ExceptionResolution
        answer = refused
        yield* sql`UPDATE acquirer_connections SET exception_rule = 'return' WHERE id = ${SIMULATOR_CONNECTION}::uuid`
        const id = yield* raised("CbCdEfGhIjK")
        assert.deepStrictEqual(yield* orderOf(id), { state: "ordered", attempts: 0 })
        const [order] = yield* claimed(id)
        yield* order!.call
        assert.deepStrictEqual(yield* orderOf(id), { state: "refused", attempts: 1 })
        assert.deepInclude(yield* find(id), { status: "open", action: null, unallocated: 700 })
      })
    )
  }
)

const refused = Effect.fail(new AcquirerRefused({ reason: "PixDevolucaoInvalida" }))

/** The exception of a payment straight to the key. */
const raised = Effect.fnUntraced(function* (suffix: string) {
  const sql = yield* SqlClient
  const { receive } = yield* AcquirerNotifications
  const endToEndId = makeEndToEndId({ ispb: "99999999", atMs: yield* Clock.currentTimeMillis, suffix })
  assert.strictEqual(yield* receive({ _tag: "charge.paid", txid: "", endToEndId, amount: 700 }), "exception")
  const [row] = yield* sql<{ id: string }>`SELECT id FROM acquirer_exceptions WHERE end_to_end_id = ${endToEndId}`
  return row!.id
})

const orderOf = (id: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ state: string; attempts: number }>`
      SELECT state, attempts FROM acquirer_orders WHERE exception_id = ${id}::uuid`
    return row
  })

/** Claims the order of an exception, whose lease has expired. */
const claimed = (id: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`UPDATE acquirer_orders SET ask_at = now() WHERE exception_id = ${id}::uuid`
    return (yield* (yield* ExceptionReturns).claimDue(unusedCapacity(1))).due
  })
