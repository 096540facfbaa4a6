/** The registration of a webhook at a provider that tries the URL at once. */
import { assert, layer } from "@effect/vitest"
import type { ConnectionCheck } from "@pix-payments/api/operator/Connections"
import * as Effect from "effect/Effect"
import { ConnectionStore } from "../../../src/providers/connections/ConnectionStore.ts"
import { makeWebhookSecret, webhookPath } from "../../../src/providers/connections/WebhookUrl.ts"
import { ListenAddresses } from "../../../src/http/pipeline/ListenAddresses.ts"
import { Secrets } from "../../../src/base/Secrets.ts"
import { startDouble } from "../../support/Bank.ts"
import { connectedServiceLayer, post } from "../../support/ConnectedBank.ts"
import { connectTo, storeConnection } from "../../support/Connections.ts"
import { operated } from "../../support/Money.ts"

layer(connectedServiceLayer(), { excludeTestServices: true })("The registration of a webhook", (it) => {
  it.effect("OPR-66, OPR-91: succeeds at the first call, although the provider tries the URL within it", () =>
    Effect.gen(function* () {
      const double = yield* startDouble({ profile: "efi" })
      const { id } = yield* connectTo(double)
      const url = (yield* ListenAddresses).acquirer
      const registered = yield* operated<ConnectionCheck>("POST", `/connections/${id}/register-webhook`, { url })
      assert.isTrue(registered.ok, JSON.stringify(registered))
      assert.isTrue(double.provider.webhookUrl(double.key)?.startsWith(`${url}/${id}/`))
    })
  )

  it.effect(
    "OPR-66, OPR-91: for mutual TLS, a callback from the provider's address without a certificate is refused",
    () =>
      Effect.gen(function* () {
        const double = yield* startDouble({ profile: "efi" })
        const { id } = yield* connectTo(double)
        const url = (yield* ListenAddresses).acquirer
        const statusWithout = Effect.fnUntraced(function* (mtls: boolean) {
          const registered = yield* operated<ConnectionCheck>("POST", `/connections/${id}/register-webhook`, {
            url,
            mtls
          })
          assert.isTrue(registered.ok, JSON.stringify(registered))
          const target = double.provider.webhookUrl(double.key)!
          const check = { evento: "teste_webhook" }
          assert.strictEqual((yield* post(target, check, double.client)).status, 200)
          return (yield* post(target, check)).status
        })
        assert.strictEqual(yield* statusWithout(false), 200)
        assert.strictEqual(yield* statusWithout(true), 404)
        assert.strictEqual(yield* statusWithout(false), 200)
      })
  )

  it.effect("OPR-91: a secret that another process has made is known at its first callback", () =>
    Effect.gen(function* () {
      const double = yield* startDouble({ profile: "efi" })
      const { id } = yield* storeConnection(double)
      const origin = (yield* ListenAddresses).acquirer
      const secret = yield* makeWebhookSecret(yield* ConnectionStore, yield* Secrets, id)
      const answer = yield* post(`${origin}${webhookPath(id, secret)}/pix`, { evento: "teste_webhook" }, double.client)
      assert.strictEqual(answer.status, 200)
    })
  )
})
