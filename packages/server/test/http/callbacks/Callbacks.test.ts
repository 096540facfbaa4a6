/** Callbacks of providers, over real mTLS. */
import { assert, layer } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import { makeAuthority } from "@pix-payments/psp-double/Certificates"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { CallbackConnections } from "../../../src/reports/CallbackConnections.ts"
import { Callbacks } from "../../../src/reports/Callbacks.ts"
import {
  connectedBank,
  type ConnectedBank,
  connectedServiceLayer,
  payAll,
  pendingCharges,
  post,
  statusesOf,
  sweepNow
} from "../../support/ConnectedBank.ts"
import { until } from "../../support/ChargeRequests.ts"
import { exceptionsOf } from "../../support/Exceptions.ts"
import { assertLedgerHolds, availableOf } from "../../support/Money.ts"

/** Sweeps stay away, so that what is credited came by a callback. */
const withoutSweeps = Effect.flatMap(SqlClient, (sql) => sql`UPDATE acquirer_connections SET due_at = 'infinity'`)

const registered = (bank: ConnectedBank, url = bank.url) => {
  bank.double.provider.webhooks.put(bank.double.key, url)
}

const hookOf = (bank: ConnectedBank, pix: { readonly endToEndId: string; readonly txid?: string | undefined }) => ({
  pix: [
    {
      endToEndId: pix.endToEndId,
      txid: pix.txid,
      chave: bank.double.key,
      valor: "10.00",
      horario: "2026-01-01T00:00:00Z"
    }
  ]
})

const delivered = (bank: ConnectedBank) => Effect.promise(() => bank.double.settle())

layer(connectedServiceLayer({ acquirerTimeoutMs: 8000 }), { excludeTestServices: true })("A callback", (it) => {
  it.effect("OPR-90, OPR-92: over mTLS, in batches and twice, each payment is committed before the 2xx, and once", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank({ hookBatch: 10, faults: { "hook-twice": 1 } })
      registered(bank)
      yield* withoutSweeps
      payAll(bank, yield* pendingCharges(bank, 20))
      yield* delivered(bank)
      assert.isAtLeast(bank.double.hooks.length, 4)
      assert.deepStrictEqual(new Set(yield* statusesOf(bank)), new Set(["paid"]))
      assert.strictEqual(yield* availableOf(bank.key), 20_000)
      yield* assertLedgerHolds
      assert.deepStrictEqual(bank.double.violations, [])
    })
  )

  it.effect("OPR-92: every fact by callback and by sweep at once is one credit", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank({ faults: { "hook-twice": 1 } })
      registered(bank)
      const charges = yield* pendingCharges(bank, 20)
      payAll(bank, charges)
      yield* Effect.all([delivered(bank), sweepNow(bank)], { concurrency: "unbounded" })
      yield* sweepNow(bank)
      assert.deepStrictEqual(new Set(yield* statusesOf(bank)), new Set(["paid"]))
      assert.strictEqual(yield* availableOf(bank.key), 20_000)
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-91: no certificate, a stranger's, a wrong secret and an unknown connection get one answer", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      yield* withoutSweeps
      const [pix] = payAll(bank, yield* pendingCharges(bank, 1))
      const stranger = yield* Effect.promise(async () => {
        const authority = await makeAuthority("stranger", bank.double.now())
        return authority.issue({ name: "psp-double hooks", usage: "client" })
      })
      const own = bank.double.client
      const origin = new URL(bank.url).origin
      const body = hookOf(bank, pix!)
      const answers = [
        yield* post(`${bank.url}/pix`, body),
        yield* post(`${bank.url}/pix`, body, stranger),
        yield* post(`${bank.url}/${"x".repeat(43)}/pix`, body, own),
        yield* post(`${bank.url}?hmac=wrong&ignorar=/pix`, body, own),
        yield* post(`${origin}/${randomUUID()}/pix`, body, own),
        yield* post(`${origin}/operator/v1/accounts`, body, own)
      ]
      assert.deepStrictEqual(
        answers.map(({ body, status }) => [status, body]),
        answers.map(() => [404, answers[0]!.body])
      )
      assert.deepStrictEqual(yield* statusesOf(bank), ["pending"])
      assert.lengthOf(
        bank.double.exchanges.filter(({ path }) => path.includes(pix!.endToEndId)),
        0
      )
      assert.strictEqual((yield* post(`${bank.url}/pix`, body, own)).status, 200)
      assert.deepStrictEqual(yield* statusesOf(bank), ["paid"])
    })
  )

  it.effect(
    "OPR-91: a secret in the path, or in Efí's `hmac`, counts from the provider's addresses without certificate",
    () =>
      Effect.gen(function* () {
        const bank = yield* connectedBank({ profile: "efi" })
        yield* withoutSweeps
        const [one, other] = payAll(bank, yield* pendingCharges(bank, 2))
        const secret = bank.secretUrl.split("/").at(-1)
        assert.strictEqual((yield* post(`${bank.secretUrl}/pix`, hookOf(bank, one!))).status, 200)
        const asEfi = `${bank.url}?hmac=${secret}&ignorar=/pix`
        assert.strictEqual((yield* post(asEfi, hookOf(bank, other!))).status, 200)
        assert.deepStrictEqual(yield* statusesOf(bank), ["paid", "paid"])
        // The check of a URL at its registration: refused without certificate, accepted with one.
        const check = { evento: "teste_webhook" }
        assert.strictEqual((yield* post(bank.url, check)).status, 404)
        assert.strictEqual((yield* post(bank.url, check, bank.double.client)).status, 200)
      })
  )

  it.effect("OPR-92: a foreign key, or a payment that the provider does not have, credits nothing", () =>
    Effect.gen(function* () {
      const [bank, other] = [
        yield* connectedBank(),
        yield* connectedBank({ settings: { keys: ["+5511999998888"] } }, {})
      ]
      yield* withoutSweeps
      const [charge] = yield* pendingCharges(bank, 1)
      const own = bank.double.client
      const txid = txidFromId(charge!.id)
      // True-looking, of a Pix that never was.
      const invented = `E12345678${"0".repeat(12)}abcdefghijk`
      const answer = yield* post(`${bank.url}/pix`, hookOf(bank, { endToEndId: invented, txid }), own)
      assert.deepStrictEqual([answer.status, answer.retryAfter !== undefined], [503, true])
      // The key of another customer of this provider, which registered our URL.
      const [paidToOther] = payAll(other, yield* pendingCharges(other, 1))
      const foreign = hookOf(other, paidToOther!)
      assert.strictEqual((yield* post(`${bank.url}/pix`, foreign, own)).status, 200)
      assert.deepStrictEqual(yield* statusesOf(bank), ["pending"])
      assert.deepStrictEqual(yield* statusesOf(other), ["pending"])
      // Without a charge, the key that the provider names decides, whatever the callback says.
      const elsewhere = bank.double.provider.receipts.receive({
        key: "+5511999990000",
        cents: 1000,
        txid: "x".repeat(30)
      })
      assert.strictEqual((yield* post(`${bank.url}/pix`, hookOf(bank, elsewhere), own)).status, 200)
      assert.lengthOf(yield* exceptionsOf(elsewhere.endToEndId), 0)
      assert.strictEqual(yield* availableOf(bank.key), 0)
    })
  )

  it.effect("OPR-93: while the provider does not answer a callback is 503, and is applied when it is repeated", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank({ profile: "efi" })
      yield* withoutSweeps
      registered(bank)
      const end = bank.double.faults.always("hang", { method: "GET", path: /\/pix\/E/ })
      payAll(bank, yield* pendingCharges(bank, 1))
      yield* delivered(bank)
      assert.deepStrictEqual(yield* statusesOf(bank), ["pending"])
      end()
      assert.isTrue(bank.double.hooks.some(({ outcome }) => outcome._tag === "Answered" && outcome.status === 503))
      // The circuit of the connection closes again, and the provider repeats.
      yield* until(
        Effect.andThen(
          Effect.promise(() => bank.double.advance(600_000)),
          Effect.delay(statusesOf(bank), "1 second")
        ),
        ([status]) => status === "paid"
      )
      assert.strictEqual(yield* availableOf(bank.key), 1000)
    })
  )

  it.effect(
    "OPR-270: who paid is kept, also where a sweep has the payment before the callback that names the payer",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const bank = yield* connectedBank({ profile: "efi" })
        const { receive } = yield* Callbacks
        const connection = (yield* CallbackConnections).find(bank.connectionId)!
        const [charge] = yield* pendingCharges(bank, 1)
        const [pix] = payAll(bank, [charge!])
        const unclaimed = bank.double.provider.receipts.receive({ key: bank.double.key, cents: 4242 })
        yield* sweepNow(bank)
        assert.deepStrictEqual(yield* statusesOf(bank), ["paid"])
        const payers = Effect.gen(function* () {
          const [paid] = yield* sql`SELECT payer FROM charges WHERE id = ${charge!.id}::uuid`
          const [exception] =
            yield* sql`SELECT payer FROM acquirer_exceptions WHERE end_to_end_id = ${unclaimed.endToEndId}`
          return [paid?.["payer"], exception?.["payer"]]
        })
        assert.deepStrictEqual(yield* payers, [null, null])
        const named = (of: { readonly endToEndId: string }, nome: string) =>
          receive(
            connection,
            JSON.stringify({
              pix: [{ ...hookOf(bank, of).pix[0], gnExtras: { pagador: { nome, cpf: "11144477735" } } }]
            })
          )
        const ana = { name: "Ana Lima", document: "11144477735" }
        assert.strictEqual(yield* named(pix!, "Ana Lima"), "applied")
        assert.strictEqual(yield* named(unclaimed, "Ana Lima"), "applied")
        assert.deepStrictEqual(yield* payers, [ana, ana])
        // The first one that is named stays.
        yield* named(pix!, "Bruno Lima")
        assert.deepStrictEqual(yield* payers, [ana, ana])
      })
  )

  it.effect("OPR-93: one that fails logs its reason", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const { receive } = yield* Callbacks
      const connection = (yield* CallbackConnections).find(bank.connectionId)!
      const [pix] = payAll(bank, yield* pendingCharges(bank, 1))
      const end = bank.double.faults.always("unreadable-amount", { method: "GET", path: /\/pix\/E/ })
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
      const result = yield* receive(connection, JSON.stringify(hookOf(bank, pix!))).pipe(
        Effect.provideService(Logger.CurrentLoggers, new Set([logger]))
      )
      end()
      assert.strictEqual(result, "unavailable")
      assert.match(logged.join(), /a callback could not be applied: .*valor cannot be read/)
    })
  )

  it.effect(
    "OPR-92: what the provider confirms is applied while it is asked for the rest, and a repeat finishes it",
    () =>
      Effect.gen(function* () {
        const bank = yield* connectedBank()
        yield* withoutSweeps
        const paid = payAll(bank, yield* pendingCharges(bank, 40))
        const last = paid.at(-1)!.endToEndId
        const end = bank.double.faults.always("hang", { method: "GET", path: new RegExp(`/pix/${last}$`) })
        const body = { pix: paid.flatMap((pix) => hookOf(bank, pix).pix) }
        const answer = yield* Effect.forkChild(post(`${bank.url}/pix`, body, bank.double.client))
        yield* until(statusesOf(bank), (all) => all.filter((status) => status === "paid").length >= 16)
        assert.isUndefined(answer.pollUnsafe())
        assert.strictEqual((yield* Fiber.join(answer)).status, 503)
        assert.deepStrictEqual(
          (yield* statusesOf(bank)).filter((status) => status !== "paid"),
          ["pending"]
        )
        end()
        const asked = () => bank.double.exchanges.filter(({ path }) => /\/pix\/\w{32}$/.test(path)).length
        const before = asked()
        assert.strictEqual(
          (yield* until(post(`${bank.url}/pix`, body, bank.double.client), ({ status }) => status === 200)).status,
          200
        )
        assert.isBelow(asked() - before, 10)
        assert.deepStrictEqual(new Set(yield* statusesOf(bank)), new Set(["paid"]))
        assert.strictEqual(yield* availableOf(bank.key), 40_000)
        yield* assertLedgerHolds
      })
  )

  it.effect("OPR-94: a flood asks the provider within bounds, and replays of what is known do not ask it", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      yield* withoutSweeps
      const own = bank.double.client
      const [pix] = payAll(bank, yield* pendingCharges(bank, 1))
      const asked = () => bank.double.exchanges.filter(({ path }) => /\/pix\/E/.test(path)).length
      assert.strictEqual((yield* post(`${bank.url}/pix`, hookOf(bank, pix!), own)).status, 200)
      const before = asked()
      const replays = yield* Effect.forEach(Array.from({ length: 5 }), () =>
        post(`${bank.url}/pix`, hookOf(bank, pix!), own)
      )
      assert.deepStrictEqual(
        replays.map(({ status }) => status),
        [200, 200, 200, 200, 200]
      )
      assert.strictEqual(asked(), before)
      const invented = {
        pix: Array.from({ length: 200 }, (_, index) => ({
          endToEndId: `E12345678${String(index).padStart(23, "0")}`,
          txid: txidFromId(randomUUID()),
          chave: bank.double.key
        }))
      }
      yield* Effect.forEach(Array.from({ length: 10 }), () => post(`${bank.url}/pix`, invented, own), {
        concurrency: "unbounded"
      })
      assert.isAtMost(asked() - before, 100)
      assert.strictEqual((yield* post(`${bank.url}/pix`, "x".repeat(1024 * 1024 + 1), own)).status, 413)
      assert.strictEqual((yield* post(`${bank.url}/pix`, "no JSON", own)).status, 200)
      // ERR-18: each chunk counts as 256 bytes of the megabyte.
      const chunks = Array.from({ length: 4096 + 1 }, () => "x")
      assert.strictEqual((yield* post(`${bank.url}/pix`, chunks, own)).status, 413)
    })
  )
})
