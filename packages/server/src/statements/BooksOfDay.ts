/**
 * What the books have of a bank account around a day, for its comparison with the bank: movements, and the facts of ids.
 *
 * Guarantee: the transfers of one fact at the bank (a return out of several balances) are one movement.
 */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { bigint, text } from "../database/statements/Column.ts"
import { startOf as midnightOf } from "../database/statements/Days.ts"
import { rows, statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { type LineDetail, LineDetails } from "../ledger/LineDetails.ts"
import { Lines, type Movement, placeAfter, startOf } from "../ledger/Lines.ts"
import type { BookMovement, IdFacts } from "./FourLegs.ts"
import { endToEndIdIn } from "./StatementParts.ts"

/** A line of the bank with money that may be of a payout that came back. */
export interface CameBack {
  readonly lineId: string
  /** The id that the line has. */
  readonly name: string
  readonly amount: number
  /** Whether no other line may be of a payout of this amount. */
  readonly isOnly: boolean
}

export interface SentBack extends CameBack {
  readonly payoutId: string
  readonly connectionId: string
  /** The line does not name the payout. */
  readonly isByAmount: boolean
}

export class BooksOfDay extends Context.Service<
  BooksOfDay,
  {
    /** The movements of days, inclusive; undefined where there are more than `most`. */
    readonly between: (
      connectionIds: ReadonlyArray<string>,
      from: string,
      to: string,
      most: number
    ) => Effect.Effect<ReadonlyArray<BookMovement> | undefined, Unavailable>
    /** The movements of any day that ids of the bank name. */
    readonly named: (
      connectionIds: ReadonlyArray<string>,
      names: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<BookMovement>, Unavailable>
    /** Payouts and returns that ids name, and that the books have as not done. */
    readonly unsettled: (
      connectionIds: ReadonlyArray<string>,
      names: ReadonlyArray<string>
    ) => Effect.Effect<IdFacts["unsettled"], Unavailable>
    /**
     * The completed payouts of which money came back: the one that a line's id names, else the only one that was sent before
     * it, in 30 days, with its amount. A line that may be of several has none.
     */
    readonly sentBack: (
      connectionIds: ReadonlyArray<string>,
      lines: ReadonlyArray<CameBack>,
      day: string
    ) => Effect.Effect<ReadonlyArray<SentBack>, Unavailable>
  }
>()("@pix-payments/server/BooksOfDay") {
  static readonly layer = Layer.effect(
    BooksOfDay,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const lines = yield* Lines
      const details = yield* LineDetails

      /** Adds movements to those of their facts. */
      const group = Effect.fnUntraced(function* (groups: Groups, movements: ReadonlyArray<Movement>) {
        const atBank = movements.filter(({ credit, debit }) => debit === "acquirer" || credit === "acquirer")
        const found = yield* details.of(atBank)
        for (const [index, movement] of atBank.entries()) {
          const detail = found[index]!
          const amount = movement.debit === "acquirer" ? Number(movement.amount) : -Number(movement.amount)
          const { id, object } = detail.source
          const key = `${object} ${id} ${amount < 0} ${movement.day} ${movement.created_at.getTime()}`
          const known = groups.get(key)
          if (known !== undefined) known.amount += amount
          else {
            groups.set(key, {
              id: movement.id,
              day: movement.day,
              amount,
              ids: idsOf(detail),
              hasOwnId: hasOwnId(amount, detail),
              accountId: movement.account_id,
              source: detail.source
            })
          }
        }
      })

      return BooksOfDay.of({
        between: Effect.fnUntraced(function* (connectionIds, from, to, most) {
          const groups: Groups = new Map()
          for (const connectionId of connectionIds) {
            const of = { connectionId }
            let place = startOf(of, from)
            while (true) {
              const page = yield* lines.after(of, place, to, PAGE)
              yield* group(groups, page)
              if (groups.size > most) return undefined
              const last = page.at(-1)
              if (last === undefined || page.length < PAGE) break
              place = placeAfter(of, last)
            }
          }
          return [...groups.values()]
        }),

        named: Effect.fnUntraced(function* (connectionIds, names) {
          const groups: Groups = new Map()
          const known = new Set<string>()
          for (let at = 0; at < names.length; at += NAMES) {
            const some = names.slice(at, at + NAMES).map((name) => ({ name }))
            const resources = yield* orUnavailable(
              sql.unsafe<{ id: string }>(...findResources({ connectionIds, names: some }))
            )
            const resourceIds = resources.map(({ id }) => id)
            let last: string | undefined = NIL_UUID
            while (last !== undefined) {
              const movements: ReadonlyArray<Movement> = yield* lines.atBankOf(connectionIds, resourceIds, last, PAGE)
              // What two names have is added once.
              yield* group(
                groups,
                movements.filter(({ id }) => !known.has(id))
              )
              for (const { id } of movements) known.add(id)
              last = movements.length < PAGE ? undefined : movements.at(-1)?.id
            }
          }
          return [...groups.values()]
        }),

        unsettled: Effect.fnUntraced(function* (connectionIds, names) {
          const unsettled = new Map<string, { readonly object: string; readonly id: string }>()
          for (let at = 0; at < names.length; at += NAMES) {
            const some = names.slice(at, at + NAMES).map((name) => ({ name }))
            const found = yield* orUnavailable(
              sql.unsafe<{ name: string; object: string; id: string }>(...findUnsettled({ connectionIds, names: some }))
            )
            for (const { id, name, object } of found) unsettled.set(name, { object, id })
          }
          return unsettled
        }),

        sentBack: Effect.fnUntraced(function* (connectionIds, cameBack, day) {
          if (cameBack.length === 0) return []
          const found = yield* orUnavailable(
            sql.unsafe<SentBackRow>(
              ...findSentBack({
                connectionIds,
                names: cameBack.map(({ name }) => ({ name })),
                amounts: [...new Set(cameBack.map(({ amount }) => amount))].map((amount) => ({ amount })),
                day
              })
            )
          )
          return cameBack.flatMap((line) => {
            const named = found.filter((row) => row.is_named && row.end_to_end_id === line.name)
            const alike = line.isOnly ? found.filter((row) => !row.is_named && Number(row.amount) === line.amount) : []
            const [only, second] = named.length > 0 ? named : alike
            return only === undefined || second !== undefined
              ? []
              : [{ ...line, payoutId: only.id, connectionId: only.connection_id, isByAmount: named.length === 0 }]
          })
        })
      })
    })
  )
}

interface SentBackRow {
  /** Whether it has a line's id; else it is alone with its amount. */
  readonly is_named: boolean
  readonly id: string
  readonly connection_id: string
  readonly end_to_end_id: string | null
  readonly amount: bigint
}

const PAGE = 1000

/** Of so many payouts of an amount none is looked at: hardly one is alone with it. */
const MOST_ALIKE = 1000

/** Names that are looked up at once. */
const NAMES = 500

type Groups = Map<string, { -readonly [Field in keyof BookMovement]: BookMovement[Field] }>

/** Of a return, its own id and that of its Pix; of anything else, that of its Pix. */
const idsOf = ({ endToEndId, returnId }: LineDetail): ReadonlyArray<string> =>
  [returnId, endToEndId].filter((id) => id !== null)

/** Of a return, an id that begins with `D`; of anything else, that of its Pix. */
const hasOwnId = (amount: number, { endToEndId, returnId, source }: LineDetail): boolean =>
  amount < 0 && source.object !== "payout"
    ? endToEndIdIn(returnId ?? "")?.startsWith("D") === true
    : (returnId ?? endToEndId) !== null

const namesOf = (names: string) => `ANY (ARRAY(SELECT n.name FROM ${names} AS n))`

const findResources = statement(
  { connectionIds: uuids, names: rows({ name: text() }) },
  (p) => `
  SELECT charge_id AS id FROM charge_settlements
  WHERE end_to_end_id = ${namesOf(p.names)} AND connection_id = ANY (${p.connectionIds}) AND charge_id IS NOT NULL
  UNION
  SELECT id FROM payouts WHERE end_to_end_id = ${namesOf(p.names)} AND connection_id = ANY (${p.connectionIds})
  UNION
  SELECT charge_id FROM refunds WHERE provider_id = ${namesOf(p.names)} AND connection_id = ANY (${p.connectionIds})
  UNION
  SELECT exception_id FROM exception_returns WHERE return_id = ${namesOf(p.names)}
  UNION
  SELECT exception_id FROM disputes
  WHERE return_id IS NOT NULL AND return_id = ${namesOf(p.names)} AND exception_id IS NOT NULL
  UNION
  SELECT id FROM acquirer_exceptions
  WHERE external_id IS NOT NULL AND external_id = ${namesOf(p.names)} AND connection_id = ANY (${p.connectionIds})
  LIMIT 5000`
)

const findUnsettled = statement(
  { connectionIds: uuids, names: rows({ name: text() }) },
  (p) => `
  SELECT end_to_end_id AS name, 'payout' AS object, id FROM payouts
  WHERE end_to_end_id = ${namesOf(p.names)} AND connection_id = ANY (${p.connectionIds}) AND status <> 'completed'
  UNION ALL
  SELECT provider_id, 'refund', id FROM refunds
  WHERE provider_id = ${namesOf(p.names)} AND connection_id = ANY (${p.connectionIds}) AND status <> 'completed'`
)

// By its amount, only one that is alone with it: one that was sent before the line's day ended, although the books may have learned later
// that it was paid, with none beside it whose time is not known, or that may have been paid although the books do not have it so. `paid` names what the index of
// payouts by amount has, so that the planner has no choice.
const findSentBack = statement(
  {
    connectionIds: uuids,
    names: rows({ name: text() }),
    amounts: rows({ amount: bigint() }),
    day: value("text")
  },
  (p) => `
  WITH paid AS MATERIALIZED (
    SELECT t.resource_id, t.amount, t.day > ${p.day}::date AS is_later, count(*) OVER (PARTITION BY t.amount) AS of_amount
    FROM ledger_transfers t
    WHERE t.connection_id = ANY (${p.connectionIds}) AND t.amount = ANY (ARRAY(SELECT a.amount FROM ${p.amounts} AS a))
      AND t.day >= ${p.day}::date - 30 AND t.reason = 'payout.completed'
  ),
  sent AS MATERIALIZED (
    SELECT p.id, p.connection_id, p.end_to_end_id, p.amount, t.is_later,
      CASE WHEN p.end_to_end_id ~ '^E[0-9A-Za-z]{8}[0-9]{12}' THEN substr(p.end_to_end_id, 10, 12) END AS sent_at
    FROM paid t CROSS JOIN LATERAL (SELECT * FROM payouts o WHERE o.id = t.resource_id OFFSET 0) p
    WHERE t.of_amount <= ${MOST_ALIKE} AND p.status = 'completed'
      AND NOT EXISTS (SELECT FROM acquirer_exceptions e WHERE e.payout_id = p.id AND e.kind = 'returned_payout')
  )
  SELECT true AS is_named, id, connection_id, end_to_end_id, amount FROM payouts
  WHERE end_to_end_id = ${namesOf(p.names)} AND connection_id = ANY (${p.connectionIds}) AND status = 'completed'
  UNION ALL
  SELECT false, (array_agg(s.id))[1], (array_agg(s.connection_id))[1], min(s.end_to_end_id), s.amount FROM sent s
  WHERE NOT s.is_later OR s.sent_at IS NULL
    OR s.sent_at < to_char(${midnightOf(`(${p.day}::date + 1)`)}, 'YYYYMMDDHH24MI')
  GROUP BY s.amount HAVING count(*) = 1 AND bool_and(NOT s.is_later OR s.sent_at IS NOT NULL)
    AND NOT EXISTS (
      SELECT FROM payouts o WHERE o.status = 'processing' AND o.amount = s.amount AND o.connection_id = ANY (${p.connectionIds})
        AND o.requested_at < ${midnightOf(`(${p.day}::date + 1)`)}
    ) AND NOT EXISTS (
      SELECT FROM acquirer_exceptions e JOIN payouts o ON o.id = e.payout_id
      WHERE e.payout_id IS NOT NULL AND e.kind = 'contradictory_outcome' AND e.provider_outcome = 'completed' AND o.status = 'failed'
        AND o.amount = s.amount AND o.connection_id = ANY (${p.connectionIds})
    )`
)
