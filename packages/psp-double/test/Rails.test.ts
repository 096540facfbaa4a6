import { assert, describe, it } from "@effect/vitest"
import { makePspMachine, type PspMachineOptions } from "../src/http/PspMachine.ts"
import * as profiles from "../src/http/Profiles.ts"

const KEY_ID = "3fa85f64-5717-4562-b3fc-2c963f66afa6"
const PAGAMENTOS = "/pix-pagamentos/v2/pagamentos"

/** A machine of the variant, and a caller with a token. */
const start = (variant: "sicoob" | "inter", options: Partial<PspMachineOptions> = {}) => {
  const machine = makePspMachine({
    now: () => 1_790_000_000_000,
    variant: profiles[variant],
    settings: { openingCents: 1000 },
    ...options
  })
  const exchange = (method: string, path: string, body: string, headers: Record<string, string>) => {
    const { answer, reply } = machine.exchange({ method, path, query: {}, headers, body })
    const { status, body: text } = reply(answer)!
    return { status, body: text === undefined ? undefined : JSON.parse(text) }
  }
  const fields = {
    grant_type: "client_credentials",
    client_id: machine.clientId,
    ...(variant === "inter" && { client_secret: machine.clientSecret })
  }
  const token = exchange("POST", machine.profile.tokenPath, new URLSearchParams(fields).toString(), {}).body
  const own = variant === "sicoob" ? { client_id: machine.clientId } : { "x-conta-corrente": "1" }
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    exchange(method, path, body === undefined ? "" : JSON.stringify(body), {
      authorization: `Bearer ${token.access_token}`,
      ...own,
      ...headers
    })
  return { machine, call }
}

describe("Sicoob", () => {
  it("names a payout, then confirms it once; both are found by the end-to-end id", () => {
    const { machine, call } = start("sicoob")
    const begun = call("POST", PAGAMENTOS, { chave: "ana@example.com" })
    assert.strictEqual(begun.status, 200)
    const { endToEndId } = begun.body
    assert.strictEqual(call("GET", `${PAGAMENTOS}/${endToEndId}`).status, 404)
    assert.strictEqual(machine.provider.balanceCents(), 1000)

    const confirmation = { endToEndId, valor: "3,5", meioIniciacao: "CHAVE" }
    const confirmed = call("POST", `${PAGAMENTOS}/confirmacao`, confirmation)
    assert.deepInclude(confirmed.body, { endToEndId, estado: "EM_PROCESSAMENTO", valor: 3.5 })
    const again = call("POST", `${PAGAMENTOS}/confirmacao`, confirmation)
    assert.deepStrictEqual([again.status, again.body.type.split("/").at(-1)], [400, "RequisicaoInvalida"])
    assert.strictEqual(machine.provider.balanceCents(), 650)
    machine.settleDue()
    assert.strictEqual(call("GET", `${PAGAMENTOS}/${endToEndId}`).body.estado, "FINALIZADO")
    const unknown = { ...confirmation, endToEndId: "E".repeat(32) }
    assert.strictEqual(call("POST", `${PAGAMENTOS}/confirmacao`, unknown).status, 400)
    assert.deepStrictEqual([machine.api.violations, machine.api.defects], [[], []])
  })

  it("an amount with a point breaks the contract, and an unknown key is refused", () => {
    const { machine, call } = start("sicoob")
    machine.provider.payouts.describePayee("nobody@example.com", { _tag: "NotFound" })
    assert.strictEqual(call("POST", PAGAMENTOS, { chave: "nobody@example.com" }).status, 400)
    assert.deepStrictEqual(machine.api.violations, [])
    const { endToEndId } = call("POST", PAGAMENTOS, { chave: "ana@example.com" }).body
    call("POST", `${PAGAMENTOS}/confirmacao`, { endToEndId, valor: "3.50", meioIniciacao: "CHAVE" })
    assert.strictEqual(machine.api.violations.length, 1)
  })
})

describe("Inter", () => {
  const body = { valor: 3.5, destinatario: { tipo: "CHAVE", chave: "ana@example.com" } }

  it("the same key gives the same answer and pays once; the code finds the payout", () => {
    const { machine, call } = start("inter")
    const send = () => call("POST", "/banking/v2/pix", body, { "x-id-idempotente": KEY_ID })
    const first = send()
    assert.deepInclude(first.body, { tipoRetorno: "PROCESSADO", dataOperacao: "2026-09-21" })
    assert.deepStrictEqual(send(), first)
    assert.strictEqual(machine.provider.balanceCents(), 650)
    machine.settleDue()
    const path = `/banking/v2/pix/${first.body.codigoSolicitacao}`
    assert.deepInclude(call("GET", path).body.transacaoPix, { status: "PAGO", valor: 3.5, chave: "ana@example.com" })
    assert.strictEqual(call("GET", `/banking/v2/pix/${KEY_ID}`).status, 404)
    assert.deepStrictEqual([machine.api.violations, machine.api.defects], [[], []])
  })

  it("a payout that must be approved waits; one without funds is canceled; a refusal keeps no key", () => {
    const { machine, call } = start("inter", {
      settings: { openingCents: 1000, payoutFate: () => ({ _tag: "Held" }) }
    })
    const send = (change: object, key = KEY_ID) =>
      call("POST", "/banking/v2/pix", { ...body, ...change }, { "x-id-idempotente": key }).body
    const statusOf = (code: string) => call("GET", `/banking/v2/pix/${code}`).body.transacaoPix.status
    const held = send({})
    assert.strictEqual(held.tipoRetorno, "APROVACAO")
    assert.strictEqual(statusOf(held.codigoSolicitacao), "AGUARDANDO_APROVACAO")
    const poor = send({ valor: 1_000_000 }, KEY_ID.replace("3", "4"))
    machine.settleDue()
    assert.strictEqual(statusOf(poor.codigoSolicitacao), "CANCELADO_SEM_SALDO")
    machine.provider.payouts.describePayee("nobody@example.com", { _tag: "NotFound" })
    const nobody = { destinatario: { tipo: "CHAVE", chave: "nobody@example.com" } }
    const refused = call(
      "POST",
      "/banking/v2/pix",
      { ...body, ...nobody },
      { "x-id-idempotente": KEY_ID.replace("3", "5") }
    )
    assert.deepStrictEqual([refused.status, refused.body.title], [400, "Chave Pix não encontrada"])
    assert.deepStrictEqual([machine.api.violations, machine.api.defects], [[], []])
  })

  it("without a key, or with one that is no UUID, the contract is broken", () => {
    const { machine, call } = start("inter")
    const errors = [{}, { "x-id-idempotente": "7" }].map((headers) => call("POST", "/banking/v2/pix", body, headers))
    assert.deepStrictEqual(
      errors.map(({ status, body: { title } }) => [status, title]),
      [
        [400, "Requisição inválida"],
        [400, "Requisição inválida"]
      ]
    )
    assert.deepStrictEqual(
      machine.api.violations.flatMap(({ failures }) => failures.map((failure) => failure.split(":")[0])),
      ["header", "header/x-id-idempotente"]
    )
    assert.strictEqual(machine.provider.balanceCents(), 1000)
  })

  it("a missing scope is refused in Inter's shape", () => {
    const { machine, call } = start("inter", { scopes: ["pix.read"] })
    const refused = call("POST", "/banking/v2/pix", body, { "x-id-idempotente": KEY_ID })
    assert.deepStrictEqual([refused.status, refused.body.title], [403, "Acesso Negado"])
    assert.deepStrictEqual(machine.api.defects, [])
  })
})
