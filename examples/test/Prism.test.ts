/**
 * Prism answers by the checked-in OpenAPI document, as for an integrator who has no service yet. `pnpm run runtimes:install` installs
 * it; without it the test is skipped, unless `RUNTIMES=required`.
 *
 * Prism answers a body that breaks the schema with the first 422 that an operation declares; the service says 400.
 */
import { Payments } from "@pix-payments/client"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import document from "../../packages/api/openapi.json" with { type: "json" }

const program = join(import.meta.dirname, "collections/node_modules/@stoplight/prism-cli/dist/index.js")
const isInstalled = existsSync(program)
if (!isInstalled) process.stderr.write("Prism is not installed: its answers are not tested here.\n")

interface Media {
  readonly schema: object
  readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>
}

interface Operation {
  readonly requestBody?: { readonly content: { readonly "application/json": Media } }
  readonly responses: Readonly<Record<string, { readonly content?: { readonly "application/json": Media } }>>
}

/** Every operation of the document, as a request and its declared answers. */
const operations = Object.entries(
  document.paths as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { requestBody, responses }]) => ({
    name: `${method.toUpperCase()} ${path}`,
    path: path.replace("{id}", "01a21796-3e53-7716-a39a-982a6ea59f16"),
    method: method.toUpperCase(),
    body: requestBody?.content["application/json"].examples?.["example"]?.value,
    answers: Object.entries(responses).map(([status, { content }]) => ({
      status: Number(status),
      schema: content?.["application/json"].schema
    }))
  }))
)

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)

describe.skipIf(!isInstalled && process.env["RUNTIMES"] !== "required")("Prism on openapi.json", () => {
  let prism: ChildProcess
  let baseUrl = ""

  beforeAll(async () => {
    const file = join(import.meta.dirname, "../../packages/api/openapi.json")
    prism = spawn(process.execPath, [program, "mock", "--host", "127.0.0.1", "--port", "0", file], {
      env: { ...process.env, FORCE_COLOR: "0" }
    })
    baseUrl = await new Promise((resolve, reject) => {
      let output = ""
      prism.stdout?.on("data", (chunk) => {
        output += chunk
        const url = /is listening on (http:\/\/\S+)/.exec(output)?.[1]
        if (url !== undefined) resolve(url)
      })
      prism.once("exit", () => reject(new Error(output)))
    })
  })

  afterAll(() => {
    prism.kill()
  })

  /** Sends an operation with its example, and checks the answer against the document. */
  const ask = async (
    { answers, body, method, path }: (typeof operations)[number],
    headers: Readonly<Record<string, string>>
  ) => {
    const answer = await fetch(baseUrl + path, {
      method,
      headers: {
        "idempotency-key": "order-1001",
        ...headers,
        ...(body !== undefined && { "content-type": "application/json" })
      },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
    const text = await answer.text()
    const schema = answers.find(({ status }) => status === answer.status)?.schema
    if (schema === undefined) assert.strictEqual(text, "")
    else {
      const validate = ajv.compile({ ...schema, components: document.components })
      assert.isTrue(validate(JSON.parse(text)), `${text}: ${ajv.errorsText(validate.errors)}`)
    }
    return { status: answer.status, headers: answer.headers, text }
  }

  const key = { "x-api-key": "pix_0123456789" }

  it("has every operation of /v1", () => assert.strictEqual(operations.length, 13))

  it.each(operations)("ADD-3: $name succeeds with the document's example", async (operation) => {
    const { headers, status } = await ask(operation, key)
    assert.strictEqual(status, operation.answers[0]?.status)
    assert.isBelow(status, 300)
    assert.match(headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/)
    assert.notStrictEqual(headers.get("idempotent-replayed"), "true")
  })

  it.each(operations)("ADD-3: $name fails as the document says", async (operation) => {
    assert.strictEqual((await ask(operation, {})).status, 401)
    for (const { status } of operation.answers) {
      const answer = await ask(operation, { ...key, prefer: `code=${status}` })
      assert.strictEqual(answer.status, status)
    }
  })

  it("the client works with it", async () => {
    const payments = new Payments({ baseUrl, apiKey: "pix_0123456789" })
    const customer = { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
    const charge = await payments.charges.create({ amount: 4200, customer }, { idempotencyKey: "order-4200" })
    assert.include(charge.pix.br_code, "br.gov.bcb.pix")
    assert.strictEqual((await payments.charges.waitUntil(charge.id, "paid")).status, "paid")
    assert.isNotEmpty(await payments.payouts.list().toArray({ limit: 1 }))
    assert.isAbove((await payments.balance.retrieve()).available, 0)
  })
})
