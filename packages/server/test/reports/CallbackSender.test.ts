/** Who sent a callback, and which URLs it may come to. */
import { assert, describe, it } from "@effect/vitest"
import { parseNetworks } from "@pix-payments/domain/PublicUrl"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type { IncomingMessage } from "node:http"
import { callbackTarget } from "../../src/http/callbacks/CallbackPath.ts"
import { webhookPath } from "../../src/providers/connections/WebhookUrl.ts"
import { hashOf, makeSenders } from "../../src/reports/CallbackSender.ts"
import { commonNameOf } from "../../src/reports/DistinguishedName.ts"

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
  })

  it("OPR-91: a secret needs the provider's address or a certificate; a wrong one is refused with a certificate too", () => {
    const credential = { secretHash: hashOf("secret"), addresses: ["34.193.116.226"], isMutualTls: false }
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
    assert.isFalse(admits(from("34.193.116.226"), "", { ...credential, secretHash: undefined! }))
  })

  it("OPR-91, OPR-66: a connection that is registered for mutual TLS needs a certificate from every address", () => {
    const credential = { secretHash: hashOf("secret"), addresses: ["34.193.116.226"], isMutualTls: true }
    for (const address of ["34.193.116.226", "203.0.113.9", "198.51.100.1"]) {
      const sender = { address, certificateName: undefined }
      assert.isFalse(senders.admits(sender, "secret", credential), address)
      assert.isTrue(senders.admits({ address, certificateName: "bank" }, "secret", credential), address)
      assert.isTrue(senders.admits({ address, certificateName: "bank" }, undefined, credential), address)
    }
  })

  it("OPR-91: a common name is the value of one attribute CN, read as RFC 4514 says", () => {
    for (const subject of [
      "CN=bank",
      "CN=bank,O=Bank S/A,C=BR",
      "C=BR, O=Bank\\, S/A, CN=bank",
      "O=x+CN=bank,C=BR",
      'O="x,CN=evil",CN=bank',
      "cn = bank ; O=x",
      "2.5.4.3=bank,O=x",
      "CN=\\62ank",
      "O=Institui\\C3\\A7\\C3\\A3o,CN=bank"
    ]) {
      assert.strictEqual(commonNameOf(subject), "bank", subject)
    }
    assert.strictEqual(commonNameOf("CN=a\\,b \\+ c\\20,O=x"), "a,b + c ")
    for (const subject of [
      // The value of another attribute.
      "O=x\\,CN=bank",
      "O=x\\+CN=bank",
      'O="x,CN=bank"',
      "O=x\\2CCN=bank",
      "O=CN=bank",
      "DESCRIPTION=x CN=bank",
      // Several names, none, or no distinguished name.
      "CN=bank,CN=evil",
      "CN=evil,CN=bank",
      "CN=bank+CN=bank",
      "O=bank",
      "",
      "bank",
      "CN=bank,",
      ",CN=bank",
      "CN=bank,evil",
      'CN="bank',
      'CN="bank"x',
      "CN=bank\\",
      "CN=#0C0462616E6B",
      "CN=bank,O=\\FF",
      "CN=bank\0,O=x",
      // OpenSSL's form, in which a value can imitate an attribute.
      "/O=x/CN=bank",
      "/C=BR/O=Bank/CN=bank"
    ]) {
      assert.notStrictEqual(commonNameOf(subject), "bank", subject)
      const { certificateName } = senders.senderOf(request("10.1.2.3", { ...proxied, "x-ssl-client-s-dn": subject }))
      assert.isUndefined(certificateName, subject)
    }
  })

  it("OPR-90: the URL of a callback, with and without secret, and with what providers append", () => {
    const path = webhookPath(CONNECTION, Redacted.make("s"))
    assert.deepStrictEqual(callbackTarget(`${path}/pix`), { connectionId: CONNECTION, secret: "s" })
    assert.deepStrictEqual(callbackTarget(path), { connectionId: CONNECTION, secret: "s" })
    assert.deepStrictEqual(callbackTarget(`/webhooks${path}/pix`), { connectionId: CONNECTION, secret: "s" })
    const plain = { connectionId: CONNECTION, secret: undefined }
    assert.deepStrictEqual(callbackTarget(`/${CONNECTION}`), plain)
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
