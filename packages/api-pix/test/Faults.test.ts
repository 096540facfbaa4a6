import { assert, describe, it } from "@effect/vitest"
import type { RequestFault } from "@pix-payments/psp-double/Faults"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import type { Failure } from "../src/Outcome.ts"
import { type Bank, emission, outcomeOf, payout, TXID, until, withBank } from "./support/Bank.ts"

const PROFILES = ["bacen", "efi"] as const

const countOf = (double: PspDouble, method: string, path: RegExp) =>
  double.exchanges.filter((exchange) => exchange.method === method && path.test(exchange.path)).length

const unanswered = (double: PspDouble) => double.exchanges.some(({ fault }) => fault === "hang")

/** What the first answer is, without any look-up. */
const ANSWERS: ReadonlyArray<readonly [RequestFault, string, "yes" | "no"]> = [
  ["dropped-before", "Unclear: connection-cut", "no"],
  ["dropped-after", "Unclear: connection-cut", "yes"],
  ["error-after", "Unclear: server-error", "yes"],
  ["html", "Unclear: server-error", "yes"],
  ["too-many-requests", "RateLimited", "no"],
  ["proxy-page", "Unclear: unknown-answer", "no"],
  ["slow", "done", "yes"],
  ["ok-for-created", "done", "yes"],
  ["null-fields", "done", "yes"]
]

describe.each(PROFILES)("%s: an answer alone", (profile) => {
  it.live.each(ANSWERS)("%s is %s; executed: %s", ([fault, outcome, executed]) =>
    withBank({ profile, slowMs: 50 }, ({ double, connection }) =>
      Effect.gen(function* () {
        const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 1000 })
        double.faults.once(fault, { method: "PUT" })
        const operation = { name: "return", scope: "pix.write", refusals: [], notFound: [] }
        const path = `/pix/${endToEndId}/devolucao/r1`
        const call = connection.call(operation, { method: "PUT", below: "pix", path, body: { valor: "1.00" } })
        assert.strictEqual(yield* outcomeOf(call), outcome)
        const { returns } = yield* Effect.fromResult(double.provider.receipts.get(endToEndId))
        assert.strictEqual(returns.length, executed === "yes" ? 1 : 0)
      })
    )
  )
})

/** Faults of an order, and what the operation answers after its look-up. */
const ORDERS: ReadonlyArray<readonly [RequestFault, { emit: string; money: string }]> = [
  ["dropped-before", { emit: "done", money: "Unclear: not-found-yet" }],
  ["dropped-after", { emit: "done", money: "done" }],
  ["error-after", { emit: "done", money: "done" }],
  ["html", { emit: "done", money: "done" }],
  ["proxy-page", { emit: "done", money: "Unclear: not-found-yet" }],
  ["expired-token", { emit: "done", money: "done" }],
  ["forbidden-token", { emit: "done", money: "done" }],
  ["too-many-requests", { emit: "RateLimited", money: "RateLimited" }],
  ["ok-for-created", { emit: "done", money: "done" }],
  ["slow", { emit: "done", money: "done" }]
]

describe.each(PROFILES)("%s: an order whose answer is spoiled", (profile) => {
  it.live.each(ORDERS)("%s", ([fault, expected]) =>
    withBank({ profile, slowMs: 50, settings: { openingCents: 10_000 } }, ({ double, client, payouts }) =>
      Effect.gen(function* () {
        double.faults.once(fault, { method: "PUT" })
        assert.strictEqual(yield* outcomeOf(client.emit(emission(double))), expected.emit)

        const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 1000 })
        double.faults.once(fault, { method: "PUT" })
        const order = { endToEndId, id: "r1", cents: 400 }
        assert.strictEqual(yield* outcomeOf(client.returnPix(order)), expected.money)

        if (profile === "efi") {
          double.faults.once(fault, { method: "PUT" })
          assert.strictEqual(yield* outcomeOf(payouts.send(payout(double))), expected.money)
        }
      })
    )
  )

  it.live("a removal that was executed without an answer is found", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        yield* client.emit(emission(double))
        double.faults.once("dropped-after", { method: "PATCH" })
        assert.strictEqual((yield* client.cancel(TXID)).status, "REMOVIDA_PELO_USUARIO_RECEBEDOR")
        const txid = `${TXID}b`
        yield* client.emit({ ...emission(double), txid })
        double.faults.once("dropped-before", { method: "PATCH" })
        assert.strictEqual(yield* outcomeOf(client.cancel(txid)), "Unclear: connection-cut")
      })
    )
  )

  it.live("a webhook is registered by an empty answer or JSON, and by no page of a proxy", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        const register = client.registerWebhook(double.key, "https://hooks.example.com", { withoutMtls: true })
        double.faults.once("proxy-page", { method: "PUT" })
        assert.strictEqual(yield* outcomeOf(register), "Unclear: unknown-answer")
        assert.strictEqual(yield* outcomeOf(register), "done")
      })
    )
  )

  it.live.each([
    "dropped-before",
    "error-after",
    "html",
    "proxy-page",
    "expired-token",
    "returns-as-object",
    "null-fields"
  ] as const)("a look-up survives %s", (fault) =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 1000 })
        yield* client.returnPix({ endToEndId, id: "r1", cents: 400 })
        double.faults.once(fault, { method: "GET" })
        const { returns } = yield* client.findReceived(endToEndId)
        assert.deepStrictEqual(
          returns.map(({ id, cents }) => [id, cents]),
          [["r1", 400]]
        )
      })
    )
  )

  it.live("a refusal keeps its meaning with a text as status and null fields, and is unclear in another's shape", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        const stranger = client.emit({ ...emission(double), key: "stranger@example.com" })
        for (const fault of ["status-as-text", "null-fields"] as const) {
          double.faults.once(fault, { method: "PUT" })
          assert.strictEqual(yield* outcomeOf(stranger), "Refused")
          double.faults.once(fault, { method: "GET" })
          assert.strictEqual(yield* outcomeOf(client.find(TXID)), "NotFound")
        }
        const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 1000 })
        double.faults.once("foreign-error", { method: "PUT" })
        const beyond = client.returnPix({ endToEndId, id: "r1", cents: 2000 })
        assert.strictEqual(yield* outcomeOf(beyond), "Unclear: not-found-yet")
      })
    )
  )

  it.live("a taken txid is looked up, whether the provider answers 409 or updates it", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        yield* client.emit(emission(double))
        for (const fault of ["taken-txid-conflict", "taken-txid-update"] as const) {
          double.faults.once(fault, { method: "PUT" })
          const outcome = yield* outcomeOf(client.emit(emission(double)))
          // 409 is no answer of the central bank's document: its code is a refusal, and the look-up finds the charge.
          assert.strictEqual(outcome, "done")
        }
        assert.strictEqual((yield* client.find(TXID)).cents, 1000)
      })
    )
  )

  it.effect("no answer within the time limit: the order is looked up", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 1000 })
        double.faults.once("hang", { method: "PUT" })
        const returning = yield* Effect.forkChild(outcomeOf(client.returnPix({ endToEndId, id: "r1", cents: 400 })))
        yield* until(() => unanswered(double))
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual(yield* Fiber.join(returning), "done")
        assert.strictEqual(countOf(double, "PUT", /devolucao/), 1)
      })
    )
  )
})

describe("an order repeated under its id", () => {
  const RATES = {
    "dropped-before": 0.08,
    "dropped-after": 0.08,
    "error-after": 0.08,
    html: 0.08,
    "expired-token": 0.08,
    "ok-for-created": 0.08,
    "taken-txid-conflict": 0.2,
    "taken-txid-update": 0.2,
    "returns-as-object": 0.1,
    "null-fields": 0.1,
    "status-as-text": 0.1,
    "foreign-error": 0.1,
    "hook-before-answer": 0.05
  }
  const ORDERS_EACH = 4

  const repeatedly = <A>(double: PspDouble, order: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
    Effect.gen(function* () {
      for (let attempt = 1; attempt < 12; attempt += 1) {
        const outcome = yield* outcomeOf(order)
        assert.isFalse(["Refused", "Duplicate", "NotFound"].includes(outcome), outcome)
      }
      double.faults.setRates({})
      return yield* order
    })

  const onceEach = ({ double, client, payouts }: Bank) =>
    Effect.gen(function* () {
      const { receipts, cobs } = double.provider
      for (let n = 0; n < ORDERS_EACH; n += 1) {
        double.faults.setRates(RATES)
        const txid = `${TXID}${n}`
        const cob = yield* repeatedly(double, client.emit({ ...emission(double), txid }))
        assert.deepStrictEqual([cob.txid, cob.cents, cob.status], [txid, 1000, "ATIVA"])
        yield* Effect.fromResult(cobs.get(txid))
        const { endToEndId } = receipts.receive({ key: double.key, cents: 1000 })

        double.faults.setRates(RATES)
        yield* repeatedly(double, client.returnPix({ endToEndId, id: "r1", cents: 400 }))
        const { returns } = yield* Effect.fromResult(receipts.get(endToEndId))
        assert.deepStrictEqual(
          returns.map(({ id, cents }) => [id, cents]),
          [["r1", 400]]
        )
        if (double.profile.name === "efi") {
          double.faults.setRates(RATES)
          yield* repeatedly(double, payouts.send({ ...payout(double), id: `p${n}` }))
        }
      }
      const spent = double.profile.name === "efi" ? ORDERS_EACH * 300 : 0
      yield* Effect.promise(() => double.settle())
      assert.strictEqual(double.provider.balanceCents(), 100_000 + ORDERS_EACH * 600 - spent)
    })

  describe.each(PROFILES)("%s", (profile) => {
    it.live.each([1, 2, 3, 4, 5, 6])("is done once, whatever fails: seed %d", (seed) =>
      withBank(
        {
          profile,
          seed,
          settings: { openingCents: 100_000 },
          // A circuit that opens would hide the repetitions.
          connection: { limits: { failuresToOpen: 1_000_000 } }
        },
        onceEach
      )
    )
  })
})
