/**
 * Whose what a provider reports is. A provider lists what all Pix keys of its client received, sent and have contested, and a
 * client may have several connections.
 *
 * Guarantees:
 * - What names a charge, a settlement or a payout of a connection is that connection's, in this order, whatever its key.
 * - Anything else is of the connection that has, or had, its key. What has no key is of the oldest connection of the client.
 * - What is not a connection's is left alone by it: nothing is claimed, posted or returned.
 *
 * Rules: OPR-99.
 */
import { isSamePixKey } from "@pix-payments/domain/PixKey"
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { text } from "../database/statements/Column.ts"
import { rows, statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"

/** What an entry says of its owner. */
export interface Marks {
  readonly txid?: string | null | undefined
  readonly endToEndId?: string | null
  readonly payoutId?: string | null
  /** Of the client. */
  readonly key: string | null
}

export class Ownership extends Context.Service<
  Ownership,
  {
    /** The entries that are the connection's. */
    readonly own: <A>(
      connectionId: string,
      entries: ReadonlyArray<A>,
      marksOf: (entry: A) => Marks
    ) => Effect.Effect<ReadonlyArray<A>, Unavailable>
  }
>()("@pix-payments/server/Ownership") {
  static readonly layer = Layer.effect(
    Ownership,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const clientOf = Effect.fnUntraced(function* (connectionId: string) {
        const found = yield* orUnavailable(sql.unsafe<KeyRow>(...findKeys({ connectionId })))
        const keys = found.flatMap((row) => (row.id === connectionId && row.pix_key !== null ? [row.pix_key] : []))
        return {
          connections: [...new Set(found.map(({ id }) => id))],
          isOldest: found[0]?.id === connectionId,
          hasKey: (key: string) => keys.some((each) => isSamePixKey(each, key))
        }
      })

      /** The connections of a client that have what marks name. */
      const holdersOf = Effect.fnUntraced(function* (connectionIds: ReadonlyArray<string>, all: ReadonlyArray<Marks>) {
        const found = yield* orUnavailable(
          sql.unsafe<HolderRow>(
            ...findHolders({
              connectionIds,
              chargeIds: all.flatMap(({ txid }) => idFromTxid(txid ?? "") ?? []),
              endToEndIds: all.flatMap(({ endToEndId: name }) => (typeof name === "string" ? [{ name }] : [])),
              payoutIds: all.flatMap(({ payoutId }) => payoutId ?? [])
            })
          )
        )
        const holders = new Map<string, Set<string>>()
        for (const { connection_id, kind, name } of found) {
          const known = holders.get(`${kind}:${name}`)
          if (known === undefined) holders.set(`${kind}:${name}`, new Set([connection_id]))
          else known.add(connection_id)
        }
        return ({ endToEndId, payoutId, txid }: Marks): ReadonlySet<string> | undefined =>
          holders.get(`charge:${idFromTxid(txid ?? "")}`) ??
          holders.get(`settlement:${endToEndId}`) ??
          holders.get(`payout:${payoutId}`)
      })

      return Ownership.of({
        own: Effect.fnUntraced(function* (connectionId, entries, marksOf) {
          if (entries.length === 0) return entries
          const client = yield* clientOf(connectionId)
          const byKey = ({ key }: Marks) => (key === null ? client.isOldest : client.hasKey(key))
          const marks = entries.map(marksOf)
          // The client has no other connection that may hold it.
          const isCertain = (of: Marks) => client.connections.length === 1 && byKey(of)
          const uncertain = marks.filter((of) => !isCertain(of))
          if (uncertain.length === 0) return entries
          const holderOf = yield* holdersOf(client.connections, uncertain)
          return entries.filter((_, at) => {
            const of = marks[at]!
            return isCertain(of) || (holderOf(of)?.has(connectionId) ?? byKey(of))
          })
        })
      })
    })
  )
}

interface KeyRow {
  readonly id: string
  readonly pix_key: string | null
}

interface HolderRow {
  readonly kind: "charge" | "settlement" | "payout"
  readonly name: string
  readonly connection_id: string
}

const findKeys = statement(
  { connectionId: value("uuid") },
  ({ connectionId }) => `
  SELECT k.connection_id AS id, k.pix_key FROM connection_keys k
  JOIN acquirer_connections c ON c.id = k.connection_id
  WHERE k.client IN (SELECT client FROM connection_keys WHERE connection_id = ${connectionId})
  UNION ALL
  SELECT id, pix_key FROM acquirer_connections WHERE id = ${connectionId}
  ORDER BY id`
)

const findHolders = statement(
  { connectionIds: uuids, chargeIds: uuids, endToEndIds: rows({ name: text() }), payoutIds: uuids },
  (p) => `
  SELECT 'charge' AS kind, id::text AS name, connection_id FROM charges
  WHERE id = ANY (${p.chargeIds}) AND connection_id = ANY (${p.connectionIds})
  UNION ALL
  SELECT 'settlement', end_to_end_id, connection_id FROM charge_settlements
  WHERE end_to_end_id = ANY (ARRAY(SELECT e.name FROM ${p.endToEndIds} AS e))
    AND connection_id = ANY (${p.connectionIds}) AND charge_id IS NOT NULL
  UNION ALL
  SELECT 'payout', id::text, connection_id FROM payouts
  WHERE id = ANY (${p.payoutIds}) AND connection_id = ANY (${p.connectionIds})`
)
