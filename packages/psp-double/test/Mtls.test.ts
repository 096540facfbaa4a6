import { assert, describe, it } from "@effect/vitest"
import { makeAuthority } from "../src/Certificates.ts"
import { askToken, cobBody, send, tlsOf, TXID, withDouble } from "./support/Caller.ts"

const isRefused = async (answered: Promise<unknown>) => {
  const outcome = await answered.then(
    () => "answered",
    (error: NodeJS.ErrnoException) => error.code ?? error.message
  )
  assert.match(outcome, /ERR_SSL|ECONNRESET|EPIPE|ECONNABORTED|socket hang up/, outcome)
}

describe("mutual TLS", () => {
  it("no certificate: no path answers, the token endpoint included", () =>
    withDouble({}, async (double) => {
      const { ca } = double.client
      await isRefused(send(double.tokenUrl, "POST", { ca }))
      await isRefused(send(`${double.baseUrl}/cob/${TXID}`, "GET", { ca }))
      assert.strictEqual(double.exchanges.length, 1, "the token of this test alone")
    }))

  it("a certificate of another authority, or one that has ended, is refused", () =>
    withDouble({}, async (double) => {
      const { ca } = double.client
      const stranger = await (await makeAuthority("Stranger", double.now())).issue({ name: "x", usage: "client" })
      await isRefused(send(double.tokenUrl, "POST", { ca, cert: stranger.cert, key: stranger.key }))
      const day = 24 * 3_600_000
      const validFromMs = double.now() - 2 * day
      const ended = await double.authority.issue({
        name: "late",
        usage: "client",
        validFromMs,
        validToMs: validFromMs + day
      })
      await isRefused(send(double.tokenUrl, "POST", { ca, cert: ended.cert, key: ended.key }))
    }))

  it("PKCS#12 authenticates as PEM does, and a wrong passphrase opens nothing", () =>
    withDouble({}, async (double) => {
      const pfx = double.client.pkcs12("secret")
      const { ca } = double.client
      const answered = await send(`${double.baseUrl}/cob/${TXID}`, "GET", { ca, pfx, passphrase: "secret" })
      assert.strictEqual(answered.status, 401)
      assert.strictEqual(double.exchanges.at(-1)?.caller, "merchant")
      const wrong = await send(double.tokenUrl, "POST", { ca, pfx, passphrase: "wrong" }).catch(String)
      assert.match(String(wrong), /mac verify failure/i)
    }))
})

describe("tokens", () => {
  it("a wrong secret, a wrong client and another grant are refused in OAuth's words", () =>
    withDouble({}, async (double) => {
      for (const wrong of [{ secret: "wrong" }, { id: "somebody" }]) {
        const { status, body } = await askToken(double, wrong)
        assert.deepStrictEqual([status, body.error], [401, "invalid_client"])
      }
      const form = { "content-type": "application/x-www-form-urlencoded" }
      const { status, body } = await send(double.tokenUrl, "POST", tlsOf(double), form, "grant_type=password")
      assert.deepStrictEqual([status, body.error], [400, "unsupported_grant_type"])
    }))

  it("a token ends after its seconds", () =>
    withDouble({ tokenLifetimeSeconds: 60, now: () => 1_790_000_000_000 }, async (double, call) => {
      const status = async () => (await call("GET", `/api/v2/cob/${TXID}`)).status
      assert.strictEqual(await status(), 404)
      await double.advance(59_999)
      assert.strictEqual(await status(), 404)
      await double.advance(1)
      const { status: ended, headers } = await call("GET", `/api/v2/cob/${TXID}`)
      assert.deepStrictEqual([ended, headers["www-authenticate"]], [401, 'Bearer error="invalid_token"'])
    }))

  it("what was granted may be less than what was asked, and each operation needs its scope", () =>
    withDouble({ scopes: ["cob.read", "pix.read"] }, async (double, call) => {
      const { body } = await askToken(double, { scope: "cob.read cob.write" })
      assert.deepStrictEqual([body.scope, body.expires_in, body.token_type], ["cob.read", 3600, "Bearer"])
      assert.strictEqual((await askToken(double, { scope: "cob.write" })).body.error, "invalid_scope")
      const refused = await call("PUT", `/api/v2/cob/${TXID}`, { body: cobBody(double) })
      assert.deepStrictEqual(
        [refused.status, refused.body.type],
        [403, "https://pix.bcb.gov.br/api/v2/error/AcessoNegado"]
      )
      assert.strictEqual((await call("GET", `/api/v2/cob/${TXID}`)).status, 404)
    }))

  it.each([
    ["basic-json", { basic: true, json: true }],
    ["basic-form", { basic: true }],
    ["form", { fields: "client_id=ID&client_secret=SECRET" }],
    ["form-no-secret", { fields: "client_id=ID" }],
    ["grant-in-query", { fields: "client_id=ID&client_secret=SECRET", query: "?grant_type=client_credentials" }]
  ] as const)("credentials count where the provider expects them: %s", (tokenAuth, how) =>
    withDouble({ variant: { tokenAuth } }, async (double) => {
      const sent = { basic: false, json: false, fields: "", query: "", ...how }
      const { clientId, clientSecret } = double
      const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`
      const form = sent.fields.replace("ID", clientId).replace("SECRET", clientSecret)
      const ask = (headers: Record<string, string>, fields = form) => {
        const grant = sent.query === "" ? `grant_type=client_credentials&${fields}` : fields
        const body = sent.json ? '{"grant_type":"client_credentials"}' : grant
        return send(`${double.tokenUrl}${sent.query}`, "POST", tlsOf(double), headers, body)
      }
      const { status, text } = await ask(sent.basic ? { authorization: basic } : {})
      assert.strictEqual(status, 200, text)
      const elsewhere = sent.basic
        ? await ask({}, `client_id=${clientId}&client_secret=${clientSecret}`)
        : await ask({ authorization: basic }, "")
      assert.strictEqual(elsewhere.status, 401)
    })
  )
})
