/** Two connections of one client of a provider, whose lists have the payments of both keys. */
import { assert, layer } from "@effect/vitest"
import type { Connection } from "@pix-payments/api/operator/Connections"
import { txidFromId } from "@pix-payments/domain/Txid"
import type { PspDoubleOptions } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { startDouble } from "../support/Bank.ts"
import {
  connectedBank,
  type ConnectedBank,
  connectedServiceLayer,
  connectedTo,
  payAll,
  pendingCharges,
  post,
  statusesOf,
  sweepNow
} from "../support/ConnectedBank.ts"
import { connectionTo } from "../support/Connections.ts"
import { exceptionOf, exceptionsOf, unallocated } from "../support/Exceptions.ts"
import { assertLedgerHolds, availableOf, operated } from "../support/Money.ts"

const KEYS = ["7d9f0335-8dcc-4054-9bf9-0dbd61d36906", "payments@example.com", "+5511999990000"]

/** Two connections of one client. Either returns what fits no charge. */
const twoConnections = Effect.fnUntraced(function* (options: PspDoubleOptions = {}, seed = 900) {
  const double = yield* startDouble({ seed, settings: { keys: KEYS }, ...options })
  const rule = { exception_rule: "return" } as const
  const one = yield* connectedTo(double, { ...rule, pix_key: KEYS[0]! })
  return { double, one, two: yield* connectedTo(double, { ...rule, pix_key: KEYS[1]! }) }
})

const shown = ({ connectionId }: ConnectedBank) => operated<Connection>("GET", `/connections/${connectionId}`)

const recorded = ({ connectionId }: ConnectedBank) =>
  Effect.flatMap(SqlClient, (sql) => sql`SELECT FROM notifications WHERE connection_id = ${connectionId}::uuid`)

layer(connectedServiceLayer(), { excludeTestServices: true })("Of two connections of one client", (it) => {
  it.effect("OPR-99: a sweep leaves the other's payments alone, and counts them", () =>
    Effect.gen(function* () {
      const { double, one, two } = yield* twoConnections()
      payAll(two, yield* pendingCharges(two, 6))
      const toTwo = double.provider.receipts.receive({ key: KEYS[1]!, cents: 700 })
      yield* sweepNow(one)
      assert.lengthOf(yield* recorded(one), 0)
      assert.strictEqual(yield* unallocated(one.connectionId), 0)
      assert.deepInclude(yield* shown(one), { foreign_entries: 7 })
      assert.isNotNull((yield* shown(one)).foreign_at)
      yield* sweepNow(two)
      assert.deepStrictEqual(new Set(yield* statusesOf(two)), new Set(["paid"]))
      assert.strictEqual(yield* availableOf(two.key), 6000)
      assert.deepInclude(yield* exceptionOf(toTwo.endToEndId), { connection_id: two.connectionId, action: "return" })
      assert.deepInclude(yield* shown(two), { foreign_entries: 0, foreign_at: null })
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-99: a txid decides before the key, and a key that a connection had stays its own", () =>
    Effect.gen(function* () {
      const { double, one, two } = yield* twoConnections({}, 901)
      const [charge] = yield* pendingCharges(one, 1)
      // Its key is another one meanwhile.
      yield* operated("PATCH", `/connections/${one.connectionId}`, { pix_key: KEYS[2] })
      const [paid] = payAll(one, [charge!])
      const straight = double.provider.receipts.receive({ key: KEYS[0]!, cents: 500 })
      for (const bank of [two, one]) yield* sweepNow(bank)
      assert.deepStrictEqual(yield* statusesOf(one), ["paid"])
      assert.lengthOf(yield* exceptionsOf(paid!.endToEndId), 0)
      assert.deepInclude(yield* exceptionOf(straight.endToEndId), { connection_id: one.connectionId })
      // A txid of a charge, paid to the other connection's key.
      const [other] = yield* pendingCharges(two, 1)
      double.provider.receipts.payCob(other!.id.replaceAll("-", ""), { key: KEYS[2]! })
      for (const bank of [one, two]) yield* sweepNow(bank)
      assert.deepStrictEqual(yield* statusesOf(two), ["paid"])
    })
  )

  it.effect("OPR-99: what has neither key nor charge is raised once, by the oldest connection, and held", () =>
    Effect.gen(function* () {
      const { double, one, two } = yield* twoConnections({}, 902)
      const { endToEndId } = double.provider.receipts.receive({ key: "", cents: 500 })
      for (const bank of [two, one, two]) yield* sweepNow(bank)
      assert.deepInclude(yield* exceptionOf(endToEndId), {
        connection_id: one.connectionId,
        status: "open",
        action: null
      })
      assert.strictEqual(yield* unallocated(two.connectionId), 0)
    })
  )

  it.effect("OPR-92, OPR-99: a callback at the other's URL credits nothing", () =>
    Effect.gen(function* () {
      const { double, one, two } = yield* twoConnections({}, 903)
      const [pix] = payAll(two, yield* pendingCharges(two, 1))
      const identity = yield* Effect.promise(() => double.authority.issue({ name: "bank", usage: "client" }))
      for (const chave of [KEYS[1], undefined]) {
        const { status } = yield* post(
          one.secretUrl,
          { pix: [{ endToEndId: pix!.endToEndId, txid: pix!.txid, valor: "10.00", chave }] },
          identity
        )
        assert.strictEqual(status, 200)
      }
      assert.lengthOf(yield* exceptionsOf(pix!.endToEndId), 0)
      assert.strictEqual(yield* unallocated(one.connectionId), 0)
    })
  )

  it.effect("OPR-99: a dispute of the other's payment is left alone", () =>
    Effect.gen(function* () {
      const { double, one, two } = yield* twoConnections({ profile: "efi" }, 904)
      const [pix] = payAll(two, yield* pendingCharges(two, 1))
      yield* sweepNow(two)
      double.provider.infractions.open(pix!.endToEndId)
      for (const bank of [one, two]) yield* sweepNow(bank)
      assert.lengthOf(yield* exceptionsOf(pix!.endToEndId), 0)
      assert.deepStrictEqual(yield* statusesOf(two), ["infraction"])
    })
  )

  it.effect.each([
    { what: "a payment, a payout, a dispute", fault: "unreadable-amount", raised: 3 },
    { what: "returns within a payment", fault: "unreadable-returns", raised: 2 }
  ] as const)("OPR-99, OPR-163: what cannot be read is the other's exception: $what", ({ fault, raised }) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { double, one, two } = yield* twoConnections({ profile: "efi" }, 906 + raised)
      const { infractions, payouts, receipts } = double.provider
      const [pix] = payAll(two, yield* pendingCharges(two, 1))
      receipts.orderReturn(pix!.endToEndId, "D1", { cents: 1 })
      infractions.open(pix!.endToEndId)
      payouts.send("theirs", {
        cents: 500,
        payerKey: KEYS[1]!,
        payee: { key: "ana@example.com", document: undefined }
      })
      double.faults.always(fault, { path: /\/(pix|enviados|infracoes)$/ })
      for (const bank of [one, two]) yield* sweepNow(bank)
      const of = (bank: ConnectedBank) =>
        sql`SELECT FROM acquirer_exceptions WHERE connection_id = ${bank.connectionId}::uuid AND kind = 'unreadable'`
      assert.lengthOf(yield* of(one), 0)
      assert.lengthOf(yield* of(two), raised)
    })
  )

  it.effect("OPR-99, OPR-163: what cannot be read and has neither key nor charge is the oldest's exception", () =>
    Effect.gen(function* () {
      const { double, one, two } = yield* twoConnections({}, 909)
      const { endToEndId } = double.provider.receipts.receive({ key: "", cents: 500 })
      double.faults.always("unreadable-amount", { path: /\/pix$/ })
      for (const bank of [two, one]) yield* sweepNow(bank)
      assert.deepInclude(yield* exceptionOf(endToEndId), { kind: "unreadable", connection_id: one.connectionId })
    })
  )

  it.effect("OPR-99: a key that another connection of the client has or had is refused", () =>
    Effect.gen(function* () {
      const { double, one, two } = yield* twoConnections({}, 905)
      yield* operated("POST", "/connections", connectionTo(double, { pix_key: KEYS[1] }), 409)
      yield* operated("PATCH", `/connections/${one.connectionId}`, { pix_key: KEYS[1] }, 409)
      // Nor by another spelling of the address, or another address of tokens.
      for (const settings of [
        { base_url: `${double.baseUrl}/`, token_url: double.tokenUrl },
        { base_url: double.baseUrl.replace("https:", "HTTPS:"), token_url: `${double.tokenUrl}?` }
      ]) {
        yield* operated("POST", "/connections", connectionTo(double, { pix_key: KEYS[1], settings }), 409)
      }
      yield* operated("PATCH", `/connections/${one.connectionId}`, { pix_key: KEYS[2] })
      yield* operated("PATCH", `/connections/${two.connectionId}`, { pix_key: KEYS[0] }, 409)
      yield* operated("PATCH", `/connections/${one.connectionId}`, { pix_key: KEYS[0] })
      assert.strictEqual((yield* shown(two)).pix_key, KEYS[1])
      // Another client of another provider has its own keys.
      yield* connectedBank({ settings: { keys: KEYS } }, { pix_key: KEYS[1]! })
    })
  )
})

layer(Layer.empty, { excludeTestServices: true })("Of two cells at one client", (it) => {
  it.effect(
    "OPR-99: each leaves the other's payments alone by their key, and no rule returns what names its charges",
    () =>
      Effect.gen(function* () {
        const double = yield* startDouble({ seed: 920, settings: { keys: KEYS } })
        const cell = (pixKey: string) =>
          Effect.gen(function* () {
            const built = yield* Layer.build(Layer.fresh(connectedServiceLayer()))
            const bank = yield* connectedTo(double, { exception_rule: "return", pix_key: pixKey }).pipe(
              Effect.provide(built)
            )
            return { built, bank }
          })
        const one = yield* cell(KEYS[0]!)
        const two = yield* cell(KEYS[1]!)
        const charges = yield* Effect.provide(pendingCharges(two.bank, 3), two.built)
        payAll(two.bank, charges.slice(0, 2))
        // The payer of a charge of one cell pays to the key of the other one.
        const crossed = double.provider.receipts.payCob(txidFromId(charges[2]!.id), { key: KEYS[0]! })
        if (crossed._tag === "Failure") throw new Error(crossed.failure._tag)

        yield* Effect.provide(
          Effect.gen(function* () {
            yield* sweepNow(one.bank)
            assert.deepInclude(yield* shown(one.bank), { foreign_entries: 2 })
            assert.deepInclude(yield* exceptionOf(crossed.success.endToEndId), {
              kind: "unknown_txid",
              status: "open",
              action: null
            })
            assert.strictEqual(yield* unallocated(one.bank.connectionId), 1000)
            yield* assertLedgerHolds
          }),
          one.built
        )
        yield* Effect.provide(
          Effect.gen(function* () {
            yield* sweepNow(two.bank)
            assert.deepStrictEqual(yield* statusesOf(two.bank), ["paid", "paid", "paid"])
            assert.strictEqual(yield* unallocated(two.bank.connectionId), 0)
            yield* assertLedgerHolds
          }),
          two.built
        )
        const paid = charges.flatMap(({ id }) => double.provider.receipts.ofTxid(txidFromId(id)))
        assert.deepStrictEqual(
          paid.map(({ returns }) => returns.length),
          [0, 0, 0]
        )
      }).pipe(Effect.scoped)
  )
})
