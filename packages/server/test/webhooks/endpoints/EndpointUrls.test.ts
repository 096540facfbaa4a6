/** URLs and secrets of endpoints: accepted and refused. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertRefused, someCharge } from "../../support/ChargeRequests.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { change, changed, endpointsOf, register, registered, somewhere } from "../../support/Webhooks.ts"

layer(TestService.layer({}), { excludeTestServices: true })("/v1/webhooks", (it) => {
  it.effect(
    "URL-1, URL-2, URL-3: `INVALID_WEBHOOK_URL`: an address that is not http(s), or not public, in any spelling, is refused",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const endpoint = yield* registered(key)
        for (const url of hostile) {
          assertRefused(yield* register(key, { url }), "INVALID_WEBHOOK_URL", ["url"])
          assertRefused(yield* change(key, endpoint.id, { url, active: false }), "INVALID_WEBHOOK_URL", ["url"])
        }
        assert.deepStrictEqual((yield* endpointsOf(key)).data, [endpoint])
      })
  )

  it.effect("URL-4: `INVALID_WEBHOOK_URL`: a host that DNS cannot hold, and a control character anywhere", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { accountId, applicationId, key } = yield* makeCaller()
      const endpoint = yield* registered(key)
      const longest = Array.from({ length: 4 }, () => "a".repeat(63))
        .join(".")
        .slice(0, 253)
      const urls = [
        `https://${"a".repeat(64)}.example/`,
        `https://${"a".repeat(63)}.${"b".repeat(64)}/`,
        `https://${longest}a.b/`,
        `https://${"a.".repeat(127)}/`,
        // 5.8 kB in punycode: as a delivery's destination it does not fit into an index row.
        `https://${Array.from({ length: 1900 }, (_, index) => String.fromCodePoint(0x4e00 + index * 7)).join("")}.com/`,
        "https://1.1.1.1/\t",
        "https://1.1.1.1/a\nb",
        "https://1.1.1.1/\u0001",
        "https://1.1.1.1/?\u007f",
        "https://1.1.1.1/#\u0085",
        "\u0008https://1.1.1.1/"
      ]
      const payout = { amount: 500, pix_key_type: "email", pix_key: "ana@example.com" }
      const idempotencyKey = newKey()
      for (const url of urls) {
        assertRefused(yield* register(key, { url }), "INVALID_WEBHOOK_URL", ["url"])
        assertRefused(yield* change(key, endpoint.id, { url }), "INVALID_WEBHOOK_URL", ["url"])
        const charged = { ...someCharge, webhook_url: url }
        const paid = { ...payout, webhook_url: url }
        for (const answer of [
          yield* call("POST", "/v1/charges", { key, idempotencyKey, body: charged }),
          yield* call("POST", "/v1/payouts", { key, idempotencyKey, body: paid }),
          yield* operate("POST", `/operator/v1/applications/${applicationId}/checkout-charges`, { body: charged }),
          yield* operate("POST", `/operator/v1/accounts/${accountId}/payouts`, { body: paid })
        ]) {
          assertRefused(answer, "INVALID_WEBHOOK_URL", ["webhook_url"])
        }
      }
      const { id } = yield* registered(key, { url: `https://${longest}/` })
      assert.strictEqual((yield* changed(key, id, { url: `https://${longest}/b` })).url, `https://${longest}/b`)
    })
  )

  it.effect("URL-1: http(s) and public: such a URL is kept as it was sent", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const urls = [
        "http://1.1.1.1",
        "HTTPS://1.1.1.1:443/a/../b?c=d#e",
        "https://[2606:4700:4700::1111]:8443/hooks",
        "http://16843009/",
        "http://1.1/",
        "http://[::ffff:1.1.1.1]/",
        "https://1.1.1.1/caminho/ação?x=ç",
        // A name that does not resolve is accepted.
        "https://nobody.invalid/hooks",
        // User information ends at the first slash, which WHATWG takes a backslash for: the host is public.
        "http://1.1.1.1\\@127.0.0.1/"
      ]
      for (const url of urls) {
        const { id } = yield* registered(key, { url })
        assert.strictEqual((yield* changed(key, id, { url })).url, url)
      }
    })
  )

  it.effect("URL-1: `webhook_url` length: up to 2048 characters", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const ofLength = (length: number) => somewhere + "é".repeat(length - somewhere.length)
      const { id, url } = yield* registered(key, { url: ofLength(2048) })
      assert.strictEqual(url, ofLength(2048))
      const refused = [ofLength(2049), 1, null, true, ["https://1.1.1.1/"], {}, "https://1.1.1.1/\u0000"]
      for (const refusedUrl of refused) {
        assertRefused(yield* register(key, { url: refusedUrl }), "VALIDATION_ERROR", ["url"])
        assertRefused(yield* change(key, id, { url: refusedUrl }), "VALIDATION_ERROR", ["url"])
      }
      assertRefused(yield* register(key, { url: undefined }), "VALIDATION_ERROR", ["url"])
    })
  )

  it.effect("END-3: Registered endpoint `secret`: at least 8 characters, 255 at most; description 255", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* registered(key)
      for (const secret of ["8".repeat(8), "é".repeat(255), "🔑".repeat(255), "8".repeat(8)]) {
        assert.isTrue((yield* registered(key, { secret })).has_secret)
        assert.isTrue((yield* changed(key, id, { secret })).has_secret)
      }
      for (const secret of [
        "",
        "7".repeat(7),
        "🔑".repeat(7),
        "x".repeat(256),
        12345678,
        true,
        [],
        "\u0000".repeat(8)
      ]) {
        assertRefused(yield* register(key, { secret }), "VALIDATION_ERROR", ["secret"])
        assertRefused(yield* change(key, id, { secret }), "VALIDATION_ERROR", ["secret"])
      }
      for (const description of ["", "x".repeat(255), "🍞".repeat(255), "duas\nlinhas\te um tab"]) {
        assert.strictEqual((yield* registered(key, { description })).description, description)
        assert.strictEqual((yield* changed(key, id, { description })).description, description)
      }
      for (const description of ["x".repeat(256), "🍞".repeat(256), "\u0007", 1, false, ["a"]]) {
        assertRefused(yield* register(key, { description }), "VALIDATION_ERROR", ["description"])
        assertRefused(yield* change(key, id, { description }), "VALIDATION_ERROR", ["description"])
      }
      const everything = { url: 1, events: [], description: 1, secret: "7", active: 1 }
      assertRefused(yield* register(key, everything), "VALIDATION_ERROR", ["url", "events", "description", "secret"])
      assertRefused(yield* change(key, id, everything), "VALIDATION_ERROR", Object.keys(everything))
    })
  )
})

// Spellings that parsers read differently.
const hostile = [
  ...["2130706433", "0x7f000001", "017700000001", "0x7f.1", "127.1", "0177.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1"].map(
    (host) => `http://${host}/`
  ),
  "http:127.0.0.1",
  "http:///127.0.0.1",
  "http://127.0.0.1.",
  "http://0/",
  "http://[::ffff:127.0.0.1]/",
  "http://user:pw@example.com@127.0.0.1/",
  "http://localhost./",
  "http://LOCALHOST:8080/",
  "http://[fe80::1%25eth0]/",
  "http://127.0\t.0.1/",
  "http://local\nhost/",
  "http://1.1.1.1:0/",
  "http://user@1.1.1.1/",
  "http://:pw@1.1.1.1/",
  "http://shop.localhost/",
  "http://printer.local/",
  "http://metadata.google.internal/",
  "http://a..b/",
  ...[
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.255.255.254",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::7f00:1]",
    "[::ffff:0:7f00:1]",
    "[::ffff:a00:1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::1]",
    "[100::1]",
    "[2001::1]",
    "[2001:db8::1]",
    "[2002:7f00:1::]",
    "[3fff::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[2606:4700::5efe:7f00:1]"
  ].map((host) => `https://${host}/hooks`),
  "ftp://1.1.1.1/",
  "file:///etc/passwd",
  "gopher://1.1.1.1/",
  "javascript:alert(1)",
  "//1.1.1.1/",
  "1.1.1.1",
  "https://",
  "https://1.1.1.1:99999/",
  "no url",
  ""
]
