/**
 * Receivers of charges: who is paid, as the acquirer says it. The charges of an account have the same one, as long as the
 * account and its connection stay as they are.
 *
 * Guarantees:
 * - A receiver is stored once, by the digest of its text, in the commit of the first charge that has it. It is never changed or
 *   removed.
 * - What this process has read is bounded.
 *
 * Why: docs/decisions/0032-states.md.
 */
import type { Receiver } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { json, type Row, uuid } from "../../database/statements/Column.ts"
import { part, rows, statement, uuids } from "../../database/statements/Statement.ts"
import { textDigest } from "../../events/Outbox.ts"

export interface StoredReceiver {
  readonly id: string
  readonly receiver: Receiver
}

/** The receiver as it is stored. */
export const storedReceiver = (receiver: Receiver): StoredReceiver => ({
  id: textDigest(JSON.stringify(receiver)),
  receiver
})

/** The part of a statement that inserts receivers that are not stored: a CTE. */
export const insertedReceivers = part(
  { receivers: rows({ id: uuid(), receiver: json<Receiver>() }) },
  ({ receivers }) => `
  inserted_receivers AS (
    INSERT INTO receivers (id, receiver)
    SELECT n.id, n.receiver FROM ${receivers} AS n WHERE NOT EXISTS (SELECT FROM receivers e WHERE e.id = n.id)
    ON CONFLICT (id) DO NOTHING
  )`,
  // In the order of ids, so that two processes that insert the same ones never wait for each other.
  (all: ReadonlyArray<StoredReceiver>) => ({
    receivers: [...new Map(all.map((each) => [each.id, each])).values()].toSorted((one, other) =>
      one.id < other.id ? -1 : 1
    )
  })
)

/** Reads the receivers of selected rows of `charges` into these rows, where `ChargeTable.ts` finds them. */
export const makeReceivers = (sql: SqlClient) => {
  const known = new Map<string, Receiver>()

  const load = (ids: ReadonlyArray<string>) =>
    Effect.map(sql.unsafe<StoredReceiver>(...findReceivers({ ids })), (found) => {
      const loaded = new Map(found.map(({ id, receiver }) => [id, receiver]))
      if (known.size >= MAX_KNOWN) known.clear()
      for (const [id, receiver] of loaded) known.set(id, receiver)
      return loaded
    })

  return <R extends Row>(selected: ReadonlyArray<R>): Effect.Effect<ReadonlyArray<R>, SqlError> => {
    const left = selected.filter((row) => !isComplete(row, known))
    if (left.length === 0) return Effect.succeed(selected)
    return Effect.map(load([...new Set(left.map((row) => String(row["receiver_id"])))]), (loaded) => {
      const lost = left.find((row) => !isComplete(row, loaded))
      if (lost !== undefined) throw new Error(`charge ${String(lost["id"])} has a receiver that is not stored`)
      return selected
    })
  }
}

/** Puts the receiver into the row, which was made for this statement. False if its receiver is not one of these. */
const isComplete = (row: Row, receivers: ReadonlyMap<string, Receiver>): boolean => {
  const id = row["receiver_id"]
  if (typeof id !== "string") return true
  const receiver = receivers.get(id)
  if (receiver === undefined) return false
  Object.assign(row, { receiver })
  return true
}

const findReceivers = statement(
  { ids: uuids },
  ({ ids }) => `SELECT id, receiver FROM receivers WHERE id = ANY (${ids})`
)

/** Some 500 bytes each. */
const MAX_KNOWN = 10_000
