/** Where deliveries may go once a host's addresses are known. */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { judgeUrl, mayReach, parseNetworks, type UrlHost, WebhookUrl } from "../src/PublicUrl.ts"

const networks = (setting: string) => Result.getOrThrow(parseNetworks(setting))

const hostOf = (text: string, allowed = "0.0.0.0/0"): UrlHost => {
  const verdict = judgeUrl(text, networks(allowed))
  return verdict._tag === "Ok" ? verdict.host : assert.fail(verdict.reason)
}

const reaches = (text: string, addresses: ReadonlyArray<string>, allowed: string): boolean =>
  mayReach(hostOf(text), addresses, networks(allowed))

describe("mayReach", () => {
  const allowed = "10.0.0.0/8,fd00::/8"

  it.each([
    [["10.0.0.1"]],
    [["fd00::1"]],
    [["10.0.0.1", "fd00::1"]],
    // Addresses that carry an IPv4 one.
    [["::ffff:10.0.0.1"]],
    [["64:ff9b::10.0.0.1"]]
  ])("URL-3: a private name may resolve into allowed networks: %j", (addresses) => {
    assert.isTrue(reaches("http://receiver.internal/", addresses, allowed))
    assert.isFalse(reaches("http://receiver.internal/", addresses, ""))
  })

  it.each([
    [[]],
    [["8.8.8.8"]],
    [["10.0.0.1", "8.8.8.8"]],
    [["8.8.8.8", "10.0.0.1"]],
    [["127.0.0.1"]],
    [["2606:4700:4700::1111"]],
    [["::ffff:8.8.8.8"]],
    [["64:ff9b::8.8.8.8"]],
    // `fd00::` and no other address that ends like an allowed one.
    [["2606:4700::10.0.0.1"]],
    [["receiver"]],
    [["10.0.0.1", ""]]
  ])("URL-3: a private name may not resolve elsewhere, nor nowhere: %j", (addresses) => {
    for (const name of ["localhost", "receiver.internal", "printer.local."]) {
      assert.isFalse(reaches(`http://${name}/`, addresses, allowed), name)
    }
  })

  it("URL-2, URL-6: another name is judged by all of its addresses, and accepted without any", () => {
    const reach = (...addresses: ReadonlyArray<string>) => reaches("https://example.com/", addresses, allowed)
    assert.isTrue(reach())
    assert.isTrue(reach("8.8.8.8", "2606:4700:4700::1111"))
    assert.isTrue(reach("8.8.8.8", "10.0.0.1"))
    assert.isFalse(reach("8.8.8.8", "127.0.0.1"))
    assert.isFalse(reach("127.0.0.1", "8.8.8.8"))
    assert.isFalse(reach("no address"))
  })

  it("URL-2: an address is judged as itself", () => {
    assert.isTrue(reaches("http://8.8.8.8/", ["8.8.8.8"], ""))
    assert.isTrue(reaches("http://10.0.0.1/", ["10.0.0.1"], allowed))
    assert.isFalse(reaches("http://10.0.0.1/", ["10.0.0.1"], ""))
  })
})

describe("the name of a host", () => {
  it("is absolute with a final dot, and only then", () => {
    for (const [text, isAbsolute, isPrivate] of [
      ["https://example.com/", false, false],
      ["https://example.com./", true, false],
      ["https://localhost/", false, true],
      ["https://receiver.internal./", true, true]
    ] as const) {
      const { name, ...kind } = { name: "", ...hostOf(text) }
      assert.deepStrictEqual(kind, { _tag: "Name", isAbsolute, isPrivate }, text)
      assert.isFalse(name.endsWith("."))
    }
  })
})

it("URL-1: a webhook URL is text of at most 2048 characters in the format `uri` for JSON Schema", () => {
  const { schema } = Schema.toJsonSchemaDocument(WebhookUrl)
  assert.deepStrictEqual(schema, { type: "string", maxLength: 2048, format: "uri" })
})
