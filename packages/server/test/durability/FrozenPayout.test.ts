/** A process that is frozen while it sends a payout, and another one that sends it meanwhile. */
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

const FUNDS = 5000
const AMOUNT = 700
const PAYEE = "ana@example.com"

layer(Layer.empty, { excludeTestServices: true })("A process that is frozen while it sends a payout", (it) => {
  it.effect("PAY-6, PAY-5: does not fail what another one has sent since, though its own request was refused", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createMigratedDatabase
      const sql = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
      const env = {
        DATABASE_URL: Redacted.value(databaseUrl),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN,
        ACQUIRER_TIMEOUT_MS: "600000"
      }
      const frozen = yield* startProcess(env)
      const double = yield* startDouble({
        variant: doubles.inter,
        // Longer than it takes to freeze the process that waits for the answer.
        slowMs: 5000,
        settings: { payoutFate: () => ({ _tag: "Held" }) }
      })
      const { call, connectionId, key } = yield* connectedAccount(frozen, OPERATOR_TOKEN, double, {
        profile: "inter",
        credentials: { ...operatorCredentials(double), current_account: "1" }
      })
      const { id } = bodyOf(
        yield* call<Charge>("POST", "/v1/charges", {
          key,
          idempotencyKey: newKey(),
          body: { ...someCharge, amount: FUNDS }
        }),
        201
      )
      const chargeStatus = Effect.map(call<Charge>("GET", `/v1/charges/${id}`, { key }), ({ body }) => body.status)
      yield* eventually(chargeStatus, (status) => status === "pending")
      Result.getOrThrow(double.provider.receipts.payCob(txidFromId(id), { cents: FUNDS }))
      const swept = sql`UPDATE acquirer_connections SET due_at = now() WHERE id = ${connectionId}::uuid
        AND coalesce(due_at, now()) <= now() + interval '61 seconds'`
      yield* eventually(Effect.andThen(swept, chargeStatus), (status) => status === "paid")

      double.provider.payouts.describePayee(PAYEE, { _tag: "Denied" })
      double.faults.once("slow", SENDING)
      const body = { amount: AMOUNT, pix_key_type: "email", pix_key: PAYEE }
      const created = bodyOf(yield* call<Payout>("POST", "/v1/payouts", { key, idempotencyKey: newKey(), body }), 201)
      yield* eventually(
        Effect.sync(() => double.faults.counts.get("slow") ?? 0),
        (count) => count === 1
      )
      frozen.signal("SIGSTOP")
      const answered = () => double.exchanges.filter(isSending).length
      assert.strictEqual(answered(), 0, "the process was frozen before its answer")

      // Its lease runs out, and the bank accepts the request of another process.
      double.provider.payouts.describePayee(PAYEE, { _tag: "Owner", document: "52998224725" })
      const due = sql`UPDATE payouts SET due_at = now() WHERE id = ${created.id}::uuid`
      yield* due
      const other = yield* startProcess(env)
      yield* eventually(
        sql`SELECT id FROM payouts WHERE id = ${created.id}::uuid AND processed_at IS NOT NULL`,
        ({ length }) => length === 1
      )
      yield* eventually(Effect.sync(answered), (count) => count === 2)
      other.signal("SIGTERM")
      assert.strictEqual(yield* other.ended, 0)

      frozen.signal("SIGCONT")
      const inquiries = () => double.exchanges.filter(isInquiry).length
      const before = inquiries()
      // It has read the refusal before it asks for the second time.
      yield* eventually(Effect.andThen(due, Effect.sync(inquiries)), (count) => count >= before + 2)
      const client = yield* clientOf(frozen, OPERATOR_TOKEN)
      const statusOf = Effect.map(
        client.call<Payout>("GET", `/v1/payouts/${created.id}`, { key }),
        ({ body: payout }) => payout.status
      )
      assert.strictEqual(yield* statusOf, "processing")
      const sent = double.provider.payouts.list(ALWAYS, () => true, { page: 0, size: 10 }).items
      assert.deepStrictEqual(
        sent.map(({ cents }) => cents),
        [AMOUNT]
      )
      Result.getOrThrow(double.provider.payouts.settle(sent[0]!.id, {}))
      yield* eventually(Effect.andThen(due, statusOf), (status) => status === "completed")
      assert.deepStrictEqual(
        yield* sql`SELECT kind FROM acquirer_exceptions UNION ALL SELECT kind FROM changes WHERE 'failed' = ANY (actions)`,
        []
      )
      assert.strictEqual(double.provider.balanceCents(), FUNDS - AMOUNT)
      assert.deepStrictEqual([...double.violations, ...double.defects], [])
      frozen.signal("SIGTERM")
      assert.strictEqual(yield* frozen.ended, 0)
    })
  )
})

const SENDING = { method: "POST", path: /\/banking\/v2\/pix$/ } as const
const isSending = ({ method, path }: { readonly method: string; readonly path: string }) =>
  method === SENDING.method && SENDING.path.test(path)
const isInquiry = ({ method, path }: { readonly method: string; readonly path: string }) =>
  method === "GET" && path.includes("/banking/v2/pix/")

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
