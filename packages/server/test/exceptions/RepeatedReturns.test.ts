/** Returns of exceptions that are asked for more than once. */
import { assert, layer } from "@effect/vitest"
import { makeEndToEndId } from "@pix-payments/domain/EndToEndId"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Acquirer, AcquirerRefused, AcquirerUnclear, type Progress } from "../../src/acquirer/Acquirer.ts"
import { ExceptionResolution } from "../../src/exceptions/ExceptionResolution.ts"
import { ExceptionReturns } from "../../src/exceptions/ExceptionReturns.ts"
import { AcquirerNotifications } from "../../src/notifications/AcquirerNotifications.ts"
import { domainServicesLayer } from "../support/DomainServices.ts"

let answer: Effect.Effect<Progress, AcquirerRefused | AcquirerUnclear>

const provider = Layer.effect(
  Acquirer,
  Effect.map(Acquirer, (simulated) =>
    Acquirer.of({
      of: (connectionId) =>
        Effect.map(simulated.of(connectionId), (others) => ({
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
        const { receive } = yield* AcquirerNotifications
        const { find, resolve } = yield* ExceptionResolution
        const { execute } = yield* ExceptionReturns
        const endToEndId = makeEndToEndId({
          ispb: "99999999",
          atMs: yield* Clock.currentTimeMillis,
          suffix: "AbCdEfGhIjK"
        })
        assert.strictEqual(yield* receive({ _tag: "charge.paid", txid: "", endToEndId, amount: 700 }), "exception")
        const [raised] = yield* sql<{ id: string }>`
          SELECT id FROM acquirer_exceptions WHERE end_to_end_id = ${endToEndId}`
        const id = raised!.id

        answer = Effect.fail(new AcquirerUnclear({ reason: "cut" }))
        yield* Effect.exit(resolve(id, { action: "return", reason: null }, "operator"))
        answer = Effect.fail(new AcquirerRefused({ reason: "PixDevolucaoInvalida" }))
        const orders = sql<{ id: string; state: string; attempts: number }>`
          SELECT id, state, attempts FROM acquirer_orders WHERE exception_id = ${id}::uuid`
        for (let attempts = 2; attempts <= 8; attempts++) {
          const [order] = yield* orders
          yield* execute({
            id: order!.id,
            exceptionId: id,
            connectionId: (yield* find(id)).connectionId,
            endToEndId,
            amount: 700,
            attempts
          })
          assert.strictEqual((yield* orders)[0]!.state, "ordered", `attempt ${attempts}`)
        }
        const [order] = yield* orders
        const { connectionId } = yield* find(id)
        yield* execute({ id: order!.id, exceptionId: id, connectionId, endToEndId, amount: 700, attempts: 9 })
        assert.strictEqual((yield* orders)[0]!.state, "refused")
        const exception = yield* find(id)
        assert.deepInclude(exception, { status: "open", unallocated: 700 })
        assert.include(exception.failureReason, "PixDevolucaoInvalida")
      })
    )
  }
)
