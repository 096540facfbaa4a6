/** The check of a connection: what is wrong with a connection is said in plain words, and no secret reaches answer or log. */
import { assert, layer } from "@effect/vitest"
import type { Connection, ConnectionCheck } from "@pix-payments/api/operator/Connections"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { randomUUID } from "node:crypto"
import { startDouble } from "../support/Bank.ts"
import { assertRefused, type ErrorBody } from "../support/ChargeRequests.ts"
import { connectionTo, connectTo, operatorCredentials } from "../support/Connections.ts"
import { operated } from "../support/Money.ts"
import { createDatabase, temporaryFolder } from "../support/Postgres.ts"
import { startProcess } from "../support/Process.ts"
import { clientOf, type Fields, TestService } from "../support/TestService.ts"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Redacted from "effect/Redacted"

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
        assert.match(double.provider.webhookUrl(double.key) ?? "", new RegExp(`^${url}/webhooks/${id}/[\\w-]{32}$`))
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
            const { id } = yield* connectTo(double, fields)
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

layer(Layer.empty, { excludeTestServices: true })("A process", (it) => {
  it.effect("OPR-60: logs no credential of a connection, whatever is wrong with it", () =>
    Effect.gen(function* () {
      const double = yield* startDouble()
      const service = yield* startProcess({
        DATABASE_URL: Redacted.value(yield* createDatabase()),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN: "the-token-of-this-operator",
        ACQUIRER: "connections",
        LOG_LEVEL: "debug"
      })
      const { operate } = yield* clientOf(service, "the-token-of-this-operator")
      const passphrase = `passphrase-${randomUUID()}`
      const { certificate: _certificate, private_key: _key, ...others } = operatorCredentials(double)
      const pkcs12 = double.client.pkcs12(passphrase).toString("base64")
      const bodies = [
        connectionTo(double),
        connectionTo(double, { credentials: { ...others, pkcs12, passphrase } }),
        connectionTo(double, { credentials: { ...others, pkcs12, passphrase: `${passphrase}!` } }),
        ...(yield* problems(double)).map(({ fields }) => connectionTo(double, fields))
      ]
      const answers: Array<string> = []
      for (const body of bodies) {
        const created = yield* operate<Connection>("POST", "/operator/v1/connections", { body })
        answers.push(created.text)
        if (created.status !== 201) continue
        answers.push((yield* operate("POST", `/operator/v1/connections/${created.body.id}/check`)).text)
      }
      assert.strictEqual(answers.filter((text) => text.includes("connection_check")).length, bodies.length - 1)
      const output = [service.written(), ...answers].join("\n")
      const secrets = [double.clientSecret, WRONG_SECRET, passphrase, pkcs12.slice(0, 40), keyLine(double)]
      for (const secret of secrets) assert.notInclude(output, secret)
    })
  )
})

const WRONG_SECRET = "a-secret-that-is-wrong"

const keyLine = ({ client }: PspDouble): string => client.key.split("\n")[1] ?? client.key

interface Problem {
  readonly fields: Fields
  readonly step: string
  readonly detail: RegExp
}

const problems = Effect.fnUntraced(function* (double: PspDouble) {
  const nowMs = yield* Clock.currentTimeMillis
  const expired = yield* Effect.promise(() =>
    double.authority.issue({
      name: "old",
      usage: "client",
      validFromMs: nowMs - 172_800_000,
      validToMs: nowMs - 86_400_000
    })
  )
  const good = operatorCredentials(double)
  const all: ReadonlyArray<Problem> = [
    {
      fields: { credentials: { ...good, certificate: expired.cert, private_key: expired.key } },
      step: "certificate",
      detail: /^The client certificate has expired\.$/
    },
    {
      fields: { credentials: { ...good, certificate: expired.cert, private_key: expired.key } },
      step: "token",
      detail: /^The provider (rejects the client certificate|closes the connection without an answer)/
    },
    {
      fields: { credentials: { ...good, ca: undefined } },
      step: "token",
      detail: /^The provider's certificate is not trusted \(.+\)\. Check credentials\.ca/
    },
    {
      fields: { credentials: { ...good, client_secret: WRONG_SECRET } },
      step: "token",
      detail: /^The provider rejects client id and secret \(invalid_client\)\.$/
    },
    {
      fields: { pix_key: randomUUID() },
      step: "pix_key",
      detail: /^The provider refuses a charge with this Pix key: /
    },
    {
      fields: { settings: { base_url: "https://127.0.0.1:1", token_url: "https://127.0.0.1:1/token" } },
      step: "token",
      detail: /ECONNREFUSED/
    }
  ]
  return all
})

const check = (id: string) => operated<ConnectionCheck>("POST", `/connections/${id}/check`)

const detailOf = ({ steps }: ConnectionCheck, step: string): string =>
  steps.find((each) => each.step === step)?.detail ?? `no step ${step}`
