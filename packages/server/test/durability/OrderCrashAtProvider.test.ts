/** A process that is killed after the provider has done what was ordered, and before the commit of its answer. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import type { OperatorCharge } from "@pix-payments/api/operator/Charges"
import type { Charge } from "@pix-payments/domain/Charge"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { providerIdOf } from "../../src/providers/Acquirer.ts"
import { startDouble } from "../support/Bank.ts"
import { someCharge } from "../support/ChargeRequests.ts"
import { bodyOf, connectedAccount } from "../support/ConnectedProcess.ts"
import type { Dispute } from "../support/Disputes.ts"
import { OPERATOR_TOKEN } from "../support/Load.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { startProcess } from "../support/Process.ts"
import { eventually } from "../support/Receiver.ts"
import { clientOf, newKey } from "../support/TestService.ts"

const OPENING = 100_000

interface Exception {
  readonly id: string
  readonly status: string
  readonly action: string | null
}

layer(Layer.empty, { excludeTestServices: true })(
  "A process that is killed between the provider's yes and its commit",
  (it) => {
    it.effect(
      "BAL-9, BAL-12, OPR-75: has its partial refund, its defense with a file and its return of an exception finished once",
      () =>
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
          const double = yield* startDouble({ profile: "efi", settings: { openingCents: OPENING } })
          const { infractions, receipts } = double.provider
          const account = yield* connectedAccount(killed, OPERATOR_TOKEN, double)
          const { accountId, call, connectionId, key, operate } = account

          const paid = Effect.gen(function* () {
            const answer = yield* call<Charge>("POST", "/v1/charges", {
              key,
              idempotencyKey: newKey(),
              body: someCharge
            })
            const { id } = bodyOf(answer, 201)
            // Where the provider was slow, recovery emits the charge.
            yield* eventually(
              call<Charge>("GET", `/v1/charges/${id}`, { key }),
              ({ body }) => body.status === "pending"
            )
            return { id, pix: Result.getOrThrow(receipts.payCob(txidFromId(id), { cents: someCharge.amount })) }
          })
          const refunded = yield* paid
          const disputed = yield* paid
          const infraction = Result.getOrThrow(infractions.open(disputed.pix.endToEndId, { cents: 600 }))
          const unexpected = receipts.receive({ key: double.key, cents: 700 })

          // Sweeps bring all of it; then there are none, so that what happens later is found by the orders alone.
          const listed = <A>(path: string) =>
            Effect.map(
              operate<{ data: ReadonlyArray<A> }>("GET", `/operator/v1${path}`),
              (answer) => bodyOf(answer, 200).data
            )
          const swept = (next: "now" | "infinity") =>
            sql`UPDATE acquirer_connections SET sweep_at = ${next}::timestamptz
            WHERE id = ${connectionId}::uuid AND coalesce(sweep_at, now()) <= now() + interval '61 seconds' RETURNING id`
          const found = yield* eventually(
            Effect.andThen(
              swept("now"),
              Effect.all({
                charge: operate<OperatorCharge>("GET", `/operator/v1/charges/${refunded.id}`),
                disputes: listed<Dispute>(`/disputes?charge_id=${disputed.id}`),
                exceptions: listed<Exception>("/exceptions")
              })
            ),
            ({ charge, disputes, exceptions }) =>
              charge.body.status === "paid" && disputes[0]?.status === "open" && exceptions.length > 0
          )
          const dispute = found.disputes[0]!
          const exception = found.exceptions[0]!
          yield* eventually(swept("infinity"), ({ length }) => length > 0)

          double.faults.once("hang", { method: "PUT", path: new RegExp(refunded.pix.endToEndId) })
          double.faults.once("hang", { method: "PUT", path: new RegExp(unexpected.endToEndId) })
          double.faults.once("hang", { method: "POST", path: /\/defesa$/ })
          const content = Buffer.from("signed by Ana").toString("base64")
          const file = { name: "receipt.pdf", content_type: "application/pdf", content }
          const ordered = yield* Effect.forkChild(
            Effect.forEach(
              [
                operate("POST", `/operator/v1/charges/${refunded.id}/refund`, { body: { amount: 300 } }),
                operate("POST", `/operator/v1/disputes/${dispute.id}/defense`, {
                  body: { text: "delivered", files: [file] }
                }),
                operate("POST", `/operator/v1/exceptions/${exception.id}/resolve`, { body: { action: "return" } })
              ],
              (each) => Effect.exit(each),
              { concurrency: "unbounded" }
            ),
            { startImmediately: true }
          )
          const returnsOf = (endToEndId: string) =>
            Result.getOrThrow(receipts.get(endToEndId)).returns.map(({ cents, id }) => ({ cents, id }))
          const defense = () => Result.getOrThrow(infractions.get(infraction.id)).defense
          yield* eventually(
            Effect.sync(() => double.faults.counts.get("hang") ?? 0),
            (count) => count === 3
          )
          assert.deepStrictEqual(
            returnsOf(refunded.pix.endToEndId)
              .concat(returnsOf(unexpected.endToEndId))
              .map(({ cents }) => cents),
            [300, 700]
          )
          const defendedAtMs = defense()?.atMs
          assert.strictEqual(defense()?.text, "delivered")
          assert.isUndefined(ordered.pollUnsafe())
          killed.signal("SIGKILL")
          assert.strictEqual(yield* killed.ended, "SIGKILL")

          const orders = sql<{
            id: string
            kind: string
            state: string
          }>`SELECT id, kind, state FROM acquirer_orders ORDER BY kind`
          const before = yield* orders
          assert.deepStrictEqual(
            before.map(({ kind, state }) => `${kind} ${state}`),
            ["defend ordered", "refund ordered", "return ordered"]
          )
          const leasesEnd = sql`UPDATE acquirer_orders SET ask_at = now() WHERE state = 'ordered'`
          yield* leasesEnd
          const service = yield* startProcess(env)
          const restarted = yield* clientOf(service, OPERATOR_TOKEN)
          const read = <A>(path: string) =>
            Effect.map(restarted.operate<A>("GET", `/operator/v1${path}`), (answer) => bodyOf(answer, 200))
          // A return that is accepted ends at the provider a while later.
          const settled = Effect.andThen(
            Effect.promise(() => double.settle()),
            leasesEnd
          )
          yield* eventually(Effect.andThen(settled, orders), (all) => all.every(({ state }) => state !== "ordered"))

          const idOf = (kind: string) => providerIdOf(before.find((order) => order.kind === kind)!.id)
          assert.deepStrictEqual(returnsOf(refunded.pix.endToEndId), [{ cents: 300, id: idOf("refund") }])
          assert.deepStrictEqual(returnsOf(unexpected.endToEndId), [{ cents: 700, id: idOf("return") }])
          assert.deepStrictEqual(defense(), { text: "delivered", atMs: defendedAtMs! })
          assert.deepStrictEqual(
            (yield* orders).map(({ kind, state }) => `${kind} ${state}`),
            ["defend done", "refund done", "return done"]
          )

          const charge = yield* read<OperatorCharge>(`/charges/${refunded.id}`)
          assert.deepStrictEqual(
            [charge.status, charge.refunded_amount, charge.refunds.map(({ amount, status }) => `${status} ${amount}`)],
            ["paid", 300, ["completed 300"]]
          )
          const answered = yield* read<Dispute>(`/disputes/${dispute.id}`)
          assert.deepInclude(answered, { status: "under_review", defense_in_progress: false })
          assert.lengthOf(answered.messages, 1)
          const files = yield* sql`SELECT f.name, encode(f.content, 'base64') AS content FROM dispute_files f`
          assert.deepStrictEqual(files, [{ name: file.name, content }])
          assert.deepInclude(yield* read<Exception>(`/exceptions/${exception.id}`), {
            status: "resolved",
            action: "return"
          })

          const balances = yield* sql<{ kind: string; balance: bigint }>`SELECT kind, balance FROM ledger_accounts
          WHERE owner_id IN (${accountId}::uuid, ${connectionId}::uuid) AND kind NOT IN ('acquirer', 'fees') AND balance <> 0
          ORDER BY kind`
          assert.deepStrictEqual(
            balances.map(({ balance, kind }) => `${kind} ${balance}`),
            ["available 1100", "blocked 600"]
          )
          assert.strictEqual(double.provider.balanceCents() - OPENING, 1700)
          const verified = yield* read<{ consistent: boolean; differences: ReadonlyArray<unknown> }>(
            "/ledger/verify?full=true"
          )
          assert.deepStrictEqual([verified.consistent, verified.differences], [true, []])
          assert.deepStrictEqual([...double.violations, ...double.defects], [])
          service.signal("SIGTERM")
          assert.strictEqual(yield* service.ended, 0)
        })
    )
  }
)
