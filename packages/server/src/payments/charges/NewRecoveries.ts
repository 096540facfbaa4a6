/**
 * The recoveries of new charges: rows of `charge_recoveries` that say which charges may wait for the acquirer's answer.
 *
 * Guarantees:
 * - A new charge is in a recovery that is due `recoverInMs` later, or up to a second after that. The recovery was committed
 *   with the charge or before it.
 * - A recovery of a range is of every charge whose id is in it. The statement that inserts a charge into the range of an
 *   older recovery keeps that from ending before the commit (`keepRange`), and checks by the database's clock that it is not
 *   due too soon. Otherwise it inserts another one.
 *
 * Why: a recovery for each batch was 0.2 kB of WAL for each charge, where few are created at once. A range has one row a second
 * for each process. See docs/decisions/0043-recovery-ranges.md.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import type { Ids } from "../../base/Ids.ts"
import { float8, type InputOf, nullable, text, uuid } from "../../database/statements/Column.ts"
import { part, rows, value } from "../../database/statements/Statement.ts"

const recoveryColumns = {
  id: uuid(),
  charge_ids: text(),
  first_id: nullable(uuid()),
  last_id: nullable(uuid()),
  due_in_ms: float8()
}

/** The recoveries that a batch of new charges needs, and the older one that has all of them, if it is as expected. */
export interface NewRecoveries {
  readonly rows: ReadonlyArray<InputOf<typeof recoveryColumns>>
  /** The range of the only row; undefined if rows list their charges. */
  readonly range: Range | undefined
  readonly older: DueRange | undefined
  readonly recoverInMs: number
}

/** A recovery of all charges with these ids. */
interface Range {
  readonly id: string
  readonly firstId: string
  readonly lastId: string
}

interface DueRange extends Range {
  /** As PostgreSQL writes it. */
  readonly dueAt: string
}

/** Makes the recoveries of a process's new charges. Without `recoversRanges` each batch has its own, with the ids of its charges. */
export const makeNewRecoveries = (ids: Ids["Service"], recoversRanges: boolean) => {
  let latest: DueRange | undefined

  return {
    /** The recoveries of a batch that has at least one charge. */
    of: (chargeIds: ReadonlyArray<string>, recoverInMs: number): NewRecoveries => {
      const lowest = chargeIds.reduce((one, other) => (other < one ? other : one))
      const highest = chargeIds.reduce((one, other) => (other > one ? other : one))
      const firstMs = epochMsOf(lowest) - BEFORE_MS
      const lastMs = epochMsOf(highest) + AFTER_MS
      if (!recoversRanges || lastMs - firstMs > LONGEST_RANGE_MS) {
        return { rows: listed(ids, chargeIds, recoverInMs), range: undefined, older: undefined, recoverInMs }
      }
      const range = { id: ids.next().id, firstId: lowestIdAt(firstMs), lastId: lowestIdAt(lastMs) }
      const row = {
        id: range.id,
        charge_ids: "",
        first_id: range.firstId,
        last_id: range.lastId,
        due_in_ms: recoverInMs + AFTER_MS
      }
      const hasAll = latest !== undefined && latest.firstId <= lowest && highest <= latest.lastId
      return { rows: [row], range, older: hasAll ? latest : undefined, recoverInMs }
    },

    /** Takes what the statement returned: when the range that it inserted is due, undefined if it inserted none. */
    inserted: ({ range }: NewRecoveries, dueAt: string | undefined): void => {
      if (range !== undefined && dueAt !== undefined) latest = { ...range, dueAt }
    }
  }
}

/** Locks a recovery of a range against its end, until the transaction ends: true unless it is ending. */
const keepRange = (id: string): string => `pg_try_advisory_xact_lock_shared(${lockOf(id)})`

/** Locks a recovery of a range so that no transaction inserts charges into it: true unless one is doing so. */
export const closeRange = (id: string): string => `pg_try_advisory_xact_lock(${lockOf(id)})`

const lockOf = (id: string): string => `hashtextextended(${id}::text, 0)`

/**
 * The part of a statement that inserts recoveries: CTEs. `inserted_recoveries` has the `due_at` of the new range. Due times
 * are on the database's clock, because a process's clock may be wrong by hours.
 *
 * The clock is read once the older recovery is kept: one that is due later has not been closed before.
 */
export const newRecoveries = part(
  {
    rows: rows(recoveryColumns),
    olderId: value("uuid"),
    olderDueAt: value("text"),
    recoverInMs: value("double precision")
  },
  (p) => `
  older_recovery AS MATERIALIZED (
    SELECT CASE WHEN ${keepRange(p.olderId)} THEN
      clock_timestamp() + ${p.recoverInMs} * interval '1 millisecond' <= ${p.olderDueAt}::timestamptz AND EXISTS (
        SELECT FROM charge_recoveries WHERE due_at = ${p.olderDueAt}::timestamptz AND id = ${p.olderId}
      )
    END AS has_all
  ),
  inserted_recoveries AS (
    INSERT INTO charge_recoveries (due_at, id, charge_ids, first_id, last_id)
    SELECT now() + n.due_in_ms * interval '1 millisecond', n.id, string_to_array(n.charge_ids, ',')::uuid[], n.first_id,
      n.last_id
    FROM ${p.rows} AS n WHERE (SELECT has_all FROM older_recovery) IS NOT TRUE
    RETURNING due_at, first_id
  )`,
  ({ older, recoverInMs, rows }: NewRecoveries) => ({
    rows,
    olderId: older?.id ?? null,
    olderDueAt: older?.dueAt ?? null,
    recoverInMs
  })
)

const listed = (ids: Ids["Service"], chargeIds: ReadonlyArray<string>, recoverInMs: number): NewRecoveries["rows"] =>
  Array.from({ length: Math.ceil(chargeIds.length / CHARGES_PER_RECOVERY) }, (_, index) => ({
    id: ids.next().id,
    charge_ids: chargeIds.slice(index * CHARGES_PER_RECOVERY, (index + 1) * CHARGES_PER_RECOVERY).join(","),
    due_in_ms: recoverInMs
  }))

const epochMsOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/** A range begins before its first batch: charges with older ids may be in the next one. */
const BEFORE_MS = 100
const AFTER_MS = 1000
/** Longer only after a jump of the clock. */
const LONGEST_RANGE_MS = 10_000

// Bounds the work of one split.
const CHARGES_PER_RECOVERY = 50
