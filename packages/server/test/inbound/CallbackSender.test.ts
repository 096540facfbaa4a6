/** Who sent a callback, and which URLs it may come to. */
import { assert, describe, it } from "@effect/vitest"
import { parseNetworks } from "@pix-payments/domain/PublicUrl"
import * as Result from "effect/Result"
import type { IncomingMessage } from "node:http"
import { callbackPath, callbackTarget } from "../../src/inbound/CallbackPath.ts"
import { hashOf, makeSenders } from "../../src/inbound/CallbackSender.ts"

const CONNECTION = "0199a000-0000-7000-8000-000000000001"
const networks = (text: string) => Result.getOrThrow(parseNetworks(text))

const senders = makeSenders({
  acquirerTrustedProxy: networks("10.0.0.0/8"),
  acquirerCertificateNames: ["bank"],
  acquirerNetworks: networks("203.0.113.0/24")
})

const request = (remoteAddress: string, headers: Readonly<Record<string, string>> = {}) =>
  ({ headers, socket: { remoteAddress } }) as unknown as IncomingMessage

const proxied = {
  "x-forwarded-for": "198.51.100.1, 34.193.116.226",
  "x-ssl-client-verify": "SUCCESS",
  "x-ssl-client-s-dn": "CN=bank,O=Bank S/A,C=BR"
}

describe("The sender of a callback", () => {
  it("OPR-91: the headers of a proxy count from trusted addresses only, and the last forwarded address", () => {
    assert.deepStrictEqual(senders.senderOf(request("::ffff:10.1.2.3", proxied)), {
      address: "34.193.116.226",
      certificateName: "bank"
    })
    assert.deepStrictEqual(senders.senderOf(request("11.1.2.3", proxied)), {
      address: "11.1.2.3",
      certificateName: undefined
    })
    assert.isUndefined(
      senders.senderOf(request("10.1.2.3", { ...proxied, "x-ssl-client-verify": "FAILED:expired" })).certificateName
    )
    for (const subject of ["CN=other", "O=bank", "", "OU=x,CN=bankrupt"]) {
      const { certificateName } = senders.senderOf(request("10.1.2.3", { ...proxied, "x-ssl-client-s-dn": subject }))
      assert.isUndefined(certificateName, subject)
    }
    assert.strictEqual(
      senders.senderOf(request("10.1.2.3", { ...proxied, "x-ssl-client-s-dn": "/C=BR/O=Bank/CN=bank" }))
        .certificateName,
      "bank"
    )
  })

  it("OPR-91: a secret needs the provider's address or a certificate; a wrong one is refused with a certificate too", () => {
    const credential = { secretHash: hashOf("secret"), addresses: ["34.193.116.226"] }
    const from = (address: string, certificateName?: string) => ({ address, certificateName })
    const admits = (sender: ReturnType<typeof from>, secret?: string, of: typeof credential | undefined = credential) =>
      senders.admits(sender, secret, of)
    assert.isTrue(admits(from("34.193.116.226"), "secret"))
    assert.isTrue(admits(from("::ffff:34.193.116.226"), "secret"))
    assert.isTrue(admits(from("203.0.113.9"), "secret"))
    assert.isTrue(admits(from("198.51.100.1", "bank"), "secret"))
    assert.isTrue(admits(from("198.51.100.1", "bank")))
    assert.isFalse(admits(from("198.51.100.1"), "secret"))
    assert.isFalse(admits(from("34.193.116.226"), "wrong"))
    assert.isFalse(admits(from("34.193.116.226"), ""))
    assert.isFalse(admits(from("34.193.116.226", "bank"), "wrong"))
    assert.isFalse(admits(from("34.193.116.226")))
    assert.isFalse(senders.admits(from("34.193.116.226", "bank"), "secret", undefined))
    assert.isFalse(senders.admits(from("34.193.116.226", "bank"), undefined, undefined))
    // A connection without a secret admits none.
    assert.isFalse(senders.admits(from("34.193.116.226"), "", { secretHash: undefined, addresses: ["34.193.116.226"] }))
  })

  it("OPR-90: the URL of a callback, with and without secret, and with what providers append", () => {
    const path = callbackPath({ connectionId: CONNECTION, secret: "s" })
    assert.deepStrictEqual(callbackTarget(`${path}/pix`), { connectionId: CONNECTION, secret: "s" })
    assert.deepStrictEqual(callbackTarget(path), { connectionId: CONNECTION, secret: "s" })
    assert.deepStrictEqual(callbackTarget(`/webhooks${path}/pix`), { connectionId: CONNECTION, secret: "s" })
    const plain = { connectionId: CONNECTION, secret: undefined }
    assert.deepStrictEqual(callbackTarget(callbackPath(plain)), plain)
    assert.deepStrictEqual(callbackTarget(`/${CONNECTION}/pix`), plain)
    for (const url of [`/${CONNECTION}?hmac=s&ignorar=/pix`, `/${CONNECTION}/pix?hmac=s`]) {
      assert.deepStrictEqual(callbackTarget(url), { connectionId: CONNECTION, secret: "s" })
    }
    for (const url of [
      "/",
      "/pix",
      "/webhooks",
      "/webhooks/pix",
      `/webhooks${CONNECTION}/pix`,
      "/x/pix",
      `/${CONNECTION}/a/b`,
      `/${CONNECTION}//pix`,
      `${CONNECTION}/pix`
    ]) {
      assert.isUndefined(callbackTarget(url), url)
    }
  })
})
