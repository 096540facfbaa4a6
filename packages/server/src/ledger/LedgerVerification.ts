/**
 * Verification of the ledger: each stored balance against the sum of its transfers, and against the states of what has money in
 * it (`LedgerStates.ts`).
 *
 * Guarantees (BAL-8):
 * - Each ledger account whose stored balance differs from its transfers is reported, also one that has transfers and no row.
 *   A ledger account that is reported had all its transfers summed.
 * - An incremental verification reads the checkpoints and the transfers after them. A full one reads all transfers and no
 *   checkpoint.
 * - Checkpoints never hide a difference between recent transfers and balances, and never cause one: a wrong checkpoint
 *   of an account is replaced, and reported once.
 * - One round of `advance` reads at most `TRANSFERS_PER_ROUND` transfers.
 *
 * Why an hour: ids are in the order of creation, and a transfer is committed seconds after its id was made. One that is
 * committed later, or by a process whose clock is late, makes its checkpoint wrong, which the next verification repairs.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { SqlClient } from "effect/sql/SqlClient"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { withReportPlanner } from "../database/Database.ts"
import { statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, orUnavailableWithin, type Unavailable } from "../database/Unavailable.ts"
import type { LedgerKind } from "./Ledger.ts"
import { statesAgainstBalances } from "./LedgerStates.ts"

/** A ledger account: its stored balance, and the sum of its transfers, in cents. `ownerId`: an account or a connection. */
export interface Verified {
  readonly ownerId: string
  readonly kind: LedgerKind
  readonly kept: number
  readonly computed: number
}

export interface Verification {
  /** Every ledger account with its stored balance and the sum of its transfers. */
  readonly accounts: ReadonlyArray<Verified>
  /** Ledger accounts whose balance the states do not explain; `computed` is the nearest amount that they do. */
  readonly states: ReadonlyArray<Verified>
  /** Checkpoints that were wrong (`kept`), and are `computed` now. */
  readonly replaced: ReadonlyArray<Verified>
}

export class LedgerVerification extends Context.Service<
  LedgerVerification,
  {
    readonly verify: (extent: "since-checkpoint" | "full") => Effect.Effect<Verification, Unavailable>
    /** Moves the checkpoints on. Returns how many transfers they took in: 0 when no older ones are left. */
    readonly advance: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/LedgerVerification") {
  static readonly layer = Layer.effect(
    LedgerVerification,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      // A report holds a connection.
      const reports = yield* Semaphore.make(1)

      const report = (text: string, parameters: ReadonlyArray<unknown>, timeoutMs: number) =>
        withReportPlanner(
          Effect.andThen(
            sql`SELECT set_config('statement_timeout', ${String(timeoutMs)}, true)`,
            sql.unsafe<VerifiedRow>(text, parameters)
          )
        ).pipe(
          Effect.map((rows) => rows.map(toVerified)),
          Effect.provideService(SqlClient, sql),
          // A little longer than the statement timeout.
          (reported) => orUnavailableWithin(reported, timeoutMs + 5000)
        )

      const states = report(statesAgainstBalances, [], INCREMENTAL_TIMEOUT_MS)

      const full = Effect.map(report(fromAllTransfers, [], FULL_TIMEOUT_MS), (accounts) => ({ accounts, replaced: [] }))

      const incremental = Effect.gen(function* () {
        const verified = yield* report(fromCheckpoints, [], INCREMENTAL_TIMEOUT_MS)
        const suspects = new Set(verified.filter(differs).map(({ ownerId }) => ownerId))
        if (suspects.size === 0) return { accounts: verified, replaced: [] }
        const ownerIds = [...suspects]
        const rechecked = yield* report(...fromTransfersOf({ ownerIds }), FULL_TIMEOUT_MS)
        const rows = yield* orUnavailable(sql.unsafe<VerifiedRow>(...replaceCheckpoints({ ownerIds })))
        const replaced = rows.map(toVerified)
        for (const { computed, kept, kind, ownerId } of replaced) {
          yield* Effect.annotateLogs(
            Effect.logWarning(`a checkpoint of the ledger had ${kept} cents and its transfers have ${computed}`),
            { owner_id: ownerId, ledger_account: kind }
          )
        }
        return { accounts: [...verified.filter(({ ownerId }) => !suspects.has(ownerId)), ...rechecked], replaced }
      })

      return LedgerVerification.of({
        verify: (extent) =>
          Effect.gen(function* () {
            const verified = yield* extent === "full" ? full : incremental
            return { ...verified, states: yield* states }
          }).pipe(reports.withPermit),
        advance: Effect.gen(function* () {
          const before = lowestIdAt((yield* Clock.currentTimeMillis) - CHECKPOINT_AGE_MS)
          const [row] = yield* orUnavailable(sql.unsafe<{ count: bigint }>(...advance({ before })))
          return Number(row?.count ?? 0)
        })
      })
    })
  )
}

/** Moves the checkpoints on in the background. */
export const loop = Layer.effectDiscard(
  LedgerVerification.use(({ advance }) =>
    Effect.forkScoped(BackgroundLoop.run("ledger checkpoints", advance, Effect.sleep("1 minute")))
  )
)

/** Transfers younger than this are not in a checkpoint. */
export const CHECKPOINT_AGE_MS = 3_600_000

/** A round takes less than a second. */
const TRANSFERS_PER_ROUND = 50_000

const INCREMENTAL_TIMEOUT_MS = 60_000

/** Some 40 s for 100 million transfers. */
const FULL_TIMEOUT_MS = 1_800_000

interface VerifiedRow {
  readonly owner_id: string
  readonly kind: LedgerKind
  readonly kept: bigint
  readonly computed: bigint
}

const toVerified = (row: VerifiedRow): Verified => ({
  ownerId: row.owner_id,
  kind: row.kind,
  kept: Number(row.kept),
  computed: Number(row.computed)
})

const differs = ({ computed, kept }: Verified) => computed !== kept

const sumsOf = (transfers: string) => `
  SELECT e.owner_id, e.kind, sum(e.amount)::bigint AS balance
  FROM ${transfers} t CROSS JOIN LATERAL (VALUES
    (t.account_id, t.credit, t.amount),
    (t.account_id, t.debit, -t.amount)
  ) AS e(owner_id, kind, amount)
  GROUP BY 1, 2`

// One statement has one snapshot, in which each commit is on both sides or on neither.
const compare = (computed: string, owners: string) => `
  WITH computed AS (${computed})
  SELECT coalesce(k.owner_id, c.owner_id) AS owner_id, coalesce(k.kind, c.kind) AS kind,
    coalesce(k.balance, 0) AS kept, coalesce(c.balance, 0) AS computed
  FROM (SELECT * FROM ledger_accounts WHERE ${owners}) k
  FULL JOIN computed c ON c.owner_id = k.owner_id AND c.kind = k.kind
  ORDER BY 1, 2`

const fromAllTransfers = compare(sumsOf("ledger_transfers"), "true")

const fromCheckpoints = compare(
  `SELECT owner_id, kind, sum(balance)::bigint AS balance FROM (
    SELECT owner_id, kind, balance FROM ledger_checkpoints
    UNION ALL
    (${sumsOf(`(SELECT * FROM ledger_transfers WHERE id > (SELECT through_id FROM ledger_checkpoint_position))`)})
  ) sums GROUP BY 1, 2`,
  "true"
)

const fromTransfersOf = statement({ ownerIds: uuids }, ({ ownerIds }) =>
  compare(
    sumsOf(`(SELECT t.* FROM unnest(${ownerIds}) o JOIN ledger_transfers t ON t.account_id = o)`),
    `owner_id = ANY (${ownerIds})`
  )
)

const advance = statement(
  { before: value("uuid") },
  ({ before }) => `
  WITH position AS MATERIALIZED (SELECT through_id FROM ledger_checkpoint_position FOR UPDATE SKIP LOCKED),
  slice AS MATERIALIZED (
    SELECT t.* FROM position p CROSS JOIN LATERAL (
      SELECT id, account_id, debit, credit, amount FROM ledger_transfers
      WHERE id > p.through_id AND id < ${before} ORDER BY id LIMIT ${TRANSFERS_PER_ROUND}
    ) t
  ),
  added AS (
    INSERT INTO ledger_checkpoints AS c (owner_id, kind, balance) SELECT * FROM (${sumsOf("slice")}) s
    ON CONFLICT (owner_id, kind) DO UPDATE SET balance = c.balance + excluded.balance
  ),
  moved AS (
    UPDATE ledger_checkpoint_position SET through_id = (SELECT id FROM slice ORDER BY id DESC LIMIT 1)
    WHERE EXISTS (SELECT 1 FROM slice)
  )
  SELECT count(*) AS count FROM slice`
)

const replaceCheckpoints = statement(
  { ownerIds: uuids },
  ({ ownerIds }) => `
  WITH position AS MATERIALIZED (SELECT through_id FROM ledger_checkpoint_position FOR UPDATE),
  replaced AS (INSERT INTO ledger_checkpoints AS c (owner_id, kind, balance)
  SELECT owner_id, kind, sum(balance)::bigint FROM (
    (${sumsOf(
      `(SELECT t.* FROM unnest(${ownerIds}) o JOIN ledger_transfers t ON t.account_id = o
        WHERE t.id <= (SELECT through_id FROM position))`
    )})
    UNION ALL
    SELECT owner_id, kind, 0 FROM ledger_checkpoints WHERE owner_id = ANY (${ownerIds})
  ) s
  WHERE owner_id = ANY (${ownerIds})
  GROUP BY 1, 2
  ON CONFLICT (owner_id, kind) DO UPDATE SET balance = excluded.balance
  RETURNING owner_id, kind, balance)
  SELECT r.owner_id, r.kind, coalesce(before.balance, 0) AS kept, r.balance AS computed
  FROM replaced r LEFT JOIN ledger_checkpoints before ON before.owner_id = r.owner_id AND before.kind = r.kind
  WHERE coalesce(before.balance, 0) <> r.balance ORDER BY 1, 2`
)
