import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { PspDouble, PspDoubleOptions } from "../src/PspDouble.ts"
import { type Caller, cobBody, startReceiver, TXID, withDouble } from "./support/Caller.ts"

const COB = `/api/v2/cob/${TXID}`
const MINUTE_MS = 60_000

const withReceiver = (
  options: PspDoubleOptions,
  use: (receiver: Awaited<ReturnType<typeof startReceiver>>, double: PspDouble, call: Caller) => Promise<void>
) =>
  withDouble(options, async (double, call) => {
    await using receiver = await startReceiver(double)
    Result.getOrThrow(double.provider.webhooks.put(double.key, receiver.url))
    await use(receiver, double, call)
  })

const pay = ({ provider, key }: PspDouble, cents = 1000, txid = TXID) => provider.receipts.receive({ key, cents, txid })

describe("hooks", () => {
  it("go to `{webhookUrl}/pix` with the provider's certificate, for a Pix and for its return", () =>
    withReceiver({}, async (receiver, double, call) => {
      await call("PUT", COB, { body: cobBody(double) })
      const { endToEndId } = Result.getOrThrow(double.provider.receipts.payCob(TXID))
      await double.settle()
      const [paid] = receiver.received
      assert.deepStrictEqual([paid?.sender, paid?.path], ["psp-double hooks", "/hooks/pix"])
      assert.deepInclude(paid?.body.pix[0], { endToEndId, txid: TXID, valor: "10.00", chave: double.key })
      await call("PUT", `/api/v2/pix/${endToEndId}/devolucao/r1`, { body: { valor: "10.00" } })
      await double.settle()
      assert.deepInclude(receiver.received[1]?.body.pix[0].devolucoes[0], { id: "r1", status: "DEVOLVIDO" })
    }))

  it("without a webhook, or without a txid, nothing is sent", () =>
    withReceiver({}, async (receiver, double, call) => {
      double.provider.receipts.receive({ key: double.key, cents: 1 })
      await double.settle()
      await call("DELETE", `/api/v2/webhook/${double.key}`)
      pay(double)
      await double.settle()
      assert.deepStrictEqual(receiver.received, [])
    }))

  it("several facts go out as one where they are due together", () =>
    withReceiver({ hookBatch: 2 }, async (receiver, double) => {
      for (const cents of [1, 2, 3]) pay(double, cents)
      await double.settle()
      assert.deepStrictEqual(receiver.received.map(({ body }) => body.pix.length).toSorted(), [1, 2])
    }))

  it("no retry at the central bank's; Efí's after 5, 10, 20 … minutes until a 2xx", async () => {
    await withReceiver({}, async (receiver, double) => {
      receiver.answer = 503
      pay(double)
      await double.settle()
      await double.advance(30 * 24 * 60 * MINUTE_MS)
      assert.strictEqual(receiver.received.length, 1)
    })
    await withReceiver({ profile: "efi" }, async (receiver, double) => {
      receiver.answer = 503
      pay(double)
      await double.settle()
      await double.advance(5 * MINUTE_MS)
      assert.strictEqual(receiver.received.length, 2)
      receiver.answer = 200
      await double.advance(9 * MINUTE_MS)
      assert.strictEqual(receiver.received.length, 2)
      await double.advance(MINUTE_MS)
      await double.advance(30 * 24 * 60 * MINUTE_MS)
      assert.strictEqual(receiver.received.length, 3)
      assert.deepStrictEqual(
        double.hooks.map(({ attempt, outcome }) => [attempt, "status" in outcome && outcome.status]),
        [
          [0, 503],
          [1, 503],
          [2, 200]
        ]
      )
    })
  })

  it("twice, late or never, by the fault that is drawn", () =>
    withReceiver({ hookLateMs: 3 * MINUTE_MS }, async (receiver, double) => {
      const amounts = () => receiver.received.map(({ body }) => body.pix[0].valor)
      for (const [i, fault] of (["hook-twice", "hook-late", "hook-never"] as const).entries()) {
        double.faults.once(fault)
        pay(double, i + 1)
        await double.settle()
      }
      assert.deepStrictEqual(amounts(), ["0.01", "0.01"])
      await double.advance(3 * MINUTE_MS)
      assert.deepStrictEqual(amounts(), ["0.01", "0.01", "0.02"])
    }))

  it("before the answer: what an order settles is reported while its caller still waits", () =>
    withReceiver({}, async (receiver, double, call) => {
      const { endToEndId } = pay(double)
      await double.settle()
      double.faults.once("hook-before-answer")
      const { body } = await call("PUT", `/api/v2/pix/${endToEndId}/devolucao/r1`, { body: { valor: "1.00" } })
      assert.strictEqual(body.status, "EM_PROCESSAMENTO", "the answer is older than the hook")
      assert.strictEqual(receiver.received[1]?.body.pix[0].devolucoes[0].status, "DEVOLVIDO")
    }))

  it("go to a receiver of plain HTTP, where the settings allow one", () =>
    withDouble({ settings: { acceptsHttpWebhooks: true } }, async (double, call) => {
      const received: Array<string> = []
      const server = createServer((incoming, outgoing) => {
        received.push(`${incoming.method} ${incoming.url}`)
        incoming.resume().on("end", () => outgoing.writeHead(200).end())
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const webhookUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/in/secret`
      const registered = await call("PUT", `/api/v2/webhook/${double.key}`, { body: { webhookUrl } })
      assert.strictEqual(registered.status, 200)
      assert.strictEqual(double.provider.webhookUrl(double.key), webhookUrl)
      pay(double)
      await double.settle()
      server.close()
      assert.deepStrictEqual(received, ["POST /in/secret/pix"])
    }))

  it("a receiver that cannot be reached is recorded, and fails nothing else", () =>
    withDouble({}, async (double) => {
      for (const url of ["https://127.0.0.1:1/hooks", "https://["]) {
        Result.getOrThrow(double.provider.webhooks.put(double.key, url))
        pay(double)
        await double.settle()
        assert.strictEqual(double.hooks.at(-1)?.outcome._tag, "Failed")
      }
      assert.strictEqual(double.hooks.length, 2)
    }))
})

describe("registration at Efí", () => {
  const register = (double: PspDouble, call: Caller, webhookUrl: string, skip?: string) =>
    call("PUT", `/v2/webhook/${double.key}`, {
      body: { webhookUrl },
      ...(skip !== undefined && { headers: { "x-skip-mtls-checking": skip } })
    })

  it("is tried without certificate and with it; the URL itself, without `/pix`", () =>
    withDouble({ profile: "efi" }, async (double, call) => {
      await using receiver = await startReceiver(double)
      const { status, body } = await register(double, call, receiver.url)
      assert.deepStrictEqual([status, body], [201, { webhookUrl: receiver.url }])
      assert.deepStrictEqual(
        receiver.received.map(({ path, sender }) => [path, sender]),
        [["/hooks", "psp-double hooks"]]
      )
      const { body: registered } = await call("GET", `/v2/webhook/${double.key}`)
      assert.deepInclude(registered, { webhookUrl: receiver.url, chave: double.key })
    }))

  it("is refused for a URL that answers strangers, unless the check is skipped; what was registered stays", () =>
    withDouble({ profile: "efi" }, async (double, call) => {
      await using strict = await startReceiver(double)
      await using careless = await startReceiver(double, { careless: true })
      await register(double, call, strict.url)
      const refused = await register(double, call, careless.url)
      assert.deepStrictEqual([refused.status, refused.body.nome], [400, "webhook_invalido"])
      assert.strictEqual(double.provider.webhookUrl(double.key), strict.url)
      assert.strictEqual((await register(double, call, careless.url, "true")).status, 201)
      assert.strictEqual(double.provider.webhookUrl(double.key), careless.url)
      const gone = await register(double, call, "https://127.0.0.1:1")
      assert.match(gone.body.mensagem, /falhou com o erro: .*ECONNREFUSED/)
      const plain = await register(double, call, "http://127.0.0.1/hooks")
      assert.deepStrictEqual([plain.status, plain.body.nome], [400, "valor_invalido"])
    }))

  it("`?ignorar=` keeps `/pix` off the path", () =>
    withDouble({ profile: "efi" }, async (double, call) => {
      await using receiver = await startReceiver(double)
      await register(double, call, `${receiver.url}?hmac=xyz&ignorar=`)
      pay(double)
      await double.settle()
      assert.strictEqual(receiver.received[1]?.path, "/hooks?hmac=xyz&ignorar=/pix")
    }))
})
