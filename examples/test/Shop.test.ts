/** `examples/shop.ts` as a newcomer runs it: by the packed client, in an empty folder, against the service. */
import { assert, layer } from "@effect/vitest"
import { install, pack } from "@pix-payments/client/test/Tarball"
import { temporaryFolder } from "@pix-payments/server/test/Postgres"
import { eventually, loopback } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

const textOf = (name: string): string => readFileSync(join(import.meta.dirname, "..", name), "utf8")

const main = `import { Payments } from "@pix-payments/client"
import { memoryStore } from "./MemoryStore.ts"
import { shop } from "./shop.ts"

let url = ""
const server = shop(new Payments(), { secret: "a secret of the shop", store: memoryStore(), url: () => url })
server.listen(0, "127.0.0.1", () => {
  url = \`http://127.0.0.1:\${server.address().port}\`
  console.log(url)
})
`

/** The shop as a process. Returns its URL. */
const started = Effect.fnUntraced(function* (env: Readonly<Record<string, string>>) {
  const folder = yield* temporaryFolder
  const files = {
    "package.json": `{ "private": true, "type": "module" }`,
    "shop.ts": textOf("shop.ts"),
    "MemoryStore.ts": textOf("receivers/stores/MemoryStore.ts"),
    "main.ts": main
  }
  const project = yield* Effect.promise(async () => install(join(folder, "shop"), await pack(folder), files))
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, ["main.ts"], { cwd: project.folder, env: { ...process.env, ...env } })),
    (child) => Effect.sync(() => child.kill())
  )
  const [line] = yield* Effect.promise(() => once(child.stdout, "data") as Promise<[Buffer]>)
  return line.toString().trim()
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("the shop", (it) => {
  it.effect("sells: an order is one charge, is paid by its webhook, and a customer's mistake is said", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const url = yield* started({ PAYMENTS_URL: publicUrl, PAYMENTS_API_KEY: key })
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
    assert.isAtMost(textOf("shop.ts").trimEnd().split("\n").length, 60)
  })
})
