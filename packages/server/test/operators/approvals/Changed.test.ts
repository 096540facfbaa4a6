/** What a second operator saw has to be what is there: when it approves, and when the requester repeats. Over HTTP. */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { type ApprovalAction, ApprovalAction as Actions, isRepeated } from "@pix-payments/domain/Approval"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, inCell, makeApprovers, requested, someCredentials } from "../../support/Approvals.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { operated } from "../../support/Money.ts"
import { eventually } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { waitingFor } from "../../support/Waiting.ts"

interface Change {
  readonly action: ApprovalAction
  /** What the approver saw. */
  readonly field: string
  /** Changes it, of a request: `$1` is its resource, `$2` its account. */
  readonly sql: string
}

const ofAccount = (action: ApprovalAction): ReadonlyArray<Change> => [
  { action, field: "account_name", sql: "UPDATE accounts SET name = 'Another' WHERE id = $2::uuid" },
  { action, field: "account_status", sql: "UPDATE accounts SET status = 'inactive' WHERE id = $2::uuid" },
  {
    action,
    field: "account_connection",
    sql: `WITH made AS (INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, created_at)
        VALUES (uuidv7(), 'Banco', 'api-pix', 'efi', 'a@example.com', now()) RETURNING id)
      UPDATE accounts SET connection_id = made.id FROM made WHERE accounts.id = $2::uuid`
  }
]

const ofConnection = (action: ApprovalAction): ReadonlyArray<Change> =>
  [
    ["name", "name = 'Another'"],
    ["pix_key", "pix_key = 'other@example.com'"],
    ["version", "version = version + 1"],
    ["settings", `settings = '{"base_url": "https://other.example.com"}'`],
    ["mtls", `settings = '{"webhook_mtls": true}'`],
    ["url", `settings = '{"webhook_url": "https://other.example.com"}', webhook_registered_at = now()`]
  ].map(([field, set]) => ({
    action,
    field: field!,
    sql: `UPDATE acquirer_connections SET ${set} WHERE id = $1::uuid`
  }))

const ofApplication = (action: ApprovalAction): ReadonlyArray<Change> => [
  { action, field: "application_name", sql: "UPDATE applications SET name = 'Another' WHERE id = $1::uuid" },
  { action, field: "application_active", sql: "UPDATE applications SET active = false WHERE id = $1::uuid" }
]

/** The order that is open is refused, and another one is open as long. */
const anotherOrder = `WITH ended AS (UPDATE acquirer_orders SET state = 'refused' WHERE exception_id = $1::uuid RETURNING *)
  INSERT INTO acquirer_orders (id, kind, exception_id, connection_id, end_to_end_id, amount, pending, state, requested_at, created_at)
  SELECT uuidv7(), kind, exception_id, connection_id, end_to_end_id, amount, pending, 'ordered', requested_at, created_at FROM ended`

const changes: ReadonlyArray<Change> = [
  ...ofAccount("payout.create"),
  ...ofAccount("payout.approve"),
  ...ofAccount("adjustment.create"),
  ...ofAccount("key.create"),
  ...ofAccount("account.move"),
  ...ofApplication("key.create"),
  ...ofConnection("connection.update"),
  ...ofConnection("connection.register_webhook"),
  { action: "key.update", field: "revoked_at", sql: "UPDATE api_keys SET revoked_at = now() WHERE id = $1::uuid" },
  { action: "account.update", field: "phone", sql: "UPDATE accounts SET phone = '+5511900000000' WHERE id = $2::uuid" },
  { action: "account.move", field: "moved_to", sql: "UPDATE accounts SET moved_to = 'c' WHERE id = $2::uuid" },
  { action: "operator.update", field: "active", sql: "UPDATE operators SET active = false WHERE id = $1::uuid" },
  { action: "operator_token.create", field: "role", sql: "UPDATE operators SET role = 'viewer' WHERE id = $1::uuid" },
  {
    action: "operator_token.create",
    field: "operator_name",
    sql: "UPDATE operators SET name = 'Another' WHERE id = $1::uuid"
  },
  {
    action: "installation.confirm_outward",
    field: "confirmed_cluster",
    sql: "UPDATE installation_settings SET system_identifier = '2'"
  },
  {
    action: "exception.accept",
    field: "charge_status",
    sql: `UPDATE charges SET status = 'canceled'
      WHERE id = (SELECT (request ->> 'charge_id')::uuid FROM approvals WHERE resource_id = $1::uuid)`
  },
  { action: "exception.settle", field: "order_id", sql: anotherOrder },
  {
    action: "exception.settle",
    field: "amount",
    sql: "UPDATE acquirer_orders SET amount = amount - 1 WHERE exception_id = $1::uuid"
  }
]

/** Makes the change of a request that waits. `$1` and `$2` are known to be ids also where the text has none. */
const changed = (change: Change, { account_id: accountId, resource }: Approval) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ids = [resource?.id ?? null, accountId]
    yield* sql.unsafe(change.sql.replaceAll("$1", quoted(ids[0])).replaceAll("$2", quoted(ids[1])))
  })

const quoted = (id: string | null | undefined): string => (id ? `'${id}'` : "NULL")

layer(TestService.layer({ settings: { ...inCell, databaseConnections: 8 } }), { excludeTestServices: true })(
  "What was seen",
  (it) => {
    describe("OPR-114: is not there any more: the approval does nothing, and the request expires", () => {
      it.effect.each(changes)("$action: $field", (change) =>
        Effect.gen(function* () {
          const { one, other } = yield* makeApprovers
          const { approval, done } = yield* requested(change.action, one.call)
          yield* changed(change, approval)
          assertRefused(yield* approve(other.call, approval.id), "INVALID_STATE")
          assert.strictEqual(yield* done, 0)
          const { reason, status } = yield* operated<Approval>("GET", `/approvals/${approval.id}`)
          assert.strictEqual(status, "expired")
          assert.include(reason, `It was changed since: `)
          assert.include(reason, change.field)
        })
      )
    })

    describe("OPR-115: is not there any more once the requester repeats: nothing is done, and somebody looks again", () => {
      it.effect.each(changes.filter(({ action }) => isRepeated(action)))("$action: $field", (change) =>
        Effect.gen(function* () {
          const { one, other } = yield* makeApprovers
          const { approval, ask, done } = yield* requested(change.action, one.call)
          assert.strictEqual((yield* approve(other.call, approval.id)).status, 200)
          yield* changed(change, approval)
          const repeated = yield* ask(one.call)
          assert.strictEqual(repeated.status, 202, repeated.text)
          assert.notStrictEqual(repeated.body.id, approval.id)
          assert.strictEqual(yield* done, 0)
          // That one has the values as they are now.
          assert.strictEqual((yield* approve(other.call, repeated.body.id)).status, 200)
          const made = yield* ask(one.call)
          assert.oneOf(made.status, [200, 201])
          // A registration that the provider refuses leaves what was there.
          if (change.field !== "mtls") assert.strictEqual(yield* done, 1)
        })
      )
    })

    it.effect("OPR-114: the names of the accounts that an operator is to be limited to", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { one, other } = yield* makeApprovers
        const { accountId } = yield* makeCaller({ account: { name: "Padaria" } })
        const email = `${newKey()}@example.com`
        const body = { name: "Ana", email, role: "operator", account_ids: [accountId] }
        const asked = yield* one.call<Approval>("POST", "/operator/v1/operators", { body })
        assert.strictEqual(asked.status, 202, asked.text)
        yield* operated("PATCH", `/accounts/${accountId}`, { name: "Confeitaria" })
        assertRefused(yield* approve(other.call, asked.body.id), "INVALID_STATE")
        const { reason } = yield* operated<Approval>("GET", `/approvals/${asked.body.id}`)
        assert.strictEqual(reason, "It was changed since: names.")
      })
    )

    it.effect("OPR-111, OPR-114: who asks again after a change asks with the values as they are now", () =>
      Effect.gen(function* () {
        const { one, other } = yield* makeApprovers
        const { approval, ask, done } = yield* requested("account.update", one.call)
        assert.strictEqual((yield* ask(one.call)).body.id, approval.id)
        yield* operated("PATCH", `/accounts/${approval.account_id}`, { approval_limit: 7 })
        const again = yield* ask(one.call)
        assert.notStrictEqual(again.body.id, approval.id)
        assert.deepInclude<unknown>(again.body.summary.changes, { field: "approval_limit", before: 7, after: 50_000 })
        assert.strictEqual((yield* approve(other.call, again.body.id)).status, 200)
        assert.strictEqual(yield* done, 1)
        assertRefused(yield* approve(other.call, approval.id), "INVALID_STATE")
      })
    )

    it.effect("OPR-114: a connection is not made the default instead of another one than the approver knew", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { one, other } = yield* makeApprovers
        const name = newKey()
        const body = {
          name,
          kind: "api-pix",
          profile: "efi",
          pix_key: `${newKey()}@example.com`,
          is_default: true,
          credentials: yield* someCredentials
        }
        const asked = yield* one.call<Approval>("POST", "/operator/v1/connections", { body })
        assert.strictEqual(asked.status, 202, asked.text)
        yield* sql`INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, is_default, created_at)
          VALUES (uuidv7(), 'Banco', 'api-pix', 'efi', 'a@example.com', true, now())`
        assertRefused(yield* approve(other.call, asked.body.id), "INVALID_STATE")
        assert.lengthOf(yield* sql`SELECT FROM acquirer_connections WHERE name = ${name}`, 0)
        yield* sql`UPDATE acquirer_connections SET is_default = false`
      })
    )

    it.effect("OPR-66, OPR-240: who approves a webhook sees where it is registered now", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { one } = yield* makeApprovers
        const { approval, ask } = yield* requested("connection.register_webhook", one.call)
        const { id } = approval.resource!
        yield* sql`UPDATE acquirer_connections SET webhook_registered_at = now(),
          settings = '{"webhook_url": "https://hooks.bank.example", "webhook_mtls": true}' WHERE id = ${id}::uuid`
        const { body } = yield* ask(one.call)
        assert.deepStrictEqual<unknown>(body.summary.changes, [
          { field: "url", before: "https://hooks.bank.example", after: "https://hooks.example.com" },
          { field: "mtls", before: true, after: false }
        ])
      })
    )

    it.effect("OPR-114: new credentials do not bring back how the webhook was registered", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { one, other } = yield* makeApprovers
        const { approval } = yield* requested("connection.register_webhook", one.call)
        const { id } = approval.resource!
        const asked = yield* one.call<Approval>("PATCH", `/operator/v1/connections/${id}`, {
          body: { credentials: { ...(yield* someCredentials), client_id: newKey() } }
        })
        assert.strictEqual(asked.status, 202, asked.text)
        yield* sql`UPDATE acquirer_connections SET settings = '{"webhook_mtls": true}' WHERE id = ${id}::uuid`
        assertRefused(yield* approve(other.call, asked.body.id), "INVALID_STATE")
        const [row] = yield* sql<{ mtls: string }>`
          SELECT settings ->> 'webhook_mtls' AS mtls FROM acquirer_connections WHERE id = ${id}::uuid`
        assert.strictEqual(row?.mtls, "true")
      })
    )

    describe("OPR-115: an approval that is repeated twice at once is used once", () => {
      it.effect.each(Actions.literals.filter(isRepeated))("%s", (action) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const { one, other } = yield* makeApprovers
          const { approval, ask, done } = yield* requested(action, one.call)
          yield* approve(other.call, approval.id)
          const fibers = yield* Effect.gen(function* () {
            yield* sql`SELECT FROM approvals WHERE id = ${approval.id}::uuid FOR UPDATE`
            const asks = [ask(one.call), ask(one.call)]
            const made = yield* Effect.forEach(asks, (each) => Effect.forkChild(each, { startImmediately: true }))
            yield* eventually(waitingFor("approvals"), (count) => count >= 2)
            return made
          }).pipe(sql.withTransaction)
          const answers = yield* Effect.forEach(fibers, Fiber.join)
          const statuses = answers.map(({ status }) => status).toSorted()
          assert.deepStrictEqual(statuses, [action === "connection.register_webhook" ? 200 : 201, 202])
          assert.strictEqual(yield* done, 1)
          const entries = yield* sql<{ count: bigint }>`SELECT count(*) AS count FROM audit
            WHERE action IN ('keys.create', 'operatorTokens.create', 'connectionActions.registerWebhook')
              AND operator_id = ${one.id}::uuid`
          assert.strictEqual(Number(entries[0]?.count), 1)
        })
      )
    })
  }
)
