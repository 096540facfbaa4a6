import { assert, describe, it } from "@effect/vitest"
import { makeAuthority } from "@pix-payments/psp-double/Certificates"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Tracer from "effect/Tracer"
import { inspect } from "node:util"
import { makeConnection } from "../src/Connection.ts"
import { makeCredentials } from "../src/Credentials.ts"
import * as profiles from "../src/Profiles.ts"
import { answerOf } from "../src/Transport.ts"
import { connect, emission, startDouble, TXID, withBank } from "./support/Bank.ts"
import { uncheckedCredentials } from "./support/MachineTransport.ts"

const pem = (cert: string, key: string) => ({ _tag: "Pem" as const, cert, key: Redacted.make(key) })
const pkcs12 = (bytes: Uint8Array, passphrase: string) => ({
  _tag: "Pkcs12" as const,
  bytes: Redacted.make(bytes),
  passphrase: Redacted.make(passphrase)
})

const tokenRequests = ({ exchanges, profile }: PspDouble) =>
  exchanges.filter(({ path }) => path === profile.tokenPath).length

describe("credentials", () => {
  it.live("PEM and PKCS#12 open, and say until when the certificate is valid", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const double = yield* startDouble()
        const validToMs = Math.floor(double.now() / 1000) * 1000 + 7 * 86_400_000
        const identity = yield* Effect.promise(() =>
          double.authority.issue({ name: "merchant", usage: "client", validToMs })
        )
        for (const certificate of [pem(identity.cert, identity.key), pkcs12(identity.pkcs12("pass"), "pass")]) {
          const { connection, client } = yield* connect(double, { credentials: () => ({ certificate }) })
          yield* client.emit(emission(double))
          assert.strictEqual((yield* connection.status).certificateEndsAtMs, validToMs)
        }
      })
    )
  )

  it.live("what cannot be used is named, and nothing of it is shown", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { client, authority } = yield* startDouble()
        const other = yield* Effect.promise(() => authority.issue({ name: "other", usage: "client" }))
        const bytes = client.pkcs12("pass-phrase")
        const problems = yield* Effect.forEach(
          [
            pkcs12(bytes, "secret-wrong"),
            pkcs12(bytes.subarray(0, 700), "pass-phrase"),
            pkcs12(Buffer.from("secret-text"), "pass-phrase"),
            pem("secret-text", client.key),
            pem(client.cert, "secret-text"),
            pem(client.cert, other.key)
          ],
          (certificate) =>
            Effect.flip(makeCredentials({ clientId: "id", clientSecret: Redacted.make("s"), certificate }))
        )
        assert.deepStrictEqual(
          problems.map(({ message }) => message),
          [
            "passphrase: does not open the PKCS#12 file",
            "pkcs12: is not a PKCS#12 file",
            "pkcs12: is not a PKCS#12 file",
            "certificate: is not a certificate in PEM",
            "key: is not a private key in PEM",
            "key: does not belong to the certificate"
          ]
        )
        assert.isFalse(/secret|pass-phrase|PRIVATE/.test(inspect(problems, { depth: 10 })))
      })
    )
  )

  it.live("a connection without what its profile needs is refused", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const double = yield* startDouble()
        const missing = yield* Effect.flip(connect(double, { connection: { profile: profiles.inter } }))
        assert.strictEqual(missing.message, "the connection has no x-conta-corrente")
      })
    )
  )
})

describe.each(["bacen", "efi"] as const)("%s", (profile) => {
  it.live("a certificate of a stranger, or one that has ended, is rejected", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const double = yield* startDouble({ profile })
        const day = 86_400_000
        const fromMs = double.now() - 2 * day
        const identities = yield* Effect.promise(async () => [
          await (await makeAuthority("Stranger", double.now())).issue({ name: "x", usage: "client" }),
          await double.authority.issue({ name: "x", usage: "client", validFromMs: fromMs, validToMs: fromMs + day })
        ])
        for (const { cert, key } of identities) {
          const { client } = yield* connect(double, { credentials: () => ({ certificate: pem(cert, key) }) })
          const failure = yield* Effect.flip(client.emit(emission(double)))
          assert.deepInclude(failure, { _tag: "CertificateRejected", whose: "ours" })
        }
        assert.strictEqual(double.exchanges.length, 0)
      })
    )
  )

  it.live("a provider with a certificate of another authority is not trusted", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const double = yield* startDouble({ profile })
        const { cert } = yield* Effect.promise(() => makeAuthority("Stranger", double.now()))
        const { connection } = yield* connect(double, { credentials: () => ({ ca: cert }) })
        const failure = yield* Effect.flip(connection.authenticate)
        assert.deepInclude(failure, { _tag: "CertificateRejected", whose: "theirs" })
      })
    )
  )

  it.live("a wrong secret is rejected", () =>
    withBank(
      { profile, credentials: () => ({ clientSecret: Redacted.make("wrong") }) },
      ({ connection, client, double }) =>
        Effect.gen(function* () {
          const failures = [
            yield* Effect.flip(connection.authenticate),
            yield* Effect.flip(client.emit(emission(double)))
          ]
          for (const failure of failures) {
            assert.deepInclude(failure, { _tag: "CredentialsRejected", code: "invalid_client" })
          }
        })
    )
  )

  it.live("a scope that was not granted is named, and its operation is not sent", () =>
    withBank({ profile, scopes: ["cob.read", "pix.read"] }, ({ connection, client, double }) =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(connection.authenticate)
        assert.strictEqual(failure._tag, "ScopeMissing")
        assert.includeMembers([...((yield* connection.status).missingScopes ?? [])], ["cob.write", "pix.write"])
        const emitted = yield* Effect.flip(client.emit(emission(double)))
        assert.deepInclude(emitted, { _tag: "ScopeMissing", missing: ["cob.write"] })
        assert.strictEqual((yield* Effect.flip(client.find(TXID)))._tag, "NotFound")
        assert.strictEqual(double.exchanges.filter(({ method }) => method === "PUT").length, 0)
      })
    )
  )

  it.live("a scope that is revoked shows when the token is renewed", () =>
    withBank({ profile }, ({ client, double }) =>
      Effect.gen(function* () {
        yield* client.emit(emission(double))
        double.tokens.setClient({ id: double.clientId, secret: double.clientSecret, scopes: ["cob.read"] })
        double.tokens.revokeAll()
        yield* client.find(TXID)
        assert.deepInclude(yield* Effect.flip(client.emit(emission(double))), { _tag: "ScopeMissing" })
      })
    )
  )

  it.live("one token serves concurrent calls, and is renewed once before its end", () => {
    return withBank({ profile, tokenLifetimeSeconds: 100 }, ({ client, double, connection }) =>
      Effect.gen(function* () {
        yield* client.emit(emission(double))
        yield* Effect.all(
          Array.from({ length: 20 }, () => client.find(TXID)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(tokenRequests(double), 1)
        double.tokens.revokeAll()
        yield* Effect.all(
          Array.from({ length: 20 }, () => client.find(TXID)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(tokenRequests(double), 2)
        const staleInMs = ((yield* connection.status).tokenStaleAtMs ?? 0) - double.now()
        assert.isTrue(staleInMs <= 90_000, `${staleInMs}`)
      })
    )
  })
})

describe("an access token", () => {
  it.effect("that is no header is none", () =>
    Effect.gen(function* () {
      for (const token of ["a\nb: c", "á", "", 7, null, "x".repeat(20_000)]) {
        const connection = yield* makeConnection({
          profile: profiles.sicoob,
          credentials: uncheckedCredentials("id", "secret"),
          transport: () => Effect.succeed(answerOf(200, undefined, JSON.stringify({ access_token: token })))
        })
        const failure = yield* Effect.flip(connection.authenticate)
        assert.deepInclude(failure, { _tag: "NotSent", reason: "no-access-token" })
      }
    }).pipe(Effect.scoped)
  )
})

describe("the life of an access token", () => {
  it.effect("is a day at most, whatever the provider says", () =>
    Effect.gen(function* () {
      const connection = yield* makeConnection({
        profile: profiles.sicoob,
        credentials: uncheckedCredentials("id", "secret"),
        transport: () =>
          Effect.succeed(answerOf(200, undefined, JSON.stringify({ access_token: "a", expires_in: 1e12 })))
      })
      yield* connection.authenticate
      // Less the minute before its end.
      const { tokenStaleAtMs } = yield* connection.status
      assert.strictEqual(tokenStaleAtMs, (yield* Clock.currentTimeMillis) + 86_400_000 - 60_000)
    }).pipe(Effect.scoped)
  )
})

describe("secrets", () => {
  it.live("no log, error or span has one", () => {
    const logs: Array<unknown> = []
    const spans: Array<unknown> = []
    const failures: Array<unknown> = []
    const secrets: Array<string> = []
    const collect = Logger.make((entry) => void logs.push(entry))
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const use = Effect.scoped(
      Effect.gen(function* () {
        const double = yield* startDouble({ profile: "bacen", variant: { requiredQuery: ["gw-dev-app-key"] } })
        const bank = (secret: string) =>
          connect(double, {
            credentials: () => ({ clientSecret: Redacted.make(secret) }),
            connection: {
              profile: { ...profiles.bacen, query: { "gw-dev-app-key": { setting: "app" } } },
              settings: { app: Redacted.make("app-key-of-ours") },
              limits: { lookupRetries: 0 }
            }
          })
        const { client } = yield* bank(double.clientSecret)
        const note = <A, E>(effect: Effect.Effect<A, E>) =>
          Effect.onExit(effect, (exit) => {
            if (Exit.isFailure(exit)) failures.push(exit.cause)
            return Effect.logInfo("done", exit)
          }).pipe(Effect.ignore)
        yield* note(client.emit(emission(double)))
        for (const fault of ["dropped-after", "error-after", "html", "too-many-requests", "foreign-error"] as const) {
          double.faults.once(fault, { method: "GET" })
          yield* note(client.find(fault === "foreign-error" ? `${TXID}x` : TXID))
        }
        const wrong = yield* bank("secret-that-is-wrong")
        yield* note(wrong.client.find(TXID))
        secrets.push(double.clientSecret, "secret-that-is-wrong", "app-key-of-ours", double.client.key.slice(40, 80))
        secrets.push(Buffer.from(`${double.clientId}:${double.clientSecret}`).toString("base64"), "Bearer ")
      })
    ).pipe(Effect.withTracer(tracer), Effect.provideService(Logger.CurrentLoggers, new Set([collect])))
    return Effect.map(use, () => {
      assert.isAtLeast(failures.length, 5)
      assert.isAtLeast(spans.length, 7)
      assert.isAtLeast(logs.length, 7)
      const shown = `${inspect([logs, spans, failures], { depth: 20, maxArrayLength: null, maxStringLength: null })} ${failures
        .map((failure) => `${JSON.stringify(failure)} ${String(failure)}`)
        .join()}`
      for (const secret of secrets) assert.isFalse(shown.includes(secret), secret)
    })
  })
})
