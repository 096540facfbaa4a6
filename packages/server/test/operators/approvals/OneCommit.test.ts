/** Decision, effect and audit are one commit: where the database refuses one of them, none is stored. */
import type { ApprovalAction } from "@pix-payments/domain/Approval"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, inCell, makeApprovers, requested } from "../../support/Approvals.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { operated } from "../../support/Money.ts"
import { TestService } from "../../support/TestService.ts"

/** Writes to the table raise while `use` runs. */
const withRefusedWrites = <A, E, R>(table: string, when: string, use: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`CREATE OR REPLACE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RAISE EXCEPTION 'refused by the test'; END $$`
    yield* changeSchema(`CREATE TRIGGER refuse_write BEFORE INSERT OR UPDATE ON ${table}
      FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION refuse_write()`)
    return yield* Effect.ensuring(use, Effect.orDie(changeSchema(`DROP TRIGGER refuse_write ON ${table}`)))
  })

const decisionsOf = (id: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{ action: string }>`
        SELECT action FROM audit WHERE resource_id = ${id}::uuid AND action <> 'approvals.request'`,
      (rows) => rows.map(({ action }) => action)
    )
  )

const refusals: ReadonlyArray<{ action: ApprovalAction; table: string; when: string }> = [
  { action: "payout.approve", table: "payouts", when: "true" },
  { action: "payout.create", table: "payouts", when: "true" },
  { action: "connection.create", table: "acquirer_connections", when: "true" },
  { action: "connection.update", table: "acquirer_connections", when: "true" },
  { action: "account.update", table: "accounts", when: "true" },
  { action: "account.move", table: "accounts", when: "true" },
  { action: "operator.create", table: "operators", when: "true" },
  { action: "operator.update", table: "operators", when: "true" },
  { action: "installation.update", table: "installation_settings", when: "true" },
  { action: "installation.confirm_outward", table: "installation_settings", when: "true" },
  { action: "payout.create", table: "ledger_accounts", when: "true" },
  { action: "payout.create", table: "approvals", when: "NEW.used_at IS NOT NULL" },
  { action: "payout.create", table: "audit", when: "NEW.action = 'approvals.approve'" },
  { action: "payout.create", table: "audit", when: "NEW.action <> 'approvals.approve'" },
  { action: "key.create", table: "audit", when: "NEW.action = 'approvals.approve'" }
]

layer(TestService.layer({ settings: inCell }), { excludeTestServices: true })("An approval", (it) => {
  describe("OPR-113, OPR-118: stays pending without an entry where a write fails, and can be approved later", () => {
    it.effect.each(refusals)("$action, $table where $when", ({ action, table, when }) =>
      Effect.gen(function* () {
        const { one, other } = yield* makeApprovers
        const { approval, done } = yield* requested(action, one.call)
        const { id } = approval
        const failed = yield* withRefusedWrites(table, when, approve(other.call, id))
        assert.isAtLeast(failed.status, 500, failed.text)
        const found = yield* operated<Record<string, unknown>>("GET", `/approvals/${id}`)
        assert.deepInclude(found, { status: "pending", decided_by: null, decided_at: null, done_at: null })
        assert.strictEqual(yield* done, 0)
        assert.deepStrictEqual(yield* decisionsOf(id), [])

        const approved = yield* approve(other.call, id)
        assert.strictEqual(approved.status, 200, approved.text)
        assert.strictEqual(yield* done, action === "key.create" ? 0 : 1)
        assert.deepStrictEqual(yield* decisionsOf(id), ["approvals.approve"])
        if (action === "installation.update") yield* operated("PATCH", "/installation", { four_eyes: "auto" })
      })
    )
  })
})
