/** No credential of a connection is in the log of a process, in an answer of it, or in what a check finds. */
import { assert, layer } from "@effect/vitest"
import type { Connection } from "@pix-payments/api/operator/Connections"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { randomUUID } from "node:crypto"
import { startDouble } from "../../support/Bank.ts"
import { connectionTo, operatorCredentials, problems, WRONG_SECRET } from "../../support/Connections.ts"
import { createMigratedDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { clientOf } from "../../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("A process", (it) => {
  it.effect("OPR-60: logs no credential of a connection, whatever is wrong with it", () =>
    Effect.gen(function* () {
      const double = yield* startDouble()
      const service = yield* startProcess({
        DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
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
        // A key has one connection of a client.
        const created = yield* operate<Connection>("POST", "/operator/v1/connections", {
          body: { ...body, pix_key: randomUUID() }
        })
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

const keyLine = ({ client }: PspDouble): string => client.key.split("\n")[1] ?? client.key
