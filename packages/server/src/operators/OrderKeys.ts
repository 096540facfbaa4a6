/**
 * Idempotency keys of the requests of operators that order money.
 *
 * Guarantees:
 * - A key of an operation on a resource is one request: of one operator, with one body. Any other is `KeyReused`.
 * - A repeated request gets the result of the first, also while the first runs, and after its answer was lost.
 * - A request that is refused leaves its key free, so that it can be corrected.
 *
 * The key is reserved before the order, and has its result in the commit of the order (`done`). Orders that have idempotency
 * keys in their own tables record the result afterwards: a repetition without one finds it there.
 *
 * Rules: OPR-202.
 */
import { CurrentOperator } from "@pix-payments/api/Security"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, Unavailable } from "../database/Unavailable.ts"
import { fingerprint } from "./Fingerprint.ts"

/** The key is that of another request. */
export class KeyReused extends Data.TaggedError("KeyReused")<{}> {}

/** A copy of the request was first. */
export class KeyUsed extends Data.TaggedError("KeyUsed")<{}> {}

export interface OrderRequest {
  readonly operation: string
  readonly resourceId: string
  /** Undefined: each request is one of its own. */
  readonly key: string | undefined
  readonly body: unknown
}

/** Records the result of an order. In its transaction, it fails where a copy of the request was first. */
export type Done = (resultId: string) => Effect.Effect<void, SqlError | KeyUsed>

export class OrderKeys extends Context.Service<
  OrderKeys,
  {
    /** Runs an order, or gives what `replay` makes of the result of the first request with its key. */
    readonly once: <A, E, R, B, E2, R2>(
      request: OrderRequest,
      act: (done: Done) => Effect.Effect<A, E, R>,
      replay: (resultId: string) => Effect.Effect<B, E2, R2>
    ) => Effect.Effect<A | B, Exclude<E, KeyUsed> | E2 | KeyReused | Unavailable, R | R2 | CurrentOperator>
  }
>()("@pix-payments/server/OrderKeys") {
  static readonly layer = Layer.effect(
    OrderKeys,
    Effect.map(SqlClient, (sql) => {
      const find = (key: KeyRow) =>
        Effect.flatMap(orUnavailable(sql.unsafe<StoredKey>(...findOne({ digest: key.digest }))), ([row]) =>
          row !== undefined && (row.fingerprint !== key.fingerprint || row.operator_id !== key.operatorId)
            ? Effect.fail(new KeyReused())
            : Effect.succeed(row?.result_id ?? undefined)
        )
      const reserve = (key: KeyRow) => runToCompletion(sql)(sql.unsafe(...reserveOne(key)))
      const release = (key: KeyRow) => runToCompletion(sql)(sql.unsafe(...releaseOne({ digest: key.digest })))

      const attempt = Effect.fnUntraced(function* <A, E, R>(key: KeyRow, act: (done: Done) => Effect.Effect<A, E, R>) {
        const done: Done = (resultId) =>
          Effect.flatMap(sql.unsafe(...completeOne({ ...key, resultId })), ({ length }) =>
            length === 0 ? Effect.fail(new KeyUsed()) : Effect.void
          )
        const result = yield* Effect.result(act(done))
        if (result._tag === "Success") return { _tag: "Acted", value: result.success } as const
        const error = result.failure
        // Whether it was done is not known: the key stays.
        if (error instanceof Unavailable) return yield* error
        // A copy may be what this one was refused for.
        const resultId = yield* find(key)
        if (resultId !== undefined) return { _tag: "Known", resultId } as const
        if (error instanceof KeyUsed) return { _tag: "Again" } as const
        yield* release(key)
        return yield* Effect.fail(error as Exclude<E, KeyUsed>)
      })

      return OrderKeys.of({
        once: (request, act, replay) =>
          Effect.gen(function* () {
            const { body, key: text, operation, resourceId } = request
            if (text === undefined) return yield* act(() => Effect.void)
            const key = {
              digest: fingerprint([operation, resourceId.toLowerCase(), text]),
              fingerprint: fingerprint(body),
              operatorId: (yield* CurrentOperator).id
            }
            for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
              yield* reserve(key)
              const known = yield* find(key)
              const ended =
                known === undefined ? yield* attempt(key, act) : ({ _tag: "Known", resultId: known } as const)
              if (ended._tag === "Acted") return ended.value
              if (ended._tag === "Known") return yield* replay(ended.resultId)
            }
            return yield* new Unavailable({ reason: "too-slow" })
          }) as never
      })
    })
  )
}

const MAX_ATTEMPTS = 10

interface KeyRow {
  readonly digest: string
  readonly fingerprint: string
  readonly operatorId: string | null
}

interface StoredKey {
  readonly fingerprint: string
  readonly operator_id: string | null
  readonly result_id: string | null
}

const findOne = statement(
  { digest: value("text") },
  ({ digest }) => `SELECT fingerprint, operator_id, result_id FROM operator_order_keys WHERE digest = ${digest}`
)

const keyValues = { digest: value("text"), fingerprint: value("text"), operatorId: value("uuid") }

const reserveOne = statement(
  keyValues,
  (p) => `INSERT INTO operator_order_keys (digest, fingerprint, operator_id, created_at)
    VALUES (${p.digest}, ${p.fingerprint}, ${p.operatorId}, now()) ON CONFLICT (digest) DO NOTHING`
)

const completeOne = statement(
  { ...keyValues, resultId: value("uuid") },
  (p) => `INSERT INTO operator_order_keys AS k (digest, fingerprint, operator_id, result_id, created_at)
    VALUES (${p.digest}, ${p.fingerprint}, ${p.operatorId}, ${p.resultId}, now())
    ON CONFLICT (digest) DO UPDATE SET result_id = excluded.result_id
    WHERE k.result_id IS NULL AND k.fingerprint = excluded.fingerprint
      AND k.operator_id IS NOT DISTINCT FROM excluded.operator_id
    RETURNING digest`
)

const releaseOne = statement(
  { digest: value("text") },
  ({ digest }) => `DELETE FROM operator_order_keys WHERE digest = ${digest} AND result_id IS NULL`
)
