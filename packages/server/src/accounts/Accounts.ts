/**
 * Accounts with their settings, and the applications of an account.
 *
 * Guarantee: an account is created with its ledger accounts in one commit.
 *
 * Rules: ACC-1 to ACC-3, OPR-13 to OPR-18.
 */
import type { StatementAccount } from "@pix-payments/api/operator/Fields"
import { type AccountStatus, DEFAULT_EXPIRES_IN_SECONDS, type OnboardingStatus } from "@pix-payments/domain/Account"
import type { DocumentType } from "@pix-payments/domain/Document"
import type { LimitChanges, Limits } from "@pix-payments/domain/Limits"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { ApprovalRequired, Authority, isAuthorized } from "../operators/approvals/Authority.ts"
import { InvalidStateError, NotFoundError, type UnknownCursor } from "../base/Errors.ts"
import { Ids } from "../base/Ids.ts"
import { Settings, type SettingsShape } from "../base/Settings.ts"
import { ofAccount } from "../ledger/Ledger.ts"
import { type Page, readPage } from "../database/statements/Paging.ts"
import { equals, isOneOf } from "../database/statements/Condition.ts"
import { is } from "../database/statements/Seek.ts"
import { defaultConnectionId } from "./AccountConnection.ts"
import { chargesStopped } from "./Brakes.ts"
import { changeLimits, limitsOf } from "./StoredLimits.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"

export interface AccountSettings {
  readonly name: string
  readonly legal_name: string
  readonly phone: string
  readonly status: AccountStatus
  readonly onboarding_status: OnboardingStatus
  readonly auto_payout_enabled: boolean
  readonly payout_fee: { readonly fixed: number; readonly basis_points: number }
  readonly default_expires_in: number
  readonly release_delay: number
  readonly payout_duplicate_window: number
  readonly payouts_paused: boolean
  readonly charges_paused: boolean
  readonly connection_id: string | null
  /** Cents that one operator may approve; null for any amount. */
  readonly approval_limit: number | null
  readonly statement_account: StatementAccount | null
  readonly limits: LimitChanges
}

export interface NewAccount extends Partial<
  Omit<
    AccountSettings,
    "payouts_paused" | "charges_paused" | "connection_id" | "approval_limit" | "statement_account" | "limits"
  >
> {
  readonly name: string
  readonly legal_name: string
  readonly phone: string
  readonly document: string
  readonly document_type: DocumentType
}

export interface AccountRow {
  readonly id: string
  readonly name: string
  readonly legal_name: string
  readonly document: string
  readonly document_type: DocumentType
  readonly phone: string
  readonly status: AccountStatus
  readonly onboarding_status: OnboardingStatus
  readonly auto_payout_enabled: boolean
  readonly payout_fee_fixed: bigint
  readonly payout_fee_basis_points: number
  readonly default_expires_in: number
  readonly release_delay: number
  readonly payout_duplicate_window: number
  readonly payouts_paused: boolean
  readonly charges_paused: boolean
  /** By the account or by the installation. */
  readonly charges_stopped: boolean
  /** The cell that it moves to, or lives in. */
  readonly moved_to: string | null
  readonly connection_id: string | null
  readonly default_connection_id: string | null
  readonly approval_limit: bigint | null
  readonly statement_account: StatementAccount | null
  readonly limits: Limits | null
  readonly created_at: Date
  readonly available: bigint
  readonly pending: bigint
}

export interface ApplicationRow {
  readonly id: string
  readonly account_id: string
  readonly name: string
  readonly active: boolean
  readonly created_at: Date
}

export class Accounts extends Context.Service<
  Accounts,
  {
    readonly create: (input: NewAccount) => Effect.Effect<AccountRow, Unavailable>
    readonly get: (id: string) => Effect.Effect<AccountRow, NotFoundError | Unavailable>
    readonly list: (page: Page) => Effect.Effect<ReadonlyArray<AccountRow>, UnknownCursor | Unavailable>
    /** The names of these accounts, by their ids. */
    readonly namesOf: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>, Unavailable>
    /**
     * Another connection or approval limit, higher limits, automatic payouts where there is a limit, and a shorter duplicate window need the
     * `Authority` around it.
     */
    readonly update: (
      id: string,
      changes: Partial<AccountSettings>
    ) => Effect.Effect<AccountRow, NotFoundError | InvalidStateError | ApprovalRequired | Unavailable>
    /** Freezes an account that moves to another cell. It needs the `Authority` around it, unless the account moves there already. */
    readonly move: (
      id: string,
      target: string
    ) => Effect.Effect<AccountRow, NotFoundError | InvalidStateError | ApprovalRequired | Unavailable>
    readonly createApplication: (
      accountId: string,
      name: string
    ) => Effect.Effect<ApplicationRow, NotFoundError | Unavailable>
    readonly listApplications: (
      accountId: string,
      page: Page
    ) => Effect.Effect<ReadonlyArray<ApplicationRow>, NotFoundError | UnknownCursor | Unavailable>
    readonly getApplication: (id: string) => Effect.Effect<ApplicationRow, NotFoundError | Unavailable>
    readonly updateApplication: (
      id: string,
      changes: { readonly name?: string | undefined; readonly active?: boolean | undefined }
    ) => Effect.Effect<ApplicationRow, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { acquirer } = yield* Settings
      const ids = yield* Ids

      const get = Effect.fn("Accounts.get")(function* (id: string) {
        const [row] = yield* sql.unsafe<AccountRow>(...findOne[acquirer]({ id }))
        return row ?? (yield* new NotFoundError())
      }, orUnavailable)

      return Accounts.of({
        get,

        create: Effect.fn("Accounts.create")(function* (input) {
          const { epochMs, id } = ids.next()
          yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`
                INSERT INTO accounts (id, name, legal_name, document, document_type, phone, status,
                  onboarding_status, auto_payout_enabled, payout_fee_fixed, payout_fee_basis_points,
                  default_expires_in, release_delay, payout_duplicate_window, created_at)
                VALUES (${id}::uuid, ${input.name}, ${input.legal_name}, ${input.document}, ${input.document_type},
                  ${input.phone}, ${input.status ?? "active"}, ${input.onboarding_status ?? "completed"},
                  ${input.auto_payout_enabled ?? true}::boolean, ${input.payout_fee?.fixed ?? 0}::bigint,
                  ${input.payout_fee?.basis_points ?? 0}::integer,
                  ${input.default_expires_in ?? DEFAULT_EXPIRES_IN_SECONDS}::integer,
                  ${input.release_delay ?? 0}::integer, ${input.payout_duplicate_window ?? 0}::integer, to_timestamp(${epochMs}::double precision / 1000))`
              yield* sql`
                INSERT INTO ledger_accounts (owner_id, kind)
                SELECT ${id}::uuid, unnest(${[...ofAccount]}::text[])`
            })
          )
          return yield* Effect.catchTag(get(id), "NotFoundError", Effect.die)
        }, runToCompletion(sql)),

        list: Effect.fn("Accounts.list")(
          function* (page) {
            return yield* readPage<AccountRow>(
              {
                table: "accounts",
                as: "a",
                columns: columns(acquirer),
                account: "id",
                pathsOf: (accountIds) => [{ selective: isOneOf("id", accountIds) }]
              },
              page
            )
          },
          Effect.provideService(SqlClient, sql),
          orUnavailable
        ),

        namesOf: (ids) =>
          sql.unsafe<{ readonly id: string; readonly name: string }>(...findNames({ ids })).pipe(
            Effect.map((rows) => new Map(rows.map(({ id, name }) => [id, name]))),
            orUnavailable
          ),

        update: update(sql, get),

        move: Effect.fn("Accounts.move")(
          function* (id, target) {
            const authority = yield* Authority
            yield* sql`UPDATE accounts SET moved_to = ${target}::text WHERE id = ${id}::uuid AND (moved_to = ${target}::text
              OR (moved_to IS NULL AND ${isAuthorized(sql, authority, "account.move", "accounts.id")}))`
            const row = yield* get(id)
            if (row.moved_to === target) return row
            return yield* row.moved_to === null ? new ApprovalRequired() : new InvalidStateError({ status: "moved" })
          },
          sql.withTransaction,
          runToCompletion(sql)
        ),

        ...applications(sql, ids, get)
      })
    })
  )
}

type Get = Accounts["Service"]["get"]

const update = (sql: SqlClient, get: Get): Accounts["Service"]["update"] =>
  Effect.fn("Accounts.update")(
    function* (id, changes) {
      const authority = yield* Authority
      if (changes.limits !== undefined) yield* changeLimits(sql, "accounts", id, changes.limits)
      const connectionId = sql`CASE WHEN ${changes.connection_id !== undefined}::boolean
          THEN ${changes.connection_id ?? null}::uuid ELSE connection_id END`
      const approvalLimit = sql`CASE WHEN ${changes.approval_limit !== undefined}::boolean
          THEN ${changes.approval_limit ?? null}::bigint ELSE approval_limit END`
      const changed = yield* sql`
      UPDATE accounts SET
        name = coalesce(${changes.name ?? null}::text, name),
        legal_name = coalesce(${changes.legal_name ?? null}::text, legal_name),
        phone = coalesce(${changes.phone ?? null}::text, phone),
        status = coalesce(${changes.status ?? null}::text, status),
        onboarding_status = coalesce(${changes.onboarding_status ?? null}::text, onboarding_status),
        auto_payout_enabled = coalesce(${changes.auto_payout_enabled ?? null}::boolean, auto_payout_enabled),
        payout_fee_fixed = coalesce(${changes.payout_fee?.fixed ?? null}::bigint, payout_fee_fixed),
        payout_fee_basis_points =
          coalesce(${changes.payout_fee?.basis_points ?? null}::integer, payout_fee_basis_points),
        default_expires_in = coalesce(${changes.default_expires_in ?? null}::integer, default_expires_in),
        release_delay = coalesce(${changes.release_delay ?? null}::integer, release_delay),
        payout_duplicate_window =
          coalesce(${changes.payout_duplicate_window ?? null}::integer, payout_duplicate_window),
        payouts_paused = coalesce(${changes.payouts_paused ?? null}::boolean, payouts_paused),
        charges_paused = coalesce(${changes.charges_paused ?? null}::boolean, charges_paused),
        connection_id = ${connectionId},
        approval_limit = ${approvalLimit},
        statement_account = CASE WHEN ${changes.statement_account !== undefined}::boolean
          THEN ${jsonOf(changes.statement_account)}::json ELSE statement_account END
      WHERE id = ${id}::uuid AND moved_to IS NULL AND (
        (connection_id IS NOT DISTINCT FROM ${connectionId} AND approval_limit IS NOT DISTINCT FROM ${approvalLimit}
          AND (approval_limit IS NULL OR auto_payout_enabled
            OR ${changes.auto_payout_enabled ?? false}::boolean = false)
          AND payout_duplicate_window
            <= coalesce(${changes.payout_duplicate_window ?? null}::integer, payout_duplicate_window))
        OR ${isAuthorized(sql, authority, "account.update", "accounts.id")}
      )
      RETURNING id`
      const row = yield* get(id)
      if (row.moved_to !== null) return yield* new InvalidStateError({ status: "moved" })
      return changed.length > 0 ? row : yield* new ApprovalRequired()
    },
    sql.withTransaction,
    runToCompletion(sql)
  )

const applications = (
  sql: SqlClient,
  ids: Ids["Service"],
  get: Get
): Pick<Accounts["Service"], "createApplication" | "listApplications" | "getApplication" | "updateApplication"> => ({
  createApplication: Effect.fn("Accounts.createApplication")(function* (accountId, name) {
    const { epochMs, id } = ids.next()
    const [row] = yield* sql<ApplicationRow>`
      INSERT INTO applications (id, account_id, name, active, created_at)
      SELECT ${id}::uuid, a.id, ${name}::text, true, to_timestamp(${epochMs}::double precision / 1000)
      FROM accounts a WHERE a.id = ${accountId}::uuid RETURNING *`
    return row ?? (yield* new NotFoundError())
  }, runToCompletion(sql)),

  listApplications: Effect.fn("Accounts.listApplications")(
    function* (accountId, page) {
      yield* get(accountId)
      return yield* readPage<ApplicationRow>(
        {
          table: "applications",
          columns: "id, account_id, name, active, created_at",
          scope: [equals("account_id", "uuid", accountId)],
          paths: [{ columns: [is("account_id", "uuid", accountId)] }]
        },
        page
      )
    },
    Effect.provideService(SqlClient, sql),
    orUnavailable
  ),

  getApplication: Effect.fn("Accounts.getApplication")(function* (id) {
    const [row] = yield* sql<ApplicationRow>`SELECT * FROM applications WHERE id = ${id}::uuid`
    return row ?? (yield* new NotFoundError())
  }, orUnavailable),

  updateApplication: Effect.fn("Accounts.updateApplication")(function* (id, changes) {
    const [row] = yield* sql<ApplicationRow>`
      UPDATE applications SET name = coalesce(${changes.name ?? null}::text, name),
        active = coalesce(${changes.active ?? null}::boolean, active)
      WHERE id = ${id}::uuid RETURNING *`
    return row ?? (yield* new NotFoundError())
  }, runToCompletion(sql))
})

const jsonOf = (value: StatementAccount | null | undefined): string | null => (value ? JSON.stringify(value) : null)

const balanceOf = (kind: string) =>
  `coalesce((SELECT l.balance FROM ledger_accounts l WHERE l.owner_id = a.id AND l.kind = '${kind}'), 0) AS ${kind}`

const columns = (
  acquirer: SettingsShape["acquirer"]
) => `a.id, a.name, a.legal_name, a.document, a.document_type, a.phone, a.status, a.onboarding_status,
  a.auto_payout_enabled, a.payout_fee_fixed, a.payout_fee_basis_points, a.default_expires_in, a.release_delay, a.payout_duplicate_window,
  a.payouts_paused, a.charges_paused, ${chargesStopped[acquirer]} AS charges_stopped, a.moved_to, a.connection_id, ${defaultConnectionId} AS default_connection_id, a.approval_limit, a.statement_account, ${limitsOf("a.id")} AS limits, a.created_at, ${balanceOf("available")}, ${balanceOf("pending")}`

const findStatement = (acquirer: SettingsShape["acquirer"]) =>
  statement({ id: value("uuid") }, ({ id }) => `SELECT ${columns(acquirer)} FROM accounts a WHERE a.id = ${id}`)

const findNames = statement({ ids: uuids }, ({ ids }) => `SELECT id, name FROM accounts WHERE id = ANY (${ids})`)

const findOne = { simulator: findStatement("simulator"), connections: findStatement("connections") }
