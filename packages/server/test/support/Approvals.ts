/** Two operators, the actions that need both, and their decisions. */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { ApprovalAction } from "@pix-payments/domain/Approval"
import { type Identity, makeAuthority } from "@pix-payments/psp-double/Certificates"
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { created, someCustomer } from "./ChargeRequests.ts"
import { funded, holding, operated, paidCharge, paidOut, somePayout } from "./Money.ts"
import { makeOperator } from "./Operators.ts"
import { overduePayout, overdueRefund, overdueReturn } from "./Overdue.ts"
import { type Call, type Fields, newKey, TestService } from "./TestService.ts"

/** Two admins. With them four eyes is on. */
export const makeApprovers = Effect.all({ one: makeOperator("admin"), other: makeOperator("admin") })

export const approve = (call: Call, id: string, body: Fields = {}) =>
  call<Approval>("POST", `/operator/v1/approvals/${id}/approve`, { body })

export const reject = (call: Call, id: string, reason = "Unknown recipient") =>
  call<Approval>("POST", `/operator/v1/approvals/${id}/reject`, { body: { reason } })

/** A pending payout above the limit of its account. */
export const payoutAboveLimit = Effect.fn("payoutAboveLimit")(function* (account: Fields = {}) {
  const caller = yield* funded(100_000, { auto_payout_enabled: false, ...account })
  yield* operated("PATCH", `/accounts/${caller.accountId}`, { approval_limit: 999 })
  const payout = yield* paidOut(caller.key, { ...holding, amount: 1000 })
  return { ...caller, payout }
})

/** Accounts are moved to another cell where there are several. */
export const inCell = { cell: Option.some("a") }

/** A request for an action that needs four eyes, on its own resources. */
interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: Fields
  /** How often the action was done: 0 or 1. */
  readonly done: Effect.Effect<number, never, SqlClient>
  /** The operator whom it concerns. */
  readonly concerned?: { readonly id: string; readonly call: Call }
}

const counted = (text: string, ...parameters: ReadonlyArray<unknown>) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(sql.unsafe<{ count: bigint }>(text, parameters), ([row]) => Number(row?.count))
  ).pipe(Effect.orDie)

let client: Promise<Identity> | undefined

/** Made once per process, because keys take long. */
const clientIdentity = (nowMs: number): Promise<Identity> =>
  (client ??= makeAuthority("Bank", nowMs).then((authority) => authority.issue({ name: "client", usage: "client" })))

/** Credentials that a connection can be opened with. */
export const someCredentials = Effect.gen(function* () {
  const nowMs = yield* Clock.currentTimeMillis
  const { ca, cert, key } = yield* Effect.promise(() => clientIdentity(nowMs))
  return { client_id: "id", client_secret: newKey(), certificate: cert, private_key: key, ca }
})

const makers: Readonly<Record<ApprovalAction, Effect.Effect<Asked, unknown, TestService | SqlClient>>> = {
  "payout.approve": Effect.gen(function* () {
    const { payout } = yield* payoutAboveLimit()
    return {
      method: "POST",
      path: `/payouts/${payout.id}/approve`,
      done: counted("SELECT count(*) FROM changes WHERE resource_id = $1::uuid AND status = 'processing'", payout.id)
    }
  }),
  "payout.create": Effect.gen(function* () {
    const { accountId } = yield* funded(100_000)
    return {
      method: "POST",
      path: `/accounts/${accountId}/payouts`,
      body: { ...somePayout, ...holding, amount: 1000, webhook_url: "https://example.com", webhook_secret: newKey() },
      done: counted("SELECT count(*) FROM payouts WHERE account_id = $1::uuid", accountId)
    }
  }),
  "key.create": Effect.gen(function* () {
    const { makeCaller } = yield* TestService
    const { applicationId } = yield* makeCaller()
    const name = newKey()
    return {
      method: "POST",
      path: `/applications/${applicationId}/keys`,
      body: { name, scopes: ["payout:read", "payout:write"] },
      done: counted("SELECT count(*) FROM api_keys WHERE name = $1", name)
    }
  }),
  "key.update": Effect.gen(function* () {
    const { makeCaller } = yield* TestService
    const { keyId } = yield* makeCaller()
    yield* operated("PATCH", `/keys/${keyId}`, { limits: { payouts_per_day: 2, recipients: ["ana@example.com"] } })
    return {
      method: "PATCH",
      path: `/keys/${keyId}`,
      body: { limits: { payouts_per_day: 3, recipients: ["ana@example.com", "bia@example.com"] } },
      done: counted("SELECT count(*) FROM limits WHERE owner_id = $1::uuid AND payouts_per_day = 3", keyId)
    }
  }),
  "payer.anonymise": Effect.gen(function* () {
    const { makeCaller } = yield* TestService
    const sql = yield* SqlClient
    const { key } = yield* makeCaller()
    const email = `${newKey()}@example.com`
    const { id } = yield* created(key, { customer: { ...someCustomer, email } })
    yield* sql`UPDATE charges SET expires_at = now() - interval '1 minute' WHERE id = ${id}::uuid`
    return {
      method: "POST",
      path: "/payers/anonymise",
      body: { email, legal_ground: "LGPD art. 18" },
      done: counted("SELECT count(*) FROM charges WHERE id = $1::uuid AND customer_email IS NULL", id)
    }
  }),
  "adjustment.create": Effect.gen(function* () {
    const { accountId } = yield* funded(1000)
    return {
      method: "POST",
      path: "/adjustments",
      body: { account_id: accountId, amount: -300, reason: "a fee was charged twice" },
      done: counted("SELECT count(*) FROM adjustments WHERE account_id = $1::uuid", accountId)
    }
  }),
  "connection.create": Effect.gen(function* () {
    const name = newKey()
    return {
      method: "POST",
      path: "/connections",
      body: {
        name,
        kind: "api-pix",
        profile: "efi",
        pix_key: `${newKey()}@example.com`,
        credentials: yield* someCredentials
      },
      done: counted("SELECT count(*) FROM acquirer_connections WHERE name = $1", name)
    }
  }),
  "connection.update": Effect.gen(function* () {
    const sql = yield* SqlClient
    const name = newKey()
    const [connection] = yield* Effect.orDie(sql<{ id: string }>`
      INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, created_at)
      VALUES (uuidv7(), 'Banco', 'api-pix', 'efi', ${`${newKey()}@example.com`}::text, now()) RETURNING id`)
    return {
      method: "PATCH",
      path: `/connections/${connection!.id}`,
      body: { name },
      done: counted("SELECT count(*) FROM acquirer_connections WHERE name = $1", name)
    }
  }),
  "connection.register_webhook": Effect.gen(function* () {
    const sql = yield* SqlClient
    const [connection] = yield* Effect.orDie(sql<{ id: string }>`
      INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, created_at)
      VALUES (uuidv7(), 'Banco', 'api-pix', 'efi', ${`${newKey()}@example.com`}::text, now()) RETURNING id`)
    return {
      method: "POST",
      path: `/connections/${connection!.id}/register-webhook`,
      body: { url: "https://hooks.example.com", mtls: false },
      done: counted(
        "SELECT count(*) FROM acquirer_connections WHERE id = $1::uuid AND settings ->> 'webhook_mtls' = 'false'",
        connection!.id
      )
    }
  }),
  "account.update": Effect.gen(function* () {
    const { makeCaller } = yield* TestService
    const { accountId } = yield* makeCaller()
    return {
      method: "PATCH",
      path: `/accounts/${accountId}`,
      body: { approval_limit: 50_000, name: "Padaria", phone: "+5511988887777" },
      done: counted("SELECT count(*) FROM accounts WHERE id = $1::uuid AND approval_limit = 50000", accountId)
    }
  }),
  "account.move": Effect.gen(function* () {
    const { makeCaller } = yield* TestService
    const { accountId } = yield* makeCaller()
    return {
      method: "POST",
      path: `/accounts/${accountId}/move`,
      body: { target: "b" },
      done: counted("SELECT count(*) FROM accounts WHERE id = $1::uuid AND moved_to = 'b'", accountId)
    }
  }),
  "operator.create": Effect.sync(() => {
    const email = `${newKey()}@example.com`
    return {
      method: "POST",
      path: "/operators",
      body: { name: "Ana", email, role: "operator" },
      done: counted("SELECT count(*) FROM operators WHERE email = $1", email)
    }
  }),
  "operator.update": Effect.gen(function* () {
    const concerned = yield* makeOperator("operator")
    return {
      method: "PATCH",
      path: `/operators/${concerned.id}`,
      body: { role: "admin" },
      concerned,
      done: counted("SELECT count(*) FROM operators WHERE id = $1::uuid AND role = 'admin'", concerned.id)
    }
  }),
  "operator_token.create": Effect.gen(function* () {
    const concerned = yield* makeOperator("operator")
    const name = newKey()
    return {
      method: "POST",
      path: `/operators/${concerned.id}/tokens`,
      body: { name },
      concerned,
      done: counted("SELECT count(*) FROM operator_tokens WHERE name = $1", name)
    }
  }),
  "installation.update": Effect.sync(() => ({
    method: "PATCH",
    path: "/installation",
    body: { four_eyes: "off" },
    done: counted("SELECT count(*) FROM installation_settings WHERE four_eyes = 'off'")
  })),
  "installation.confirm_outward": Effect.gen(function* () {
    const sql = yield* SqlClient
    // As in a copy.
    yield* sql`UPDATE installation_settings SET system_identifier = '1'`
    return {
      method: "POST",
      path: "/installation/confirm-outward",
      done: counted(`SELECT count(*) FROM installation_settings
        WHERE system_identifier = (SELECT c.system_identifier::text FROM pg_control_system() c)`)
    }
  }),
  "exception.accept": Effect.gen(function* () {
    const { key } = yield* funded(1000)
    const { id: chargeId } = yield* created(key)
    const paid = yield* paidCharge(key, 700)
    // A second payment, which names the paid charge.
    yield* operated("POST", `/simulator/charges/${paid.id}/pay`, {}, 202)
    const { data } = yield* operated<{ data: ReadonlyArray<{ id: string; charge_id: string }> }>("GET", "/exceptions")
    const { id } = data.find(({ charge_id }) => charge_id === paid.id)!
    return {
      method: "POST",
      path: `/exceptions/${id}/resolve`,
      body: { action: "accept", charge_id: chargeId },
      done: counted("SELECT count(*) FROM acquirer_exceptions WHERE id = $1::uuid AND status = 'resolved'", id)
    }
  }),
  "payout.settle": Effect.gen(function* () {
    const id = yield* overduePayout
    return {
      method: "POST",
      path: `/payouts/${id}/settle`,
      body: { outcome: "failed", reason: "the bank's clerk says so" },
      done: counted("SELECT count(*) FROM payouts WHERE id = $1::uuid AND status = 'failed'", id)
    }
  }),
  "refund.settle": Effect.gen(function* () {
    const id = yield* overdueRefund
    return {
      method: "POST",
      path: `/refunds/${id}/settle`,
      body: { outcome: "completed", return_id: newKey(), reason: "the bank's clerk says so" },
      done: counted("SELECT count(*) FROM refunds WHERE id = $1::uuid AND status = 'completed'", id)
    }
  }),
  "exception.settle": Effect.gen(function* () {
    const id = yield* overdueReturn
    return {
      method: "POST",
      path: `/exceptions/${id}/settle`,
      body: { outcome: "completed", return_id: newKey(), reason: "the bank's clerk says so" },
      done: counted("SELECT count(*) FROM acquirer_exceptions WHERE id = $1::uuid AND status = 'resolved'", id)
    }
  })
}

/** An action on its own resources, and the call that asks for it. */
const makeAction = (action: ApprovalAction) =>
  Effect.map(makers[action], (asked) => ({
    ...asked,
    ask: (call: Call) =>
      call<Approval>(asked.method, `/operator/v1${asked.path}`, asked.body === undefined ? {} : { body: asked.body })
  }))

/** Asks for an action, which then waits. */
export const requested = Effect.fn("requested")(function* (action: ApprovalAction, call: Call) {
  const made = yield* makeAction(action)
  const answer = yield* made.ask(call)
  assert.strictEqual(answer.status, 202, answer.text)
  assert.strictEqual(answer.body.status, "pending")
  return { ...made, approval: answer.body }
})
