/**
 * A process that is killed between two requests of a payout: at a provider that names a payout before it is confirmed,
 * and at one that knows a payout by its idempotency key.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import type { Payout } from "@pix-payments/domain/Payout"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as doubles from "@pix-payments/psp-double/http/Profiles"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { startDouble } from "../support/Bank.ts"
import { someCharge } from "../support/ChargeRequests.ts"
import { bodyOf, connectedAccount } from "../support/ConnectedProcess.ts"
import { operatorCredentials } from "../support/Connections.ts"
import { OPERATOR_TOKEN } from "../support/Load.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { startProcess } from "../support/Process.ts"
import { eventually } from "../support/Receiver.ts"
import { clientOf, newKey } from "../support/TestService.ts"

const OPENING = 100_000
const FUNDS = 5000
const AMOUNT = 700

/** What the provider does before the process is killed. */
const points = [
  { rail: "sicoob", request: "the payout is named", path: /\/pagamentos$/ },
  { rail: "sicoob", request: "the payout is confirmed", path: /\/confirmacao$/ },
  { rail: "inter", request: "the payout is sent", path: /\/banking\/v2\/pix$/ }
] as const

layer(Layer.empty, { excludeTestServices: true })("A process that is killed while a payout is sent", (it) => {
  for (const { path, rail, request } of points) {
    it.effect(`OPR-75, PAY-6: at ${rail}, once ${request} and before the commit: it goes out once`, () =>
      Effect.gen(function* () {
        const databaseUrl = yield* createMigratedDatabase
        const sql = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
        const env = {
          DATABASE_URL: Redacted.value(databaseUrl),
          DATA_DIR: yield* temporaryFolder,
          OPERATOR_TOKEN,
          ACQUIRER_TIMEOUT_MS: "600000"
        }
        const killed = yield* startProcess(env)
        const double = yield* startDouble({ variant: doubles[rail], settings: { openingCents: OPENING } })
        const credentials = { ...operatorCredentials(double), ...(rail === "inter" && { current_account: "1" }) }
        const account = yield* connectedAccount(killed, OPERATOR_TOKEN, double, { profile: rail, credentials })
        const { accountId, call, connectionId, key } = account

        const charged = yield* call<Charge>("POST", "/v1/charges", {
          key,
          idempotencyKey: newKey(),
          body: { ...someCharge, amount: FUNDS }
        })
        const { id } = bodyOf(charged, 201)
        const statusOf = Effect.map(call<Charge>("GET", `/v1/charges/${id}`, { key }), ({ body }) => body.status)
        yield* eventually(statusOf, (status) => status === "pending")
        Result.getOrThrow(double.provider.receipts.payCob(txidFromId(id), { cents: FUNDS }))
        const swept = sql`UPDATE acquirer_connections SET sweep_at = now() WHERE id = ${connectionId}::uuid
            AND coalesce(sweep_at, now()) <= now() + interval '61 seconds'`
        yield* eventually(Effect.andThen(swept, statusOf), (status) => status === "paid")

        double.faults.once("hang", { method: "POST", path })
        const body = { amount: AMOUNT, pix_key_type: "email", pix_key: "ana@example.com" }
        const created = bodyOf(yield* call<Payout>("POST", "/v1/payouts", { key, idempotencyKey: newKey(), body }), 201)
        yield* eventually(
          Effect.sync(() => double.faults.counts.get("hang") ?? 0),
          (count) => count === 1
        )
        killed.signal("SIGKILL")
        assert.strictEqual(yield* killed.ended, "SIGKILL")
        const sent = () => double.provider.payouts.list(ALWAYS, () => true, { page: 0, size: 10 }).items
        assert.lengthOf(sent(), request === "the payout is named" ? 0 : 1)

        const due = sql`UPDATE payouts SET hand_over_at = now() WHERE status = 'processing'`
        yield* due
        const service = yield* startProcess(env)
        const restarted = yield* clientOf(service, OPERATOR_TOKEN)
        const completed = yield* eventually(
          Effect.andThen(
            Effect.all([Effect.promise(() => double.settle()), due]),
            restarted.call<Payout>("GET", `/v1/payouts/${created.id}`, { key })
          ),
          (answer) => answer.body.status === "completed"
        )
        assert.deepStrictEqual(
          sent().map(({ cents, endToEndId, status }) => [cents, endToEndId, status]),
          [[AMOUNT, completed.body.end_to_end_id, "REALIZADO"]]
        )
        assert.strictEqual(double.provider.balanceCents(), OPENING + FUNDS - AMOUNT)
        const rows = yield* sql<{ kind: string; balance: bigint }>`SELECT kind, balance FROM ledger_accounts
            WHERE owner_id = ${accountId}::uuid AND kind IN ('available', 'payouts_in_transit', 'acquirer', 'fees')`
        const balances = new Map(rows.map(({ balance, kind }) => [kind, Number(balance)]))
        assert.strictEqual(balances.get("payouts_in_transit"), 0)
        assert.strictEqual(balances.get("acquirer"), AMOUNT - FUNDS)
        assert.strictEqual(balances.get("available"), FUNDS - AMOUNT - (balances.get("fees") ?? 0))
        assert.deepStrictEqual([...double.violations, ...double.defects], [])
        service.signal("SIGTERM")
        assert.strictEqual(yield* service.ended, 0)
      })
    )
  }
})

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
