/**
 * Asks the acquirer again about charges that it has not answered (CHG-4).
 *
 * Guarantees:
 * - each charge is asked about by one process at a time, later with each attempt, until it is `pending` or `failed`; from its
 *   `expires_at` on, an answer that is not definite fails it;
 * - one charge, account or connection that cannot be recovered delays no other.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as Bulkheads from "../../providers/Bulkheads.ts"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { Settings } from "../../base/Settings.ts"
import * as Batching from "../../database/batching/Batching.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { ChargeEmission } from "./ChargeEmission.ts"
import type { StoredCharge } from "./ChargeTable.ts"
import { type ClaimedCharge, claimDueRecoveries, endRecoveries, renewRecoveries } from "./RecoveryStore.ts"

export class ChargeRecovery extends Context.Service<
  ChargeRecovery,
  {
    /** Claims charges that are due. Each call recovers one, and leases it until it has ended. */
    readonly claimDue: (capacity: Bulkheads.Capacity) => Effect.Effect<Bulkheads.Claimed, Unavailable>
  }
>()("@pix-payments/server/ChargeRecovery") {
  static readonly layer = Layer.effect(
    ChargeRecovery,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { emitAgain } = yield* ChargeEmission
      const { acquirerTimeoutMs } = yield* Settings
      const leaseMs = acquirerTimeoutMs + LEASE_MARGIN_MS

      const end = yield* Batching.make<string, void>({
        maxBatch: 500,
        writes: sql,
        run: (ids) =>
          Effect.as(
            endRecoveries(sql, ids),
            ids.map(() => undefined)
          )
      })

      const recover = ({ charge, isOverdue }: ClaimedCharge) =>
        Effect.gen(function* () {
          const { id, status } = yield* emitAgain(charge, isOverdue)
          // Otherwise a later claim ends it.
          if (status !== "processing") yield* Effect.ignore(end(id))
        }).pipe(
          Effect.catchCause((cause) =>
            Effect.annotateLogs(Effect.logWarning("a charge could not be recovered", describeCause(cause)), {
              charge_id: charge.id
            })
          )
        )

      const renewing = (charge: StoredCharge) =>
        Effect.forever(
          Effect.andThen(Effect.sleep(leaseMs / 2), Effect.ignore(renewRecoveries(sql, [charge], leaseMs)))
        )

      return ChargeRecovery.of({
        claimDue: (capacity) =>
          claimDueRecoveries(sql, capacity, leaseMs).pipe(
            Effect.map(({ charges, examined }) => ({
              due: charges.map((claimed) => ({
                connectionId: claimed.charge.connectionId,
                call: Effect.asVoid(Effect.raceFirst(recover(claimed), renewing(claimed.charge)))
              })),
              hasMore: examined > 0
            }))
          )
      })
    })
  )
}

/** Recovers what is due until its scope closes. */
export const loop = Layer.unwrap(
  ChargeRecovery.use(({ claimDue }) =>
    Effect.succeed(
      Bulkheads.loop(
        "charge recovery",
        { all: 512, ofClaim: 64, ofConnection: 16, ofSimulator: 64 },
        claimDue,
        "1 second"
      )
    )
  )
)

const LEASE_MARGIN_MS = 1000
