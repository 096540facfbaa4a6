import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { decodeHook } from "../src/Hooks.ts"
import * as profiles from "../src/Profiles.ts"
import { startDouble, TXID } from "./support/Bank.ts"

const { bacen, efi, sicoob, inter } = profiles
const E2E = "E12345678202009091221kkkkkkkkkkk"

const factsOf = (profile: Parameters<typeof decodeHook>[0], body: unknown) => {
  const hook = Result.getOrThrow(decodeHook(profile, JSON.stringify(body)))
  return hook._tag === "Facts" ? hook.facts : []
}

const reasonOf = (profile: Parameters<typeof decodeHook>[0], text: string) =>
  Result.match(decodeHook(profile, text), { onSuccess: () => "known", onFailure: ({ message }) => message })

describe("hooks", () => {
  it.live.each(["bacen", "efi"] as const)(
    "the double's are read: a Pix, its return, and what %s reports of a payout",
    (name) =>
      Effect.scoped(
        Effect.gen(function* () {
          const double = yield* startDouble({ profile: name, settings: { openingCents: 1000 }, hookBatch: 10 })
          const { receipts, payouts, webhooks } = double.provider
          yield* Effect.fromResult(webhooks.put(double.key, "https://127.0.0.1:1/hooks"))
          const { endToEndId } = receipts.receive({ key: double.key, cents: 1000, txid: TXID })
          yield* Effect.fromResult(receipts.orderReturn(endToEndId, "r1", { cents: 400 }))
          const order = { cents: 300, payerKey: double.key, payee: { key: "ana@example.com", document: undefined } }
          const sent = name === "efi" ? [yield* Effect.fromResult(payouts.send("p1", order))] : []
          yield* Effect.promise(() => double.settle())
          assert.strictEqual(double.hooks.length, 1)
          const payer = name === "efi" ? { name: "Fulano de Tal", document: "52998224725" } : undefined
          const received = { _tag: "PixReceived", endToEndId, txid: TXID, key: double.key, payer } as const
          assert.deepStrictEqual(factsOf(profiles[name], double.hooks[0]!.body), [
            { ...received, returnIds: [] },
            { ...received, returnIds: ["r1"] },
            ...sent.map(({ endToEndId: sentId }) => ({
              _tag: "PayoutChanged" as const,
              id: "p1",
              reference: undefined,
              endToEndId: sentId
            }))
          ])
        })
      )
  )

  it("Sicoob and Inter report payouts by their own names", () => {
    const payload = { id: E2E, estado: "FINALIZADO_SUCESSO", valor: "110.00" }
    for (const body of [payload, { payload }]) {
      assert.deepStrictEqual(factsOf(sicoob, body), [
        { _tag: "PayoutChanged", id: undefined, reference: E2E, endToEndId: E2E }
      ])
    }
    const codigoTransacao = "3fa85f64-5717-4562-b3fc-2c963f66afa6"
    const reported = [{ _tag: "PayoutChanged", id: undefined, reference: codigoTransacao, endToEndId: E2E }] as const
    const entry = { codigoTransacao, endToEnd: E2E, status: "EFETIVADO", valor: "1.00" }
    const documented = { codigoSolicitacao: codigoTransacao, endToEnd: E2E, status: "EFETIVADO" }
    for (const body of [entry, [entry], documented]) assert.deepStrictEqual(factsOf(inter, body), reported)
    for (const profile of [sicoob, inter]) {
      const [fact] = factsOf(profile, { pix: [{ endToEndId: E2E, txid: TXID, chave: "k", valor: "1.00" }] })
      assert.deepInclude(fact, { _tag: "PixReceived", endToEndId: E2E, txid: TXID })
    }
  })

  it("a masked document is left out; `devolucoes` may be an object; null is absent", () => {
    const [fact] = factsOf(bacen, {
      pix: [
        {
          endToEndId: E2E,
          txid: null,
          chave: null,
          pagador: { nome: "Ana", cpf: "***.456.789-**" },
          devolucoes: { id: "r1" }
        }
      ]
    })
    assert.deepStrictEqual(fact, {
      _tag: "PixReceived",
      endToEndId: E2E,
      txid: undefined,
      key: undefined,
      payer: { name: "Ana", document: undefined },
      returnIds: ["r1"]
    })
  })

  it("the id to ask about is the core: nothing else hides an entry, and names are cleaned", () => {
    const garbled = { txid: {}, chave: 7, pagador: "Ana", gnExtras: [], devolucoes: "x", horario: 7, valor: "?" }
    const bodies = [
      { ...garbled, endToEndId: E2E },
      { endToEndId: E2E, pagador: { nome: `A\u0000na${"x".repeat(500)}` } }
    ]
    const [first, second] = factsOf(efi, { pix: bodies.map((body) => ({ ...body, tipo: null })) })
    const bare = { _tag: "PixReceived", endToEndId: E2E, txid: undefined, key: undefined, returnIds: [] } as const
    assert.deepStrictEqual(first, { ...bare, payer: undefined })
    assert.deepStrictEqual(second, { ...bare, payer: { name: `Ana${"x".repeat(197)}`, document: undefined } })
    for (const endToEndId of [`${E2E.slice(1)}\u0000`, "\ud800".padEnd(32, "x"), "x".repeat(10_000), { id: E2E }]) {
      assert.match(reasonOf(bacen, JSON.stringify({ pix: [{ endToEndId }] })), /no entry of a known shape/)
    }
  })

  it("Efí's check of a URL is recognised, and only at Efí", () => {
    const check = `{"evento":"teste_webhook"}`
    assert.deepStrictEqual(Result.getOrThrow(decodeHook(efi, check)), { _tag: "Check" })
    assert.match(reasonOf(bacen, check), /check of another provider/)
  })

  it("a byte order mark is ignored", () => {
    const body = JSON.stringify({ pix: [{ endToEndId: E2E }] })
    assert.strictEqual(reasonOf(bacen, `\u{feff}${body}`), "known")
  })

  it("unknown entries are set apart; a body of nothing else is unknown", () => {
    const body = { pix: [{ endToEndId: E2E }, { endToEndId: "short" }, { tipo: "OUTRO" }, null, 7] }
    const hook = Result.getOrThrow(decodeHook(efi, JSON.stringify(body)))
    const unreadable = hook._tag === "Facts" ? hook.unreadable : []
    assert.deepStrictEqual(
      unreadable.map(({ endToEndId, reason, text }) => [text, reason, endToEndId]),
      [
        [`{"endToEndId":"short"}`, "endToEndId cannot be read", "short"],
        [`{"tipo":"OUTRO"}`, "tipo is not SOLICITACAO", undefined],
        ["null", "endToEndId is missing", undefined],
        ["7", "endToEndId is missing", undefined]
      ]
    )
    for (const text of ["", "<html>", "null", "7", "[]", "{}", `{"pix":{}}`, `{"pix":[]}`, `{"pix":[{"tipo":"X"}]}`]) {
      for (const profile of [bacen, efi, sicoob, inter]) assert.notStrictEqual(reasonOf(profile, text), "known", text)
    }
  })

  it("at most 1,000 entries are read", () => {
    const pix = (length: number) => JSON.stringify({ pix: Array.from({ length }, () => ({ endToEndId: E2E })) })
    assert.strictEqual(reasonOf(bacen, pix(1000)), "known")
    assert.match(reasonOf(bacen, pix(1001)), /more than 1000/)
  })

  it.prop(
    "no JSON throws, and no fact has an id of another form",
    [Schema.MutableJson, Schema.Literals(["bacen", "efi", "sicoob", "inter"])],
    ([value, name]) => {
      const profile = { bacen, efi, sicoob, inter }[name]
      for (const body of [value, { pix: value }, { pix: [value] }, [value], { tipo: value, gnExtras: value }]) {
        const hook = decodeHook(profile, JSON.stringify(body))
        if (Result.isFailure(hook) || hook.success._tag === "Check") continue
        for (const { endToEndId } of hook.success.facts) {
          if (endToEndId !== undefined) assert.match(endToEndId, /^[a-zA-Z0-9]{32}$/)
        }
      }
    }
  )
})
