import { Payments } from "@pix-payments/client"
import { assert, layer } from "@effect/vitest"
import { eventually, loopback } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { memoryStore } from "../receivers/stores/MemoryStore.ts"
import { shop } from "../shop.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("the shop", (it) => {
  it.effect("sells: an order is one charge, is paid by its webhook, and a customer's mistake is said", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const payments = new Payments({ baseUrl: publicUrl, apiKey: key })
      let url = ""
      yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = shop(payments, { secret: "a secret of the shop", store: memoryStore(), url: () => url })
          server.listen(0, "127.0.0.1")
          await once(server, "listening")
          url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
          return server
        }),
        (server) => Effect.sync(() => server.close())
      )
      const customer = { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
      const place = (number: string, who: object = customer) =>
        Effect.promise(async () => {
          const answer = await fetch(`${url}/orders/${number}`, {
            method: "POST",
            body: JSON.stringify({ amount: 1990, customer: who })
          })
          return { status: answer.status, body: await answer.json() }
        })
      const first = yield* place("1001")
      assert.strictEqual(first.status, 201)
      assert.match(first.body.brCode, /^0002/)
      assert.deepStrictEqual(yield* place("1001"), first)
      const listed = yield* call<{ data: ReadonlyArray<{ id: string; reference: string }> }>("GET", "/v1/charges", {
        key
      })
      assert.deepStrictEqual(
        listed.body.data.map(({ reference }) => reference),
        ["1001"]
      )
      yield* operate("POST", `/operator/v1/simulator/charges/${listed.body.data[0]!.id}/pay`)
      const read = Effect.promise(async () => (await fetch(`${url}/orders/1001`)).json())
      const paid = yield* eventually(read, ({ paidBy }) => paidBy !== null)
      assert.match(paid.paidBy, /^E\d/)
      assert.deepStrictEqual(yield* place("1002", { ...customer, document: "529.982.247-26" }), {
        status: 422,
        body: { error: "Check your CPF and your e-mail." }
      })
    }).pipe(Effect.scoped)
  )

  it("has 60 lines at most", () => {
    const text = readFileSync(new URL("../shop.ts", import.meta.url), "utf8")
    assert.isAtMost(text.trimEnd().split("\n").length, 60)
  })
})
