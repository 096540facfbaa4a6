import { assert, describe, it } from "@effect/vitest"
import { WRONG_ANSWERS, type WrongAnswer } from "../src/Faults.ts"
import { UNAUTHORIZED_BODIES } from "../src/http/WrongAnswers.ts"
import { makePspMachine, type PspMachineOptions } from "../src/http/PspMachine.ts"

const NOW = 1_790_000_000_000
const DAY_MS = 24 * 3_600_000
const TXID = "charge00000000000000000000001"
const RANGE = { inicio: "2020-01-01T00:00:00Z", fim: "2030-01-01T00:00:00Z" }

/** A machine at Efí, its clock, and a caller with a token. */
const bank = (options: Partial<PspMachineOptions> = {}) => {
  const clock = { now: NOW }
  const machine = makePspMachine({
    profile: "efi",
    variant: { namesPayer: true },
    ...options,
    settings: { openingCents: 100_000, ...options.settings },
    now: () => clock.now
  })
  const [key] = machine.provider.settings.keys
  let token = ""
  const call = (method: string, path: string, body?: unknown, query: Readonly<Record<string, string>> = {}) => {
    const { answer, reply } = machine.exchange({
      method,
      path,
      query,
      headers: { authorization: `Bearer ${token}` },
      body: body === undefined ? "" : JSON.stringify(body)
    })
    return reply(answer)!
  }
  const read = (path: string, query: Readonly<Record<string, string>> = {}) => call("GET", path, undefined, query)
  const authenticate = () => {
    const basic = Buffer.from(`${machine.clientId}:${machine.clientSecret}`).toString("base64")
    const { answer } = machine.exchange({
      method: "POST",
      path: machine.profile.tokenPath,
      query: {},
      headers: { authorization: `Basic ${basic}` },
      body: JSON.stringify({ grant_type: "client_credentials" })
    })
    token = JSON.parse(answer!.body!).access_token
  }
  authenticate()
  return { ...machine, key: key!, call, read, authenticate, advance: (ms: number) => void (clock.now += ms) }
}

/** A charge, two Pix with a return each, a payout that came back in part, a dispute. */
const busy = () => {
  const made = bank()
  const { call, key, provider } = made
  call("PUT", `/v2/cob/${TXID}`, { calendario: { expiracao: 60 }, valor: { original: "39.90" }, chave: key })
  const txids = ["f".repeat(32), "e".repeat(32)]
  const [endToEndId] = txids.map((txid) => {
    const pix = provider.receipts.receive({ key, cents: 5000, txid, payerInfo: "Pedido 7" })
    call("PUT", `/v2/pix/${pix.endToEndId}/devolucao/r1`, { valor: "1.00" })
    provider.infractions.open(pix.endToEndId)
    return pix.endToEndId
  })
  for (const id of ["p1", "p2"]) {
    call("PUT", `/v3/gn/pix/${id}`, {
      valor: "3.00",
      pagador: { chave: key },
      favorecido: { chave: "ana@example.com" }
    })
    provider.settleDue()
    provider.payouts.receiveReturn(id, 100)
  }
  return {
    ...made,
    paths: [`/v2/cob/${TXID}`, `/v2/pix/${endToEndId}`, "/v2/pix", "/v2/gn/pix/enviados", "/v2/gn/infracoes"]
  }
}

const queryOf = (path: string): Readonly<Record<string, string>> =>
  /pix$|enviados$|infracoes$/.test(path) ? RANGE : {}

describe("wrong answers", () => {
  it("each changes an answer of 2xx, once, and nothing that the provider has", () => {
    for (const wrong of WRONG_ANSWERS.filter((each) => each !== "odd-unauthorized")) {
      const { api, faults, paths, provider, read } = busy()
      const balance = provider.balanceCents()
      const changed = paths.filter((path) => {
        const truth = read(path, queryOf(path))
        faults.once(wrong, { path: new RegExp(`${path}$`) })
        const answered = read(path, queryOf(path))
        assert.strictEqual(answered.status, 200, `${wrong} ${path}`)
        return answered.body !== truth.body
      })
      assert.isNotEmpty(changed, wrong)
      assert.strictEqual(provider.balanceCents(), balance)
      assert.deepStrictEqual([api.violations, api.defects], [[], []], wrong)
    }
  })

  it("a list is wrong in its first entry alone; one of another key is added before it", () => {
    for (const wrong of WRONG_ANSWERS.filter((each) => !["odd-unauthorized", "no-page"].includes(each))) {
      const { faults, read } = busy()
      const entries = () => JSON.parse(read("/v2/pix", RANGE).body!).pix
      const truth = entries()
      faults.once(wrong)
      const answered = entries()
      assert.deepStrictEqual(answered.at(-1), truth.at(-1), wrong)
      assert.strictEqual(answered.length, truth.length + (ADDED[wrong] ?? 0))
      if (wrong === "foreign-entry") {
        assert.strictEqual(answered[0].chave, "stranger@example.com")
        assert.deepStrictEqual(answered.slice(1), truth)
      }
    }
  })

  it.each([
    ["other-amount", "39.91"],
    ["number-amount", 39.9],
    ["short-amount", "39.9"],
    ["unreadable-amount", "39.901"]
  ] as const)("%s: 39.90 is %j", (wrong, expected) => {
    const { faults, read } = busy()
    faults.once(wrong satisfies WrongAnswer)
    assert.strictEqual(JSON.parse(read(`/v2/cob/${TXID}`).body!).valor.original, expected)
  })

  it("every 401 has the next of the odd bodies, until another token is asked for", () => {
    const { authenticate, faults, read } = bank()
    for (const body of UNAUTHORIZED_BODIES) {
      faults.once("odd-unauthorized")
      const { status, body: given } = read("/v2/pix", RANGE)
      assert.deepStrictEqual([status, given], [401, body])
      assert.strictEqual(read("/v2/pix", RANGE).status, 401)
      authenticate()
      assert.strictEqual(read("/v2/pix", RANGE).status, 200)
    }
  })
})

describe("what happens days later", () => {
  it("the MED takes a part back, and the list of Pix with a return shows it", () => {
    const { advance, authenticate, key, provider, read } = bank({
      settings: { takenBack: ({ cents }) => (cents === 500 ? { cents: 200, afterMs: 5 * DAY_MS } : undefined) }
    })
    const { endToEndId } = provider.receipts.receive({ key, cents: 500 })
    provider.receipts.receive({ key, cents: 700 })
    const returned = () =>
      JSON.parse(read("/v2/pix", { ...RANGE, devolucaoPresente: "true" }).body!).pix.map(
        (pix: { endToEndId: string; devolucoes: ReadonlyArray<{ valor: string }> }) => [
          pix.endToEndId,
          ...pix.devolucoes.map(({ valor }) => valor)
        ]
      )
    assert.deepStrictEqual(returned(), [])
    advance(5 * DAY_MS)
    authenticate()
    assert.deepStrictEqual(returned(), [[endToEndId, "2.00"]])
    assert.strictEqual(provider.balanceCents(), 100_000 + 1200 - 200)
  })

  it("a payout is sent back, and an outcome changes", () => {
    const { advance, call, key, provider } = bank({
      settings: {
        sentBack: ({ cents }) => (cents === 300 ? { cents: 100, afterMs: DAY_MS } : undefined),
        payoutFate: ({ cents }) => {
          if (cents === 300) return { _tag: "Done", afterMs: 0 }
          const change = { afterMs: 0, changesAfterMs: DAY_MS }
          const error = { code: "AC03", origin: "PSP", reason: "Conta inexistente" }
          return cents === 400 ? { _tag: "Done", ...change } : { _tag: "Failed", with: error, ...change }
        }
      }
    })
    for (const reais of ["3.00", "4.00", "5.00"]) {
      call("PUT", `/v3/gn/pix/p${reais[0]}`, { valor: reais, pagador: { chave: key }, favorecido: { chave: "a@b.c" } })
    }
    const states = () => {
      provider.settleDue()
      const { items } = provider.payouts.list({ fromMs: 0, toMs: Infinity }, () => true, { page: 0, size: 9 })
      return [...items.map(({ returned, status }) => [status, returned.length]), provider.balanceCents()]
    }
    assert.deepStrictEqual(states(), [["REALIZADO", 0], ["REALIZADO", 0], ["NAO_REALIZADO", 0], 100_000 - 700])
    advance(DAY_MS)
    assert.deepStrictEqual(states(), [["REALIZADO", 1], ["NAO_REALIZADO", 0], ["REALIZADO", 0], 100_000 - 700])
  })

  it("a return and a dispute change their outcome only where the provider overrules itself", () => {
    const { key, provider } = bank({
      settings: { returnFate: () => ({ _tag: "Done", afterMs: 0, changesAfterMs: 0 }) }
    })
    const { receipts, infractions } = provider
    const { endToEndId } = receipts.receive({ key, cents: 500 })
    receipts.orderReturn(endToEndId, "r1", { cents: 200 })
    provider.settleDue()
    const state = () => [receipts.getReturn(endToEndId, "r1"), provider.balanceCents()]
    assert.deepNestedInclude(state()[0], { "success.status": "NAO_REALIZADO", "success.reason": "Devolução desfeita." })
    assert.strictEqual(state()[1], 100_500)
    receipts.settleReturn(endToEndId, "r1", {})
    assert.strictEqual(state()[1], 100_500)
    receipts.settleReturn(endToEndId, "r1", { overrules: true })
    assert.strictEqual(state()[1], 100_300)

    const opened = infractions.open(endToEndId, { cents: 100 })
    const id = opened._tag === "Success" ? opened.success.id : ""
    infractions.close(id, "REJEITADA")
    assert.deepNestedInclude(infractions.close(id, "ACEITA"), { "success.status": "REJEITADA" })
    assert.deepNestedInclude(infractions.close(id, "ACEITA", undefined, { overrules: true }), {
      "success.status": "ACEITA"
    })
    assert.strictEqual(provider.balanceCents(), 100_200)
  })
})

/** Entries that a list has more than it should. */
const ADDED: Readonly<Partial<Record<WrongAnswer, number>>> = { "foreign-entry": 1, "missing-entry": -1 }
