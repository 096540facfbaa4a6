/** The key tables: they are complete, and no key or settlement is taken twice. */
import { assert, layer } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { isDuplicate } from "../../src/providers/NotificationStore.ts"
import { decideChange } from "../../src/payments/charges/ChargeDecision.ts"
import { ChargeStore } from "../../src/payments/charges/ChargeStore.ts"
import { Ids } from "../../src/base/Ids.ts"
import { create, created } from "../support/ChargeRequests.ts"
import { incompleteKeys } from "../support/KeyTables.ts"
import { assertLedgerHolds, funded, payOut } from "../support/Money.ts"
import { loopback } from "../support/Receiver.ts"
import { type Answer, newKey, TestService, whenFree } from "../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

const assertComplete = Effect.gen(function* () {
  const sql = yield* SqlClient
  assert.deepStrictEqual(yield* sql.unsafe(incompleteKeys), [])
})

/** All answers are of the same resource. */
const assertOneOf = (answers: ReadonlyArray<Answer<{ readonly id: string }>>) => {
  for (const { status, text } of answers) assert.strictEqual(status, 201, text)
  assert.lengthOf(new Set(answers.map(({ body }) => body.id)), 1)
}

layer(TestService.layer({ settings }), { excludeTestServices: true })("Key tables", (it) => {
  it.effect("IDEM-5: a key at a hundred calls at once is of one charge", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const idempotencyKey = newKey()
      const asked = whenFree(create(key, {}, idempotencyKey))
      const answers = yield* Effect.forEach(Array.from({ length: 100 }), () => asked, { concurrency: "unbounded" })
      assertOneOf(answers)
      yield* assertComplete
    })
  )

  it.effect("IDEM-5: a key at fifty calls at once is of one payout", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(100_000)
      const idempotencyKey = newKey()
      const asked = whenFree(payOut(key, {}, idempotencyKey))
      const answers = yield* Effect.forEach(Array.from({ length: 50 }), () => asked, { concurrency: "unbounded" })
      assertOneOf(answers)
      yield* assertLedgerHolds
      yield* assertComplete
    })
  )

  it.effect("CHG-9: a settlement pays one charge, and the second is refused as a duplicate", () =>
    Effect.gen(function* () {
      const store = yield* ChargeStore
      const ids = yield* Ids
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const settlement = endToEndId()
      const pay = Effect.fnUntraced(function* (id: string) {
        const facts = { emitted: { brCode: "00020126", receiver: null }, endToEndId: settlement }
        const decided = decideChange((yield* store.find(id))!, "paid", facts, {
          ids,
          nowMs: yield* Clock.currentTimeMillis,
          releaseDelayMs: 0
        })
        return yield* store.change(decided!)
      })
      assert.isTrue(yield* pay((yield* created(key)).id))
      const second = yield* created(key)
      const refused = yield* Effect.exit(pay(second.id))
      assert.isTrue(Exit.isFailure(refused) && isDuplicate(Cause.squash(refused.cause)), String(refused))
      assert.strictEqual((yield* store.find(second.id))?.status, "pending")
      yield* assertComplete
    })
  )
})

const endToEndId = (): string => `E99999010202611210800${randomUUID().replaceAll("-", "").slice(0, 11)}`
