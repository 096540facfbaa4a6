import { assert, describe, it } from "@effect/vitest"
import { buildBrCode } from "@pix-payments/domain/BrCode"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { name, type Page, type Reading, text } from "../src/Decoding.ts"
import { decodeCob, decodeReceivedPage, decodeReceivedPix, type ReceivedPix } from "../src/Messages.ts"
import { failureOf } from "../src/Outcome.ts"
import { problemOf } from "../src/Problem.ts"
import { bacen } from "../src/Profiles.ts"
import { answerOf } from "../src/Transport.ts"

const NOW = 1_790_000_000_000
const reading = (): Reading => ({ nowMs: NOW, zone: "America/Sao_Paulo", unreadable: [] })

const PIX = { endToEndId: "E12345678202009091221kkkkkkkkkkk", valor: "11.11", horario: "2026-09-23T12:00:00Z" }

const pageOf = (pix: unknown, more: object = {}) =>
  decodeReceivedPage(
    { parametros: { paginacao: { paginaAtual: 0, quantidadeDePaginas: "1", ...more } }, pix },
    reading()
  )
const pageWith = (parametros: unknown) => decodeReceivedPage({ parametros, pix: [PIX] }, reading())
const pageRead = (pix: unknown): Page<ReceivedPix> => Result.getOrThrow(pageOf(pix))
const reasonOf = (result: Result.Result<unknown, string>) =>
  Result.match(result, { onSuccess: () => "", onFailure: (why) => why })

describe("a page", () => {
  it("an entry with NUL in its id hides nothing, and is shown as it arrived, up to 4 KiB", () => {
    const poisoned = { ...PIX, endToEndId: "E1\u0000", infoPagador: "ã".repeat(5000) }
    const { items, unreadable } = pageRead([poisoned, PIX, null, 7, []])
    assert.deepStrictEqual(
      items.map(({ cents }) => cents),
      [1111]
    )
    assert.deepStrictEqual(
      unreadable.map(({ reason }) => reason),
      ["endToEndId cannot be read", ...Array.from({ length: 3 }, () => "endToEndId is missing")]
    )
    assert.isTrue(unreadable[0]!.text.startsWith(String.raw`{"endToEndId":"E1\u0000"`))
    assert.include([4095, 4096], Buffer.byteLength(unreadable[0]!.text))
    assert.isTrue(unreadable[0]!.text.endsWith("ã"))
  })

  it("an entry that is nested deeply is unreadable, and so are too many entries in one", () => {
    const deep: unknown = JSON.parse(`${"[".repeat(200_000)}${"]".repeat(200_000)}`)
    const many = { ...PIX, devolucoes: Array.from({ length: 1001 }, () => ({})) }
    const { items, unreadable } = pageRead([deep, many])
    assert.deepStrictEqual(
      items.map(({ returns }) => returns),
      [[]]
    )
    assert.deepStrictEqual(
      unreadable.map(({ reason }) => reason),
      ["endToEndId is missing", "devolucoes has more than 1000 entries"]
    )
    assert.deepStrictEqual(
      unreadable.map((each) => each.text.length),
      [4096, 3067]
    )
  })

  it("has its entries without its numbers, and says that they cannot be read", () => {
    assert.strictEqual(pageRead([PIX]).page, 0)
    for (const parametros of [
      null,
      undefined,
      "x",
      { paginacao: null },
      { paginacao: { paginaAtual: null, quantidadeDePaginas: 2 } },
      { paginacao: { paginaAtual: 0 } },
      { paginacao: { paginaAtual: 0, quantidadeDePaginas: -1 } }
    ]) {
      const { items, page, unreadable } = Result.getOrThrow(pageWith(parametros))
      assert.deepStrictEqual([items.length, unreadable.length, page], [1, 0, undefined], JSON.stringify(parametros))
    }
  })

  it("has one entry where that is no list, and is none without its list or with too many entries", () => {
    assert.deepStrictEqual(pageRead(PIX), pageRead([PIX]))
    for (const list of ["x", 7]) assert.strictEqual(reasonOf(pageOf(list)), "pix is no list")
    // A page of a proxy has neither list nor numbers.
    for (const body of [{}, undefined, [PIX], { pix: null }])
      assert.strictEqual(reasonOf(decodeReceivedPage(body, reading())), "pix is no list")
    for (const list of [null, undefined, []]) assert.deepStrictEqual(pageRead(list).items, [])
    assert.strictEqual(reasonOf(pageOf(null, { quantidadeTotalDeItens: 1 })), "pix is no list")
    assert.strictEqual(reasonOf(pageOf(Array.from({ length: 10_001 }, () => 1))), "pix has more than 10000 entries")
  })
})

describe("the core", () => {
  const pix = (change: object) => decodeReceivedPix({ ...PIX, ...change }, reading())

  it("an id has at most 64 visible characters, a key 77", () => {
    for (const txid of ["x".repeat(64), "a-b_c"]) assert.strictEqual(Result.getOrThrow(pix({ txid })).txid, txid)
    for (const txid of ["x".repeat(65), "a b", "a\u007f", "a\u009bb", "\ud800", "é", "a\n", 7, {}, [], false]) {
      assert.strictEqual(reasonOf(pix({ txid })), "txid cannot be read", JSON.stringify(txid))
    }
    for (const txid of ["", null, undefined]) assert.isUndefined(Result.getOrThrow(pix({ txid })).txid)
    assert.strictEqual(Result.getOrThrow(pix({ chave: "k".repeat(77) })).key?.length, 77)
    assert.strictEqual(reasonOf(pix({ chave: "k".repeat(78) })), "chave cannot be read")
  })

  it("an amount is text or a number of at most two decimals, and money that moved is more than nothing", () => {
    const cents = (valor: unknown) => Result.getOrUndefined(Result.map(pix({ valor }), (read) => read.cents))
    assert.deepStrictEqual(["50", "39.9", 97, 39.9, "11.11"].map(cents), [5000, 3990, 9700, 3990, 1111])
    for (const valor of ["0.00", 0, "1,00", "1.001", 1.001, -1, "", null, { original: "1.00" }, true]) {
      assert.isUndefined(cents(valor), JSON.stringify(valor))
    }
  })

  it("a BR code that is none, or of another amount or key, is not shown as absent", () => {
    const cob = (change: object) =>
      Result.getOrThrow(
        decodeCob("brcode")(
          { txid: "t", status: "ATIVA", valor: { original: "1.00" }, chave: "k", brcode: null, ...change },
          reading()
        )
      )
    assert.isUndefined(cob({}).brCode)
    for (const brcode of ["", "x", 7, {}, "0".repeat(513)]) assert.strictEqual(cob({ brcode }).brCode, "")
    const pixKey = "Ana@example.com"
    const brcode = Result.getOrThrow(
      buildBrCode({ pixKey, merchantName: "Ana", merchantCity: "SAO PAULO", singleUse: true })
    )
    assert.strictEqual(cob({ brcode }).brCode, "")
    assert.strictEqual(cob({ brcode, chave: "ana@example.com" }).brCode, brcode)
    // A location becomes part of a BR code of ours.
    assert.isUndefined(cob({ location: "pix.example.com/\u001b[2J" }).location)
    assert.strictEqual(cob({ location: "pix.example.com/1" }).location, "pix.example.com/1")
  })
})

describe("an instant", () => {
  it("that no Pix can have is that of seeing: banks write the first or last day of a calendar for none", () => {
    const at = (horario: string) => Result.getOrThrow(decodeReceivedPix({ ...PIX, horario }, reading())).atMs
    for (const none of [
      "0001-01-01T00:00:00",
      "0000-01-01T00:00:00Z",
      "1900-01-01T00:00:00Z",
      "1970-01-01T00:00:00Z"
    ]) {
      assert.strictEqual(at(none), NOW, none)
    }
    for (const future of ["9999-12-31T23:59:59Z", "2026-12-01T00:00:00Z"]) assert.strictEqual(at(future), NOW, future)
    for (const some of ["2020-11-16T09:00:00.000Z", "2026-09-21T20:00:00.000Z"])
      assert.strictEqual(formatInstant(at(some)), some)
  })
})

describe("text", () => {
  it("is cut between characters, and text of nothing else than control characters is absent", () => {
    assert.strictEqual(text(3)("\u{1f600}\u{1f600}\u{1f600}\u{1f600}"), "\u{1f600}".repeat(3))
    assert.strictEqual(name(`Jo\u0000\u001b\u009bão\udc00 ${"x".repeat(1_000_000)}`)?.length, 200)
    assert.strictEqual(name(" Jo\u0000ão\ud83d "), "João")
    for (const value of ["\u0000\ud800", " ", "", 7, {}, null]) assert.isUndefined(name(value))
  })

  it("of a refusal is bounded and has no control character, in every shape of error", () => {
    const hostile = `\u0000\u001b[2J${"x".repeat(10_000)}\ud800`
    const deep: unknown = JSON.parse(`${"[".repeat(200_000)}${"]".repeat(200_000)}`)
    const bodies = [
      { type: `https://x/error/${hostile}`, detail: hostile, violacoes: [{ razao: hostile }, deep] },
      { nome: hostile, mensagem: hostile },
      { erros: [{ codigo: deep, mensagem: hostile }] },
      { erro: { codigo: hostile, mensagem: hostile } },
      { title: hostile },
      { error: hostile, error_description: hostile },
      { error: hostile, statusCode: 400, message: hostile }
    ]
    for (const body of bodies) {
      const problem = problemOf(body, 400)!
      assert.isAtMost(problem.code.length, 64)
      assert.isAtMost(problem.detail?.length ?? 0, 300)
      // oxlint-disable-next-line no-control-regex -- that is what is looked for
      assert.notMatch(problem.code + problem.detail, /[\u0000-\u001f]|\p{Cs}/u)
    }
    const operation = { name: "emit", scope: "cob.write", refusals: ["CobOperacaoInvalida"], notFound: [] }
    const refused = failureOf(
      bacen,
      operation,
      answerOf(400, undefined, JSON.stringify({ type: "x/CobOperacaoInvalida", detail: "chave\u0000 inválida" }))
    )
    assert.deepInclude(refused, { _tag: "Refused", detail: "chave inválida" })
  })
})

describe("any JSON", () => {
  it.prop("is read or has a reason, and no entry is lost", [Schema.Array(Schema.MutableJson)], ([entries]) => {
    const { items, unreadable } = pageRead(entries)
    assert.strictEqual(items.length + unreadable.length, entries.length)
    for (const entry of entries) {
      const fields = { ...PIX, infoPagador: entry, pagador: entry, devolucoes: entry, horario: entry, gnExtras: entry }
      const read = Result.getOrThrow(decodeReceivedPix(fields, reading()))
      assert.deepInclude(read, { endToEndId: PIX.endToEndId, cents: 1111 })
      assert.isTrue(Number.isSafeInteger(read.atMs))
    }
  })
})
