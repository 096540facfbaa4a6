/** Two cells, each with a PostgreSQL of its own, and an account of the first one with a bank that it alone uses. */
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { keyIdsOf } from "../../src/base/Secrets.ts"
import { type Move, moveAccount } from "../../src/cells/AccountMove.ts"
import { connect } from "../../src/cells/Connection.ts"
import { connectTo } from "./Connections.ts"
import { operated } from "./Money.ts"
import { temporaryFolder } from "./Postgres.ts"
import { loopback } from "./Receiver.ts"
import { secretsKey, secretsKeys } from "./StoppableService.ts"
import { type Fields, TestService } from "./TestService.ts"

/** A cell with a server. `inside` gives its services to an effect. */
export const startCell = Effect.fnUntraced(function* (name: string) {
  const { url } = yield* EmbeddedPostgres.start({
    dataDir: yield* temporaryFolder,
    settings: { max_prepared_transactions: "2" }
  })
  const settings = {
    cell: Option.some(name),
    secretsKeys,
    webhookAllowedNetworks: loopback,
    acquirerTimeoutMs: 10_000
  }
  const service = yield* Layer.build(Layer.fresh(TestService.layer({ settings, databaseUrl: url })))
  return { name, url, inside: Effect.provide(service) }
})

export type Cell = Effect.Success<ReturnType<typeof startCell>>

/** An account with a key, whose connection is to the double. Within a cell. */
export const accountAt = Effect.fnUntraced(function* (bank: PspDouble, connection: Fields = {}) {
  const { makeCaller } = yield* TestService
  const { id: connectionId } = yield* connectTo(bank, connection)
  const caller = yield* makeCaller()
  yield* operated("PATCH", `/accounts/${caller.accountId}`, { connection_id: connectionId })
  return { ...caller, connectionId }
})

/** Moves an account from one cell to the other. Of `say`, see `Move`. */
export const moved = (
  from: Cell,
  to: Cell,
  accountId: string,
  say: Move["say"] = () => Effect.void,
  run = moveAccount
) =>
  Effect.gen(function* () {
    const [source, target, beside] = yield* Effect.forEach([from, to, to], ({ name, url }) =>
      connect(Redacted.value(url), name)
    )
    yield* run({
      accountId,
      say,
      source: source!,
      target: target!,
      beside: beside!,
      secretsKeys: yield* keyIdsOf(secretsKey)
    })
  }).pipe(Effect.scoped)

/** Reads what the bank has received now, instead of within a minute. */
export const sweepNow = Effect.flatMap(
  SqlClient,
  (sql) => sql`UPDATE acquirer_connections SET due_at = now() WHERE due_at IS NOT NULL`
)
