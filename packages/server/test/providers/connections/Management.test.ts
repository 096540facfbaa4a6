/** Connections over the operator interface: created, changed, and never shown with their credentials. */
import { assert, layer } from "@effect/vitest"
import type { Connection } from "@pix-payments/api/operator/Connections"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { startDouble } from "../../support/Bank.ts"
import { assertRefused, create, created, type ErrorBody } from "../../support/ChargeRequests.ts"
import { connectionTo, connectTo, fund, operatorCredentials } from "../../support/Connections.ts"
import { assertLedgerHolds, operated, payOut, payoutReaching } from "../../support/Money.ts"
import { eventually } from "../../support/Receiver.ts"
import type { Fields } from "../../support/TestService.ts"
import { TestService } from "../../support/TestService.ts"

const settings = { acquirer: "connections", acquirerTimeoutMs: 60_000 } as const

layer(TestService.layer({ settings }), { excludeTestServices: true })("Connections", (it) => {
  it.effect("OPR-60, OPR-61: a connection is created, and its credentials are never returned", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const double = yield* startDouble({ profile: "efi" })
      const connection = yield* connectTo(double)
      assert.deepInclude(connection, {
        object: "connection",
        kind: "api-pix",
        profile: "efi",
        pix_key: double.key,
        exception_rule: "hold",
        paused: false,
        payouts_paused: false,
        charges_paused: false,
        is_default: false,
        pays_out: true,
        state: "ready",
        problem: null,
        webhook_registered: false
      })
      assert.isNotNull(connection.certificate_expires_at)
      for (const path of ["/operator/v1/connections", `/operator/v1/connections/${connection.id}`]) {
        const { text } = yield* operate("GET", path)
        for (const secret of [double.clientSecret, double.clientId, "PRIVATE KEY", "BEGIN CERTIFICATE"]) {
          assert.notInclude(text, secret)
        }
      }
      const simulator = yield* operated<Connection>("GET", `/connections/${SIMULATOR_CONNECTION}`)
      assert.deepInclude(simulator, { kind: "simulator", state: "ready", profile: null, pays_out: true })
      const sql = yield* SqlClient
      const audited = yield* sql`SELECT 1 FROM audit WHERE resource_id = ${connection.id}::uuid`
      assert.strictEqual(audited.length, 1)
    })
  )

  it.effect("OPR-99: a key is of one bank account: a second connection with it is refused, whatever its client", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const double = yield* startDouble()
      yield* connectTo(double)
      const credentials = { ...operatorCredentials(double), client_id: "another-application" }
      const again = (pix_key: string) =>
        operate("POST", "/operator/v1/connections", { body: connectionTo(double, { pix_key, credentials }) })
      assertRefused(yield* again(double.key), "INVALID_STATE")
      assert.strictEqual((yield* again("other@example.com")).status, 201)
    })
  )

  it.effect("OPR-61: PKCS#12 is taken as PEM is", () =>
    Effect.gen(function* () {
      const double = yield* startDouble()
      const { certificate, private_key, ...others } = operatorCredentials(double)
      assert.include(certificate + private_key, "BEGIN")
      const pkcs12 = double.client.pkcs12("a passphrase").toString("base64")
      const connection = yield* connectTo(double, { credentials: { ...others, pkcs12, passphrase: "a passphrase" } })
      assert.strictEqual(connection.state, "ready")
    })
  )

  it.effect(
    "OPR-61: credentials that cannot be used are VALIDATION_ERROR, which names the part and repeats nothing",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const double = yield* startDouble()
        const other = yield* Effect.promise(() => double.authority.issue({ name: "other", usage: "client" }))
        const good = operatorCredentials(double)
        const { certificate: _certificate, private_key: _key, ...others } = good
        const pkcs12 = double.client.pkcs12("right").toString("base64")
        const cases: ReadonlyArray<readonly [Fields, string, string]> = [
          [
            { credentials: { ...good, private_key: other.key } },
            "credentials.private_key",
            "does not belong to the certificate"
          ],
          [
            { credentials: { ...good, certificate: "no PEM" } },
            "credentials.certificate",
            "is not a certificate in PEM"
          ],
          [
            { credentials: { ...good, private_key: "no PEM" } },
            "credentials.private_key",
            "is not a private key in PEM"
          ],
          [{ credentials: others }, "credentials.certificate", "is missing"],
          [{ credentials: { ...others, pkcs12: "bm8gZmlsZQ==" } }, "credentials.pkcs12", "is not a PKCS#12 file"],
          [
            { credentials: { ...others, pkcs12, passphrase: "wrong" } },
            "credentials.passphrase",
            "does not open the PKCS#12 file"
          ],
          [{ credentials: { ...good, client_secret: undefined } }, "credentials.client_secret", "is missing"],
          [{ credentials: { ...good, client_id: undefined } }, "credentials.client_id", "is empty"],
          [{ settings: {} }, "settings.base_url", "is missing"],
          [{ profile: "banco-do-brasil" }, "credentials.developer_key", "is missing"],
          [{ profile: "inter" }, "credentials.current_account", "is missing"]
        ]
        for (const [fields, part, reason] of cases) {
          const answer = yield* operate<ErrorBody>("POST", "/operator/v1/connections", {
            body: connectionTo(double, fields)
          })
          assertRefused(answer, "VALIDATION_ERROR", [part])
          assert.strictEqual(answer.body.message, `${part} ${reason}.`)
        }
        const malformed = {
          pix_key: "no key",
          settings: { base_url: "http://plain.example" },
          profile: "unknown",
          kind: "simulator"
        }
        assertRefused(
          yield* operate<ErrorBody>("POST", "/operator/v1/connections", { body: connectionTo(double, malformed) }),
          "VALIDATION_ERROR",
          ["kind", "profile", "settings.base_url", "pix_key"]
        )
        assert.deepStrictEqual(double.exchanges.length, 0)
      })
  )

  it.effect("OPR-63: credentials are changed one by one; the simulator's connection has none", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const double = yield* startDouble()
      const { id } = yield* connectTo(double)
      const renewed = yield* Effect.promise(() => double.authority.issue({ name: "renewed", usage: "client" }))
      const path = `/operator/v1/connections/${id}`
      const change = (credentials: Fields) => operate<ErrorBody>("PATCH", path, { body: { credentials } })
      assertRefused(yield* change({ certificate: renewed.cert }), "VALIDATION_ERROR", ["credentials.private_key"])
      assert.strictEqual((yield* change({ certificate: renewed.cert, private_key: renewed.key })).status, 200)
      yield* operated("POST", `/connections/${id}/check`)
      assert.strictEqual(double.exchanges.at(-1)?.caller, "renewed")
      for (const [body, part] of [
        [{ credentials: {} }, "credentials"],
        [{ pix_key: double.key }, "pix_key"],
        [{ paused: true }, "paused"],
        [{ payouts_paused: true }, "payouts_paused"],
        [{ charges_paused: true }, "charges_paused"]
      ] as const) {
        assertRefused(
          yield* operate<ErrorBody>("PATCH", `/operator/v1/connections/${SIMULATOR_CONNECTION}`, { body }),
          "VALIDATION_ERROR",
          [part]
        )
      }
    })
  )

  it.effect("OPR-62: without a connection an account creates nothing; without payouts of its provider, no payout", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      assertRefused(yield* create(key), "ACCOUNT_INACTIVE")
      assertRefused(yield* payOut(key), "ACCOUNT_INACTIVE")

      const plain = yield* startDouble()
      const connection = yield* connectTo(plain)
      const account = yield* operated<Fields>("PATCH", `/accounts/${accountId}`, { connection_id: connection.id })
      assert.strictEqual(account["connection_id"], connection.id)
      const charge = yield* created(key)
      assert.strictEqual(charge.status, "pending")
      assert.strictEqual(charge.receiver?.pix_key, plain.key)
      assertRefused(yield* payOut(key), "ACCOUNT_RESTRICTED")

      yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: null })
      assertRefused(yield* create(key), "ACCOUNT_INACTIVE")
      assertRefused(
        yield* operate<ErrorBody>("PATCH", `/operator/v1/accounts/${accountId}`, {
          body: { connection_id: accountId }
        }),
        "VALIDATION_ERROR",
        ["connection_id"]
      )
    })
  )

  it.effect(
    "OPR-62, OPR-67, PAY-6: the default connection serves accounts without one, and a payout keeps its connection",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const double = yield* startDouble({ profile: "efi", settings: { openingCents: 10_000 } })
        const first = yield* connectTo(double, { is_default: true })
        const other = yield* startDouble({ profile: "efi" })
        const second = yield* connectTo(other)
        double.provider.webhooks.put(double.key, "https://127.0.0.1:1/none")
        yield* fund(accountId, 10_000)

        const payout = (yield* payOut(key)).body
        const done = yield* eventually(paymentOf(payout.id), (row) => row?.processed_at !== null)
        assert.deepInclude(done, { connection_id: first.id })

        // Another client may be another bank account. A secret is none.
        const patched = (credentials: Fields) =>
          operate("PATCH", `/operator/v1/connections/${first.id}`, { body: { credentials } })
        assertRefused(yield* patched({ client_id: "another-application" }), "INVALID_STATE")
        assert.strictEqual((yield* patched({ client_secret: double.clientSecret })).status, 200)

        // The default moves on; what was sent is asked for where it was sent.
        yield* operated("PATCH", `/connections/${second.id}`, { is_default: true })
        assert.isFalse((yield* operated<Connection>("GET", `/connections/${first.id}`)).is_default)
        yield* Effect.promise(() => double.advance(60_000))
        yield* payoutReaching(key, payout.id, "completed")
        assert.isFalse(other.exchanges.some(({ method }) => method === "PUT"))
        assert.deepInclude(yield* paymentOf(payout.id), { connection_id: first.id })
        yield* operated("PATCH", `/connections/${second.id}`, { is_default: false })
        yield* assertLedgerHolds
      })
  )

  it.effect(
    "OPR-64: a paused connection sends nothing, and charges and payouts stay processing until it is resumed",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const double = yield* startDouble({ profile: "efi" })
        const { id } = yield* connectTo(double, { paused: true })
        yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: id })
        const charge = yield* created(key)
        assert.strictEqual(charge.status, "processing")
        assert.isFalse(double.exchanges.some(({ method }) => method === "PUT"))
        const resumed = yield* operated<Connection>("PATCH", `/connections/${id}`, { paused: false })
        assert.strictEqual(resumed.state, "ready")
        assert.strictEqual((yield* created(key)).status, "pending")
      })
  )

  it.effect("OPR-259: the statement of a connection in OFX is of the bank account that its setting names", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { id } = yield* connectTo(yield* startDouble())
      const bankId = Effect.map(
        operate("GET", `/operator/v1/connections/${id}/statement?from=2026-11-01&to=2026-11-30&format=ofx`),
        ({ text }) => /<BANKID>(.*)<.BANKID>/.exec(text)?.[1]
      )
      assert.strictEqual(yield* bankId, "000")
      const statement_account = { bank: "364", branch: "0001", number: "12345-6" }
      const changed = yield* operated<Connection>("PATCH", `/connections/${id}`, { statement_account })
      assert.deepStrictEqual(changed.statement_account, statement_account)
      assert.strictEqual(yield* bankId, "364")
      yield* operated("PATCH", `/connections/${id}`, { statement_account: null })
      assert.strictEqual(yield* bankId, "000")
    })
  )
})

/** A process whose clock is a day ahead. */
const aheadLayer = Layer.unwrap(
  Effect.map(Clock.Clock, (clock) => {
    const ahead = Object.assign(Object.create(clock) as Clock.Clock, {
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + DAY_MS,
      currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + DAY_MS)
    })
    return TestService.layer({ settings }).pipe(Layer.provide(Layer.succeed(Clock.Clock, ahead)))
  })
)

const DAY_MS = 24 * 60 * 60 * 1000

layer(aheadLayer, { excludeTestServices: true })("Connections of a process with a wrong clock", (it) => {
  it.effect("OPR-95: a connection is created by the database's clock, because nothing older than it is read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { id } = yield* connectTo(yield* startDouble())
      const [row] = yield* sql<{ is_now: boolean; made_ahead: boolean }>`
        SELECT created_at BETWEEN now() - interval '10 minutes' AND now() AS is_now,
          uuid_extract_timestamp(id) > now() + interval '20 hours' AS made_ahead
        FROM acquirer_connections WHERE id = ${id}::uuid`
      assert.deepStrictEqual(row, { is_now: true, made_ahead: true })
    })
  )
})

const paymentOf = (id: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ connection_id: string | null; processed_at: Date | null }>`
      SELECT connection_id, processed_at FROM payouts WHERE id = ${id}::uuid`
    return row
  })
