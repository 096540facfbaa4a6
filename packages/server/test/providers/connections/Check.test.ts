/** The check of a connection: what is wrong with a connection is said in plain words. */
import { assert, layer } from "@effect/vitest"
import type { Connection, ConnectionCheck } from "@pix-payments/api/operator/Connections"
import * as Effect from "effect/Effect"
import { startDouble } from "../../support/Bank.ts"
import { assertRefused, type ErrorBody } from "../../support/ChargeRequests.ts"
import { connectTo, problems } from "../../support/Connections.ts"
import { operated } from "../../support/Money.ts"
import { randomUUID } from "node:crypto"
import { TestService } from "../../support/TestService.ts"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"

layer(TestService.layer({ settings: { acquirerTimeoutMs: 60_000 } }), { excludeTestServices: true })(
  "The check of a connection",
  (it) => {
    it.effect("OPR-65, OPR-66: finds a good connection good, and the webhook once it is registered", () =>
      Effect.gen(function* () {
        const double = yield* startDouble()
        const { id } = yield* connectTo(double)
        const before = yield* check(id)
        assert.deepStrictEqual(
          before.steps.map(({ ok, step }) => [step, ok]),
          [
            ["certificate", true],
            ["token", true],
            ["scopes", true],
            ["clock", true],
            ["pix_key", true],
            ["webhook", false]
          ]
        )
        assert.strictEqual(detailOf(before, "webhook"), "No webhook is registered for this Pix key.")
        assert.include(detailOf(before, "pix_key"), "It was removed.")

        const url = "https://hooks.example.com"
        const registered = yield* operated<ConnectionCheck>("POST", `/connections/${id}/register-webhook`, { url })
        assert.isTrue(registered.ok, JSON.stringify(registered))
        assert.match(double.provider.webhookUrl(double.key) ?? "", new RegExp(`^${url}/${id}/[\\w-]{43}$`))
        const after = yield* check(id)
        assert.isTrue(after.ok)
        const connection = yield* operated<Connection>("GET", `/connections/${id}`)
        assert.isTrue(connection.webhook_registered)
        assert.isNotNull(connection.checked_at)

        double.provider.webhooks.put(double.key, "https://other.example.com/hook")
        assert.strictEqual(detailOf(yield* check(id), "webhook"), "Another URL is registered, at other.example.com.")
        assert.isFalse((yield* operated<Connection>("GET", `/connections/${id}`)).webhook_registered)
        assert.deepStrictEqual(double.violations, [])
      })
    )

    it.effect(
      "OPR-60, OPR-65: names a wrong certificate, a wrong secret, revoked scopes and a key of somebody else",
      () =>
        Effect.gen(function* () {
          const { operate } = yield* TestService
          const double = yield* startDouble()
          for (const { detail, fields, step } of yield* problems(double)) {
            // A key of a client is of one connection.
            const { id } = yield* connectTo(double, { pix_key: randomUUID(), ...fields })
            const found = yield* check(id)
            assert.isFalse(found.ok)
            assert.match(detailOf(found, step), detail)
          }
          double.tokens.setClient({
            id: double.clientId,
            secret: double.clientSecret,
            scopes: ["cob.write", "cob.read"]
          })
          const { id } = yield* connectTo(double)
          assert.strictEqual(
            detailOf(yield* check(id), "scopes"),
            "Not granted: pix.write, pix.read, webhook.write, webhook.read."
          )
          const simulator = yield* operate<ErrorBody>("POST", `/operator/v1/connections/${SIMULATOR_CONNECTION}/check`)
          assertRefused(simulator, "INVALID_STATE")
        })
    )
  }
)

const check = (id: string) => operated<ConnectionCheck>("POST", `/connections/${id}/check`)

const detailOf = ({ steps }: ConnectionCheck, step: string): string =>
  steps.find((each) => each.step === step)?.detail ?? `no step ${step}`
