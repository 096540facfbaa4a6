/**
 * A payout whose caller was answered `Unavailable` is not made afterwards: the caller may have repeated it and been refused, and then
 * ordered it under another key.
 */
import { assert, layer } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Exit from "effect/Exit"
import { SqlClient } from "effect/sql/SqlClient"
import { Ids } from "../../../../src/base/Ids.ts"
import { Accounts } from "../../../../src/accounts/Accounts.ts"
import { DATABASE_TIMEOUT_MS, orUnavailable } from "../../../../src/database/Unavailable.ts"
import { runToCompletion } from "../../../../src/database/RunToCompletion.ts"
import { NewCharges } from "../../../../src/payments/charges/NewCharges.ts"
import { NewPayouts } from "../../../../src/payments/payouts/creation/NewPayouts.ts"
import { NewPayoutStore } from "../../../../src/payments/payouts/creation/NewPayoutStore.ts"
import { firstPixOf } from "../../../../src/providers/simulator/SimulatedInstitution.ts"
import { AcquirerNotifications } from "../../../../src/reports/AcquirerNotifications.ts"
import { domainServicesLayer } from "../../../support/DomainServices.ts"
import { requestedPayout } from "../../../support/NewPayout.ts"
import { newKey } from "../../../support/TestService.ts"

const CONNECTIONS = 4

layer(domainServicesLayer({ databaseConnections: CONNECTIONS, simulatorSettleMs: 0 }), { excludeTestServices: true })(
  `A write whose caller was answered after ${DATABASE_TIMEOUT_MS} ms`,
  (it) => {
    it.effect("IDEM-9, OPR-202: a payout that waited for a connection is not stored once there is one", () =>
      Effect.gen(function* () {
        const { accountId, applicationId } = yield* funded(10_000)
        const create = Effect.gen(function* () {
          const { epochMs, id } = (yield* Ids).next()
          const owner = { accountId, applicationId, idempotencyKey: newKey() }
          const requested = requestedPayout({ ...owner, id, createdAtMs: epochMs, amount: 100 })
          return yield* NewPayoutStore.use((store) => store.create({ caller: undefined, requested }))
        })
        const order = NewPayouts.use((payouts) =>
          payouts.createForOperator(accountId, newKey(), {
            amount: 100,
            pix_key_type: "email",
            pix_key: "hold@simulator.test"
          } as never)
        )
        // The terms are cached.
        yield* create
        const { release } = yield* holdAllConnections
        const ordered = yield* Effect.forkChild(Effect.flip(order), { startImmediately: true })
        const created = yield* Effect.forkChild(Effect.flip(create), { startImmediately: true })
        assert.strictEqual((yield* Fiber.join(ordered))._tag, "Unavailable")
        assert.strictEqual((yield* Fiber.join(created))._tag, "Unavailable")
        yield* release
        yield* allConnectionsAreFree
        assert.strictEqual(yield* payoutsOf(accountId), 1)
        yield* create
        yield* order
        assert.strictEqual(yield* payoutsOf(accountId), 3)
      })
    )

    it.effect("a transaction is rolled back instead of committed", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { accountId } = yield* funded(100)
        const name = `renamed ${accountId}`
        const rename = sql.withTransaction(
          Effect.andThen(
            sql`UPDATE accounts SET name = ${name} WHERE id = ${accountId}::uuid`,
            Effect.sleep(DATABASE_TIMEOUT_MS + 500)
          )
        )
        const failure = yield* Effect.flip(runToCompletion(sql)(rename))
        assert.strictEqual(failure._tag, "Unavailable")
        yield* allConnectionsAreFree
        const rows = yield* sql`SELECT FROM accounts WHERE name = ${name}`
        assert.lengthOf(rows, 0)
      })
    )
  }
)

/** Takes all connections of the pool. */
const holdAllConnections = Effect.gen(function* () {
  const sql = yield* SqlClient
  const scope = yield* Scope.make()
  for (let index = 0; index < CONNECTIONS; index++) yield* Scope.provide(sql.reserve, scope)
  return { release: Scope.close(scope, Exit.void) }
})

/** What waited for a connection before this has had it. */
const allConnectionsAreFree = Effect.flatMap(holdAllConnections, ({ release }) => release)

const payoutsOf = (accountId: string) =>
  SqlClient.use((sql) =>
    Effect.map(
      orUnavailable(sql<{ count: bigint }>`SELECT count(*) FROM payouts WHERE account_id = ${accountId}::uuid`),
      ([row]) => Number(row!.count)
    )
  )

const funded = Effect.fnUntraced(function* (amount: number) {
  const account = yield* Accounts.use((accounts) =>
    accounts.create({
      name: "Loja",
      legal_name: "Loja Ltda",
      phone: "+5511999998888",
      document: "11222333000181",
      document_type: "cnpj",
      release_delay: 0
    })
  )
  const { id: applicationId } = yield* Accounts.use((accounts) => accounts.createApplication(account.id, "Loja"))
  const { charge } = yield* NewCharges.use((charges) =>
    charges.createForCheckout({ id: applicationId, accountId: account.id }, undefined, {
      amount: amount as never,
      customer: { name: "Ana", email: "ana@example.com", document: "52998224725" }
    })
  )
  const txid = txidFromId(charge.id)
  const paid = { _tag: "charge.paid", txid, endToEndId: firstPixOf(txid) } as const
  yield* AcquirerNotifications.use(({ receive }) => receive(paid))
  return { accountId: account.id, applicationId }
})
