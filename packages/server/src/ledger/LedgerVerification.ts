/**
 * Verification of the ledger: each stored balance against the sum of its transfers, and against the states of what has money in
 * it (`LedgerStates.ts`), and the closes against their transfers (`ChainCheck.ts`).
 *
 * Guarantees (BAL-8):
 * - Each ledger account whose stored balance differs from its transfers is reported, also one that has transfers and no row.
 *   A ledger account that is reported had all its transfers summed.
 * - An incremental verification reads each owner's last close and the transfers after it, and checks the closes of the newest day.
 *   Of a suspect, it checks all closes: one whose last close and later transfers do not give its balances or its position, or that
 *   has transfers before its open day and no close of them. A full one reads all transfers and checks all closes.
 * - An owner whose position says another number of transfers, although its closes are right, is named with its open day.
 * - Callers of one extent share runs (`makeSharedRun`), which end also when their callers have gone, and none waits for another extent.
 *   `verifyAlone` waits for nobody.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { makeSharedRun } from "../base/SharedRun.ts"
import { withReportPlanner } from "../database/Database.ts"
import { TODAY } from "../database/statements/Days.ts"
import { statement, uuids } from "../database/statements/Statement.ts"
import { orUnavailableWithin, type Unavailable } from "../database/Unavailable.ts"
import { type BrokenClose, ChainCheck } from "./ChainCheck.ts"
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
  /** Days that are not as they were closed, and open days that lack entries. */
  readonly closes: ReadonlyArray<BrokenClose>
}

type Extent = "since-close" | "full"

export class LedgerVerification extends Context.Service<
  LedgerVerification,
  {
    /** A verification that began after the call; callers that wait get the same one. */
    readonly verify: (extent: Extent) => Effect.Effect<Verification, Unavailable>
    /** A verification for this caller, whoever else verifies. */
    readonly verifyAlone: (extent: Extent) => Effect.Effect<Verification, Unavailable>
  }
>()("@pix-payments/server/LedgerVerification") {
  static readonly layer = Layer.effect(
    LedgerVerification,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const chain = yield* ChainCheck

      const report = <Row extends object>(text: string, parameters: ReadonlyArray<unknown>, timeoutMs: number) =>
        withReportPlanner(
          Effect.andThen(
            sql`SELECT set_config('statement_timeout', ${String(timeoutMs)}, true)`,
            sql.unsafe<Row>(text, parameters)
          )
        ).pipe(
          Effect.provideService(SqlClient, sql),
          // A little longer than the statement timeout.
          (reported) => orUnavailableWithin(reported, timeoutMs + 5000)
        )

      const balances = (...of: Parameters<typeof report>) =>
        Effect.map(report<VerifiedRow>(...of), (rows) => rows.map(toVerified))

      const incremental = Effect.gen(function* () {
        const verified = yield* balances(fromCloses, [], INCREMENTAL_TIMEOUT_MS)
        const suspects = new Set(verified.filter(differs).map(({ ownerId }) => ownerId))
        if (suspects.size === 0) return { accounts: verified, suspects }
        const rechecked = yield* balances(...fromTransfersOf({ ownerIds: [...suspects] }), FULL_TIMEOUT_MS)
        return { accounts: [...verified.filter(({ ownerId }) => !suspects.has(ownerId)), ...rechecked], suspects }
      })

      const full = Effect.map(balances(fromAllTransfers, [], FULL_TIMEOUT_MS), (accounts) => ({
        accounts,
        suspects: new Set<string>()
      }))

      const verifyAlone = Effect.fnUntraced(function* (extent: Extent) {
        const { accounts, suspects } = yield* extent === "full" ? full : incremental
        const states = yield* balances(statesAgainstBalances, [], INCREMENTAL_TIMEOUT_MS)
        const open = yield* report<OpenBooksRow>(brokenOpenBooks, [], INCREMENTAL_TIMEOUT_MS)
        const broken = open.map(({ owner_id }) => owner_id)
        const closes = yield* chain.check(extent === "full" ? "full" : [...new Set([...suspects, ...broken])])
        // Where a closed day is named, it is what does not fit.
        const named = new Set(closes.filter(({ book }) => book === "ledger").map(({ ownerId }) => ownerId))
        const lacking = open.filter(({ lacks_lines, owner_id }) => lacks_lines && !named.has(owner_id))
        return {
          accounts,
          states,
          closes: [
            ...closes,
            ...lacking.map(({ day, owner_id }) => ({
              ownerId: owner_id,
              book: "ledger" as const,
              day,
              problem: "transfers" as const
            }))
          ].slice(0, MOST)
        }
      })

      const shared = {
        "since-close": yield* makeSharedRun(verifyAlone("since-close")),
        full: yield* makeSharedRun(verifyAlone("full"))
      }

      return LedgerVerification.of({ verify: (extent) => shared[extent], verifyAlone })
    })
  )
}

const INCREMENTAL_TIMEOUT_MS = 60_000

/** Some 40 s for 100 million transfers. */
const FULL_TIMEOUT_MS = 1_800_000

/** Days that are named. */
const MOST = 100

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

/** An owner whose books after its last close are not as its ledger account says. */
interface OpenBooksRow {
  readonly owner_id: string
  /** The open day, `yyyy-mm-dd`. */
  readonly day: string
  /** Its transfers are not as many as its position. */
  readonly lacks_lines: boolean
}

const differs = ({ computed, kept }: Verified) => computed !== kept

const sumsOf = (transfers: string) => `
  SELECT e.owner_id, e.kind, sum(e.amount)::bigint AS balance
  FROM ${transfers} t CROSS JOIN LATERAL (VALUES
    (t.account_id, t.credit, t.amount),
    (t.account_id, t.debit, -t.amount)
  ) AS e(owner_id, kind, amount)
  GROUP BY 1, 2`

// One statement has one snapshot, in which each commit is on both sides or on neither.
const compare = (computed: string, owners: string, before = "") => `
  WITH ${before} computed AS (${computed})
  SELECT coalesce(k.owner_id, c.owner_id) AS owner_id, coalesce(k.kind, c.kind) AS kind,
    coalesce(k.balance, 0) AS kept, coalesce(c.balance, 0) AS computed
  FROM (SELECT * FROM ledger_accounts WHERE ${owners}) k
  FULL JOIN computed c ON c.owner_id = k.owner_id AND c.kind = k.kind
  ORDER BY 1, 2`

const fromAllTransfers = compare(sumsOf("ledger_transfers"), "true")

const fromCloses = compare(
  `SELECT owner_id, kind, sum(balance)::bigint AS balance FROM (
    SELECT o.owner_id, b.key AS kind, b.value::bigint AS balance
    FROM closed_owners o CROSS JOIN LATERAL jsonb_each_text(o.balances) b
    UNION ALL
    (${sumsOf(`(
      SELECT t.* FROM closed_owners o CROSS JOIN LATERAL (
        SELECT account_id, debit, credit, amount FROM ledger_transfers
        WHERE position > 0 AND (account_id, day) >= (o.owner_id, o.open_from) AND (account_id, day) <= (o.owner_id, 'infinity')
        ORDER BY account_id, day, position OFFSET 0
      ) t
    )`)})
  ) sums GROUP BY 1, 2`,
  "true",
  `closed_owners AS MATERIALIZED (
    SELECT l.owner_id, c.balances, coalesce(c.day + 1, '-infinity') AS open_from
    FROM ledger_accounts l LEFT JOIN LATERAL (
      SELECT balances, day FROM closes WHERE owner_id = l.owner_id AND book = 'ledger'
      ORDER BY owner_id DESC, book DESC, day DESC LIMIT 1
    ) c ON true
    WHERE l.kind IN ('available', 'unallocated')
  ),`
)

const fromTransfersOf = statement({ ownerIds: uuids }, ({ ownerIds }) =>
  compare(
    sumsOf(`(SELECT t.* FROM unnest(${ownerIds}) o JOIN ledger_transfers t ON t.account_id = o AND t.position > 0)`),
    `owner_id = ANY (${ownerIds})`
  )
)

const brokenOpenBooks = `
  SELECT * FROM (
    SELECT l.owner_id, coalesce(l.open_day, l.day, ${TODAY})::text AS day,
      t.first_day < coalesce(l.open_day, ${TODAY}) AS lacks_close,
      coalesce(c.last_position, 0) + t.lines <> l.position AS lacks_lines
    FROM ledger_accounts l
    LEFT JOIN LATERAL (
      SELECT last_position, day FROM closes WHERE owner_id = l.owner_id AND book = 'ledger'
      ORDER BY owner_id DESC, book DESC, day DESC LIMIT 1
    ) c ON true
    CROSS JOIN LATERAL (
      SELECT count(*) AS lines, min(day) AS first_day FROM ledger_transfers
      WHERE position > 0 AND (account_id, day) > (l.owner_id, coalesce(c.day, '-infinity'))
        AND (account_id, day) <= (l.owner_id, 'infinity')
    ) t
    WHERE l.kind IN ('available', 'unallocated')
  ) books WHERE lacks_close OR lacks_lines ORDER BY owner_id LIMIT ${MOST}`
