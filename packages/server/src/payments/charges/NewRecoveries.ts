/**
 * The recoveries of new charges: a row of `charge_recoveries` for each batch says which charges may wait for the acquirer's
 * answer.
 *
 * Guarantee: a new charge is in a recovery that is due `recoverInMs` later, by the database's clock, committed with the charge.
 *
 * Why a row for several charges: nearly all are answered in time, and nothing more is written for them.
 */
import type { Ids } from "../../base/Ids.ts"
import { text, uuid } from "../../database/statements/Column.ts"
import { part, rows, value } from "../../database/statements/Statement.ts"

export interface NewRecoveries {
  readonly recoveries: ReadonlyArray<{ readonly id: string; readonly charge_ids: string }>
  readonly recoverInMs: number
}

/** The recoveries of a batch of charges. */
export const recoveriesOf = (
  ids: Ids["Service"],
  chargeIds: ReadonlyArray<string>,
  recoverInMs: number
): NewRecoveries => ({
  recoverInMs,
  recoveries: Array.from({ length: Math.ceil(chargeIds.length / CHARGES_PER_RECOVERY) }, (_, index) => ({
    id: ids.next().id,
    charge_ids: chargeIds.slice(index * CHARGES_PER_RECOVERY, (index + 1) * CHARGES_PER_RECOVERY).join(",")
  }))
})

/** The part of a statement that inserts recoveries: a CTE. */
export const newRecoveries = part(
  { recoveries: rows({ id: uuid(), charge_ids: text() }), recoverInMs: value("double precision") },
  (p) => `
  inserted_recoveries AS (
    INSERT INTO charge_recoveries (due_at, id, charge_ids)
    SELECT now() + ${p.recoverInMs} * interval '1 millisecond', n.id, string_to_array(n.charge_ids, ',')::uuid[]
    FROM ${p.recoveries} AS n
  )`,
  (all: NewRecoveries) => all
)

// Bounds the work of one split.
const CHARGES_PER_RECOVERY = 50
