/**
 * The notifications of the simulated acquirer: rows with a due time, so that none is lost at a restart.
 *
 * Guarantee: a notification is sent to `AcquirerNotifications` at least once, until it is received.
 */
import { describeCause } from "../base/observability/SafeCause.ts"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { Ids } from "../base/Ids.ts"
import { orderIdOf } from "../payments/payouts/PayoutTable.ts"
import { statement, value } from "../database/statements/Statement.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { AcquirerNotification, type Outcome } from "../providers/AcquirerNotification.ts"
import { dueNotification, type DueRow, settlePayout } from "../providers/simulator/SimulatedInstitution.ts"
import { AcquirerNotifications } from "./AcquirerNotifications.ts"

export class SimulatorNotifications extends Context.Service<
  SimulatorNotifications,
  {
    /** Sends a notification now. */
    readonly notify: (notification: AcquirerNotification) => Effect.Effect<Outcome, Unavailable>
    /** Whether a payout was sent to the simulated institution. */
    readonly hasPayout: (payoutId: string) => Effect.Effect<boolean, Unavailable>
    /** Sends notifications that are due; how many. */
    readonly sendDue: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/SimulatorNotifications") {
  static readonly layer = Layer.effect(
    SimulatorNotifications,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const receiver = yield* AcquirerNotifications

      const sendOne = Effect.fnUntraced(function* (row: DueRow) {
        const outcome = yield* receiver.receive(yield* Effect.orDie(decodeNotification(row.report)))
        yield* runToCompletion(sql)(sql`UPDATE simulator_notifications SET sent_at = now() WHERE id = ${row.id}::uuid`)
        return outcome
      })

      /** The order of a payout; undefined where it was not sent. */
      const orderOf = (payoutId: string) =>
        orUnavailable(
          Effect.map(
            sql.unsafe<{ readonly order_id: string; readonly end_to_end_id: string }>(...findOrder({ payoutId })),
            ([order]) => order
          )
        )

      return SimulatorNotifications.of({
        notify: Effect.fn("SimulatorNotifications.notify")(
          function* (notification) {
            const now = yield* Clock.currentTimeMillis
            const order = "payoutId" in notification ? yield* orderOf(notification.payoutId) : undefined
            const named =
              order !== undefined && notification._tag === "payout.completed"
                ? { endToEndId: order.end_to_end_id, ...notification }
                : notification
            // Leased to this call: the loop sends it only if this process dies.
            const outcome = yield* sendOne(yield* runToCompletion(sql)(dueNotification(ids, named, now + LEASE_MS)))
            // Afterwards, so that `Acquirer.outcome` shows no outcome before its notification. A duplicate settles nothing.
            if ("payoutId" in notification && order !== undefined && outcome === "applied")
              yield* runToCompletion(sql)(settlePayout(order.order_id, notification))
            return outcome
          },
          Effect.provideService(SqlClient, sql)
        ),

        hasPayout: (payoutId) => Effect.map(orderOf(payoutId), (order) => order !== undefined),

        sendDue: Effect.gen(function* () {
          const due = yield* runToCompletion(sql)(sql<DueRow>`
            UPDATE simulator_notifications SET due_at = now() + ${LEASE_MS}::double precision * interval '1 millisecond'
            WHERE id IN (
              SELECT id FROM simulator_notifications WHERE sent_at IS NULL AND due_at <= now()
              ORDER BY due_at LIMIT 100 FOR UPDATE SKIP LOCKED
            )
            RETURNING id, report`)
          // A notification that fails delays no other: it is sent again when its lease has expired.
          const sendApart = (row: DueRow) =>
            Effect.catchCause(sendOne(row), (cause) =>
              Effect.logWarning("a simulated notification could not be sent", describeCause(cause))
            )
          yield* Effect.forEach(due, sendApart, { concurrency: 8, discard: true })
          return due.length
        })
      })
    })
  )
}

const findOrder = statement(
  { payoutId: value("uuid") },
  ({ payoutId }) => `
  SELECT s.order_id, s.end_to_end_id FROM payouts p JOIN simulator_payouts s ON s.order_id = ${orderIdOf("p")}
  WHERE p.id = ${payoutId}`
)

const decodeNotification = Schema.decodeUnknownEffect(AcquirerNotification)

const LEASE_MS = 10_000
