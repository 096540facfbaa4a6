import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { makeApiPixClient } from "../src/ApiPixClient.ts"
import { makeConnection } from "../src/Connection.ts"
import type { Profile } from "../src/Profile.ts"
import * as profiles from "../src/Profiles.ts"
import { answerOf } from "../src/Transport.ts"
import { emission, outcomeOf, TXID, withBank } from "./support/Bank.ts"
import { uncheckedCredentials } from "./support/MachineTransport.ts"

const E2E = "E".repeat(32)
const DAY_MS = 24 * 3_600_000

describe.each(["bacen", "efi"] as const)("%s", (profile) => {
  it.live("a charge is emitted, found, paid, and found with its payment", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        const emitted = yield* client.emit(emission(double))
        assert.deepInclude(emitted, { txid: TXID, status: "ATIVA", cents: 1000, key: double.key, pix: [] })
        assert.match(emitted.brCode ?? "", /^000201/)
        const { endToEndId } = yield* Effect.fromResult(double.provider.receipts.payCob(TXID))
        const paid = yield* client.find(TXID)
        assert.deepStrictEqual(
          [paid.status, paid.pix.map((pix) => [pix.endToEndId, pix.cents])],
          ["CONCLUIDA", [[endToEndId, 1000]]]
        )
      })
    )
  )

  it.live("a charge that exists is ours in the same terms, and unclear in others", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        yield* client.emit(emission(double))
        assert.strictEqual((yield* client.emit(emission(double))).cents, 1000)
        assert.strictEqual((yield* client.emitAgain(emission(double))).cents, 1000)
        const other = yield* Effect.flip(client.emitAgain(emission(double, 2000)))
        assert.deepInclude(other, {
          _tag: "Unclear",
          message: "status 200: valor.original is not that of the question"
        })
        assert.strictEqual((yield* client.find(TXID)).cents, 1000)
        yield* Effect.fromResult(double.provider.receipts.payCob(TXID))
        assert.strictEqual((yield* client.emit(emission(double))).status, "CONCLUIDA")
      })
    )
  )

  it.live("an emission that the provider refuses is refused", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        const refused = yield* Effect.flip(client.emit({ ...emission(double), key: "stranger@example.com" }))
        assert.strictEqual(refused._tag, "Refused")
        assert.strictEqual(yield* Effect.flip(client.find(TXID)).pipe(Effect.map(({ _tag }) => _tag)), "NotFound")
      })
    )
  )

  it.live("a charge is removed; a removed one stays so; a payment that came first is shown", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        yield* client.emit(emission(double))
        assert.strictEqual((yield* client.cancel(TXID)).status, "REMOVIDA_PELO_USUARIO_RECEBEDOR")
        assert.strictEqual((yield* client.cancel(TXID)).status, "REMOVIDA_PELO_USUARIO_RECEBEDOR")
        const txid = `${TXID}b`
        yield* client.emit({ ...emission(double), txid })
        yield* Effect.fromResult(double.provider.receipts.payCob(txid))
        assert.strictEqual((yield* client.cancel(txid)).status, "CONCLUIDA")
        assert.strictEqual((yield* Effect.flip(client.cancel(`${TXID}c`)))._tag, "NotFound")
      })
    )
  )

  it.live("what was received is listed in pages and found by its id", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        const ids = [100, 200, 300].map(
          (cents) => double.provider.receipts.receive({ key: double.key, cents }).endToEndId
        )
        const range = { fromMs: double.now() - 60_000, toMs: double.now() + 60_000, pageSize: 2 }
        const first = yield* client.listReceived(range)
        const second = yield* client.listReceived({ ...range, page: 1 })
        assert.deepStrictEqual([first.page, first.pages, second.page], [0, 2, 1])
        const listed = [...first.items, ...second.items].map(({ endToEndId }) => endToEndId)
        assert.deepStrictEqual(listed.toSorted(), ids.toSorted())
        const found = yield* client.findReceived(ids[1]!)
        assert.deepInclude(found, { cents: 200, key: double.key, txid: undefined, returns: [] })
        assert.strictEqual((yield* Effect.flip(client.findReceived(E2E)))._tag, "NotFound")
      })
    )
  )

  it.live("a Pix that was returned days later is among those that have a return", () =>
    withBank(
      {
        profile,
        settings: { takenBack: ({ cents }) => (cents === 200 ? { cents: 50, afterMs: 5 * DAY_MS } : undefined) }
      },
      ({ double, client }) =>
        Effect.gen(function* () {
          const [, late] = [100, 200, 300].map((cents) => double.provider.receipts.receive({ key: double.key, cents }))
          const range = { fromMs: double.now() - 60_000, toMs: double.now() + 60_000 }
          assert.deepStrictEqual((yield* client.listReceived(range, { returned: true })).items, [])
          yield* Effect.promise(() => double.advance(5 * DAY_MS))
          const { items } = yield* client.listReceived(range, { returned: true })
          assert.deepStrictEqual(
            items.map(({ endToEndId, returns }) => [endToEndId, returns.map(({ cents, nature }) => [cents, nature])]),
            [[late!.endToEndId, [[50, "MED_FRAUDE"]]]]
          )
          assert.strictEqual((yield* client.listReceived(range)).items.length, 3)
        })
    )
  )

  it.live("a Pix is returned in parts, each once; one in other terms is unclear, one beyond the rest is refused", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 1000 })
        const order = { endToEndId, id: "r1", cents: 400, nature: "ORIGINAL", description: "Pedido desfeito" } as const
        assert.deepInclude(yield* client.returnPix(order), { id: "r1", cents: 400, status: "EM_PROCESSAMENTO" })
        assert.strictEqual((yield* client.returnPix(order)).id, "r1")
        const other = yield* Effect.flip(client.returnPix({ ...order, cents: 500 }))
        assert.strictEqual(other._tag, "Unclear")
        assert.match(other.message, /valor is not that of the question/)
        const beyond = yield* Effect.flip(client.returnPix({ ...order, id: "r2", cents: 700 }))
        assert.strictEqual(beyond._tag, "Refused")
        yield* Effect.promise(() => double.settle())
        assert.strictEqual((yield* client.findReturn(endToEndId, "r1")).status, "DEVOLVIDO")
        assert.strictEqual((yield* Effect.flip(client.findReturn(endToEndId, "r2")))._tag, "NotFound")
        assert.deepStrictEqual(
          (yield* client.findReceived(endToEndId)).returns.map(({ id, cents }) => [id, cents]),
          [["r1", 400]]
        )
      })
    )
  )

  it.live("a webhook whose receiver requires no certificate is registered where the provider allows it", () =>
    withBank({ profile: "efi" }, ({ double, client }) =>
      Effect.gen(function* () {
        const url = "https://127.0.0.1:1/in/secret"
        assert.strictEqual((yield* Effect.flip(client.registerWebhook(double.key, url)))._tag, "Refused")
        yield* client.registerWebhook(double.key, url, { withoutMtls: true })
        assert.strictEqual(yield* client.findWebhook(double.key), url)
      })
    )
  )

  it.live("a Pix names its payer, where the provider does", () =>
    withBank({ profile, variant: { namesPayer: true } }, ({ double, client }) =>
      Effect.gen(function* () {
        const { receipts } = double.provider
        const ids = [
          { name: "Ana Souza", document: "52998224725" },
          { name: "Loja Ltda", document: "11222333000181" },
          { name: "Bia", document: "***.982.247" }
        ].map((payer) => receipts.receive({ key: double.key, cents: 1, payer }).endToEndId)
        const payers = yield* Effect.forEach(ids, (id) => Effect.map(client.findReceived(id), ({ payer }) => payer))
        assert.deepStrictEqual(payers, [
          { name: "Ana Souza", document: "52998224725" },
          { name: "Loja Ltda", document: "11222333000181" },
          { name: "Bia", document: undefined }
        ])
      })
    )
  )

  it.live("a webhook is not found, then registered", () =>
    withBank({ profile: "bacen" }, ({ double, client }) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip(client.findWebhook(double.key)))._tag, "NotFound")
        yield* client.registerWebhook(double.key, "https://hooks.example.com/pix")
        assert.strictEqual(yield* client.findWebhook(double.key), "https://hooks.example.com/pix")
      })
    )
  )

  it.live("an id in another form is not sent", () =>
    withBank({ profile }, ({ double, client }) =>
      Effect.gen(function* () {
        const failures = yield* Effect.all([
          Effect.flip(client.find("../webhook/x")),
          Effect.flip(client.emit({ ...emission(double), txid: "short" })),
          Effect.flip(client.returnPix({ endToEndId: E2E, id: "a/b", cents: 1 }))
        ])
        for (const failure of failures) assert.deepInclude(failure, { _tag: "NotSent", reason: "invalid-request" })
        assert.strictEqual(double.exchanges.length, 0)
      })
    )
  )
})

describe("settings of a profile", () => {
  it.live("headers, query parameters, field of the BR code, whole seconds and 200 for 201", () =>
    withBank(
      {
        variant: {
          tokenAuth: "form",
          requiredHeaders: ["client_id"],
          requiredQuery: ["gw-dev-app-key"],
          brCodeField: "brcode",
          createdStatus: 200,
          acceptsFractions: false
        },
        connection: {
          profile: {
            ...profiles.bacen,
            tokenAuth: "form",
            headers: { client_id: "client-id" },
            query: { "gw-dev-app-key": { setting: "gw-dev-app-key" } },
            brCodeField: "brcode",
            instants: "s"
          },
          settings: { "gw-dev-app-key": Redacted.make("app") }
        }
      },
      ({ double, client }) =>
        Effect.gen(function* () {
          assert.match((yield* client.emit(emission(double))).brCode ?? "", /^000201/)
          double.provider.receipts.receive({ key: double.key, cents: 5 })
          const nowMs = double.now()
          assert.strictEqual((yield* client.listReceived({ fromMs: nowMs - 60_000, toMs: nowMs })).items.length, 1)
        })
    )
  )

  it.live.each(["basic-json", "basic-form", "form", "form-no-secret", "grant-in-query"] as const)(
    "credentials go where the provider expects them: %s",
    (tokenAuth) =>
      withBank(
        { variant: { tokenAuth }, connection: { profile: { ...profiles.bacen, tokenAuth } } },
        ({ connection }) => connection.authenticate
      )
  )

  it("a resource has its version, and each profile says that nobody has run it", () => {
    assert.strictEqual(
      profiles.sicredi.baseUrl?.replace("{version}", profiles.sicredi.pathVersions!.cob),
      "https://api-pix.sicredi.com.br/api/v3"
    )
    assert.strictEqual(new Set(profiles.profiles.map(({ name }) => name)).size, 9)
    for (const { evidence } of profiles.profiles) assert.match(evidence, /not run against the bank/)
  })

  /** Charges and returns of a provider that answers orders and look-ups with these statuses. */
  const clientOf = (profile: Profile, sent: number, found: number, problem: unknown) =>
    Effect.map(
      makeConnection({
        profile,
        credentials: uncheckedCredentials("id", "secret"),
        settings: { "x-conta-corrente": Redacted.make("1"), "gw-dev-app-key": Redacted.make("k") },
        limits: { lookupRetries: 0 },
        transport: ({ method, url }) => {
          const [status, body] = url.endsWith("/token")
            ? [200, { access_token: "t", expires_in: 3600 }]
            : [method === "GET" ? found : sent, problem]
          return Effect.succeed(answerOf(status, undefined, JSON.stringify(body)))
        }
      }),
      makeApiPixClient
    )
  const charge = { txid: TXID, cents: 1000, key: "k", expiresInSeconds: 3600 }
  const back = { endToEndId: E2E, id: "r1", cents: 100 }

  it.effect.each([
    [400, 404, "Refused", "Refused"],
    [422, 404, "Refused", "Refused"],
    [400, 502, "Unclear: unknown-answer", "Unclear: unknown-answer"],
    [404, 404, "Unclear: not-found-yet", "Unclear: not-found-yet"],
    [409, 404, "Unclear: not-found-yet", "Unclear: not-found-yet"]
  ] as const)(
    "problems without a type, as Inter sends them: %d of an order, %d of its look-up",
    ([sent, found, emitted, returned]) =>
      Effect.gen(function* () {
        const client = yield* clientOf(profiles.inter, sent, found, { title: "x", detail: "x" })
        assert.strictEqual(yield* outcomeOf(client.emit(charge)), emitted)
        assert.strictEqual(yield* outcomeOf(client.returnPix(back)), returned)
      })
  )

  it.effect.each([
    [400, 404, "Refused"],
    [400, 502, "Unclear: unknown-answer"],
    [404, 404, "Unclear: not-found-yet"]
  ] as const)(
    "numbers that nobody lists, as Banco do Brasil sends them: %d of a charge, %d of its look-up; of money they say nothing",
    ([sent, found, emitted]) =>
      Effect.gen(function* () {
        const problem = { erros: [{ codigo: "4769515", mensagem: "Documento inválido" }] }
        const client = yield* clientOf(profiles.bancoDoBrasil, sent, found, problem)
        assert.strictEqual(yield* outcomeOf(client.emit(charge)), emitted)
        assert.strictEqual(yield* outcomeOf(client.returnPix(back)), "Unclear: unknown-answer")
      })
  )
})
