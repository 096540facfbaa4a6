/** Connections of a service to doubles of providers. */
import type { Connection } from "@pix-payments/api/operator/Connections"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { clientOf, sealCredentials } from "../../src/providers/connections/ConnectionCredentials.ts"
import { ConnectionRegistry } from "../../src/providers/connections/ConnectionRegistry.ts"
import { type ConnectionInput, ConnectionStore } from "../../src/providers/connections/ConnectionStore.ts"
import { Ids } from "../../src/base/Ids.ts"
import { Secrets } from "../../src/base/Secrets.ts"
import { created } from "./ChargeRequests.ts"
import { notified, paymentOf } from "./Exceptions.ts"
import { operated } from "./Money.ts"
import { type Fields, TestService } from "./TestService.ts"

/** The credentials of a double as an operator gives them. */
export const operatorCredentials = ({ client, clientId, clientSecret }: PspDouble) => ({
  client_id: clientId,
  client_secret: clientSecret,
  certificate: client.cert,
  private_key: client.key,
  ca: client.ca
})

/** The body that connects to a double. */
export const connectionTo = (double: PspDouble, fields: Fields = {}): Fields => ({
  name: "Bank",
  kind: "api-pix",
  profile: double.profile.name,
  settings: { base_url: double.baseUrl, token_url: double.tokenUrl },
  credentials: operatorCredentials(double),
  pix_key: double.key,
  ...fields
})

/** Connects to a double over HTTP. */
export const connectTo = (double: PspDouble, fields: Fields = {}) =>
  operated<Connection>("POST", "/connections", connectionTo(double, fields), 201)

/** Stores a connection to a double, and opens it. */
export const storeConnection = Effect.fnUntraced(function* (double: PspDouble, input: Partial<ConnectionInput> = {}) {
  const { epochMs, id } = (yield* Ids).next()
  const store = yield* ConnectionStore
  const row = yield* store.create({
    id,
    name: "Bank",
    profile: double.profile.name,
    settings: { base_url: double.baseUrl, token_url: double.tokenUrl },
    pix_key: double.key,
    exception_rule: "hold",
    paused: false,
    is_default: false,
    sealedCredentials: sealCredentials(yield* Secrets, id, operatorCredentials(double)),
    certificateExpiresAtMs: epochMs,
    paysOut: double.profile.name === "efi",
    client: clientOf(double.profile.name, { base_url: double.baseUrl }, operatorCredentials(double)),
    ...input
  })
  yield* (yield* ConnectionRegistry).refresh
  return row
})

/** Credits an account from the simulator, which any account may use. */
export const fund = (accountId: string, amount: number) =>
  Effect.gen(function* () {
    const { makeApplication, makeKey } = yield* TestService
    const { key } = yield* makeKey(yield* makeApplication(accountId))
    yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: SIMULATOR_CONNECTION })
    const { id } = yield* created(key, { amount })
    yield* notified(paymentOf(id, { amount }))
    yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: null })
  })

/** The secret of a problem below. */
export const WRONG_SECRET = "a-secret-that-is-wrong"

/** What is wrong with a connection, and what its check says of it. */
interface Problem {
  readonly fields: Fields
  readonly step: string
  readonly detail: RegExp
}

export const problems = Effect.fnUntraced(function* (double: PspDouble) {
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
