/**
 * Asks the acquirer again about charges that it has not answered (CHG-4).
 *
 * Guarantees:
 * - each charge is asked about by one process at a time, later with each attempt, until it is `pending` or `failed`;
 * - one charge or account that cannot be recovered delays no other.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { describeCause } from "../observability/SafeCause.ts"
import { Settings } from "../Settings.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import { Charges } from "./Charges.ts"
import type { StoredCharge } from "./ChargeTable.ts"
import { claimDueRecoveries, renewRecoveries } from "./RecoveryStore.ts"

export class ChargeRecovery extends Context.Service<
  ChargeRecovery,
  {
    /** Recovers some of the charges that are due; how many recoveries were examined. */
    readonly recover: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/ChargeRecovery") {
  static readonly layer = Layer.effect(
    ChargeRecovery,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { emit } = yield* Charges
      const { acquirerTimeoutMs } = yield* Settings
      const leaseMs = acquirerTimeoutMs + LEASE_MARGIN_MS

      const recoverOne = (charge: StoredCharge) =>
        Effect.catchCause(emit(charge), (cause) =>
          Effect.annotateLogs(Effect.logWarning("a charge could not be recovered", describeCause(cause)), {
            charge_id: charge.id
          })
        )

      return ChargeRecovery.of({
        recover: Effect.gen(function* () {
          const { charges, examined } = yield* claimDueRecoveries(sql, CHARGES_AT_ONCE, leaseMs)
          if (charges.length === 0) return examined
          const renewing = Effect.forever(
            Effect.andThen(Effect.sleep(leaseMs / 2), Effect.ignore(renewRecoveries(sql, charges, leaseMs)))
          )
          yield* Effect.raceFirst(
            Effect.forEach(charges, recoverOne, { concurrency: "unbounded", discard: true }),
            renewing
          )
          return examined
        })
      })
    })
  )
}

const LEASE_MARGIN_MS = 1000

const CHARGES_AT_ONCE = 64
