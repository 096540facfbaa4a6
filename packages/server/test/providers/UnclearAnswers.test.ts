/** Answers of a provider that are none to their question: logged, asked again, and not for ever. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { SqlClient } from "effect/sql/SqlClient"
import { Acquirer, AcquirerUnclear, type Emission } from "../../src/providers/Acquirer.ts"
import { created, retrieve } from "../support/ChargeRequests.ts"
import { connectedBank, connectedServiceLayer, payAll, sweepNow } from "../support/ConnectedBank.ts"
import { exceptionOf } from "../support/Exceptions.ts"
import { assertLedgerHolds, eventStatusesOf } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"

const emission = {
  method: "pix",
  txid: "01a1fdfa460070ae92f1d7083798af32" as Emission["txid"],
  amount: 1000,
  payer: { name: "Ana Souza", email: "ana@example.com", document: "52998224725" },
  merchant: { name: "Loja", document: "11222333000181" },
  description: null,
  isRepeated: false
} as const

layer(connectedServiceLayer(), { excludeTestServices: true })("An unclear answer", (it) => {
  it.effect("CHG-4: is logged with its reason, one of a minute", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const { emit } = yield* (yield* Acquirer).providerFor(bank.connectionId)
      bank.double.faults.always("other-amount", { path: /\/cob\// })
      const expiresAtMs = (yield* Clock.currentTimeMillis) + 3_600_000
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
      for (let time = 0; time < 2; time++) {
        const failure = yield* Effect.flip(emit({ ...emission, expiresAtMs })).pipe(
          Effect.provideService(Logger.CurrentLoggers, new Set([logger]))
        )
        assert.instanceOf(failure, AcquirerUnclear)
      }
      assert.lengthOf(logged, 1)
      assert.match(
        logged[0]!,
        /an answer of the provider is unclear: emit: .*valor\.original is not that of the question/
      )
    })
  )

  it.effect("CHG-4: a BR code of a stranger's key reaches no payer: the charge waits for its own", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank()
      const end = bank.double.faults.always("stranger-br-code", { path: /\/cob\// })
      const { id, pix, status } = yield* created(bank.key, { amount: 1000 })
      assert.deepStrictEqual([status, pix.br_code], ["processing", null])
      end()
      const recovered = sql`UPDATE charge_recoveries SET due_at = now() WHERE ${id}::uuid = ANY (charge_ids) AND due_at > now()`
      const { body } = yield* eventually(
        Effect.andThen(recovered, retrieve(bank.key, id)),
        (answer) => answer.body.status === "pending"
      )
      assert.notInclude(body.pix.br_code ?? "", "stranger@example.com")
    })
  )

  it.effect("CHG-4, BAL-11: a charge without another one until it expires fails; its payment is an exception", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank()
      const end = bank.double.faults.always("other-amount", { path: /\/cob\// })
      const { id, status } = yield* created(bank.key, { amount: 1000 })
      assert.strictEqual(status, "processing")
      const recovered = sql`UPDATE charge_recoveries SET due_at = now() WHERE ${id}::uuid = ANY (charge_ids) AND due_at > now()`
      const tried = () => bank.double.exchanges.filter(({ path }) => path.includes("/cob/")).length
      const before = tried()
      yield* eventually(Effect.andThen(recovered, Effect.sync(tried)), (count) => count > before)
      assert.strictEqual((yield* retrieve(bank.key, id)).body.status, "processing")
      yield* sql`UPDATE charges SET expires_at = now() WHERE id = ${id}::uuid`
      const { body } = yield* eventually(
        Effect.andThen(recovered, retrieve(bank.key, id)),
        (answer) => answer.body.status !== "processing"
      )
      assert.deepInclude(body, { status: "failed", failure_reason: "no usable answer of the bank" })
      assert.deepStrictEqual(yield* eventStatusesOf(id), ["charge.pix.failed failed"])
      end()
      const [pix] = payAll(bank, [{ id }])
      yield* sweepNow(bank)
      assert.deepInclude(yield* exceptionOf(pix!.endToEndId), {
        kind: "late_payment",
        charge_id: id,
        unallocated: 1000
      })
      assert.strictEqual((yield* retrieve(bank.key, id)).body.status, "failed")
      yield* assertLedgerHolds
    })
  )
})
