/**
 * Connections in PostgreSQL.
 *
 * Guarantees:
 * - A connection is created with its ledger accounts in one commit (BAL-11).
 * - A Pix key of a client is of one connection for ever: another one that would have it is refused (OPR-99).
 * - Credentials are stored sealed, for their own row only. No row of this module contains them, except the one that
 *   `sealedCredentials` gives.
 * - `version` grows with each change after which a process has to connect anew, and with no other.
 *
 * Rules: OPR-60 to OPR-64.
 */
import type { StatementAccount } from "@pix-payments/api/operator/Fields"
import { type ConnectionKind, type ExceptionRule, SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { ApprovalRequired, Authority, isAuthorized } from "../../operators/approvals/Authority.ts"
import { InvalidStateError, NotFoundError, type UnknownCursor } from "../../base/Errors.ts"
import { type Page, readPage } from "../../database/statements/Paging.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { addressOf } from "./ConnectionCredentials.ts"

export interface ConnectionSettings {
  /** Where the provider is, instead of where its profile says. */
  readonly base_url?: string
  readonly token_url?: string
  /** Whether the webhook was registered for mutual TLS: its callbacks then need the provider's certificate. */
  readonly webhook_mtls?: boolean
  /** Below which URL it was registered. */
  readonly webhook_url?: string
}

/** How a webhook is registered. */
export interface WebhookTerms {
  readonly webhook_mtls: boolean
  readonly webhook_url: string | undefined
}

/** What a check tried, and what it found. */
export interface CheckStep {
  readonly step: "certificate" | "token" | "scopes" | "clock" | "pix_key" | "webhook" | "answers"
  readonly ok: boolean
  /** In plain words, without a secret. */
  readonly detail: string
}

export interface ConnectionRow {
  readonly id: string
  readonly name: string
  readonly kind: ConnectionKind
  /** The name of a profile of `api-pix`; null for the simulator. */
  readonly profile: string | null
  readonly settings: ConnectionSettings
  readonly pix_key: string | null
  readonly statement_account: StatementAccount | null
  readonly exception_rule: ExceptionRule
  readonly paused: boolean
  readonly payouts_paused: boolean
  readonly charges_paused: boolean
  readonly is_default: boolean
  /** Whether its provider sends payouts. */
  readonly pays_out: boolean
  readonly certificate_expires_at: Date | null
  readonly webhook_registered_at: Date | null
  readonly checked_at: Date | null
  readonly check_result: ReadonlyArray<CheckStep> | null
  /** Entries of other keys in the last sweep that met one, and when. */
  readonly foreign_entries: number
  readonly foreign_at: Date | null
  /** Entries that could not be read and wait for an operator, and since when. */
  readonly unreadable_entries: number
  readonly unreadable_since: Date | null
  readonly version: number
  readonly created_at: Date
}

/** What an operator sets. */
export interface ConnectionInput {
  readonly name: string
  readonly settings: ConnectionSettings
  readonly pix_key: string
  /** Absent: null. */
  readonly statement_account?: StatementAccount | null
  readonly exception_rule: ExceptionRule
  readonly paused: boolean
  /** Absent: false. */
  readonly payouts_paused?: boolean
  readonly charges_paused?: boolean
  readonly is_default: boolean
}

/** Whether changes are of brakes only, which need no approval (OPR-112). */
export const areBrakes = (changes: object): boolean => Object.keys(changes).every((name) => brakes.has(name))

/** The names of a connection's brakes. */
export const brakes: ReadonlySet<string> = new Set(["paused", "payouts_paused", "charges_paused"])

/** What follows from the credentials and the profile. */
export interface SealedConnection {
  readonly sealedCredentials: string
  readonly certificateExpiresAtMs: number
  /** `clientOf` it. */
  readonly client: string
  readonly paysOut: boolean
}

/** A connection with its client and Pix key, as it is or as it would be. */
export interface ClientTerms {
  readonly id: string
  readonly client: string
  readonly profile: string | null
  readonly settings: ConnectionSettings
  readonly pix_key: string | null
}

export class ConnectionStore extends Context.Service<
  ConnectionStore,
  {
    /** By the `Authority` around it. */
    readonly create: (
      connection: ConnectionInput & SealedConnection & { readonly id: string; readonly profile: string }
    ) => Effect.Effect<ConnectionRow, ApprovalRequired | InvalidStateError | Unavailable>
    /** Fails where `create` or `update` would be refused with these terms. It reads only. */
    readonly assertMayHave: (terms: ClientTerms) => Effect.Effect<void, InvalidStateError | Unavailable>
    readonly get: (id: string) => Effect.Effect<ConnectionRow, NotFoundError | Unavailable>
    readonly list: (page: Page) => Effect.Effect<ReadonlyArray<ConnectionRow>, UnknownCursor | Unavailable>
    /** Every connection to a provider outside of this service. */
    readonly all: Effect.Effect<ReadonlyArray<ConnectionRow>, Unavailable>
    /** The credentials as they are stored; undefined where there are none. */
    readonly sealedCredentials: (id: string) => Effect.Effect<string | undefined, Unavailable>
    /** By the `Authority` around it, which brakes alone do not need. */
    readonly update: (
      id: string,
      changes: Partial<ConnectionInput & SealedConnection>
    ) => Effect.Effect<ConnectionRow, NotFoundError | ApprovalRequired | InvalidStateError | Unavailable>
    /** Stores what follows from a profile, whose meaning may change with a release. */
    readonly paysOut: (id: string, paysOut: boolean) => Effect.Effect<void, Unavailable>
    readonly checked: (
      id: string,
      steps: ReadonlyArray<CheckStep>
    ) => Effect.Effect<ConnectionRow, NotFoundError | Unavailable>
    readonly webhookRegistered: (
      id: string,
      registered: boolean
    ) => Effect.Effect<ConnectionRow, NotFoundError | Unavailable>
    /**
     * Stores how a webhook is registered, by the `Authority` around it: whether its callbacks need the provider's certificate, and
     * the URL.
     */
    readonly webhookTerms: (id: string, terms: WebhookTerms) => Effect.Effect<void, ApprovalRequired | Unavailable>
    /** Stores how it is registered still, where the provider refused the terms that were stored. */
    readonly webhookStays: (id: string, refused: WebhookTerms, terms: WebhookTerms) => Effect.Effect<void, Unavailable>
    /** The secret in the path of the webhook, as it is stored; `sealed` where there was none. */
    readonly webhookSecret: (id: string, sealed: string | null) => Effect.Effect<string | undefined, Unavailable>
    /** True for the first process that warns of this certificate `days` before its end. */
    readonly warnOnce: (id: string, days: number) => Effect.Effect<boolean, Unavailable>
  }
>()("@pix-payments/server/ConnectionStore") {
  static readonly layer = Layer.effect(
    ConnectionStore,
    Effect.map(SqlClient, (sql) => {
      const stored = storedConnections(sql)
      return ConnectionStore.of({
        ...stored,
        assertMayHave: Effect.fn("ConnectionStore.assertMayHave")(function* (terms) {
          yield* assertNoneOpen(sql, terms)
          yield* assertKeyFree(sql, terms)
        }, orUnavailable),
        create: create(sql, stored.get),
        update: update(sql, stored.get),
        ...webhooks(sql, stored.get),
        ...findings(sql, stored.get)
      })
    })
  )
}

type Store = ConnectionStore["Service"]
type Get = Store["get"]

const storedConnections = (sql: SqlClient): Pick<Store, "get" | "list" | "all" | "sealedCredentials"> => ({
  get: Effect.fn("ConnectionStore.get")(function* (id: string) {
    const [row] = yield* sql.unsafe<ConnectionRow>(`SELECT ${columns} FROM acquirer_connections WHERE id = $1::uuid`, [
      id
    ])
    return row ?? (yield* new NotFoundError())
  }, orUnavailable),

  list: (page) =>
    readPage<ConnectionRow>({ table: "acquirer_connections", columns }, page).pipe(
      Effect.provideService(SqlClient, sql),
      orUnavailable
    ),

  all: orUnavailable(
    sql.unsafe<ConnectionRow>(
      `SELECT ${columns} FROM acquirer_connections WHERE id <> '${SIMULATOR_CONNECTION}' ORDER BY id`
    )
  ),

  sealedCredentials: Effect.fn("ConnectionStore.sealedCredentials")(function* (id) {
    const [row] = yield* sql<{ credentials: string | null }>`
      SELECT credentials FROM acquirer_connections WHERE id = ${id}::uuid`
    return row?.credentials ?? undefined
  }, orUnavailable)
})

const create = (sql: SqlClient, get: Get): Store["create"] =>
  Effect.fn("ConnectionStore.create")(function* (input) {
    const authority = yield* Authority
    yield* sql.withTransaction(
      Effect.gen(function* () {
        if (input.is_default) yield* clearDefault(sql, input.id)
        const inserted = yield* sql`
          INSERT INTO acquirer_connections (id, name, kind, profile, settings, credentials, pix_key,
            exception_rule, paused, payouts_paused, charges_paused, is_default, pays_out, certificate_expires_at,
            created_at)
          SELECT ${input.id}::uuid, ${input.name}::text, 'api-pix', ${input.profile}::text,
            ${JSON.stringify(input.settings)}::json, ${input.sealedCredentials}::text, ${input.pix_key}::text,
            ${input.exception_rule}::text, ${input.paused}::boolean,
            ${input.payouts_paused ?? false}::boolean, ${input.charges_paused ?? false}::boolean,
            ${input.is_default}::boolean,
            ${input.paysOut}::boolean, to_timestamp(${input.certificateExpiresAtMs}::double precision / 1000), now()
          WHERE ${isAuthorized(sql, authority, "connection.create", "NULL::uuid")}
          RETURNING id`
        if (inserted.length === 0) return yield* new ApprovalRequired()
        yield* sql`
          INSERT INTO ledger_accounts (owner_id, kind)
          SELECT ${input.id}::uuid, unnest(ARRAY['unallocated', 'acquirer'])`
        yield* claimKey(sql, input)
      })
    )
    return yield* Effect.catchTag(get(input.id), "NotFoundError", Effect.die)
  }, runToCompletion(sql))

const update = (sql: SqlClient, get: Get): Store["update"] =>
  Effect.fn("ConnectionStore.update")(function* (id, changes) {
    const authority = yield* Authority
    const reconnects =
      changes.settings !== undefined || changes.sealedCredentials !== undefined || changes.pix_key !== undefined
    yield* sql.withTransaction(
      Effect.gen(function* () {
        if (changes.is_default === true) yield* clearDefault(sql, id)
        const [changed] = yield* sql<Omit<ClientTerms, "client">>`
          UPDATE acquirer_connections SET
            name = coalesce(${changes.name ?? null}::text, name),
            settings = coalesce(${changes.settings === undefined ? null : JSON.stringify(changes.settings)}::json, settings),
            credentials = coalesce(${changes.sealedCredentials ?? null}::text, credentials),
            pix_key = coalesce(${changes.pix_key ?? null}::text, pix_key),
            statement_account = CASE WHEN ${changes.statement_account !== undefined}::boolean
              THEN ${changes.statement_account ? JSON.stringify(changes.statement_account) : null}::json
              ELSE statement_account END,
            exception_rule = coalesce(${changes.exception_rule ?? null}::text, exception_rule),
            paused = coalesce(${changes.paused ?? null}::boolean, paused),
            payouts_paused = coalesce(${changes.payouts_paused ?? null}::boolean, payouts_paused),
            charges_paused = coalesce(${changes.charges_paused ?? null}::boolean, charges_paused),
            is_default = coalesce(${changes.is_default ?? null}::boolean, is_default),
            pays_out = coalesce(${changes.paysOut ?? null}::boolean, pays_out),
            certificate_warned_days = CASE WHEN ${changes.sealedCredentials !== undefined}::boolean THEN NULL
              ELSE certificate_warned_days END,
            certificate_expires_at = coalesce(
              to_timestamp(${changes.certificateExpiresAtMs ?? null}::double precision / 1000),
              certificate_expires_at
            ),
            webhook_registered_at = CASE WHEN ${changes.pix_key ?? null}::text <> pix_key THEN NULL
              ELSE webhook_registered_at END,
            version = version + ${reconnects ? 1 : 0}::integer
          WHERE id = ${id}::uuid AND (${areBrakes(changes)}::boolean
            OR ${isAuthorized(sql, authority, "connection.update", "acquirer_connections.id")})
          RETURNING id, profile, settings, pix_key`
        if (changed !== undefined) {
          if (changes.client === undefined) return
          const terms = { ...changed, client: changes.client }
          yield* assertNoneOpen(sql, terms)
          yield* claimKey(sql, terms)
          return
        }
        yield* get(id)
        return yield* new ApprovalRequired()
      })
    )
    return yield* get(id)
  }, runToCompletion(sql))

/** There is one default connection at most. */
const clearDefault = (sql: SqlClient, id: string) =>
  sql`UPDATE acquirer_connections SET is_default = false WHERE is_default AND id <> ${id}::uuid`

/** Another client may be another bank account, which would be sent what this one may have done. */
const assertNoneOpen = Effect.fnUntraced(function* (sql: SqlClient, { client, id }: ClientTerms) {
  const open = yield* sql`SELECT WHERE NOT EXISTS (
      SELECT FROM connection_keys WHERE connection_id = ${id}::uuid AND client = ${client}::text)
    AND (EXISTS (SELECT FROM payouts WHERE status = 'processing' AND connection_id = ${id}::uuid)
      OR EXISTS (SELECT FROM acquirer_orders WHERE state = 'ordered' AND connection_id = ${id}::uuid))`
  if (open.length > 0) return yield* new InvalidStateError({ status: "with open orders" })
})

/** Keeps the key of a connection, unless it is another's. */
const claimKey = Effect.fnUntraced(function* (sql: SqlClient, terms: ClientTerms) {
  const { client, id, pix_key } = terms
  yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`pix-key ${pix_key}`}::text, 0))`
  yield* sql`INSERT INTO connection_keys (client, pix_key, connection_id)
    VALUES (${client}::text, ${pix_key}::text, ${id}::uuid) ON CONFLICT DO NOTHING`
  yield* assertKeyFree(sql, terms)
})

/**
 * Fails where the key is another connection's of its provider, or was one's of its client: a key is of one bank account, and two
 * connections would book each of its payments.
 */
const assertKeyFree = Effect.fnUntraced(function* (sql: SqlClient, { client, id, ...terms }: ClientTerms) {
  const { pix_key, profile, settings } = terms
  const others = yield* sql<Pick<ClientTerms, "settings">>`SELECT settings FROM acquirer_connections
    WHERE pix_key = ${pix_key}::text AND profile = ${profile}::text AND id <> ${id}::uuid`
  const kept = yield* sql`SELECT FROM connection_keys
    WHERE client = ${client}::text AND pix_key = ${pix_key}::text AND connection_id <> ${id}::uuid`
  const address = addressOf(profile, settings)
  if (kept.length > 0 || others.some((other) => addressOf(profile, other.settings) === address)) {
    return yield* new InvalidStateError({ status: "of another connection" })
  }
})

const webhooks = (
  sql: SqlClient,
  get: Get
): Pick<Store, "webhookRegistered" | "webhookTerms" | "webhookStays" | "webhookSecret"> => ({
  webhookRegistered: Effect.fn("ConnectionStore.webhookRegistered")(function* (id, registered) {
    yield* sql`UPDATE acquirer_connections
      SET webhook_registered_at = CASE WHEN ${registered}::boolean THEN coalesce(webhook_registered_at, now()) END
      WHERE id = ${id}::uuid`
    return yield* get(id)
  }, runToCompletion(sql)),

  webhookTerms: Effect.fn("ConnectionStore.webhookTerms")(function* (id, terms) {
    const changed = yield* sql`
      UPDATE acquirer_connections SET settings = (settings::jsonb || ${JSON.stringify(terms)}::jsonb)::json
      WHERE id = ${id}::uuid
        AND ${isAuthorized(sql, yield* Authority, "connection.register_webhook", "acquirer_connections.id")}
      RETURNING id`
    if (changed.length === 0) return yield* new ApprovalRequired()
  }, runToCompletion(sql)),

  webhookStays: Effect.fn("ConnectionStore.webhookStays")(function* (id, refused, terms) {
    yield* sql`
      UPDATE acquirer_connections SET settings = (settings::jsonb || ${JSON.stringify(terms)}::jsonb)::json
      WHERE id = ${id}::uuid AND settings::jsonb @> ${JSON.stringify(refused)}::jsonb`
  }, runToCompletion(sql)),

  webhookSecret: (id, sealed) =>
    Effect.map(
      runToCompletion(sql)(sql<{ webhook_secret: string | null }>`
        UPDATE acquirer_connections SET webhook_secret = coalesce(webhook_secret, ${sealed}::text)
        WHERE id = ${id}::uuid RETURNING webhook_secret`),
      ([row]) => row?.webhook_secret ?? undefined
    )
})

/** What processes find out about a connection. */
const findings = (sql: SqlClient, get: Get): Pick<Store, "checked" | "paysOut" | "warnOnce"> => ({
  checked: Effect.fn("ConnectionStore.checked")(function* (id, steps) {
    yield* sql`UPDATE acquirer_connections SET checked_at = now(), check_result = ${JSON.stringify(steps)}::json
      WHERE id = ${id}::uuid`
    return yield* get(id)
  }, runToCompletion(sql)),

  paysOut: (id, paysOut) =>
    Effect.asVoid(
      runToCompletion(sql)(
        sql`UPDATE acquirer_connections SET pays_out = ${paysOut}::boolean
          WHERE id = ${id}::uuid AND pays_out <> ${paysOut}::boolean`
      )
    ),

  warnOnce: (id, days) =>
    Effect.map(
      runToCompletion(sql)(
        sql`UPDATE acquirer_connections SET certificate_warned_days = ${days}::integer
          WHERE id = ${id}::uuid AND (certificate_warned_days > ${days}::integer) IS NOT FALSE RETURNING id`
      ),
      ({ length }) => length > 0
    )
})

const unreadable = (what: string) => `(
  SELECT ${what} FROM acquirer_exceptions e
  WHERE e.connection_id = acquirer_connections.id AND e.kind = 'unreadable' AND e.status = 'open')`

const columns = `id, name, kind, profile, settings, pix_key, statement_account, exception_rule, paused, payouts_paused, charges_paused,
  is_default, pays_out, certificate_expires_at, webhook_registered_at, checked_at, check_result,
  foreign_entries, foreign_at, ${unreadable("count(*)::integer")} AS unreadable_entries,
  ${unreadable("min(e.created_at)")} AS unreadable_since, version, created_at`
