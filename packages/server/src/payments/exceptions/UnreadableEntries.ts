/**
 * Entries of a provider's lists that cannot be read: exceptions without an amount, for operators.
 *
 * Guarantees:
 * - An entry is raised once, however often it is listed, with what arrived of it.
 * - A connection has at most `MOST_OPEN` open ones. Of the others the log knows.
 *
 * Rules: OPR-163.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash } from "node:crypto"
import { Ids } from "../../base/Ids.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import type { UnreadableEntry } from "../../providers/Acquirer.ts"
import { ExceptionStore } from "./ExceptionStore.ts"

export class UnreadableEntries extends Context.Service<
  UnreadableEntries,
  {
    /** Raises those that were not raised before. */
    readonly raise: (connectionId: string, entries: ReadonlyArray<UnreadableEntry>) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/UnreadableEntries") {
  static readonly layer = Layer.effect(
    UnreadableEntries,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const store = yield* ExceptionStore

      const claim = (connectionId: string, id: string, { text }: UnreadableEntry) => {
        const key = `unreadable:${connectionId}/${createHash("sha256").update(text).digest("hex")}`
        return sql`
          INSERT INTO notification_keys (key, notification_id)
          SELECT ${key}::text, ${id}::uuid
          WHERE (
            SELECT count(*) FROM (
              SELECT FROM acquirer_exceptions
              WHERE connection_id = ${connectionId}::uuid AND kind = 'unreadable' AND status = 'open' LIMIT ${MOST_OPEN}
            ) AS raised
          ) < ${MOST_OPEN}
          ON CONFLICT DO NOTHING RETURNING key`
      }

      const raiseOne = Effect.fnUntraced(function* (connectionId: string, entry: UnreadableEntry) {
        const { id } = ids.next()
        if ((yield* claim(connectionId, id, entry)).length === 0) return
        const nowMs = yield* Clock.currentTimeMillis
        const exception = {
          id,
          connectionId,
          kind: "unreadable",
          status: "open",
          amount: 0,
          expectedAmount: null,
          unallocated: 0,
          endToEndId: null,
          txid: null,
          externalId: null,
          pixKey: null,
          payer: null,
          received: entry.text,
          occurredAtMs: nowMs,
          chargeId: null,
          accountId: yield* store.accountOf(connectionId),
          payoutId: null,
          refundId: null,
          providerOutcome: null,
          action: null,
          reason: null,
          failureReason: entry.reason,
          resolvedBy: null,
          resolvedAtMs: null,
          createdAtMs: nowMs
        } as const
        yield* store.put(exception, [])
        yield* Effect.annotateLogs(Effect.logWarning(`an entry of a provider's list cannot be read: ${entry.reason}`), {
          connection_id: connectionId
        })
      })

      return UnreadableEntries.of({
        raise: (connectionId, entries) =>
          Effect.forEach(
            entries,
            (entry) => raiseOne(connectionId, entry).pipe(sql.withTransaction, runToCompletion(sql)),
            { discard: true }
          )
      })
    })
  )
}

const MOST_OPEN = 100
