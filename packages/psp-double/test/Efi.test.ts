import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type { PayoutError } from "../src/provider/State.ts"
import { askToken, cobBody, RANGE, startReceiver, TXID, withDouble } from "./support/Caller.ts"

const REJECTED: PayoutError = { code: "AC03", origin: "PSP do usuário recebedor", reason: "Conta inexistente" }
const DAY_MS = 24 * 3_600_000

const envio = (key: string, valor = "3.00", favorecido: object = { chave: "ana@example.com" }) => ({
  valor,
  pagador: { chave: key, infoPagador: "Repasse 7" },
  favorecido
})

describe("on the central bank's paths", () => {
  it("what is taken is 409 and what is unknown is 400, in Efí's own shape", () =>
    withDouble({ profile: "efi" }, async (double, call) => {
      const refusals: Array<[string, number, string]> = []
      const note = async (what: string, answered: ReturnType<typeof call>) => {
        const { status, body } = await answered
        refusals.push([what, status, body.nome])
      }
      const cob = `/v2/cob/${TXID}`
      await note("no cob", call("GET", cob))
      await call("PUT", cob, { body: cobBody(double) })
      await note("the same cob", call("PUT", cob, { body: cobBody(double) }))
      await call("PATCH", cob, { body: { status: "REMOVIDA_PELO_USUARIO_RECEBEDOR" } })
      await note("removed", call("PATCH", cob, { body: { status: "REMOVIDA_PELO_USUARIO_RECEBEDOR" } }))
      await note("no Pix", call("GET", `/v2/pix/${"E".repeat(32)}`))
      const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 1000 })
      const devolucao = `/v2/pix/${endToEndId}/devolucao/r1`
      await note("no return", call("GET", devolucao))
      await call("PUT", devolucao, { body: { valor: "1.00" } })
      await note("the same return", call("PUT", devolucao, { body: { valor: "1.00" } }))
      await note("a foreign key", call("POST", "/v2/cob", { body: { ...cobBody(double), chave: "x@y.com" } }))
      assert.deepStrictEqual(refusals, [
        ["no cob", 400, "cobranca_nao_encontrada"],
        ["the same cob", 409, "txid_duplicado"],
        ["removed", 400, "status_cobranca_invalido"],
        ["no Pix", 400, "pix_nao_encontrado"],
        ["no return", 400, "devolucao_nao_encontrada"],
        ["the same return", 409, "devolucao_id_duplicado"],
        ["a foreign key", 400, "chave_invalida"]
      ])
      assert.deepStrictEqual(double.violations, [])
    }))

  it("lists come newest first, hooks name the payer, a missing scope is refused in the shape of the path", () =>
    withDouble({ profile: "efi", scopes: ["pix.read"] }, async (double, call) => {
      await using receiver = await startReceiver(double)
      double.provider.webhooks.put(double.key, receiver.url)
      const ids = [1, 2].map(
        (cents) => double.provider.receipts.receive({ key: double.key, cents, txid: TXID }).endToEndId
      )
      const { body } = await call("GET", `/v2/pix?${RANGE}`)
      assert.deepStrictEqual(
        body.pix.map(({ endToEndId }: { endToEndId: string }) => endToEndId),
        ids.toReversed()
      )
      await double.settle()
      assert.deepInclude(receiver.received[0]?.body.pix[0].gnExtras.pagador, { cpf: "52998224725" })
      const refused = await call("GET", `/v2/cob/${TXID}`)
      assert.deepStrictEqual([refused.status, refused.body.title], [403, "Acesso Negado"])
      const own = await call("GET", "/v2/gn/saldo")
      assert.deepStrictEqual([own.status, own.body.error], [403, "insufficient_scope"])
    }))
})

describe("payouts", () => {
  it("are accepted, reported by hook, looked up by both ids and listed; an id is used once", () =>
    withDouble({ profile: "efi", settings: { openingCents: 1000 } }, async (double, call) => {
      await using receiver = await startReceiver(double)
      double.provider.webhooks.put(double.key, receiver.url)
      const unknown = await call("GET", "/v2/gn/pix/enviados/id-envio/p1")
      assert.deepStrictEqual(
        [unknown.status, unknown.body.type],
        [404, "https://pix.bcb.gov.br/api/v2/error/PixEnviadoNaoEncontrado"]
      )
      const sent = await call("PUT", "/v3/gn/pix/p1", { body: envio(double.key) })
      assert.deepStrictEqual([sent.status, sent.body.status, sent.body.idEnvio], [201, "EM_PROCESSAMENTO", "p1"])
      const again = await call("PUT", "/v3/gn/pix/p1", { body: envio(double.key) })
      assert.deepStrictEqual([again.status, again.body.nome], [409, "id_envio_duplicado"])
      await double.settle()
      assert.deepInclude(receiver.received[0]?.body.pix[0], {
        endToEndId: sent.body.e2eId,
        tipo: "SOLICITACAO",
        status: "REALIZADO",
        gnExtras: { idEnvio: "p1" }
      })
      const byId = (await call("GET", "/v2/gn/pix/enviados/id-envio/p1")).body
      assert.deepInclude(byId, { endToEndId: sent.body.e2eId, status: "REALIZADO", infoPagador: "Repasse 7" })
      assert.deepStrictEqual((await call("GET", `/v2/gn/pix/enviados/${sent.body.e2eId}`)).body, byId)
      Result.getOrThrow(double.provider.payouts.receiveReturn("p1", 100))
      const { body } = await call("GET", `/v2/gn/pix/enviados?${RANGE}&status=REALIZADO`)
      assert.deepStrictEqual([body.pix[0].idEnvio, body.pix[0].devolucoes[0].valor], ["p1", "1.00"])
      assert.strictEqual((await call("GET", `/v2/gn/pix/enviados?${RANGE}&status=NAO_REALIZADO`)).body.pix.length, 0)
      assert.strictEqual((await call("GET", "/v2/gn/saldo")).body.saldo, "8.00")
    }))

  it("one that is rejected says why, without an instant", () =>
    withDouble(
      {
        profile: "efi",
        settings: { openingCents: 1000, payoutFate: () => ({ _tag: "Failed", afterMs: 0, with: REJECTED }) }
      },
      async (double, call) => {
        await using receiver = await startReceiver(double)
        double.provider.webhooks.put(double.key, receiver.url)
        await call("PUT", "/v3/gn/pix/p1", { body: envio(double.key) })
        await double.settle()
        const [reported] = receiver.received[0]!.body.pix
        assert.deepStrictEqual(
          [reported.status, reported.horario, reported.gnExtras.erro.codigo],
          ["NAO_REALIZADO", null, "AC03"]
        )
        assert.strictEqual(double.provider.balanceCents(), 1000)
        const resent = await call("POST", "/v2/gn/webhook/reenviar", {
          body: { tipo: "PIX_ENVIADO", e2eids: [reported.endToEndId] }
        })
        await double.settle()
        assert.deepStrictEqual([resent.status, receiver.received.length], [202, 2])
      }
    ))

  it("documented refusals keep no id", () =>
    withDouble({ profile: "efi", settings: { openingCents: 1000 } }, async (double, call) => {
      const { payouts } = double.provider
      payouts.describePayee("nobody@example.com", { _tag: "NotFound" })
      payouts.describePayee("denied@example.com", { _tag: "Denied" })
      payouts.describePayee("ana@example.com", { _tag: "Owner", document: "52998224725" })
      const refused: Array<[number, string]> = []
      for (const favorecido of [
        { chave: "nobody@example.com" },
        { chave: "denied@example.com" },
        { chave: "ana@example.com", cpf: "11144477735" }
      ]) {
        const { status, body } = await call("PUT", "/v3/gn/pix/p1", { body: envio(double.key, "3.00", favorecido) })
        refused.push([status, body.nome])
      }
      assert.deepStrictEqual(refused, [
        [404, "chave_favorecido_nao_encontrada"],
        [422, "pagamento_negado"],
        [400, "chave_nao_pertence_ao_documento"]
      ])
      const account = {
        nome: "Ana",
        cpf: "52998224725",
        codigoBanco: "09089356",
        agencia: "1",
        conta: "123",
        tipoConta: "cacc"
      }
      const sent = await call("PUT", "/v3/gn/pix/p1", { body: envio(double.key, "3.00", { contaBanco: account }) })
      assert.strictEqual(sent.status, 201, sent.text)
      assert.deepStrictEqual((await call("GET", "/v2/gn/pix/enviados/id-envio/p1")).body.favorecido.contaBanco, account)
    }))

  it.each([
    ["an id with a hyphen", "a-b", {}],
    ["an amount without cents", "p1", { valor: "3" }],
    ["an unknown field", "p1", { favorecido: { chave: "x", nome: "Ana" } }],
    ["no payer", "p1", { pagador: undefined }]
  ])("%s breaks the contract", (_, id, change) =>
    withDouble({ profile: "efi" }, async (double, call) => {
      const { status, body } = await call("PUT", `/v3/gn/pix/${id}`, { body: { ...envio(double.key), ...change } })
      assert.deepStrictEqual([status, body.nome], [400, "valor_invalido"])
      assert.strictEqual(double.violations.length, 1)
    })
  )
})

describe("disputes", () => {
  it("are listed, defended once and in time, and block the balance until they end", () =>
    withDouble({ profile: "efi", now: () => 1_790_000_000_000 }, async (double, call) => {
      const { receipts, infractions } = double.provider
      const { endToEndId } = receipts.receive({ key: double.key, cents: 1000 })
      const open = (cents: number) => Result.getOrThrow(infractions.open(endToEndId, { cents })).id
      const [first, second] = [open(300), open(200)]
      const balance = (await call("GET", "/v2/gn/saldo?bloqueios=true")).body
      assert.deepStrictEqual([balance.saldo, balance.bloqueios.med], ["5.00", "5.00"])

      const defend = (id: string) =>
        call("POST", `/v2/gn/infracoes/${id}/defesa`, { body: { analise: "rejeitado", justificativa: "Entregue" } })
      assert.strictEqual((await defend(first)).status, 201)
      assert.strictEqual((await defend(first)).status, 409)
      assert.strictEqual((await defend("unknown")).status, 404)
      await double.advance(7 * DAY_MS + 1)
      Result.getOrThrow(infractions.close(first, "ACEITA", "Fraude confirmada"))
      const { access_token: token } = (await askToken(double)).body
      const headers = { authorization: `Bearer ${token}` }
      const late = await call("POST", `/v2/gn/infracoes/${second}/defesa`, {
        headers,
        body: { analise: "rejeitado", justificativa: "Entregue" }
      })
      assert.strictEqual(late.status, 422)
      const { body } = await call("GET", `/v2/gn/infracoes?${RANGE}`, { headers })
      assert.deepStrictEqual(
        body.infracoes.map(({ idInfracao, status, valor }: Record<string, unknown>) => [idInfracao, status, valor]),
        [
          [second, "ABERTA", 2],
          [first, "ACEITA", 3]
        ]
      )
      assert.strictEqual(double.provider.balanceCents(), 700)
      const { body: pix } = await call("GET", `/v2/pix/${endToEndId}`, { headers })
      assert.deepInclude(pix.devolucoes[0], { natureza: "MED_FRAUDE", valor: "3.00", status: "DEVOLVIDO" })
    }))

  it("a defense that accepts the dispute breaks the contract", () =>
    withDouble({ profile: "efi" }, async (double, call) => {
      const { status } = await call("POST", "/v2/gn/infracoes/x/defesa", {
        body: { analise: "aceito", justificativa: "" }
      })
      assert.deepStrictEqual([status, double.violations.length], [400, 1])
    }))
})
