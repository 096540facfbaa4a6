import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { makeFaults, REQUEST_FAULTS, type Rates } from "../src/Faults.ts"
import type { PspDouble } from "../src/PspDouble.ts"
import { callerOf, cobBody, startReceiver, TXID, withDouble } from "./support/Caller.ts"

const COB = `/api/v2/cob/${TXID}`
const isCob = { path: /\/cob\// }

/** What became of the cob, whatever was answered. */
const cobOf = ({ provider }: PspDouble) => Result.getOrUndefined(provider.cobs.get(TXID))

describe("a cut connection", () => {
  it("before: nothing is done; after: it is done but not answered", () =>
    withDouble({}, async (double, call) => {
      const put = () => call("PUT", COB, { body: cobBody(double) })
      const failureOf = () =>
        put().then(
          ({ status }) => status,
          (error: NodeJS.ErrnoException) => error.code
        )
      double.faults.once("dropped-before", isCob)
      assert.strictEqual(await failureOf(), "ECONNRESET")
      assert.isUndefined(cobOf(double))
      double.faults.once("dropped-after", isCob)
      assert.strictEqual(await failureOf(), "ECONNRESET")
      assert.strictEqual(cobOf(double)?.status, "ATIVA")
      assert.deepInclude(double.exchanges.at(-1), { status: undefined, fault: "dropped-after", spoiled: true })
      assert.strictEqual((await call("GET", COB)).status, 200)
    }))

  it("an answer that never comes, and one that comes late", () =>
    withDouble({ slowMs: 4000 }, async (double, call) => {
      double.faults.once("hang", isCob)
      const hung = await call("PUT", COB, { body: cobBody(double), timeoutMs: 2000 }).catch(String)
      assert.match(String(hung), /no answer in time/)
      assert.strictEqual(cobOf(double)?.status, "ATIVA")
      double.faults.once("slow", isCob)
      const late = await call("GET", COB, { timeoutMs: 2000 }).catch(String)
      assert.match(String(late), /no answer in time/)
      double.faults.once("slow", isCob)
      assert.strictEqual((await call("GET", COB)).status, 200)
    }))
})

describe("a bank that is not well", () => {
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  it("hangs until that ends: everything is done, nothing is answered", () =>
    withDouble({}, async (double, call) => {
      const end = double.faults.always("hang", isCob)
      const cob = (n: number) => `/api/v2/cob/${`${n}`.padStart(26, "c")}`
      const answered: Array<unknown> = []
      for (const n of [1, 2]) {
        void call("PUT", cob(n), { body: cobBody(double) }).then(
          (answer) => answered.push(answer),
          () => {}
        )
        await until(() => double.exchanges.filter(({ fault }) => fault === "hang").length === n)
      }
      assert.strictEqual((await call("GET", `/api/v2/webhook/${double.key}`)).status, 404)
      end()
      for (const n of [1, 2]) assert.strictEqual((await call("GET", cob(n))).status, 200)
      assert.deepStrictEqual(answered, [])
    }))

  it("answers late, every time, until the latency changes", () =>
    withDouble({}, async (double, call) => {
      double.setLatency(600_000)
      const answered: Array<unknown> = []
      void call("PUT", COB, { body: cobBody(double) }).then(
        (answer) => answered.push(answer),
        () => {}
      )
      await until(() => cobOf(double) !== undefined)
      double.setLatency(0)
      assert.strictEqual((await call("GET", COB)).status, 200)
      assert.deepStrictEqual(answered, [])
    }))
})

describe("an answer that is not what happened", () => {
  it.each([
    ["error-after", 500, "application/problem+json"],
    ["html", 502, "text/html"],
    ["ok-for-created", 200, "application/json"]
  ] as const)("%s: done, and answered %s", (fault, status, type) =>
    withDouble({}, async (double, call) => {
      double.faults.once(fault, isCob)
      const answered = await call("PUT", COB, { body: cobBody(double) })
      assert.deepStrictEqual([answered.status, answered.headers["content-type"]], [status, type])
      assert.strictEqual(cobOf(double)?.status, "ATIVA")
      assert.isTrue(double.exchanges.at(-1)?.spoiled)
    })
  )

  it("500 in Efí's shape", () =>
    withDouble({ profile: "efi" }, async (double, call) => {
      double.faults.once("error-after", isCob)
      const { status, body } = await call("GET", `/v2/cob/${TXID}`)
      assert.deepStrictEqual([status, body.nome], [500, "erro_aplicacao"])
    }))

  it("429 says when to come again, and does nothing", () =>
    withDouble({ retryAfterSeconds: 7 }, async (double, call) => {
      double.faults.once("too-many-requests", isCob)
      const { status, headers, body } = await call("PUT", COB, { body: cobBody(double) })
      assert.deepStrictEqual([status, headers["retry-after"]], [429, "7"])
      assert.match(body.type, /BaldeFichasVazio$/)
      assert.isUndefined(cobOf(double))
    }))

  it("an expired token: 401 until another is asked for", () =>
    withDouble({}, async (double, call) => {
      double.faults.once("expired-token")
      assert.strictEqual((await call("GET", COB)).status, 401)
      assert.strictEqual((await call("GET", COB)).status, 401)
      assert.strictEqual((await (await callerOf(double))("GET", COB)).status, 404)
    }))

  it("a taken txid: 409 where the rule is to update, an update in silence where it is 409", async () => {
    await withDouble({}, async (double, call) => {
      await call("PUT", COB, { body: cobBody(double) })
      double.faults.once("taken-txid-conflict")
      assert.strictEqual((await call("PUT", COB, { body: cobBody(double, "99.00") })).status, 409)
      assert.strictEqual(cobOf(double)?.revisions.length, 1)
    })
    await withDouble({ profile: "efi" }, async (double, call) => {
      await call("PUT", `/v2/cob/${TXID}`, { body: cobBody(double) })
      double.faults.once("taken-txid-update")
      const { status, body } = await call("PUT", `/v2/cob/${TXID}`, { body: cobBody(double, "99.00") })
      assert.deepStrictEqual([status, body.valor.original], [201, "99.00"])
    })
  })

  it("a status as text, and `devolucoes` as the object of the published example", () =>
    withDouble({}, async (double, call) => {
      double.faults.once("status-as-text", isCob)
      assert.strictEqual((await call("GET", COB)).body.status, "404")
      const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 100 })
      double.provider.receipts.orderReturn(endToEndId, "r1", { cents: 100 })
      double.faults.once("returns-as-object")
      assert.strictEqual((await call("GET", `/api/v2/pix/${endToEndId}`)).body.devolucoes.id, "r1")
    }))
})

describe("an answer in another shape", () => {
  it("absent fields as null", () =>
    withDouble({}, async (double, call) => {
      const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 100 })
      double.faults.once("null-fields", { path: /\/pix\// })
      const { body } = await call("GET", `/api/v2/pix/${endToEndId}`)
      assert.deepInclude(body, { endToEndId, txid: null, infoPagador: null, devolucoes: null })
      double.faults.once("null-fields", isCob)
      const { body: problem } = await call("GET", COB)
      assert.deepInclude(problem, { status: 404, violacoes: null })
    }))

  it("the first entry of a list in an unknown form; a Pix alone stays", () =>
    withDouble({}, async (double, call) => {
      const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 100 })
      const other = double.provider.receipts.receive({ key: double.key, cents: 100 })
      const end = double.faults.always("unknown-entry")
      const range = "inicio=2020-01-01T00:00:00Z&fim=2100-01-01T00:00:00Z"
      const { body } = await call("GET", `/api/v2/pix?${range}`)
      assert.deepStrictEqual([body.pix.length, body.pix[0]], [2, { desconhecido: true }])
      assert.include([endToEndId, other.endToEndId], body.pix[1].endToEndId)
      assert.strictEqual((await call("GET", `/api/v2/pix/${endToEndId}`)).body.endToEndId, endToEndId)
      end()
    }))

  it("the entry of a list of one as an object", () =>
    withDouble({}, async (double, call) => {
      const range = "inicio=2020-01-01T00:00:00Z&fim=2100-01-01T00:00:00Z"
      const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 100 })
      double.faults.once("entry-as-object")
      assert.strictEqual((await call("GET", `/api/v2/pix?${range}`)).body.pix.endToEndId, endToEndId)
    }))

  it("a token that is revoked with 403, and the page of a proxy: nothing is done", () =>
    withDouble({}, async (double, call) => {
      double.faults.once("proxy-page", isCob)
      const page = await call("PUT", COB, { body: cobBody(double) })
      assert.deepStrictEqual([page.status, page.headers["content-type"]], [200, "text/html"])
      double.faults.once("forbidden-token", isCob)
      const forbidden = await call("PUT", COB, { body: cobBody(double) })
      assert.deepStrictEqual([forbidden.status, forbidden.body.error], [403, "invalid_token"])
      assert.isUndefined(cobOf(double))
      assert.strictEqual((await call("PUT", COB, { body: cobBody(double) })).status, 401)
    }))

  it("an error of another provider, under the same status; a success stays", () =>
    withDouble({}, async (double, call) => {
      double.faults.once("foreign-error", isCob)
      const { status, body } = await call("GET", COB)
      assert.deepStrictEqual([status, Object.keys(body)], [404, ["erros"]])
      double.faults.once("foreign-error", isCob)
      assert.strictEqual((await call("PUT", COB, { body: cobBody(double) })).body.txid, TXID)
    }))
})

describe("by seed", () => {
  const rates: Rates = Object.fromEntries(REQUEST_FAULTS.map((fault) => [fault, 0.08]))
  const paths = Array.from({ length: 40 }, (_, i) => `/api/v2/cob/${i}`)
  const draw = (seed: number, order: ReadonlyArray<string>) => {
    const faults = makeFaults(seed, rates)
    return new Map(order.map((path) => [path, [1, 2, 3].map(() => faults.ofRequest("PUT", path))]))
  }

  it("the same seed draws the same faults for the same requests, in whatever order they come", () => {
    const forwards = draw(7, paths)
    const backwards = draw(7, paths.toReversed())
    for (const path of paths) assert.deepStrictEqual(forwards.get(path), backwards.get(path), path)
    assert.notDeepEqual([...forwards], [...draw(8, paths)])
    assert.isTrue(
      [...forwards.values()].some((faults) => new Set(faults).size > 1),
      "a repeated request is drawn for again"
    )
  })

  it("faults are as frequent as asked, each kind that can show, and end when their chances are taken away", () => {
    const faults = makeFaults(1, { "dropped-after": 0.25 })
    for (let i = 0; i < 4000; i++) faults.ofRequest("PUT", `/x/${i}`)
    assert.approximately(faults.counts.get("dropped-after")!, 1000, 100)
    faults.setRates({})
    const before = faults.counts.get("dropped-after")
    for (let i = 0; i < 100; i++) faults.ofRequest("PUT", `/y/${i}`)
    assert.strictEqual(faults.counts.get("dropped-after"), before)
    const everywhere = makeFaults(1, rates)
    for (let i = 0; i < 2000; i++) {
      everywhere.ofRequest("PUT", `/v2/cob/${i}`)
      everywhere.ofRequest("GET", `/v2/pix/${i}`)
      everywhere.ofRequest("GET", "/v2/pix")
      everywhere.ofRequest("PUT", `/v2/pix/e/devolucao/${i}`)
    }
    assert.sameMembers([...everywhere.counts.keys()], [...REQUEST_FAULTS])
    const never = makeFaults(1, { "expired-token": 1, "taken-txid-update": 1, "returns-as-object": 1 })
    assert.isUndefined(never.ofRequest("POST", "/oauth/token"))
  })

  it("two doubles of one seed answer the same calls alike, ids and tokens included", async () => {
    const history = async () => {
      const lines: Array<unknown> = []
      await withDouble(
        { seed: 42, now: () => 1_790_000_000_000, faults: { "error-after": 0.2, html: 0.2, "hook-never": 0.5 } },
        async (double, call) => {
          await using receiver = await startReceiver(double)
          double.provider.webhooks.put(double.key, receiver.url)
          for (let i = 0; i < 12; i++) {
            const txid = `${i}`.padStart(26, "0")
            const { status, text } = await call("PUT", `/api/v2/cob/${txid}`, { body: cobBody(double) })
            lines.push([status, text])
            double.provider.receipts.payCob(txid)
            await double.settle()
          }
          lines.push(receiver.received.map(({ body }) => body))
        }
      )
      return lines
    }
    const first = await history()
    assert.deepStrictEqual(first, await history())
    assert.isBelow((first.at(-1) as Array<unknown>).length, 12)
  })
})
