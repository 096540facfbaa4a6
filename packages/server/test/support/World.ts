/**
 * An account with resources of every kind, and an accepted request for every route.
 *
 * A new kind of resource, or a new route that takes a body, needs a line here: the tests that go over all routes fail
 * without it.
 */
import type { WebhookEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert } from "@effect/vitest"
import { statementFile, tidy } from "@pix-payments/psp-double/statement/StatementFile"
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "./ChargeRequests.ts"
import { type DeclaredRoute, kindOf, pathWith } from "./Declared.ts"
import { holding, operated, paidCharge, paidOut, payoutReaching, simulated } from "./Money.ts"
import { makeOperator, signIn } from "./Operators.ts"
import { eventually } from "./Receiver.ts"
import { type CallOptions, type Fields, newKey, type TestCaller, TestService } from "./TestService.ts"

export interface World extends TestCaller {
  /** Of the installation. */
  readonly operatorToken: string
  /** An id of this world for the resource of a route. */
  readonly idFor: (route: DeclaredRoute) => string
  /** Ids of everything, by kind. */
  readonly ids: Readonly<Record<string, ReadonlyArray<string>>>
}

/** Secrets and personal data of this world. */
export interface Personal {
  readonly name: string
  readonly email: string
  readonly document: string
  readonly phone: string
  readonly pixKey: string
  readonly secret: string
  readonly reference: string
}

const somePerson: Personal = {
  name: "Maria Segredo",
  email: "maria.segredo@example.com",
  document: "52998224725",
  phone: "+5511912345678",
  pixKey: "chave.segredo@example.com",
  secret: "secret-of-a-webhook",
  reference: "referencia-segredo"
}

/** Makes such an account. `url` is where its webhooks go. */
export const makeWorld = Effect.fn("makeWorld")(function* (url: string, person = somePerson) {
  const { databaseUrl } = yield* TestService
  // What no request can make is written as the owner of the tables.
  const owner = yield* Layer.build(PgClient.layer({ url: databaseUrl, maxConnections: 1 }))
  return yield* Effect.provideService(worldOf(url, person), SqlClient, Context.get(owner, SqlClient))
}, Effect.scoped)

const worldOf = Effect.fnUntraced(function* (url: string, person: Personal) {
  const { call, makeCaller, operatorToken } = yield* TestService
  const caller = yield* makeCaller()
  const { accountId, applicationId, key, keyId } = caller
  const charge = {
    customer: { name: person.name, email: person.email, document: person.document, phone: person.phone },
    reference: person.reference,
    webhook_url: url,
    webhook_secret: person.secret
  }
  const pending = yield* created(key, charge)
  const paid = yield* paidCharge(key, 50_000, charge)
  const contested = yield* paidCharge(key, 7000, charge)
  yield* simulated(`/charges/${paid.id}/pay`, {}, 202)
  const exceptions = yield* raised(paid.id, person)
  const dispute = yield* simulated<{ id: string }>(`/charges/${contested.id}/infraction`, { reason: "fraud" }, 201)
  const payout = yield* paidOut(key, { ...holding, recipient_name: person.name, webhook_url: url })
  const sent = yield* paidOut(key, { pix_key: person.pixKey, reference: person.reference })
  yield* payoutReaching(key, sent.id, "completed")
  yield* operated("PATCH", `/accounts/${accountId}`, { auto_payout_enabled: false })
  const waiting = yield* paidOut(key, { pix_key: person.pixKey })
  const endpoint = yield* call<WebhookEndpoint>("POST", "/v1/webhooks", {
    key,
    body: { url, events: ["charge.pix.paid"], secret: person.secret }
  })
  assert.strictEqual(endpoint.status, 201, endpoint.text)
  const deliveries = yield* eventually(
    operated<{ data: ReadonlyArray<{ id: string }> }>("GET", `/deliveries?resource_id=${paid.id}`),
    ({ data }) => data.length > 0
  )
  const [file] = yield* evidence(dispute.id, person)
  const failures = yield* setAside(deliveries.data[0]!.id, endpoint.body.id)
  const { refunds } = yield* operated<{ refunds: ReadonlyArray<{ id: string }> }>(
    "POST",
    `/charges/${paid.id}/refund`,
    { amount: 1 }
  )
  const [refund] = refunds
  const [connection] = yield* connected(person)
  const statement = yield* operated<{ id: string }>(
    "POST",
    "/bank-statements",
    { connection_id: connection!.id, content: statementOf(person) },
    201
  )
  const reconciliation = yield* operated<{ id: string }>(
    "POST",
    "/reconciliations",
    { connection_id: connection!.id, day: "2026-11-25" },
    202
  )
  const operator = yield* makeOperator("viewer", [accountId])
  const { id: sessionId } = yield* signIn(operator.token, SIGN_IN_FROM)
  const [approval] = yield* requestedApproval(accountId, waiting.id, operator.id, person)
  const [channel] = yield* alertChannel(url)
  const audit = yield* operated<{ data: ReadonlyArray<{ id: string }> }>("GET", "/audit?limit=1")
  const ids: Readonly<Record<string, ReadonlyArray<string>>> = {
    approvals: [approval!.id],
    accounts: [accountId],
    applications: [applicationId],
    keys: [keyId],
    charges: [pending.id, paid.id, contested.id],
    payouts: [payout.id, sent.id, waiting.id],
    disputes: [dispute.id],
    "dispute-files": [file!.id],
    exceptions: exceptions.map(({ id }) => id),
    deliveries: deliveries.data.map(({ id }) => id),
    webhooks: [endpoint.body.id],
    "outbox-failures": failures.map(({ id }) => id),
    operators: [operator.id],
    "alert-channels": [channel!.id],
    tokens: [operator.tokenId],
    sessions: [sessionId],
    connections: [connection!.id],
    "bank-statements": [statement.id],
    reconciliations: [reconciliation.id],
    refunds: [refund!.id],
    audit: audit.data.map(({ id }) => id)
  }
  return {
    ...caller,
    operatorToken,
    ids,
    idFor: (route) => {
      const [id] = ids[kindOf(route)] ?? []
      if (id === undefined) throw new Error(`there is nothing in the world for the id of ${route.template}`)
      return id
    }
  } satisfies World
})

/** Failed sign-ins of a test from its own address do not limit this one. */
const SIGN_IN_FROM = "127.0.6.1"
/** The exceptions of a charge, with a payer, whom the simulator does not disclose. */
const raised = (chargeId: string, { document, name, pixKey }: Personal) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return yield* sql<{ id: string }>`
      UPDATE acquirer_exceptions SET payer = ${JSON.stringify({ name, document })}::json, pix_key = ${pixKey}
      WHERE charge_id = ${chargeId}::uuid RETURNING id`
  })

/** A file of a message of a dispute, whose defense is still to be filed. */
const evidence = (disputeId: string, { reference }: Personal) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return yield* sql<{ id: string }>`
      WITH message AS (
        INSERT INTO dispute_messages (id, dispute_id, author, text, at)
        VALUES (uuidv7(), ${disputeId}::uuid, 'operator', ${reference}, now()) RETURNING id
      )
      INSERT INTO dispute_files (id, message_id, name, content_type, content)
      SELECT uuidv7(), id, 'proof.txt', 'text/plain', convert_to(${reference}, 'UTF8') FROM message RETURNING id`
  })

/** A channel for alerts. Requests make 20 at most, and tests have more worlds. */
const alertChannel = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return yield* sql<{ id: string }>`
      INSERT INTO alert_channels (id, name, kind, target, events, created_at)
      VALUES (uuidv7(), 'Plantão', 'webhook', ${url}, '{exception.opened}', now()) RETURNING id`
  })

/** A connection without credentials, which no request can make. */
const connected = ({ pixKey }: Personal) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return yield* sql<{ id: string }>`
      INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, created_at)
      VALUES (uuidv7(), 'Banco', 'api-pix', 'efi', ${pixKey}, now()) RETURNING id`
  })

/** A request for the approval of a payout, as of an operator who may request none: it cannot be done. */
const requestedApproval = (accountId: string, payoutId: string, by: string, { document, name, pixKey }: Personal) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const payout = {
      id: payoutId,
      method: "pix",
      amount: 500,
      fee: 0,
      description: null,
      reference: null,
      recipient: {
        name,
        document,
        pix_key_type: "email",
        pix_key: pixKey,
        bank: null,
        branch: null,
        account: null,
        account_type: null
      },
      duplicate_of: null
    }
    return yield* sql<{ id: string }>`
      INSERT INTO approvals (id, action, resource_id, account_id, request, payout, fingerprint, requested_by, status,
        expires_at, created_at)
      VALUES (uuidv7(), 'payout.approve', ${payoutId}::uuid, ${accountId}::uuid,
        ${JSON.stringify({ document, pix_key: pixKey })}::json, ${JSON.stringify(payout)}::json, uuidv7()::text, ${by}::uuid,
        'pending', now() + interval '1 hour', now())
      RETURNING id`
  })

/** A failed fan-out, which no request can cause. */
const setAside = (deliveryId: string, endpointId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return yield* sql<{ id: string }>`
      INSERT INTO outbox_failures (id, change_id, endpoint_id, account_id, endpoints_version, error, first_failed_at,
        last_failed_at)
      SELECT uuidv7(), change_id, ${endpointId}::uuid, account_id, 0, 'failed in a test', now(), now()
      FROM deliveries WHERE id = ${deliveryId}::uuid RETURNING id`
  })

/** A statement file, in base64, whose line and account are a person's. */
const statementOf = ({ document }: Personal): string => {
  const line = {
    atMs: Date.parse("2026-11-25T15:00:00Z"),
    cents: 100,
    endToEndId: "",
    text: `PIX RECEBIDO ${document}`
  }
  const of = {
    bank: "364",
    branch: "1",
    account: "12345-6",
    from: "2026-11-25",
    to: "2026-11-25",
    openingCents: 0,
    lines: [line]
  }
  return Buffer.from(statementFile(of, tidy)).toString("base64")
}

/** A request that a route accepts, where the state allows it. */
export const acceptedBy = (
  route: DeclaredRoute,
  world: World,
  url: string,
  person = somePerson
): { readonly path: string; readonly options: CallOptions } => ({
  path: `${pathFor(route, world)}${queryFor(route, world, person)}`,
  options: {
    idempotencyKey: newKey(),
    ...(route.takesBody ? { body: bodyFor(route, world, url, person) } : {})
  }
})

const pathFor = (route: DeclaredRoute, world: World): string =>
  route.takesId ? pathWith(route, world.idFor(route)) : route.template.replace("{month}", "2026-11")

/** The query of a route that needs one. */
const queryFor = ({ template }: DeclaredRoute, { accountId }: World, { reference }: Personal): string => {
  if (template.endsWith("/package")) return `?account_id=${accountId}`
  if (template === "/operator/v1/search") return `?q=${encodeURIComponent(reference)}`
  return template.endsWith("/statement") ? "?from=2026-01-01&to=2027-12-31&format=jsonl" : ""
}

const bodyFor = ({ method, template }: DeclaredRoute, world: World, url: string, person: Personal): Fields => {
  const charge = {
    amount: 1000,
    customer: { name: person.name, email: person.email, document: person.document, phone: person.phone },
    description: person.reference,
    reference: person.reference,
    webhook_url: url,
    webhook_secret: person.secret
  }
  const payout = {
    amount: 500,
    pix_key_type: "email",
    pix_key: person.pixKey,
    recipient_name: person.name,
    recipient_document: person.document,
    reference: person.reference,
    webhook_url: url,
    webhook_secret: person.secret
  }
  const bodies: Readonly<Record<string, Fields>> = {
    "POST /v1/charges": charge,
    "POST /v1/payouts": payout,
    "POST /v1/webhooks": { url, events: ["charge.pix.created"], secret: person.secret },
    "PATCH /v1/webhooks/{id}": { url, secret: person.secret, description: person.reference },
    "POST /operator/v1/session": { token: world.operatorToken },
    "POST /operator/v1/session/code": { challenge: "c".repeat(43), name: person.name },
    "POST /operator/v1/session/token": { code: world.operatorToken, verifier: "v".repeat(43) },
    "PATCH /operator/v1/installation": { name: person.name },
    "POST /operator/v1/operators": { name: person.name, email: `${newKey()}@example.com`, role: "viewer" },
    "PATCH /operator/v1/operators/{id}": { name: person.name },
    "POST /operator/v1/alert-channels": {
      name: person.name,
      kind: "webhook",
      target: url,
      events: ["exception.opened"],
      secret: person.secret
    },
    "PATCH /operator/v1/alert-channels/{id}": { name: person.name, secret: person.secret },
    "POST /operator/v1/operators/{id}/tokens": { name: person.name },
    "POST /operator/v1/accounts": {
      name: person.name,
      legal_name: person.name,
      document: person.document,
      phone: person.phone
    },
    "PATCH /operator/v1/accounts/{id}": { name: person.name },
    "POST /operator/v1/accounts/{id}/applications": { name: person.name },
    "POST /operator/v1/accounts/{id}/move": { target: person.name },
    "POST /operator/v1/payers/export": { document: person.document, legal_ground: person.reference },
    "POST /operator/v1/payers/anonymise": { email: person.email, legal_ground: person.reference },
    "PATCH /operator/v1/keys/{id}": { limits: { recipients: [person.pixKey] } },
    "PATCH /operator/v1/applications/{id}": { name: person.name },
    "POST /operator/v1/applications/{id}/keys": { name: person.name, scopes: ["charge:read"] },
    "POST /operator/v1/applications/{id}/checkout-charges": { ...charge, method: "pix" },
    "POST /operator/v1/accounts/{id}/payouts": payout,
    "POST /operator/v1/bank-statements": {
      connection_id: world.ids["connections"]?.[0],
      content: statementOf(person)
    },
    "POST /operator/v1/reconciliations": { connection_id: world.ids["connections"]?.[0], day: "2026-11-25" },
    "POST /operator/v1/reconciliations/{id}/explain": { line_id: NIL_UUID, explanation: person.reference },
    "POST /operator/v1/adjustments": { account_id: world.accountId, amount: 1, reason: person.reference },
    "POST /operator/v1/disputes/{id}/defense": { text: person.reference },
    "POST /operator/v1/disputes/{id}/messages": { text: person.reference },
    "POST /operator/v1/connections": {
      name: person.name,
      kind: "api-pix",
      profile: "efi",
      credentials: { client_id: person.name, client_secret: person.secret, pkcs12: "AAAA", passphrase: person.secret },
      pix_key: person.pixKey
    },
    "PATCH /operator/v1/connections/{id}": { name: person.reference },
    "POST /operator/v1/connections/{id}/check": {},
    "POST /operator/v1/connections/{id}/register-webhook": { url },
    "POST /operator/v1/approvals/{id}/approve": { reason: person.reference },
    "POST /operator/v1/approvals/{id}/reject": { reason: person.reference },
    "POST /operator/v1/payouts/{id}/settle": { outcome: "failed", reason: person.reference },
    "POST /operator/v1/refunds/{id}/settle": { outcome: "failed", reason: person.reference },
    "POST /operator/v1/exceptions/{id}/settle": { outcome: "failed", reason: person.reference },
    "POST /operator/v1/exceptions/{id}/resolve": { action: "dismiss", reason: person.reference },
    "POST /operator/v1/exceptions/{id}/refund": { amount: 1 },
    "PATCH /operator/v1/webhooks/{id}": { active: true },
    "POST /operator/v1/deliveries/resend": {
      resource_id: world.ids["charges"]?.[1],
      since: "2026-01-01T00:00:00Z"
    },
    "POST /operator/v1/simulator/charges/{id}/pay": {},
    "POST /operator/v1/simulator/charges/{id}/infraction": { reason: person.reference },
    "POST /operator/v1/simulator/charges/{id}/return": { as: "refunded" },
    "POST /operator/v1/simulator/disputes/{id}/message": { text: person.reference },
    "POST /operator/v1/simulator/payouts/{id}/fail": { reason: person.reference },
    "POST /operator/v1/simulator/refunds/{id}/fail": { reason: person.reference },
    "POST /operator/v1/charges/{id}/refund": { amount: 1, description: person.reference }
  }
  // Most simulator requests need no body.
  const body = bodies[`${method} ${template}`] ?? (template.includes("/simulator/") ? {} : undefined)
  if (body === undefined) throw new Error(`there is no request that ${method} ${template} accepts`)
  return body
}
