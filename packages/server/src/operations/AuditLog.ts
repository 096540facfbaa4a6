/**
 * Who changed what: every state-changing call of an operator.
 *
 * Guarantees: where the change is SQL of the calling fiber, the entry is in the same commit. A change that goes
 * through a batch is noted after it: nobody waits for one with a transaction open. An order to the acquirer is noted in the
 * commit of the order, whatever the acquirer answers, and when.
 *
 * Source: operator-api.md.
 */
import { CurrentOperator } from "@pix-payments/api/Security"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { UnknownCursor } from "../Errors.ts"
import { CurrentRequest } from "../observability/RequestContext.ts"
import { Ids } from "../Ids.ts"
import { type Page, readPage } from "../sql/Paging.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"

export interface AuditRow {
  readonly id: string
  readonly operator: string
  readonly action: string
  readonly resource_id: string | null
  readonly request_id: string
  readonly at: Date
}

export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Does a change and notes it, in one commit. `action` is the operation's name, such as `keys.revoke`. */
    readonly around: (
      action: string
    ) => <A extends { readonly id: string }, E, R>(
      change: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, Exclude<E, SqlError> | Unavailable, R | CurrentOperator>
    /** Does a change that commits by itself, and notes it then, also where the caller goes away meanwhile. */
    readonly after: (
      action: string
    ) => <A extends { readonly id: string }, E, R>(
      change: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | Unavailable, R | CurrentOperator>
    /** Within the transaction of a change: notes it. */
    readonly note: (action: string, resourceId: string) => Effect.Effect<void, SqlError, CurrentOperator>
    readonly list: (page: Page) => Effect.Effect<ReadonlyArray<AuditRow>, UnknownCursor | Unavailable>
  }
>()("@pix-payments/server/AuditLog") {
  static readonly layer = Layer.effect(
    AuditLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids

      const note = Effect.fnUntraced(function* (action: string, resourceId: string) {
        const operator = yield* CurrentOperator
        const request = yield* CurrentRequest
        const { epochMs, id } = ids.next()
        yield* sql`INSERT INTO audit (id, operator, action, resource_id, request_id, at)
          VALUES (${id}::uuid, ${operator.name}, ${action}, ${resourceId}::uuid, ${request.requestId},
            to_timestamp(${epochMs}::double precision / 1000))`
      })

      return AuditLog.of({
        around: (action) => (change) =>
          Effect.tap(change, ({ id }) => note(action, id)).pipe(sql.withTransaction, runToCompletion(sql)),
        note,
        after: (action) => (change) =>
          Effect.uninterruptible(Effect.tap(change, ({ id }) => runToCompletion(sql)(note(action, id)))),
        list: (page) =>
          readPage<AuditRow>(
            { table: "audit", columns: "id, operator, action, resource_id, request_id, at" },
            page
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
      })
    })
  )
}
