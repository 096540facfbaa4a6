/** The connections of a history at the double: their rows, and the registry of each process with its transport. */
import { makeApiPixClient } from "@pix-payments/api-pix/ApiPixClient"
import { makeConnection } from "@pix-payments/api-pix/Connection"
import type { Credentials } from "@pix-payments/api-pix/Credentials"
import { makeDisputes } from "@pix-payments/api-pix/Disputes"
import { makePayouts } from "@pix-payments/api-pix/PayoutRails"
import * as profiles from "@pix-payments/api-pix/Profiles"
import type { Transport } from "@pix-payments/api-pix/Transport"
import type { PspMachine } from "@pix-payments/psp-double/http/PspMachine"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import {
  ConnectionRegistry,
  ConnectionUnusable,
  type RegisteredConnection
} from "../../../src/providers/connections/ConnectionRegistry.ts"
import type { ConnectionRow } from "../../../src/providers/connections/ConnectionStore.ts"
import type { OpenConnection } from "../../../src/providers/connections/OpenConnection.ts"
import { makeApiPixProvider } from "../../../src/providers/api-pix/ApiPixProvider.ts"
import type { Database } from "./Database.ts"
import { ACQUIRER_TIMEOUT_MS } from "./Institutions.ts"

/** Whose API the double has. */
export type Rail = "efi" | "bacen" | "sicoob" | "inter"

/** A connection of the double's client. */
export interface BankConnection {
  readonly id: string
  readonly key: string
  /** What it does with exceptions. */
  readonly rule: ConnectionRow["exception_rule"]
}

export const BANK_CONNECTIONS = ["00000000-0000-7000-8000-0000000000b4", "00000000-0000-7000-8000-0000000000b5"]

export const insertConnections = async (
  { query }: Database,
  { provider }: PspMachine,
  rail: Rail,
  connections: ReadonlyArray<BankConnection>
) => {
  for (const [index, { id, key, rule }] of connections.entries()) {
    await query(
      `INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, exception_rule, is_default, pays_out, created_at)
       VALUES ($1::uuid, 'Bank', 'api-pix', $2, $3, $4, $5::boolean, $6::boolean, to_timestamp($7::double precision / 1000))`,
      [id, rail, key, rule, String(index === 0), String(profiles[rail].payouts !== null), String(provider.now())]
    )
    await query(`INSERT INTO connection_keys (client, pix_key, connection_id) VALUES ('client', $1, $2::uuid)`, [
      key,
      id
    ])
    await query(
      `INSERT INTO ledger_accounts (owner_id, kind) SELECT $1::uuid, unnest(ARRAY['unallocated', 'acquirer'])`,
      [id]
    )
  }
}

/** A registry with connections to the double. It reads no rows: they never change. */
export const registryOver = (
  double: PspMachine,
  rail: Rail,
  connections: ReadonlyArray<BankConnection>,
  transport: Transport
): Layer.Layer<ConnectionRegistry> =>
  Layer.effect(
    ConnectionRegistry,
    Effect.map(
      Effect.forEach(connections, (each) =>
        Effect.map(openOver(double, rail, transport, each), (open) => ({
          row: rowOf(double, rail, each),
          open,
          problem: undefined
        }))
      ),
      registryOf
    )
  )

/** A registry without connections. */
export const noConnections: Layer.Layer<ConnectionRegistry> = Layer.sync(ConnectionRegistry, () => registryOf([]))

const registryOf = (
  connections: ReadonlyArray<RegisteredConnection & { readonly open: OpenConnection }>
): ConnectionRegistry["Service"] => {
  const find = (id: string) => connections.find(({ row }) => row.id === id)
  return {
    all: () => connections,
    find,
    use: (id, call) => {
      const found = find(id)
      return found === undefined
        ? Effect.fail(new ConnectionUnusable({ reason: "the connection is unknown" }))
        : call(found.open)
    },
    stateOf: () => Effect.succeed("ready"),
    statusOf: () => Effect.undefined,
    refresh: Effect.void
  }
}

const rowOf = ({ provider }: PspMachine, rail: Rail, { id, key, rule }: BankConnection): ConnectionRow => ({
  id,
  name: "Bank",
  kind: "api-pix",
  profile: rail,
  settings: {},
  pix_key: key,
  statement_account: null,
  exception_rule: rule,
  paused: false,
  payouts_paused: false,
  charges_paused: false,
  is_default: id === BANK_CONNECTIONS[0],
  pays_out: profiles[rail].payouts !== null,
  certificate_expires_at: null,
  webhook_registered_at: null,
  checked_at: null,
  check_result: null,
  foreign_entries: 0,
  foreign_at: null,
  unreadable_entries: 0,
  unreadable_since: null,
  version: 1,
  created_at: DateTime.toDateUtc(DateTime.makeUnsafe(provider.now()))
})

/** A connection as the service opens it, with another transport. */
const openOver = (
  double: PspMachine,
  rail: Rail,
  transport: Transport,
  { key }: BankConnection
): Effect.Effect<OpenConnection, never, Scope.Scope> =>
  Effect.gen(function* () {
    const profile = profiles[rail]
    const connection = yield* Effect.orDie(
      makeConnection({
        profile,
        credentials: credentialsOf(double),
        settings: { "x-conta-corrente": Redacted.make("1") },
        baseUrl: `https://bank${double.profile.basePath}`,
        tokenUrl: `https://bank${double.profile.tokenPath}`,
        limits: { timeoutMs: ACQUIRER_TIMEOUT_MS, tokenTimeoutMs: ACQUIRER_TIMEOUT_MS },
        transport
      })
    )
    const client = makeApiPixClient(connection)
    const disputes = makeDisputes(connection)
    const provider = makeApiPixProvider({
      client,
      payouts: makePayouts(connection),
      disputes,
      pixKey: key,
      timeoutMs: ACQUIRER_TIMEOUT_MS
    })
    return { client, disputes, provider, certificateExpiresAtMs: NEVER_MS, paysOut: profile.payouts !== null }
  })

const NEVER_MS = Number.MAX_SAFE_INTEGER

/** The certificate is unused: the transport is given. */
const credentialsOf = ({ clientId, clientSecret }: PspMachine): Credentials => ({
  clientId,
  clientSecret: Redacted.make(clientSecret),
  certificate: { _tag: "Pem", cert: "", key: Redacted.make("") },
  subject: "",
  validFromMs: 0,
  validToMs: NEVER_MS
})
