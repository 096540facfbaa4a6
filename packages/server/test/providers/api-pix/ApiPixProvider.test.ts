/** The port over API Pix, against the double. */
import { assert, describe, it } from "@effect/vitest"
import type { ApiPixClient } from "@pix-payments/api-pix/ApiPixClient"
import { txidFromId } from "@pix-payments/domain/Txid"
import type { PspDouble, PspDoubleOptions } from "@pix-payments/psp-double/PspDouble"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import type { Emission, PayoutOrder, Provider } from "../../../src/providers/Acquirer.ts"
import { makeApiPixProvider } from "../../../src/providers/api-pix/ApiPixProvider.ts"
import { connect, startDouble } from "../../support/Bank.ts"

const withBank = (
  options: PspDoubleOptions,
  use: (bank: { readonly double: PspDouble; readonly provider: Provider }) => Effect.Effect<void, unknown>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const double = yield* startDouble(options)
      yield* use({ double, provider: yield* connect(double) })
      assert.deepStrictEqual(double.violations, [])
      assert.deepStrictEqual(double.defects, [])
    })
  )

const emission = (changes: Partial<Emission> = {}) =>
  Effect.map(Clock.currentTimeMillis, (now): Emission => ({
    method: "pix",
    txid: txidFromId(randomUUID()),
    amount: 1990,
    expiresAtMs: now + 3_600_000,
    payer: { name: "Ana Souza", email: "ana@example.com", document: "52998224725" },
    merchant: { name: "Loja", document: "11222333000181" },
    description: "Pedido 1001",
    isRepeated: false,
    ...changes
  }))

const payout = (changes: Partial<PayoutOrder> = {}): PayoutOrder => ({
  id: randomUUID(),
  amount: 300,
  method: "pix",
  pixKeyType: "email",
  pixKey: "ana@example.com",
  bankAccount: null,
  recipientName: "Ana",
  recipientDocument: null,
  description: null,
  reference: null,
  keepReference: () => Effect.void,
  ...changes
})

/** A paid charge, and its end-to-end id. */
const paid = Effect.fnUntraced(function* (double: PspDouble, provider: Provider) {
  const order = yield* emission()
  yield* provider.emit(order)
  double.provider.receipts.payCob(order.txid)
  const now = yield* Clock.currentTimeMillis
  const { items } = yield* provider.received!.list({ fromMs: now - 60_000, toMs: now + 60_000, page: 0 })
  const received = items.find(({ txid }) => txid === order.txid)!
  return { order, received }
})

describe("The port over API Pix", () => {
  for (const profile of ["bacen", "efi"] as const) {
    it.live(`CHG-4: ${profile}: an emission that is repeated, or whose answer is lost, finds the first Pix`, () =>
      withBank({ profile }, ({ double, provider }) =>
        Effect.gen(function* () {
          const order = yield* emission()
          double.faults.once("dropped-after", { method: "PUT", path: /\/cob\// })
          const first = yield* provider.emit(order)
          assert.match(first.brCode ?? "", /^000201/)
          assert.strictEqual(first.receiver?.pix_key, double.key)
          assert.deepStrictEqual(yield* provider.emit({ ...order, isRepeated: true }), first)
          const other = yield* Effect.flip(provider.emit({ ...order, amount: 1, isRepeated: true }))
          assert.deepInclude(other, {
            _tag: "AcquirerUnclear",
            reason: "status 200: valor.original is not that of the question"
          })
        })
      )
    )

    it.live(`CHG-26: ${profile}: a Pix that is paid is not canceled, one that is not is removed, once or twice`, () =>
      withBank({ profile }, ({ double, provider }) =>
        Effect.gen(function* () {
          const order = yield* emission()
          yield* provider.emit(order)
          yield* provider.cancel({ id: randomUUID(), txid: order.txid })
          yield* provider.cancel({ id: randomUUID(), txid: order.txid })
          const { order: other } = yield* paid(double, provider)
          const refusal = yield* Effect.flip(provider.cancel({ id: randomUUID(), txid: other.txid }))
          assert.strictEqual(refusal._tag, "AcquirerRefused")
        })
      )
    )

    it.live(`BAL-5: ${profile}: a return whose answer is lost is ordered once, and ends as the provider says`, () =>
      withBank({ profile, settings: { returnFate: () => ({ _tag: "Held" }) } }, ({ double, provider }) =>
        Effect.gen(function* () {
          const { order, received } = yield* paid(double, provider)
          assert.strictEqual(received.amount, 1990)
          const id = randomUUID()
          const asked = { id, endToEndId: received.endToEndId, txid: order.txid, amount: 500, description: null }
          double.faults.once("dropped-after", { method: "PUT", path: /devolucao/ })
          assert.deepStrictEqual(yield* provider.orderReturn(asked), { _tag: "Accepted" })
          double.provider.receipts.settleReturn(received.endToEndId, id.replaceAll("-", ""), {})
          const ended = yield* provider.orderReturn(asked)
          assert.match(ended._tag === "Completed" ? (ended.returnId ?? "") : ended._tag, /^D/)
          const found = yield* provider.received!.find(received.endToEndId)
          assert.deepStrictEqual(
            found?.returns.map(({ amount, nature, status }) => ({ amount, nature, status })),
            [{ amount: 500, nature: "original", status: "completed" }]
          )
          assert.isUndefined(yield* provider.received!.find(`E${"0".repeat(31)}`))
        })
      )
    )
  }

  it.live("PAY-6: a payout whose answer is lost is sent once; one that the provider does not know is not found", () =>
    withBank({ profile: "efi" }, ({ double, provider }) =>
      Effect.gen(function* () {
        double.provider.receipts.receive({ key: double.key, cents: 10_000 })
        const rail = provider.payouts!
        const order = payout()
        assert.deepStrictEqual(yield* rail.outcome(order), { _tag: "NotFound" })
        double.faults.once("dropped-after", { method: "PUT", path: /\/v3\/gn\/pix\// })
        const sent = yield* rail.send(order)
        assert.include(["Accepted", "Completed"], sent._tag)
        yield* Effect.promise(() => double.advance(3_600_000))
        assert.strictEqual((yield* rail.send(order))._tag, "Completed")
        assert.strictEqual((yield* rail.outcome(order))._tag, "Completed")
        assert.strictEqual((yield* rail.send(payout({ pixKey: null, method: "ted" })))._tag, "Refused")
      })
    )
  )

  it.live("DSP-2: a dispute of the provider is listed, and defended once", () =>
    withBank({ profile: "efi" }, ({ double, provider }) =>
      Effect.gen(function* () {
        const { received } = yield* paid(double, provider)
        double.provider.infractions.open(received.endToEndId, { cents: 300 })
        const now = yield* Clock.currentTimeMillis
        const range = { fromMs: now - 60_000, toMs: now + 60_000, page: 0 }
        const listed = Effect.map(provider.disputes!.list!(range), ({ items }) => items[0]!)
        const { amount, externalId, openedAtMs, status } = yield* listed
        assert.deepStrictEqual([amount, status], [300, "open"])
        const defense = { id: randomUUID(), externalId, openedAtMs, text: "Entregue no dia 3.", files: [] }
        double.faults.once("proxy-page", { path: /defesa$/ })
        assert.strictEqual((yield* Effect.flip(provider.disputes!.defend(defense)))._tag, "AcquirerUnclear")
        yield* provider.disputes!.defend(defense)
        yield* provider.disputes!.defend(defense)
        assert.strictEqual((yield* listed).status, "under_review")
      })
    )
  )

  it.effect("OPR-95: every page is read of a provider that counts its pages from one", () =>
    Effect.gen(function* () {
      const listReceived: ApiPixClient["listReceived"] = ({ page = 0 }) =>
        Effect.succeed({ items: [], unreadable: [], page: page + 1, pages: 2, total: 0 })
      const provider = makeApiPixProvider({
        client: { listReceived } as ApiPixClient,
        payouts: undefined,
        disputes: undefined,
        pixKey: "loja@example.com",
        timeoutMs: 60_000
      })
      const hasMore = (page: number) =>
        Effect.map(provider.received!.list({ fromMs: 0, toMs: 1, page }), (listed) => listed.hasMore)
      assert.deepStrictEqual([yield* hasMore(0), yield* hasMore(1)], [true, false])
    })
  )

  it.live("CHG-4: nothing but a documented refusal is a refusal", () =>
    withBank({ profile: "efi" }, ({ double, provider }) =>
      Effect.gen(function* () {
        for (const fault of ["error-after", "html"] as const) {
          double.faults.once(fault, { method: "PUT", path: /\/v3\/gn\/pix\// })
          double.faults.once(fault, { method: "GET", path: /id-envio/ })
          double.faults.once(fault, { method: "GET", path: /id-envio/ })
          double.faults.once(fault, { method: "GET", path: /id-envio/ })
          assert.strictEqual((yield* Effect.flip(provider.payouts!.send(payout())))._tag, "AcquirerUnclear")
        }
      })
    )
  )
})
