/** The check of a connection: what is wrong with a connection is said in plain words. */
import { assert, layer } from "@effect/vitest"
import type { Connection, ConnectionCheck } from "@pix-payments/api/operator/Connections"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { startDouble } from "../../support/Bank.ts"
import { assertRefused, created, type ErrorBody, retrieve, until } from "../../support/ChargeRequests.ts"
import { sweepNow } from "../../support/ConnectedBank.ts"
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

    it.effect("OPR-65: asks the connection in use too, and so renews its token; not where it is paused", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const double = yield* startDouble()
        const { id } = yield* connectTo(double)
        const { accountId, key } = yield* makeCaller()
        yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: id })
        // Nothing but this test calls the bank.
        yield* sweepNow({ connectionId: id })
        yield* sql`UPDATE acquirer_connections SET due_at = 'infinity' WHERE id = ${id}::uuid`
        const emitted = Effect.flatMap(created(key), (charge) =>
          until(retrieve(key, charge.id), ({ body }) => body.status === "pending")
        )
        const rejected = () => double.exchanges.filter(({ status }) => status === 401).map(({ path }) => path)
        yield* emitted
        double.tokens.revokeAll()
        yield* check(id)
        assert.lengthOf(rejected(), 1)
        assert.include(rejected()[0], "/webhook/")
        yield* emitted
        assert.lengthOf(rejected(), 1)

        double.tokens.revokeAll()
        for (const [paused, asked] of [
          [true, 1],
          [false, 2]
        ] as const) {
          yield* operated("PATCH", `/connections/${id}`, { paused })
          assert.strictEqual(detailOf(yield* check(id), "webhook"), "No webhook is registered for this Pix key.")
          assert.lengthOf(rejected(), asked)
        }

        // What the connection in use is answered is the detail of the step.
        const end = double.faults.always("forbidden-token", { method: "GET", path: /webhook/ })
        assert.strictEqual(
          detailOf(yield* check(id), "webhook"),
          "The provider rejects client id and secret (invalid_token)."
        )
        end()

        // Where that may not send, the opened one asks.
        yield* operated("POST", `/connections/${id}/register-webhook`, { url: "https://hooks.example.com" })
        const failing = double.faults.always("error-after", { method: "GET", path: /webhook/ })
        for (let checks = 0; checks < 2; checks++) yield* check(id)
        failing()
        assert.strictEqual(detailOf(yield* check(id), "webhook"), "The webhook of this connection is registered.")
        assert.isTrue((yield* operated<Connection>("GET", `/connections/${id}`)).webhook_registered)
      })
    )

    it.effect("OPR-66: a webhook that a proxy answers is not registered", () =>
      Effect.gen(function* () {
        const double = yield* startDouble()
        const { id } = yield* connectTo(double)
        double.faults.once("proxy-page", { method: "PUT", path: /webhook/ })
        const url = "https://hooks.example.com"
        const found = yield* operated<ConnectionCheck>("POST", `/connections/${id}/register-webhook`, { url })
        assert.strictEqual(detailOf(found, "webhook"), "The answer is unclear: status 200 without JSON.")
        assert.isFalse((yield* operated<Connection>("GET", `/connections/${id}`)).webhook_registered)
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
          const efi = yield* startDouble({ profile: "efi" })
          const scopes = efi.profile.scopes.filter((scope) => scope !== "gn.infractions.read")
          const { id: atEfi } = yield* connectTo(efi)
          assert.strictEqual(detailOf(yield* check(atEfi), "scopes"), "Every scope that is needed was granted.")
          for (const [granted, missing] of [
            [scopes, "gn.infractions.read"],
            [scopes.filter((scope) => scope !== "pix.send"), "pix.send, gn.infractions.read"]
          ] as const) {
            efi.tokens.setClient({ id: efi.clientId, secret: efi.clientSecret, scopes: granted })
            const found = yield* check(atEfi)
            assert.isFalse(found.ok)
            assert.strictEqual(detailOf(found, "scopes"), `Not granted: ${missing}. MEDs are not read.`)
          }
          const simulator = yield* operate<ErrorBody>("POST", `/operator/v1/connections/${SIMULATOR_CONNECTION}/check`)
          assertRefused(simulator, "INVALID_STATE")
        })
    )
  }
)

const check = (id: string) => operated<ConnectionCheck>("POST", `/connections/${id}/check`)

const detailOf = ({ steps }: ConnectionCheck, step: string): string =>
  steps.find((each) => each.step === step)?.detail ?? `no step ${step}`
