import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { makeConnection } from "../src/Connection.ts"
import { makePayouts } from "../src/PayoutRails.ts"
import type { PayoutOrder, PayoutStatus } from "../src/Payouts.ts"
import * as profiles from "../src/Profiles.ts"
import { answerOf, type TransportRequest } from "../src/Transport.ts"
import { outcomeOf } from "./support/Bank.ts"
import { uncheckedCredentials } from "./support/MachineTransport.ts"

const E2E = "E12345678202009091221kkkkkkkkkkk"
const CODE = "c42f0787-02cb-4b31-827e-459ec9d7ece1"

type Reply = (request: TransportRequest) => readonly [status: number, body: unknown]

/** Payouts of a provider that answers what the test says. */
const payoutsOf = (name: "sicoob" | "inter" | "efi", reply: Reply) =>
  Effect.gen(function* () {
    const requests: Array<TransportRequest> = []
    const connection = yield* makeConnection({
      profile: profiles[name],
      credentials: uncheckedCredentials("id", "secret"),
      settings: { "x-conta-corrente": Redacted.make("1") },
      limits: { lookupRetries: 0 },
      transport: (request) => {
        if (request.url.endsWith("/token")) {
          return Effect.succeed(answerOf(200, undefined, JSON.stringify({ access_token: "t", expires_in: 3600 })))
        }
        requests.push(request)
        const [status, body] = reply(request)
        return Effect.succeed(answerOf(status, undefined, JSON.stringify(body)))
      }
    })
    return { payouts: makePayouts(connection)!, requests }
  })

const order = (reference: string | undefined): PayoutOrder => ({
  id: "3fa85f6457174562b3fc2c963f66afa6",
  reference,
  keepReference: () => Effect.void,
  cents: 110,
  payerKey: "k",
  payee: { key: "ana@example.com" }
})

const interPayout = (status: string) => ({
  transacaoPix: {
    status,
    valor: 1.1,
    codigoSolicitacao: CODE,
    erros: [{ codigoErro: "AC03", descricaoErro: "Conta inexistente" }],
    dataHoraSolicitacao: "2026-09-23T12:00:00"
  }
})

describe("Efí's payouts that were sent back", () => {
  it.effect("what has not come back, or not yet, is left out; where no state is named, it has", () =>
    Effect.gen(function* () {
      const back = (rtrId: string, status?: string) => ({
        rtrId,
        valor: "0.10",
        horario: "2026-09-23T12:00:00Z",
        status
      })
      const asked = order(undefined)
      const { payouts } = yield* payoutsOf("efi", () => [
        200,
        {
          idEnvio: asked.id,
          endToEndId: E2E,
          valor: "1.10",
          status: "REALIZADO",
          devolucoes: [back("D1"), back("D2", "EM_PROCESSAMENTO"), back("D3", "NAO_REALIZADO"), back("D4", "DEVOLVIDO")]
        }
      ])
      const { returns } = yield* payouts.find(asked)
      assert.deepStrictEqual(
        returns.map(({ returnId }) => returnId),
        ["D1", "D4"]
      )
    })
  )
})

describe("Inter's states", () => {
  const states: Readonly<Record<PayoutStatus, ReadonlyArray<string>>> = {
    REALIZADO: ["PAGO", "PIX_PAGO"],
    NAO_REALIZADO: ["REPROVADO", "EXPIRADO", "CANCELADO", "CANCELADO_SEM_SALDO", "AGENDAMENTO_CANCELADO", "FALHA"],
    EM_PROCESSAMENTO: [
      "CRIADO",
      "AGUARDANDO_APROVACAO",
      "APROVADO",
      "AGENDADO",
      "ENVIADO",
      "DEBITADO",
      "PARCIALMENTE_DEBITADO",
      "PARCIALMENTE_PAGO",
      "NAO_DEBITADO",
      "TRANSACAO_CRIADA",
      "TRANSACAO_APROVADA",
      "PIX_ENVIADO",
      "ONE_THAT_IS_NEW"
    ]
  }
  it.effect.each(
    (["REALIZADO", "NAO_REALIZADO", "EM_PROCESSAMENTO"] as const).flatMap((ours) =>
      states[ours].map((each) => [each, ours] as const)
    )
  )("%s is %s", ([theirs, ours]) =>
    Effect.gen(function* () {
      const { payouts } = yield* payoutsOf("inter", () => [200, interPayout(theirs)])
      const found = yield* payouts.find(order(CODE))
      assert.deepInclude(found, { status: ours, cents: 110 })
      assert.strictEqual(found.reason, ours === "NAO_REALIZADO" ? `${theirs} AC03 Conta inexistente` : undefined)
    })
  )

  it.effect("an accepted payout that is not found is unclear, and is not sent again", () =>
    Effect.gen(function* () {
      const { payouts, requests } = yield* payoutsOf("inter", () => [404, { title: "Pix não encontrado", detail: "" }])
      assert.strictEqual(yield* outcomeOf(payouts.send(order(CODE))), "Unclear: unknown-answer")
      assert.deepStrictEqual(
        requests.map(({ method }) => method),
        ["GET"]
      )
    })
  )

  it.effect.each([
    [400, { title: "Chave Pix não encontrada", detail: "x" }, "Refused"],
    [422, { title: "Pagamento não permitido", detail: "x" }, "Refused"],
    [403, { title: "Acesso Negado", detail: "x" }, "ScopeMissing"],
    [404, { title: "x", detail: "x" }, "Unclear: unknown-answer"],
    [409, { title: "x", detail: "x" }, "Unclear: unknown-answer"],
    [400, { message: "x" }, "Unclear: unknown-answer"],
    [400, { erro: { codigo: 51002, mensagem: "x" } }, "Unclear: unknown-answer"],
    [200, { tipoRetorno: "PROCESSADO" }, "Unclear: unknown-answer"]
  ] as const)("%d %j is %s", ([status, body, outcome]) =>
    Effect.gen(function* () {
      const { payouts } = yield* payoutsOf("inter", () => [status, body])
      assert.strictEqual(yield* outcomeOf(payouts.send(order(undefined))), outcome)
    })
  )
})

describe("A look-up that is refused", () => {
  it.effect.each([
    ["inter", CODE],
    ["sicoob", E2E]
  ] as const)("says nothing of the payout, which is neither refused nor sent again: %s", ([name, reference]) =>
    Effect.gen(function* () {
      const problem = { type: "https://x/error/RequisicaoInvalida", title: "x", status: 400 }
      const { payouts, requests } = yield* payoutsOf(name, () => [400, problem])
      assert.strictEqual(yield* outcomeOf(payouts.send(order(reference))), "Unclear: unknown-answer")
      assert.deepStrictEqual(
        requests.map(({ method }) => method),
        ["GET"]
      )
    })
  )
})

describe("Sicoob's states", () => {
  const payment = (estado: string | undefined) => ({ endToEndId: E2E, estado, valor: 1.1, detalheRejeicao: "AC03" })

  it.effect.each([
    ["FINALIZADO", "REALIZADO", undefined],
    ["REJEITADO", "NAO_REALIZADO", "AC03"],
    ["EM_PROCESSAMENTO", "EM_PROCESSAMENTO", undefined],
    ["NÃO_REALIZADO", "EM_PROCESSAMENTO", undefined],
    ["NOVO", "EM_PROCESSAMENTO", undefined],
    [undefined, "EM_PROCESSAMENTO", undefined]
  ] as const)("%s is %s", ([estado, status, reason]) =>
    Effect.gen(function* () {
      const { payouts } = yield* payoutsOf("sicoob", () => [200, payment(estado)])
      assert.deepInclude(yield* payouts.find(order(E2E)), { status, reason, endToEndId: E2E, cents: 110 })
    })
  )

  it.effect("one that was begun and shows as NÃO_REALIZADO is confirmed; any other state is not", () =>
    Effect.gen(function* () {
      for (const [estado, methods] of [
        ["NÃO_REALIZADO", ["GET", "POST"]],
        ["EM_PROCESSAMENTO", ["GET"]],
        ["REJEITADO", ["GET"]]
      ] as const) {
        const { payouts, requests } = yield* payoutsOf("sicoob", ({ method }) => [
          200,
          payment(method === "GET" ? estado : "EM_PROCESSAMENTO")
        ])
        yield* payouts.send(order(E2E))
        assert.deepStrictEqual(
          requests.map(({ method }) => method),
          [...methods],
          estado
        )
      }
    })
  )

  it.effect("a confirmation that was lost is unclear while the payment shows as begun, and is sent again", () =>
    Effect.gen(function* () {
      let isLost = true
      const { payouts } = yield* payoutsOf("sicoob", ({ method, url }) => {
        if (url.endsWith("/pagamentos")) return [200, { endToEndId: E2E }]
        if (method === "GET") return [200, payment("NÃO_REALIZADO")]
        return isLost ? [500, {}] : [200, payment("EM_PROCESSAMENTO")]
      })
      assert.strictEqual(yield* outcomeOf(payouts.send(order(undefined))), "Unclear: not-found-yet")
      isLost = false
      assert.strictEqual(yield* outcomeOf(payouts.send(order(E2E))), "done")
    })
  )

  it.effect("a confirmation that is refused is refused, whether the payment shows or not", () =>
    Effect.gen(function* () {
      const refusal = [400, { type: "https://x/error/RequisicaoInvalida", title: "x", status: 400 }] as const
      for (const found of [payment("NÃO_REALIZADO"), undefined]) {
        const { payouts } = yield* payoutsOf("sicoob", ({ method, url }) => {
          if (url.endsWith("/pagamentos")) return [200, { endToEndId: E2E }]
          if (method === "POST") return refusal
          return found === undefined
            ? [404, { type: "https://x/error/NaoEncontrado", title: "x", status: 404 }]
            : [200, found]
        })
        assert.strictEqual(yield* outcomeOf(payouts.send(order(undefined))), "Refused")
        // Of a repeated one, the caller knows whether the first may still be on its way.
        assert.strictEqual(yield* outcomeOf(payouts.send(order(E2E))), "Refused")
      }
    })
  )
})
