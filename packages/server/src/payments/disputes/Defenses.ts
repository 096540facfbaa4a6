/**
 * Defenses of disputes: filed by an operator, sent to the provider (OPR-74 to OPR-76).
 *
 * Guarantees:
 * - text and files are stored with the order before the provider is asked, outside of transactions. A dispute has one open
 *   defense;
 * - the dispute becomes `under_review` in the commit of the provider's yes. A refusal leaves it open, and its reason is a
 *   message of the dispute;
 * - an unclear answer is no refusal: the order is repeated under its id until the answer is known, by any process. Nor is
 *   the refusal of a repeated request, while the request before it may still arrive.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Acquirer, AcquirerRefused, type Provider } from "../../providers/Acquirer.ts"
import * as OrderLoop from "../../providers/OrderLoop.ts"
import { type Leased, OrderStore, type StoredOrder } from "../../providers/OrderStore.ts"
import { Disputes } from "./Disputes.ts"
import { DisputeStore } from "./DisputeStore.ts"
import type { StoredDispute } from "./DisputeTable.ts"
import { InvalidStateError, type NotFoundError } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { Settings } from "../../base/Settings.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"

/** The provider refused the defense of a charge's dispute. Of an exception's, only the message says so. */
export class DefenseRejected extends Data.TaggedError("DefenseRejected")<{
  readonly chargeId: string
  readonly reason: string
}> {}

export interface Defense {
  readonly text: string
  readonly files: ReadonlyArray<{ readonly name: string; readonly contentType: string; readonly base64: string }>
}

export class Defenses extends Context.Service<
  Defenses,
  {
    /**
     * Files the defense of an open dispute, and gives the dispute after the provider's first answer: it may still be open.
     * `audited` runs in the transaction of the order.
     */
    readonly file: <R = never>(
      disputeId: string,
      defense: Defense,
      audited?: Effect.Effect<void, SqlError, R>
    ) => Effect.Effect<StoredDispute, NotFoundError | InvalidStateError | DefenseRejected | Unavailable, R>
    /** Claims defenses whose answer is not known, to repeat them. */
    readonly claimDue: OrderLoop.ClaimDue
  }
>()("@pix-payments/server/Defenses") {
  static readonly layer = Layer.effect(
    Defenses,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const acquirer = yield* Acquirer
      const orders = yield* OrderStore
      const disputes = yield* Disputes
      const store = yield* DisputeStore
      const ids = yield* Ids
      const { acquirerTimeoutMs } = yield* Settings
      const leaseMs = acquirerTimeoutMs + OrderLoop.LEASE_MARGIN_MS

      const insert = Effect.fnUntraced(function* (known: StoredDispute, { files, text }: Defense) {
        const dispute = (yield* store.lock(known.id)) ?? known
        const isFiled = (yield* store.defensesOpenOf([dispute.id])).has(dispute.id)
        if (dispute.status !== "open" || isFiled) return yield* new InvalidStateError({ status: dispute.status })
        const { epochMs, id } = ids.next()
        const { accountId, connectionId, id: disputeId } = dispute
        // The defense is the message with the order's id.
        yield* store.addMessage({ id, disputeId, author: "operator", text, atMs: epochMs }, undefined)
        for (const file of files) yield* store.addFile(id, { ...file, id: ids.next().id })
        // From the beginning of the transaction, which takes as long as its files.
        const filingMs = leaseMs + FILING_TIMEOUT_MS
        return yield* orders.insert({ id, kind: "defend", disputeId, accountId, connectionId }, filingMs)
      })

      /** Commits the provider's answer. False where it was committed before, or another process has asked again. */
      const finish = Effect.fnUntraced(
        function* (order: StoredOrder, dispute: StoredDispute, refusal: string | undefined) {
          const locked = yield* store.lock(dispute.id)
          if (locked === undefined || !(yield* orders.finish(order, refusal === undefined ? "done" : "refused"))) {
            return false
          }
          if (refusal === undefined) {
            yield* disputes.defended(locked)
            return true
          }
          const { epochMs, id } = ids.next()
          const text = `The defense was refused: ${refusal}`
          yield* store.addMessage({ id, disputeId: dispute.id, author: "platform", text, atMs: epochMs }, undefined)
          return true
        },
        sql.withTransaction,
        runToCompletion(sql)
      )

      const askFor = Effect.fnUntraced(function* (
        provider: Provider,
        order: StoredOrder,
        { externalId, openedAtMs }: StoredDispute
      ) {
        if (provider.disputes === undefined) {
          return yield* new AcquirerRefused({ reason: "the provider takes no defenses" })
        }
        const defense = yield* store.findDefense(order.id)
        yield* provider.disputes.defend({ ...defense, id: order.id, externalId, openedAtMs })
      })

      /** Asks the provider and commits its answer; an unclear one leaves the order open. Gives the reason of a refusal. */
      const execute = Effect.fnUntraced(function* (order: Leased) {
        const dispute = order.disputeId === null ? undefined : yield* store.find(order.disputeId)
        if (dispute === undefined) return undefined
        const asked = acquirer.providerFor(order.connectionId).pipe(
          Effect.flatMap((provider) => askFor(provider, order, dispute)),
          Effect.as({ _tag: "Accepted" } as const)
        )
        const answer = yield* OrderLoop.answerTo(order, asked)
        if (answer === undefined) {
          yield* orders.askAgain(order)
          return undefined
        }
        const refusal = answer._tag === "Refused" ? answer.reason : undefined
        return (yield* finish(order, dispute, refusal)) ? refusal : undefined
      })

      return Defenses.of({
        file: Effect.fn("Defenses.file")(function* (disputeId, defense, audited = Effect.void) {
          const dispute = yield* disputes.find(disputeId)
          const order = yield* Effect.tap(insert(dispute, defense), () => audited).pipe(
            sql.withTransaction,
            runToCompletion(sql, undefined, FILING_TIMEOUT_MS)
          )
          const refusal = yield* execute(order)
          if (refusal !== undefined && dispute.chargeId !== null) {
            return yield* new DefenseRejected({ chargeId: dispute.chargeId, reason: refusal })
          }
          return yield* disputes.find(disputeId)
        }),

        claimDue: OrderLoop.claimDue(orders, ["defend"], leaseMs, execute)
      })
    })
  )
}

/** Of 25 MiB, each file in a statement of its own. */
const FILING_TIMEOUT_MS = 30_000
