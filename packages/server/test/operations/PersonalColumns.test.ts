/** `docs/operations/personal-data.md` names every column that may say something about a person, and its erasure does what it says. */
import { assert, layer } from "@effect/vitest"
import type { PayerExport } from "@pix-payments/api/operator/Payers"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { create } from "../support/ChargeDeliveries.ts"
import { assertRefused, created, someCustomer } from "../support/ChargeRequests.ts"
import { paidCharge } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { newestEntries } from "../support/Operators.ts"
import { type Fields, newKey, TestService } from "../support/TestService.ts"

const page = readFileSync(join(import.meta.dirname, "../../../../docs/operations/personal-data.md"), "utf8")
const personal = new Set(
  [...page.matchAll(/^\| `.*$/gm)].flatMap(([row]) =>
    [...row.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, column]) => column!)
  )
)

/** Columns of text that say nothing about a person, by their table. */
const impersonal: Readonly<Record<string, string>> = {
  acquirer_connections: "name kind profile settings credentials exception_rule webhook_secret check_result",
  connection_keys: "client",
  accounts: "document_type status onboarding_status moved_to",
  applications: "name",
  api_keys: "name prefix hash scopes",
  ledger_accounts: "kind",
  ledger_transfers: "debit credit reason",
  bank_statements: "account bank digest format problems",
  bank_statement_lines: "bank_id end_to_end_id",
  closes: "balances book hash lines_hash previous_hash",
  reconciliations: "balance_problem looked_up_to reason states status",
  reconciliation_lines: "end_to_end_id source_object state suggestions",
  charges: "origin method webhook_secret status end_to_end_id trace",
  charge_settlements: "end_to_end_id",
  charge_states: "status",
  payouts: "origin status method pix_key_type webhook_secret end_to_end_id provider_reference trace",
  refunds: "origin status nature provider_id",
  disputes: "external_id status return_id",
  dispute_messages: "author",
  dispute_files: "content_type",
  notifications: "subject outcome",
  notification_keys: "key",
  early_reversals: "end_to_end_id",
  acquirer_orders: "kind end_to_end_id state",
  acquirer_exceptions: "kind status end_to_end_id txid external_id provider_outcome action",
  exception_returns: "return_id",
  unreadable_entries: "digest list read_by",
  simulator_charges: "txid",
  simulator_payouts: "reason end_to_end_id",
  changes: "kind actions status",
  webhook_endpoints: "url normalized_url destination description events secret",
  webhook_endpoint_counters: "events",
  webhook_endpoint_versions: "events",
  outbox_failures: "error",
  deliveries: "event secret destination status reason first_address",
  delivery_attempts: "address error",
  installation: "name value",
  secrets_keys: "id",
  installation_settings: "name timezone four_eyes acquirer system_identifier",
  operators: "role",
  operator_tokens: "kind name prefix hash",
  operator_sessions: "hash role state_hash",
  operator_identities: "issuer",
  operator_order_keys: "digest fingerprint",
  approvals: "action sealed fingerprint intent status",
  requests: "request_id route trace_id",
  audit: "via action request_id",
  status_counts: "resource status",
  hourly_volumes: "reason resource",
  alert_channels: "events kind last_error name secret",
  alert_messages: "alerts",
  alerts: "event key path title",
  daily_volumes: "resource",
  removed_partitions: "parent name",
  effect_sql_migrations: "name"
}

layer(TestService.layer(), { excludeTestServices: true })("Personal data", (it) => {
  it.effect("the page names every column of text that may have some, and no other", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const rows = yield* sql<{ name: string }>`
        SELECT c.relname || '.' || a.attname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
          AND a.attnum > 0 AND NOT a.attisdropped
          AND a.atttypid IN ('text'::regtype, 'text[]'::regtype, 'varchar'::regtype, 'json'::regtype, 'jsonb'::regtype, 'bytea'::regtype)`
      const others = Object.entries(impersonal).flatMap(([table, names]) =>
        names.split(" ").map((name) => `${table}.${name}`)
      )
      assert.deepStrictEqual(rows.map(({ name }) => name).toSorted(), [...personal, ...others].toSorted())
    })
  )

  it.effect(
    "OPR-337, OPR-338: an erasure leaves no trace of the payer of an unpaid charge in answers, events and searches",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller, operate } = yield* TestService
        const sql = yield* SqlClient
        const { key } = yield* makeCaller()
        const idempotencyKey = newKey()
        const customer = { ...someCustomer, email: `${newKey()}@example.com` }
        const body = { amount: 1990, customer, description: customer.email }
        const unpaid = yield* call<Charge>("POST", "/v1/charges", { key, idempotencyKey, body })
        assert.strictEqual(unpaid.status, 201, unpaid.text)
        const paid = yield* paidCharge(key, 1000, { customer })
        yield* create({ key })
        yield* sql`UPDATE charges SET expires_at = now() - interval '1 minute' WHERE id = ${unpaid.body.id}::uuid`
        const open = yield* created(key, { customer })
        yield* eventually(
          sql`SELECT 1 FROM charge_words WHERE charge_id = ${unpaid.body.id}::uuid AND left(word, 1) <> '$'`,
          (words) => words.length > 0
        )
        const payer = { email: customer.email, legal_ground: "LGPD art. 18" }
        const exported = yield* operate<PayerExport>("POST", "/operator/v1/payers/export", { body: payer })
        assert.deepStrictEqual(
          exported.body.data.map(({ charge_id, document, status }) => [charge_id, document, status]),
          [
            [open.id, open.customer!.document, "pending"],
            [paid.id, open.customer!.document, "paid"],
            [unpaid.body.id, open.customer!.document, "expired"]
          ]
        )
        assert.isFalse(exported.body.has_more)
        const erased = yield* operate("POST", "/operator/v1/payers/anonymise", { body: payer })
        assert.deepStrictEqual(erased.body, { object: "payer_erasure", anonymised: 1, kept: 1, open: 1 })
        const again = yield* operate("POST", "/operator/v1/payers/anonymise", { body: payer })
        assert.deepStrictEqual(again.body, { object: "payer_erasure", anonymised: 0, kept: 1, open: 1 })

        const repeated = yield* call<Charge>("POST", "/v1/charges", { key, idempotencyKey, body })
        assert.deepStrictEqual([repeated.body.id, repeated.body.customer], [unpaid.body.id, null])
        for (const path of [
          `charges/${unpaid.body.id}`,
          `events?limit=100`,
          `deliveries?resource_id=${unpaid.body.id}`
        ]) {
          const { status, text } = yield* operate("GET", `/operator/v1/${path}`)
          assert.strictEqual(status, 200, text)
          const own = text.split(/(?="id":")/).filter((part) => part.includes(unpaid.body.id))
          for (const part of own) assert.notInclude(part, customer.email)
        }
        // The paid charge and the open one have the words of the name.
        const words =
          yield* sql`SELECT 1 FROM charge_words WHERE charge_id = ${unpaid.body.id}::uuid AND left(word, 1) <> '$'`
        assert.deepStrictEqual(words, [])
        const found = yield* operate<{ data: ReadonlyArray<{ id: string }> }>(
          "GET",
          `/operator/v1/search?q=${customer.email}`
        )
        assert.deepStrictEqual(
          found.body.data.map(({ id }) => id).toSorted((one, other) => (one > other ? -1 : 1)),
          [open.id, paid.id]
        )
      })
  )

  it.effect(
    "OPR-337, OPR-338: one of document and e-mail names the payer, a legal ground is needed, and each is recorded",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const document = "529.982.247-25"
        const legal_ground = "LGPD art. 18"
        for (const path of ["/operator/v1/payers/export", "/operator/v1/payers/anonymise"]) {
          const ask = (body: Fields) => operate("POST", path, { body })
          assertRefused(yield* ask({ legal_ground }), "VALIDATION_ERROR", ["document"])
          assertRefused(yield* ask({ document, email: "a@example.com", legal_ground }), "VALIDATION_ERROR", ["email"])
          assertRefused(yield* ask({ document }), "VALIDATION_ERROR", ["legal_ground"])
          assertRefused(yield* ask({ document: "111", legal_ground }), "INVALID_DOCUMENT", ["document"])
          assert.strictEqual((yield* ask({ document, legal_ground })).status, 200)
        }
        const entries = yield* newestEntries(2)
        assert.deepStrictEqual(
          entries.map(({ action, after }) => [action, after!["legal_ground"]]),
          [
            ["payers.anonymise", legal_ground],
            ["payers.export", legal_ground]
          ]
        )
      })
  )
})
