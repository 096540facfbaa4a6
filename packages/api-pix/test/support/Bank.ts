/** A double of a provider, and the client of it. */
import { assert } from "@effect/vitest"
import * as doubles from "@pix-payments/psp-double/http/Profiles"
import { type PspDouble, type PspDoubleOptions, startPspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { type ApiPixClient, makeApiPixClient } from "../../src/ApiPixClient.ts"
import { type Connection, type ConnectionOptions, makeConnection } from "../../src/Connection.ts"
import { type CredentialsInput, makeCredentials } from "../../src/Credentials.ts"
import type { Failure } from "../../src/Outcome.ts"
import { makePayouts } from "../../src/PayoutRails.ts"
import type { PayoutOrder, Payouts } from "../../src/Payouts.ts"
import * as profiles from "../../src/Profiles.ts"

export interface Bank {
  readonly double: PspDouble
  readonly connection: Connection
  readonly client: ApiPixClient
  /** Where the provider has a rail. */
  readonly payouts: Payouts
}

export interface BankOptions extends PspDoubleOptions {
  readonly connection?: Partial<ConnectionOptions>
  readonly credentials?: (double: PspDouble) => Partial<CredentialsInput>
}

/** Nothing here depends on how long a machine takes: only a hang ends by the time limit. */
const LIMITS = { timeoutMs: 60_000, tokenTimeoutMs: 60_000, retryDelayMs: 1 }

export const startDouble = (options: PspDoubleOptions = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => startPspDouble(options)),
    (double) => Effect.promise(() => double.close())
  )

export const connect = Effect.fnUntraced(function* (
  double: PspDouble,
  options: Pick<BankOptions, "connection" | "credentials"> = {}
) {
  const { client } = double
  const credentials = yield* makeCredentials({
    clientId: double.clientId,
    clientSecret: Redacted.make(double.clientSecret),
    certificate: { _tag: "Pem", cert: client.cert, key: Redacted.make(client.key) },
    ca: client.ca,
    ...options.credentials?.(double)
  })
  const connection = yield* makeConnection({
    profile: profiles[double.profile.name],
    credentials,
    baseUrl: double.baseUrl,
    tokenUrl: double.tokenUrl,
    ...options.connection,
    limits: { ...LIMITS, ...options.connection?.limits }
  })
  return { double, connection, client: makeApiPixClient(connection), payouts: makePayouts(connection)! } satisfies Bank
})

/** Runs with a double. What the client sends, and the double answers unspoiled, keeps the contract. */
export const withBank = <E>(options: BankOptions, use: (bank: Bank) => Effect.Effect<void, E>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const double = yield* startDouble(options)
      yield* use(yield* connect(double, options))
      assert.deepStrictEqual(double.violations, [])
      assert.deepStrictEqual(double.defects, [])
    })
  )

export const TXID = "charge00000000000000000000001"

export const emission = (double: PspDouble, cents = 1000) => ({
  txid: TXID,
  cents,
  key: double.key,
  expiresInSeconds: 3600,
  debtor: { name: "Ana Souza", document: "52998224725" },
  message: "Pedido 1001"
})

/** A UUID without hyphens. */
const PAYOUT_ID = "3fa85f6457174562b3fc2c963f66afa6"

export const payout = (double: PspDouble, cents = 300): PayoutOrder => ({
  id: PAYOUT_ID,
  reference: undefined,
  keepReference: () => Effect.void,
  cents,
  payerKey: double.key,
  message: "Repasse 7",
  payee: { key: "ana@example.com" }
})

/** Doubles of the providers that have a rail, and the connections to them. */
export const RAILS: Readonly<Record<"efi" | "sicoob" | "inter", BankOptions>> = {
  efi: { profile: "efi" },
  sicoob: { variant: doubles.sicoob, connection: { profile: profiles.sicoob } },
  inter: {
    variant: doubles.inter,
    connection: { profile: profiles.inter, settings: { "x-conta-corrente": Redacted.make("1234567") } }
  }
}

export const RAIL_NAMES = ["efi", "sicoob", "inter"] as const

/** A short name of an outcome. */
export const outcomeOf = <A>(effect: Effect.Effect<A, Failure>) =>
  Effect.match(effect, {
    onSuccess: () => "done",
    onFailure: (failure) => (failure._tag === "Unclear" ? `Unclear: ${failure.kind}` : failure._tag)
  })

/** Waits for what the double sees. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.promise(async () => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
  })
