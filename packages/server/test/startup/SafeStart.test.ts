/** What a start must be told, and what it must not mix. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { startDouble } from "../support/Bank.ts"
import { created } from "../support/ChargeRequests.ts"
import { movedTo, newConnection } from "../support/Exceptions.ts"
import { operated } from "../support/Money.ts"
import { createDatabase, createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { failedStart, ran, startProcess } from "../support/Process.ts"
import { eventually } from "../support/Receiver.ts"
import { stoppable } from "../support/StoppableService.ts"
import { newKey, TestService } from "../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("A start", (it) => {
  it.effect("OPR-220: without what only a person knows ends with what to do", () =>
    Effect.gen(function* () {
      const env = {
        DATABASE_URL: Redacted.value(yield* createDatabase()),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN
      }
      const missing = yield* temporaryFolder
      const cases: ReadonlyArray<readonly [Readonly<Record<string, string>>, ReadonlyArray<string>, RegExp]> = [
        [
          { ACQUIRER: "" },
          [],
          /^The service cannot start: ACQUIRER is not set\. Set ACQUIRER=connections .*ACQUIRER=simulator/
        ],
        [
          { SECRETS_KEYS: "" },
          [],
          /^The service cannot start: DATABASE_URL is set, and SECRETS_KEYS is not\. .*openssl/
        ],
        [{ SECRETS_KEYS: "" }, ["--demo"], /^The service cannot start: DATABASE_URL is set, and SECRETS_KEYS is not\./],
        [
          { OPERATOR_TOKEN: "" },
          [],
          /^The service cannot start: DATABASE_URL is set, and OPERATOR_TOKEN is not\. .*openssl/
        ],
        [
          { OPERATOR_TOKEN_FILE: "/dev/null" },
          [],
          /^The service cannot start: OPERATOR_TOKEN and OPERATOR_TOKEN_FILE are both set/
        ],
        [
          { SECRETS_KEYS: "", SECRETS_KEYS_FILE: join(missing, "none") },
          [],
          /^The service cannot start: SECRETS_KEYS_FILE: \S+ cannot be read \(ENOENT\)/
        ],
        [{ OPERATOR_TOKEN: "", OPERATOR_TOKEN_FILE: "/dev/null" }, [], /OPERATOR_TOKEN_FILE: \/dev\/null is empty/]
      ]
      const outcomes = yield* Effect.forEach(
        cases,
        ([also, args, expected]) =>
          Effect.map(failedStart({ ...env, ...also }, ...args), (outcome) => ({ ...outcome, expected })),
        { concurrency: 3 }
      )
      for (const { code, expected, written } of outcomes) {
        assert.strictEqual(code, 1, written)
        assert.match(written, expected)
        assert.lengthOf(written.trim().split("\n"), 1)
      }
    })
  )

  it.effect(
    "OPR-91: warns where any certificate of the authority may call back, and of a PostgreSQL that can crash",
    () =>
      Effect.gen(function* () {
        const { authority } = yield* startDouble()
        const { ca, cert, key } = yield* Effect.promise(() => authority.issue({ name: "callbacks", usage: "server" }))
        const folder = yield* temporaryFolder
        for (const [name, text] of Object.entries({ ca, cert, key }))
          yield* Effect.promise(() => writeFile(join(folder, name), text))
        const env = {
          DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
          DATA_DIR: yield* temporaryFolder,
          OPERATOR_TOKEN,
          ACQUIRER: "connections",
          ACQUIRER_PORT: "0",
          ACQUIRER_TLS_CA: join(folder, "ca"),
          ACQUIRER_TLS_CERT: join(folder, "cert"),
          ACQUIRER_TLS_KEY: join(folder, "key")
        }
        const warning = /any certificate .* may call back: name the provider's in ACQUIRER_CERTIFICATE_NAMES/
        for (const args of [[], ["--demo"]]) {
          const any = yield* startProcess(env, ...args)
          yield* eventually(Effect.sync(any.written), (text) => warning.test(text))
          any.signal("SIGTERM")
          yield* any.ended
        }
        const named = yield* startProcess({ ...env, ACQUIRER_CERTIFICATE_NAMES: "webhooks.bank.example" })
        // The tests' PostgreSQL is 18.4. With 18.7 both the warning and what docs/faults.md says about it go.
        const crash = /PostgreSQL 18\.4 can crash where two sessions change a row/
        yield* eventually(Effect.sync(named.written), (text) => crash.test(text))
        named.signal("SIGTERM")
        yield* named.ended
        assert.notMatch(named.written(), warning)
      })
  )

  it.effect("OPR-220: takes each secret from a file", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const database = Redacted.value(yield* createMigratedDatabase)
      const inFile = (name: string, text: string) =>
        Effect.as(
          Effect.promise(() => writeFile(join(folder, name), `${text}\n`)),
          { [`${name}_FILE`]: join(folder, name), [name]: "" }
        )
      const urls = {
        ...(yield* inFile("DATABASE_URL", database)),
        ...(yield* inFile("MIGRATIONS_DATABASE_URL", database))
      }
      const step = yield* ran("migrate", urls)
      assert.strictEqual(step.code, 0, step.written)
      const env = {
        DATA_DIR: folder,
        ...urls,
        ...(yield* inFile("OPERATOR_TOKEN", OPERATOR_TOKEN)),
        ...(yield* inFile("SECRETS_KEYS", Buffer.alloc(32, 7).toString("base64")))
      }
      for (const processes of ["1", "2"]) {
        const service = yield* startProcess({ ...env, PROCESSES: processes })
        const headers = { "x-operator-token": OPERATOR_TOKEN }
        const { status } = yield* Effect.promise(() =>
          fetch(`${service.operatorUrl}/operator/v1/accounts`, { headers })
        )
        assert.strictEqual(status, 200)
        service.signal("SIGTERM")
        assert.strictEqual(yield* service.ended, 0)
      }
    })
  )
})

layer(Layer.empty, { excludeTestServices: true })("The acquirer of an installation", (it) => {
  it.effect("OPR-221: is that of the first start: another one is refused once the simulator has a charge", () =>
    Effect.gen(function* () {
      const simulated = yield* stoppable({ acquirer: "simulator" })
      yield* simulated.withService(Effect.asVoid(TestService))
      // Nothing is mixed.
      yield* simulated.withSettings({ acquirer: "connections" }, Effect.asVoid(TestService))
      yield* simulated.withSettings(
        { acquirer: "simulator" },
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const { key } = yield* makeCaller()
          yield* created(key)
        })
      )
      const refused = yield* Effect.flip(simulated.withSettings({ acquirer: "connections" }, Effect.void))
      assert.include(String(refused), "This installation began with ACQUIRER=simulator")
      yield* simulated.withService(Effect.asVoid(TestService))
    })
  )

  it.effect("OPR-221: with a bank's charge the simulator is refused: it would settle real money", () =>
    Effect.gen(function* () {
      const { withService, withSettings } = yield* stoppable({ acquirer: "simulator" })
      yield* withService(
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const sql = yield* SqlClient
          const { key } = yield* makeCaller()
          const { id } = yield* created(key)
          yield* movedTo(yield* newConnection(), id)
          yield* sql`UPDATE installation_settings SET acquirer = 'connections'`
        })
      )
      const refused = yield* Effect.flip(withSettings({ acquirer: "simulator" }, Effect.void))
      assert.include(String(refused), "This installation began with ACQUIRER=connections")
      yield* withSettings({ acquirer: "connections" }, Effect.asVoid(TestService))
    })
  )

  it.effect("OPR-221: with connections the simulator's routes are 404", () =>
    Effect.gen(function* () {
      const { withService } = yield* stoppable({ acquirer: "connections" })
      yield* withService(
        Effect.gen(function* () {
          const { operate } = yield* TestService
          const paths = ["charges", "payouts", "disputes", "refunds"].flatMap((kind) =>
            ["pay", "complete", "win", "refund", "infraction"].map(
              (what) => `/simulator/${kind}/${randomUUID()}/${what}`
            )
          )
          for (const path of paths) {
            const { body, status } = yield* operate("POST", `/operator/v1${path}`, { body: {} })
            assert.deepStrictEqual([status, body["code"]], [404, "NOT_FOUND"], path)
          }
          yield* operated("GET", "/charges")
        })
      )
    })
  )
})

const OPERATOR_TOKEN = newKey()
