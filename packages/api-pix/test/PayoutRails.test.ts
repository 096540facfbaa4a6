import { assert, describe, it } from "@effect/vitest"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { PayoutOrder } from "../src/Payouts.ts"
import { type BankOptions, outcomeOf, payout, RAIL_NAMES, RAILS, withBank } from "./support/Bank.ts"

const OPENING = 100_000

const funded = (rail: (typeof RAIL_NAMES)[number], options: BankOptions = {}): BankOptions => ({
  ...RAILS[rail],
  ...options,
  settings: { openingCents: OPENING, ...options.settings },
  connection: { ...RAILS[rail].connection, ...options.connection }
})

/** An order whose reference is kept as a database keeps it. */
const keptOrder = (double: PspDouble, change: Partial<PayoutOrder> = {}) => {
  const row: { reference: string | undefined } = { reference: undefined }
  const order = (): PayoutOrder => ({
    ...payout(double),
    ...change,
    reference: row.reference,
    keepReference: (reference) =>
      Effect.sync(() => {
        row.reference = reference
      })
  })
  return { row, order }
}

const settled = (double: PspDouble) => Effect.promise(() => double.settle())

const sentOf = ({ provider }: PspDouble) =>
  provider.payouts.list({ fromMs: 0, toMs: Infinity }, () => true, { page: 0, size: 100 }).items

/** Requests that may move money. */
const orders = ({ exchanges }: PspDouble) =>
  exchanges.filter(({ method, path }) => method !== "GET" && /gn\/pix|confirmacao|banking/.test(path)).length

describe.each(RAIL_NAMES)("%s", (rail) => {
  it.live("a payout is sent, repeated, settled and found", () =>
    withBank(funded(rail), ({ double, payouts }) =>
      Effect.gen(function* () {
        const { order, row } = keptOrder(double)
        assert.strictEqual(yield* outcomeOf(payouts.find(order())), "NotFound")
        const sent = yield* payouts.send(order())
        assert.deepInclude(sent, { id: order().id, cents: 300, status: "EM_PROCESSAMENTO" })
        assert.strictEqual(row.reference !== undefined, rail !== "efi")
        yield* settled(double)
        const found = yield* payouts.find(order())
        assert.deepInclude(found, { id: order().id, cents: 300, status: "REALIZADO", reason: undefined })
        assert.strictEqual(found.endToEndId, sentOf(double)[0]!.endToEndId)
        assert.deepInclude(yield* payouts.send(order()), { status: "REALIZADO" })
        assert.deepStrictEqual([sentOf(double).length, double.provider.balanceCents()], [1, OPENING - 300])
      })
    )
  )

  it.live("a payout that fails says why, and a payee that is not found is refused", () =>
    withBank(
      funded(rail, {
        settings: {
          payoutFate: () => ({
            _tag: "Failed",
            afterMs: 0,
            with: { code: "AC03", origin: "PSP", reason: "Conta inexistente" }
          })
        }
      }),
      ({ double, payouts }) =>
        Effect.gen(function* () {
          const { order } = keptOrder(double)
          yield* payouts.send(order())
          yield* settled(double)
          const found = yield* payouts.find(order())
          assert.strictEqual(found.status, "NAO_REALIZADO")
          // Efí says it in its hook alone.
          if (rail !== "efi") assert.match(found.reason!, /Conta inexistente/)

          double.provider.payouts.describePayee("nobody@example.com", { _tag: "NotFound" })
          const other = keptOrder(double, { id: "f".repeat(32), payee: { key: "nobody@example.com" } })
          assert.strictEqual(yield* outcomeOf(payouts.send(other.order())), "Refused")
          assert.strictEqual(double.provider.balanceCents(), OPENING)
        })
    )
  )

  it.live("a payout to a payee whom the bank denies is refused, also when it is repeated", () =>
    withBank(funded(rail), ({ double, payouts }) =>
      Effect.gen(function* () {
        double.provider.payouts.describePayee("denied@example.com", { _tag: "Denied" })
        const { order, row } = keptOrder(double, { payee: { key: "denied@example.com" } })
        if (rail === "sicoob") {
          row.reference = (yield* Effect.fromResult(double.provider.payouts.begin("denied@example.com"))).endToEndId
        }
        assert.strictEqual(yield* outcomeOf(payouts.send(order())), "Refused")
        assert.strictEqual(yield* outcomeOf(payouts.send(order())), "Refused")
        assert.strictEqual(payouts.findsUnnamed, rail !== "inter")
      })
    )
  )

  it.live("another amount under the same id is unclear", () =>
    withBank(funded(rail), ({ double, payouts }) =>
      Effect.gen(function* () {
        const { order } = keptOrder(double)
        yield* payouts.send(order())
        assert.strictEqual(yield* outcomeOf(payouts.send({ ...order(), cents: 400 })), "Unclear: unknown-answer")
        assert.strictEqual(sentOf(double).length, 1)
      })
    )
  )

  it.live.each([
    ["dropped-before", 0],
    ["dropped-after", 1],
    ["error-after", 1],
    ["html", 1],
    ["expired-token", 1],
    ["too-many-requests", 0]
  ] as const)("after %s of the request that moves money, a repetition pays once", ([fault, executed]) =>
    withBank(funded(rail, { retryAfterSeconds: 0 }), ({ double, payouts }) =>
      Effect.gen(function* () {
        double.faults.once(fault, { path: /gn\/pix\/|confirmacao|banking/ })
        const { order } = keptOrder(double)
        const first = yield* outcomeOf(payouts.send(order()))
        assert.isFalse(["Refused", "Duplicate", "NotFound"].includes(first), first)
        assert.strictEqual(sentOf(double).length, executed)
        yield* payouts.send(order())
        yield* settled(double)
        assert.strictEqual((yield* payouts.find(order())).status, "REALIZADO")
        assert.deepStrictEqual([sentOf(double).length, double.provider.balanceCents()], [1, OPENING - 300])
      })
    )
  )

  it.live.each([1, 2, 3, 4, 5])("whatever fails, an order that is repeated pays once: seed %d", (seed) =>
    withBank(
      funded(rail, { seed, retryAfterSeconds: 0, connection: { limits: { failuresToOpen: 1_000_000 } } }),
      ({ double, payouts }) =>
        Effect.gen(function* () {
          for (let n = 0; n < 4; n += 1) {
            double.faults.setRates({
              "dropped-before": 0.1,
              "dropped-after": 0.1,
              "error-after": 0.1,
              html: 0.1,
              "expired-token": 0.1,
              "too-many-requests": 0.1,
              "foreign-error": 0.1,
              "null-fields": 0.1
            })
            const { order } = keptOrder(double, { id: `${n}`.padStart(32, "a") })
            for (let attempt = 0; attempt < 12; attempt += 1) {
              const outcome = yield* outcomeOf(payouts.send(order()))
              assert.isFalse(["Refused", "Duplicate", "NotFound"].includes(outcome), outcome)
            }
            double.faults.setRates({})
            yield* payouts.send(order())
          }
          yield* settled(double)
          assert.deepStrictEqual([sentOf(double).length, double.provider.balanceCents()], [4, OPENING - 4 * 300])
        })
    )
  )

  it.live("a reference that cannot be kept: Sicoob moves nothing, and the order starts again", () =>
    withBank(funded(rail), ({ double, payouts }) =>
      Effect.gen(function* () {
        const { order } = keptOrder(double)
        const lost = { ...order(), keepReference: () => Effect.die("the database is away") }
        const exit = yield* Effect.exit(payouts.send(lost))
        assert.strictEqual(Exit.isFailure(exit) && Cause.hasDies(exit.cause), rail !== "efi")
        if (rail === "sicoob") assert.strictEqual(orders(double), 0)
        yield* payouts.send(order())
        assert.strictEqual(sentOf(double).length, 1)
      })
    )
  )
})

describe.each(RAIL_NAMES)("%s: an outcome that changes", (rail) => {
  it.live("is shown as it is now, by the look-up, the repeated order and the list", () =>
    withBank(
      funded(rail, { settings: { payoutFate: () => ({ _tag: "Done", afterMs: 0, changesAfterMs: 60_000 }) } }),
      ({ double, payouts }) =>
        Effect.gen(function* () {
          const { order } = keptOrder(double)
          yield* payouts.send(order())
          const states = Effect.gen(function* () {
            const range = { fromMs: double.now() - 3_600_000, toMs: double.now() }
            const { items } = yield* payouts.listSent?.(range) ?? Effect.succeed({ items: [] })
            return [yield* payouts.find(order()), yield* payouts.send(order()), ...items].map(({ status }) => status)
          })
          yield* settled(double)
          assert.deepStrictEqual(new Set(yield* states), new Set(["REALIZADO"]))
          yield* Effect.promise(() => double.advance(60_000))
          assert.deepStrictEqual(new Set(yield* states), new Set(["NAO_REALIZADO"]))
          assert.strictEqual(double.provider.balanceCents(), OPENING)
        })
    )
  )
})

describe("Sicoob's two phases", () => {
  it.live("after a crash between them, the reference is used again, and confirms that Pix", () =>
    withBank(funded("sicoob"), ({ double, payouts }) =>
      Effect.gen(function* () {
        const { order, row } = keptOrder(double)
        const keep = order().keepReference
        const crash = (reference: string) => Effect.andThen(keep(reference), Effect.interrupt)
        yield* Effect.exit(payouts.send({ ...order(), keepReference: crash }))
        assert.isDefined(row.reference)
        assert.deepStrictEqual([orders(double), sentOf(double).length], [0, 0])
        assert.strictEqual(yield* outcomeOf(payouts.find(order())), "NotFound")

        const begun = double.exchanges.filter(({ method, path }) => method === "POST" && path.endsWith("/pagamentos"))
        const { endToEndId } = yield* payouts.send(order())
        assert.strictEqual(endToEndId, row.reference)
        assert.strictEqual(
          double.exchanges.filter(({ method, path }) => method === "POST" && path.endsWith("/pagamentos")).length,
          begun.length
        )
      })
    )
  )

  it.live("a key of another document is refused before a phase that moves money; an account has no key", () =>
    withBank(funded("sicoob"), ({ double, payouts }) =>
      Effect.gen(function* () {
        double.provider.payouts.describePayee("ana@example.com", { _tag: "Owner", document: "52998224725" })
        const send = (payee: PayoutOrder["payee"]) => Effect.flip(payouts.send(keptOrder(double, { payee }).order()))
        const other = yield* send({ key: "ana@example.com", document: "11144477735" })
        assert.deepInclude(other, { _tag: "Refused", code: "payee-document-differs" })
        const account = {
          name: "Ana",
          document: "52998224725",
          bankCode: "00416968",
          branch: "1",
          number: "1",
          type: "cacc"
        } as const
        assert.deepInclude(yield* send({ account }), { _tag: "NotSent", reason: "invalid-request" })
        assert.strictEqual(orders(double), 0)
      })
    )
  )
})

describe("Inter's approval", () => {
  it.live("a payout that a person must approve is in process until then", () =>
    withBank(funded("inter", { settings: { payoutFate: () => ({ _tag: "Held" }) } }), ({ double, payouts }) =>
      Effect.gen(function* () {
        const { order } = keptOrder(double)
        yield* payouts.send(order())
        assert.strictEqual((yield* payouts.find(order())).status, "EM_PROCESSAMENTO")
        const [sent] = sentOf(double)
        yield* Effect.fromResult(double.provider.payouts.settle(sent!.id, {}))
        assert.strictEqual((yield* payouts.send(order())).status, "REALIZADO")
      })
    )
  )

  it.live("an account is paid; the idempotency key is our id as a UUID", () =>
    withBank(funded("inter"), ({ double, payouts }) =>
      Effect.gen(function* () {
        const account = {
          name: "Ana",
          document: "52998224725",
          bankCode: "00416968",
          branch: "0001",
          number: "1234567",
          type: "svgs"
        } as const
        yield* payouts.send(keptOrder(double, { payee: { account } }).order())
        assert.deepInclude(sentOf(double)[0], { id: "3fa85f64-5717-4562-b3fc-2c963f66afa6", payee: { account } })
        const invalid = yield* Effect.flip(payouts.send(keptOrder(double, { id: "payout1" }).order()))
        assert.deepInclude(invalid, { _tag: "NotSent", reason: "invalid-request" })
      })
    )
  )
})
