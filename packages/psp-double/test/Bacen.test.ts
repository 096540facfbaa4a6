import { parseBrCode } from "@pix-payments/domain/BrCode"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { startPspDouble } from "../src/PspDouble.ts"
import { callerOf, cobBody, RANGE, TXID, withDouble } from "./support/Caller.ts"

const COB = `/api/v2/cob/${TXID}`
const typeOf = ({ body }: { readonly body: { readonly type: string } }) => body.type.split("/").at(-1)

describe("cob", () => {
  it("is created, read with its payment, revised and removed", () =>
    withDouble({}, async (double, call) => {
      const created = await call("PUT", COB, { body: cobBody(double) })
      assert.strictEqual(created.status, 201, created.text)
      assert.deepInclude(created.body, { txid: TXID, revisao: 0, status: "ATIVA", chave: double.key })
      const code = Result.getOrThrow(parseBrCode(created.body.pixCopiaECola))
      assert.strictEqual(code.payloadUrl, created.body.location)

      const revised = await call("PATCH", COB, { body: { valor: { original: "12.00" } } })
      assert.deepStrictEqual([revised.status, revised.body.revisao, revised.body.valor.original], [200, 1, "12.00"])
      assert.strictEqual((await call("GET", `${COB}?revisao=0`)).body.valor.original, "10.00")
      assert.strictEqual(typeOf(await call("GET", `${COB}?revisao=9`)), "CobConsultaInvalida")

      double.provider.receipts.payCob(TXID, { payerInfo: "obrigado" })
      const paid = await call("GET", COB)
      assert.strictEqual(paid.body.status, "CONCLUIDA")
      assert.deepInclude(paid.body.pix[0], { txid: TXID, valor: "12.00", infoPagador: "obrigado" })
      const late = await call("PATCH", COB, { body: { status: "REMOVIDA_PELO_USUARIO_RECEBEDOR" } })
      assert.deepStrictEqual([late.status, typeOf(late)], [400, "CobOperacaoInvalida"])
      assert.deepStrictEqual(double.violations, [])
    }))

  it("a taken txid is updated while active, refused after", () =>
    withDouble({}, async (double, call) => {
      await call("PUT", COB, { body: cobBody(double) })
      const again = await call("PUT", COB, { body: cobBody(double, "11.00") })
      assert.deepStrictEqual([again.status, again.body.revisao], [201, 1])
      const removed = await call("PATCH", COB, { body: { status: "REMOVIDA_PELO_USUARIO_RECEBEDOR" } })
      assert.deepStrictEqual([removed.status, removed.body.status], [200, "REMOVIDA_PELO_USUARIO_RECEBEDOR"])
      const refused = await call("PUT", COB, { body: cobBody(double) })
      assert.deepStrictEqual([refused.status, typeOf(refused)], [400, "CobOperacaoInvalida"])
    }))

  it("without a txid the provider chooses one; an unknown one is 404", () =>
    withDouble({}, async (double, call) => {
      const created = await call("POST", "/api/v2/cob", { body: cobBody(double) })
      assert.match(created.body.txid, /^[a-zA-Z0-9]{32}$/)
      const unknown = await call("GET", COB)
      assert.deepStrictEqual([unknown.status, typeOf(unknown)], [404, "CobNaoEncontrado"])
    }))

  it("a key of somebody else and a location that does not exist are refused", () =>
    withDouble({}, async (double, call) => {
      for (const wrong of [
        { chave: "somebody@else.com" },
        { loc: { id: 7768, tipoCob: "cob" } },
        { valor: { original: "0.00" } }
      ]) {
        const { status, body } = await call("PUT", COB, { body: { ...cobBody(double), ...wrong } })
        assert.strictEqual(status, 400)
        assert.strictEqual(body.violacoes.length, 1)
      }
      assert.deepStrictEqual(double.violations, [], "they are well-formed")
    }))
})

describe("what breaks the document is a violation and is refused", () => {
  it.each([
    ["a txid that is too short", "PUT", "/api/v2/cob/short", {}],
    ["no amount", "PUT", COB, { valor: undefined }],
    ["an amount with one decimal", "PUT", COB, { valor: { original: "10.0" } }],
    ["an amount that only contains one", "PUT", COB, { valor: { original: "R$ 10.00" } }],
    ["a CPF with its mask", "PUT", COB, { devedor: { cpf: "529.982.247-25", nome: "Ana" } }],
    ["a text that is too long", "PUT", COB, { solicitacaoPagador: "x".repeat(141) }],
    ["no range", "GET", "/api/v2/pix", undefined],
    ["a date in another form", "GET", "/api/v2/pix?inicio=yesterday&fim=today", undefined],
    ["a page that is too large", "GET", `/api/v2/pix?${RANGE}&paginacao.itensPorPagina=1001`, undefined],
    ["an unknown path", "GET", "/api/v2/nothing", undefined]
  ])("%s", (_, method, path, change) =>
    withDouble({}, async (double, call) => {
      const body = change === undefined ? undefined : { ...cobBody(double), ...change }
      const { status } = await call(method, path, { body })
      assert.isAtLeast(status, 400)
      assert.strictEqual(double.violations.length, 1)
    })
  )

  it("a body that is not JSON", () =>
    withDouble({}, async (double, call) => {
      assert.strictEqual((await call("PUT", COB)).status, 400)
      assert.deepStrictEqual(double.violations[0]?.failures, ["body: is required"])
    }))

  it("an answer that breaks it is a defect, and 500", async () => {
    const holder = { name: "Loja", document: "11.222.333/0001-81", city: "SAO PAULO" }
    await using double = await startPspDouble({ settings: { holder } })
    const call = await callerOf(double)
    const path = `/api/v2/webhook/${double.key}`
    await call("PUT", path, { body: { webhookUrl: "https://shop.example.com" } })
    assert.strictEqual((await call("GET", path)).status, 500)
    assert.deepStrictEqual(double.defects, [
      { operation: "get /api/v2/webhook/{chave}", failures: ['body/cnpj: must match pattern "^[0-9A-Z]{14}$"'] }
    ])
  })
})

describe("pix and devolução", () => {
  it("a Pix is found by id and in lists, with a txid or without", () =>
    withDouble({}, async (double, call) => {
      const { key, provider } = double
      const bare = provider.receipts.receive({ key, cents: 100 })
      const fixed = provider.receipts.receive({ key, cents: 200, txid: "counter7" })
      const one = await call("GET", `/api/v2/pix/${bare.endToEndId}`)
      assert.deepStrictEqual([one.status, one.body.txid, one.body.chave], [200, undefined, key])
      const list = async (filter: string) =>
        (await call("GET", `/api/v2/pix?${RANGE}&${filter}`)).body.pix.map(
          ({ endToEndId }: { endToEndId: string }) => endToEndId
        )
      assert.deepStrictEqual(await list(""), [bare.endToEndId, fixed.endToEndId])
      assert.deepStrictEqual(await list("txIdPresente=false"), [bare.endToEndId])
      assert.deepStrictEqual(await list("txid=counter7"), [fixed.endToEndId])
      assert.deepStrictEqual(await list("devolucaoPresente=true"), [])
      assert.deepStrictEqual(await list("cpf=11144477735"), [])
      const unknown = await call("GET", `/api/v2/pix/${"E".repeat(32)}`)
      assert.deepStrictEqual([unknown.status, typeOf(unknown)], [404, "PixNaoEncontrado"])
    }))

  it("a return is EM_PROCESSAMENTO first; its id is used once; its state is asked for", () =>
    withDouble({ settings: { returnFate: () => ({ _tag: "Done", afterMs: 5000 }) } }, async (double, call) => {
      const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 1000 })
      const path = `/api/v2/pix/${endToEndId}/devolucao/r1`
      const missing = await call("GET", path)
      assert.deepStrictEqual([missing.status, typeOf(missing)], [404, "PixDevolucaoNaoEncontrada"])
      const ordered = await call("PUT", path, { body: { valor: "4.00" } })
      assert.deepStrictEqual([ordered.status, ordered.body.status], [201, "EM_PROCESSAMENTO"])
      assert.match(ordered.body.rtrId, /^D/)
      const again = await call("PUT", path, { body: { valor: "4.00" } })
      assert.deepStrictEqual([again.status, typeOf(again)], [400, "PixDevolucaoInvalida"])
      const over = await call("PUT", `/api/v2/pix/${endToEndId}/devolucao/r2`, { body: { valor: "6.01" } })
      assert.deepStrictEqual([over.status, typeOf(over)], [400, "PixDevolucaoInvalida"])
      await double.advance(5000)
      const done = await call("GET", path)
      assert.strictEqual(done.body.status, "DEVOLVIDO")
      assert.isString(done.body.horario.liquidacao)
      assert.strictEqual(double.provider.balanceCents(), 600)
    }))
})

describe("lists", () => {
  it("pages count from 0 and hold every item once", () =>
    withDouble({}, async (double, call) => {
      const all = Array.from({ length: 25 }, (_, i) =>
        double.provider.receipts.receive({ key: double.key, cents: i + 1 })
      )
      const seen: Array<string> = []
      for (let page = 0; page < 3; page++) {
        const { body } = await call(
          "GET",
          `/api/v2/pix?${RANGE}&paginacao.paginaAtual=${page}&paginacao.itensPorPagina=10`
        )
        assert.deepStrictEqual(body.parametros.paginacao, {
          paginaAtual: page,
          itensPorPagina: 10,
          quantidadeDePaginas: 3,
          quantidadeTotalDeItens: 25
        })
        for (const { endToEndId } of body.pix) seen.push(endToEndId)
      }
      assert.deepStrictEqual(
        seen,
        all.map(({ endToEndId }) => endToEndId)
      )
      const { body } = await call("GET", `/api/v2/pix?${RANGE}`)
      assert.strictEqual(body.parametros.paginacao.itensPorPagina, 100, "the default")
    }))

  it("both ends of a range belong to it; an empty one has one page; an end before the start is refused", () =>
    withDouble({ now: () => Date.parse("2026-11-21T12:00:00.000Z") }, async (double, call) => {
      double.provider.receipts.receive({ key: double.key, cents: 1 })
      const count = async (range: string) => (await call("GET", `/api/v2/pix?${range}`)).body.pix?.length
      const at = "2026-11-21T12:00:00.000Z"
      assert.strictEqual(await count(`inicio=${at}&fim=${at}`), 1)
      assert.strictEqual(await count(`inicio=2026-11-21T09:00:00.000-03:00&fim=${at}`), 1)
      assert.strictEqual(await count(`inicio=2026-11-21T12:00:00.001Z&fim=2026-11-21T13:00:00Z`), 0)
      const refused = await call("GET", `/api/v2/pix?inicio=${at}&fim=2026-11-21T11:00:00Z`)
      assert.deepStrictEqual([refused.status, typeOf(refused)], [400, "PixConsultaInvalida"])
    }))

  it("cobs are found by state and debtor", () =>
    withDouble({}, async (double, call) => {
      const txids = ["1", "2", "3"].map((digit) => digit.repeat(26))
      for (const txid of txids) await call("PUT", `/api/v2/cob/${txid}`, { body: cobBody(double) })
      double.provider.receipts.payCob(txids[1]!)
      const list = async (filter: string) =>
        (await call("GET", `/api/v2/cob?${RANGE}&${filter}`)).body.cobs.map(({ txid }: { txid: string }) => txid)
      assert.deepStrictEqual(await list("status=CONCLUIDA"), [txids[1]])
      assert.deepStrictEqual(await list("cpf=52998224725"), txids)
      assert.deepStrictEqual(await list("cnpj=11222333000181"), [])
      assert.strictEqual((await call("GET", `/api/v2/cob?${RANGE}&cpf=52998224725&cnpj=11222333000181`)).status, 400)
    }))
})

describe("webhook", () => {
  it("is registered without a body in the answer, read, listed and deleted", () =>
    withDouble({}, async (double, call) => {
      const path = `/api/v2/webhook/${double.key}`
      const missing = await call("GET", path)
      assert.deepStrictEqual([missing.status, typeOf(missing)], [404, "WebhookNaoEncontrado"])
      const webhookUrl = "https://shop.example.com/hooks"
      const put = await call("PUT", path, { body: { webhookUrl } })
      assert.deepStrictEqual([put.status, put.text], [200, ""])
      assert.deepInclude((await call("GET", path)).body, { webhookUrl, cnpj: "11222333000181" })
      assert.strictEqual((await call("GET", "/api/v2/webhook")).body.webhooks.length, 1)
      assert.strictEqual((await call("DELETE", path)).status, 204)
      assert.strictEqual((await call("DELETE", path)).status, 404)
      assert.strictEqual((await call("PUT", path, { body: { webhookUrl: "http://shop.example.com" } })).status, 400)
      const foreign = await call("PUT", "/api/v2/webhook/somebody@else.com", { body: { webhookUrl } })
      assert.deepStrictEqual([foreign.status, typeOf(foreign)], [400, "WebhookOperacaoInvalida"])
    }))
})

describe("variants of other providers", () => {
  it("what a call needs beside its token, another field for the BR code, 200 for 201, instants without fractions", () =>
    withDouble(
      {
        variant: {
          basePath: "/pix/v2",
          requiredHeaders: ["x-conta-corrente"],
          requiredQuery: ["gw-dev-app-key"],
          brCodeField: "brcode",
          createdStatus: 200,
          acceptsFractions: false,
          takenTxid: "conflict"
        }
      },
      async (double, call) => {
        const path = `/pix/v2/cob/${TXID}`
        const headers = { "x-conta-corrente": "123" }
        assert.strictEqual((await call("PUT", path, { headers, body: cobBody(double) })).status, 400)
        assert.deepStrictEqual(double.violations[0]?.failures, ["query gw-dev-app-key: is required"])
        const put = () => call("PUT", `${path}?gw-dev-app-key=k`, { headers, body: cobBody(double) })
        const { status, body } = await put()
        assert.deepStrictEqual([status, body.pixCopiaECola], [200, undefined])
        assert.isString(body.brcode)
        assert.strictEqual((await put()).status, 409)
        const list = async (inicio: string) =>
          (await call("GET", `/pix/v2/pix?gw-dev-app-key=k&inicio=${inicio}&fim=2099-01-01T00:00:00Z`, { headers }))
            .status
        assert.deepStrictEqual([await list("2026-01-01T00:00:00.000Z"), await list("2026-01-01T00:00:00Z")], [400, 200])
      }
    ))
})
