/** A connection that hangs: what is due to the others is done meanwhile, and it has no more calls than its share. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { Acquirer, type Provider, SimulatedProvider } from "../../../src/providers/Acquirer.ts"
import { loops } from "../../../src/Service.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"
import { eventually } from "../../support/Receiver.ts"
import { WebhookSender } from "../../../src/webhooks/sending/WebhookSender.ts"

const HUNG = randomUUID()
const OTHER = randomUUID()

/** Calls of one loop share what a connection may have in flight. `order`: cancellations and refunds of charges. */
type Kind = "emit" | "send" | "order" | "return" | "defend"
const kinds: ReadonlyArray<Kind> = ["emit", "send", "order", "return", "defend"]
const SHARES: Record<Kind, number> = { emit: 16, send: 16, order: 8, return: 8, defend: 8 }

/** Calls of both connections, by kind. */
const counts = new Map<string, { inFlight: number; most: number; done: number }>()
const countOf = (connectionId: string, kind: Kind) => {
  const key = `${connectionId} ${kind}`
  const found = counts.get(key) ?? { inFlight: 0, most: 0, done: 0 }
  counts.set(key, found)
  return found
}

const counted = <A, E>(connectionId: string, kind: Kind, answer: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const count = countOf(connectionId, kind)
    count.inFlight += 1
    count.most = Math.max(count.most, count.inFlight)
    return Effect.ensuring(
      Effect.tap(connectionId === HUNG ? Effect.never : Effect.delay(answer, "20 millis"), () =>
        Effect.sync(() => {
          count.done += 1
        })
      ),
      Effect.sync(() => {
        count.inFlight -= 1
      })
    )
  })

const providerOf = (simulated: Provider, connectionId: string): Provider => ({
  ...simulated,
  emit: () => counted(connectionId, "emit", Effect.succeed({ brCode: "br", receiver: null })),
  cancel: () => counted(connectionId, "order", Effect.void),
  // A return of a charge's money has the charge's txid.
  orderReturn: ({ txid }) =>
    counted(connectionId, txid === null ? "return" : "order", Effect.succeed({ _tag: "Completed" as const })),
  disputes: { defend: () => counted(connectionId, "defend", Effect.void) },
  payouts: {
    send: () => counted(connectionId, "send", Effect.succeed({ _tag: "Completed" as const, endToEndId: undefined })),
    outcome: () => Effect.succeed({ _tag: "NotFound" as const })
  }
})

const providers = Layer.effect(
  Acquirer,
  Effect.map(SimulatedProvider, (simulated) =>
    Acquirer.of({ providerFor: (id) => Effect.succeed(id === null ? simulated : providerOf(simulated, id)) })
  )
)

const HUNG_CALLS = 300
const OTHER_CALLS = 200

/** What is due is stored before the loops begin. */
const running = loops.pipe(
  Layer.provide(WebhookSender.layer),
  Layer.provideMerge(Layer.effectDiscard(Effect.suspend(() => due))),
  Layer.provideMerge(domainServicesLayer({ acquirerTimeoutMs: 600_000, databaseConnections: 6 }, providers))
)

layer(running, { excludeTestServices: true })("A connection that hangs", (it) => {
  it.effect(
    "CHG-4, PAY-6, CHG-26, BAL-12, OPR-75: recoveries, payouts, refunds, returns of exceptions and defenses of another are all done meanwhile, and it has no more calls in flight than its share",
    () =>
      Effect.gen(function* () {
        for (const kind of kinds) {
          yield* eventually(
            Effect.sync(() => countOf(OTHER, kind).done),
            (done) => done === OTHER_CALLS
          )
          const hung = countOf(HUNG, kind)
          assert.deepStrictEqual([hung.inFlight, hung.most, hung.done], [SHARES[kind], SHARES[kind], 0], kind)
          assert.isAtMost(countOf(OTHER, kind).most, SHARES[kind], kind)
        }
      })
  )
})

/** Charges, payouts and orders of both; those of the connection that hangs are due first, of many accounts. */
const due = Effect.gen(function* () {
  const sql = yield* SqlClient
  const accounts = yield* Accounts
  for (const id of [HUNG, OTHER]) {
    yield* sql`INSERT INTO acquirer_connections (id, name, kind, profile, settings, pix_key, created_at)
      VALUES (${id}::uuid, 'Bank', 'api-pix', 'bacen', '{}', ${id}, now())`
  }
  const many = Array.from({ length: 75 }, () => ({ connectionId: HUNG, calls: HUNG_CALLS / 75, ageS: 3600 }))
  for (const { ageS, calls, connectionId } of [...many, { connectionId: OTHER, calls: OTHER_CALLS, ageS: 1 }]) {
    const { id: accountId } = yield* accounts.create({
      name: "Loja",
      legal_name: "Loja Ltda",
      phone: "+5511999998888",
      document: "11222333000181",
      document_type: "cnpj"
    })
    yield* sql`UPDATE accounts SET connection_id = ${connectionId}::uuid WHERE id = ${accountId}::uuid`
    yield* sql`INSERT INTO payouts (id, account_id, origin, status, method, amount, fee, pix_key_type, pix_key, created_at,
        sequence, hand_over_at)
      SELECT uuidv7(), ${accountId}::uuid, 'dashboard', 'processing', 'pix', 500, 0, 'email', 'ana@example.com', now(), 1,
        now() - ${ageS}::integer * interval '1 second' FROM generate_series(1, ${calls}::integer)`
    const dueOrder = sql`${connectionId}::uuid, 100, 0, 'ordered', now() - ${ageS}::integer * interval '1 second', now()
      FROM generate_series(1, ${calls}::integer) AS n`
    yield* sql`WITH ordered AS (
        INSERT INTO acquirer_orders (id, kind, charge_id, account_id, connection_id, amount, pending, state, ask_at, created_at)
        SELECT uuidv7(), (ARRAY['cancel', 'refund'])[1 + n % 2], uuidv7(), ${accountId}::uuid, ${dueOrder} RETURNING *
      )
      INSERT INTO refunds (id, charge_id, account_id, connection_id, origin, status, amount, pending, created_at)
      SELECT id, charge_id, account_id, connection_id, 'operator', 'processing', amount, pending, created_at
      FROM ordered WHERE kind = 'refund'`
    yield* sql`INSERT INTO acquirer_orders (id, kind, exception_id, end_to_end_id, connection_id, amount, pending, state,
        ask_at, created_at)
      SELECT uuidv7(), 'return', uuidv7(), 'E' || n, ${dueOrder}`
    yield* sql`WITH opened AS (
        INSERT INTO disputes (id, charge_id, account_id, application_id, status, amount, opened_at, arrived_resolved, sequence)
        SELECT uuidv7(), uuidv7(), ${accountId}::uuid, ${accountId}::uuid, 'open', 100, now(), false, 1
        FROM generate_series(1, ${calls}::integer) RETURNING id
      ), filed AS (
        INSERT INTO dispute_messages (id, dispute_id, author, text, at)
        SELECT uuidv7(), id, 'operator', 'delivered', now() FROM opened RETURNING id, dispute_id
      )
      INSERT INTO acquirer_orders (id, kind, dispute_id, account_id, connection_id, amount, pending, state, ask_at, created_at)
      SELECT id, 'defend', dispute_id, ${accountId}::uuid, ${connectionId}::uuid, 0, 0, 'ordered',
        now() - ${ageS}::integer * interval '1 second', now() FROM filed`
    yield* sql`INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, expires_at, created_at,
        sequence, connection_id)
      SELECT uuidv7(), ${accountId}::uuid, ${accountId}::uuid, 'checkout', 'processing', 'pix', 500, now() + interval '1 hour',
        now(), 1, ${connectionId}::uuid FROM generate_series(1, ${calls}::integer)`
    yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
      SELECT now() - ${ageS}::integer * interval '1 second', id, ARRAY[id], account_id FROM charges
      WHERE account_id = ${accountId}::uuid`
  }
})
