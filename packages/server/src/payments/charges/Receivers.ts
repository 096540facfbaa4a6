/**
 * Receivers of charges: who is paid, as the acquirer says it. The charges of an account have the same one, as long as the
 * account and its connection stay as they are, and their BR codes differ by an id and the amount.
 *
 * Guarantees:
 * - A receiver is stored once with each template of its codes, by the digest of both, in the commit of the first charge that
 *   has it. It is never changed or removed.
 * - A server makes at most `MAX_TEMPLATES` templates for a receiver, of the last `MAX_KNOWN`. Other charges store the whole code.
 * - A charge has the id of its receiver, or the receiver itself where it was stored before (`schema/StoredForms.ts`).
 * - What this process has read is bounded.
 *
 * Why: docs/decisions/0035-receivers.md.
 */
import { type BrCodeJoiner, joinerOf, type SplitBrCode, splitBrCode } from "@pix-payments/domain/BrCodeTemplate"
import type { Receiver } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { textDigest } from "../../events/Outbox.ts"
import { json, nullable, type Row, text, uuid } from "../../database/statements/Column.ts"
import { part, rows, statement, uuids } from "../../database/statements/Statement.ts"
import type { StoredCharge } from "./ChargeTable.ts"

/** A charge's receiver and BR code as columns of its row. */
export interface ReceiverColumns {
  readonly brCode: string | null
  readonly receiver: Receiver | null
  readonly receiverId: string | null
}

interface StoredReceiver {
  readonly id: string
  readonly receiver: Receiver
  /** Of the charges that have this id, whose `br_code` is the id in it; null where they have the whole code. */
  readonly br_code_template: string | null
}

/** Which forms of these columns are stored (`schema/StoredForms.ts`). */
export interface ReceiverForms {
  readonly storesReceiversOnce: boolean
  readonly splitsBrCodes: boolean
}

/** Makes the columns of charges, and the receivers that must be stored with them. */
export const makeReceiverColumns = ({ splitsBrCodes, storesReceiversOnce }: ReceiverForms) => {
  /** The templates of each receiver. */
  const templates = new Map<string, Map<string, BrCodeJoiner>>()

  const templatesOf = (receiver: string) => {
    let its = templates.get(receiver)
    if (its === undefined) {
      if (templates.size >= MAX_KNOWN) templates.clear()
      templates.set(receiver, (its = new Map()))
    }
    return its
  }

  /** Undefined also where the receiver has many templates: its codes have texts of their charges. */
  const splitOf = (receiver: string, code: string, amount: number): SplitBrCode | undefined => {
    const its = templatesOf(receiver)
    for (const [template, { idIn }] of its) {
      const id = idIn(code, amount)
      if (id !== undefined) return { template, id }
    }
    if (its.size >= MAX_TEMPLATES) return undefined
    const split = splitBrCode(code, amount)
    if (split !== undefined) its.set(split.template, joinerOf(split.template))
    return split
  }

  return ({
    amount,
    brCode,
    receiver
  }: Pick<StoredCharge, "amount" | "brCode" | "receiver">): ReceiverColumns & {
    readonly stored: StoredReceiver | undefined
  } => {
    if (receiver === null || !storesReceiversOnce) return { brCode, receiver, receiverId: null, stored: undefined }
    const written = JSON.stringify(receiver)
    const split = brCode === null || !splitsBrCodes ? undefined : splitOf(written, brCode, amount)
    const id = textDigest(split === undefined ? written : `${written}\n${split.template}`)
    return {
      brCode: split?.id ?? brCode,
      receiver: null,
      receiverId: id,
      stored: { id, receiver, br_code_template: split?.template ?? null }
    }
  }
}

/** The part of a statement that inserts receivers that are not stored: a CTE. */
export const insertedReceivers = part(
  { receivers: rows({ id: uuid(), receiver: json<Receiver>(), br_code_template: nullable(text()) }) },
  ({ receivers }) => `
  inserted_receivers AS (
    INSERT INTO receivers (id, receiver, br_code_template)
    SELECT n.id, n.receiver, n.br_code_template FROM ${receivers} AS n WHERE NOT EXISTS (SELECT FROM receivers e WHERE e.id = n.id)
    ON CONFLICT (id) DO NOTHING
  )`,
  // In the order of ids, so that two processes that insert the same ones never wait for each other.
  (all: ReadonlyArray<StoredReceiver>) => ({
    receivers: [...new Map(all.map((each) => [each.id, each])).values()].toSorted((one, other) =>
      one.id < other.id ? -1 : 1
    )
  })
)

/** Reads the receivers of selected rows of `charges` into these rows. */
export const makeReceivers = (sql: SqlClient) => {
  const known = new Map<string, KnownReceiver>()

  const load = (ids: ReadonlyArray<string>) =>
    Effect.map(sql.unsafe<StoredReceiver>(...findReceivers({ ids })), (found) => {
      const loaded = new Map(
        found.map(({ br_code_template: template, id, receiver }): [string, KnownReceiver] => [
          id,
          { receiver, joiner: template === null ? undefined : joinerOf(template) }
        ])
      )
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

interface KnownReceiver {
  readonly receiver: Receiver
  readonly joiner: BrCodeJoiner | undefined
}

/** Puts receiver and BR code into the row, which was made for this statement. False if its receiver is not one of these. */
const isComplete = (row: Row, receivers: ReadonlyMap<string, KnownReceiver>): boolean => {
  const id = row["receiver_id"]
  if (typeof id !== "string") return true
  const found = receivers.get(id)
  if (found === undefined) return false
  const brCode = row["br_code"]
  Object.assign(row, { receiver: found.receiver })
  if (found.joiner !== undefined && typeof brCode === "string") {
    Object.assign(row, { br_code: found.joiner.join(brCode, Number(row["amount"])) })
  }
  return true
}

const findReceivers = statement(
  { ids: uuids },
  ({ ids }) => `SELECT id, receiver, br_code_template FROM receivers WHERE id = ANY (${ids})`
)

/** Some 500 bytes each. */
const MAX_KNOWN = 10_000
/** A receiver has one for each form of address and each connection of its account. */
const MAX_TEMPLATES = 8
