/**
 * An acquirer that runs inside the server and answers by rules that a test can choose.
 *
 * Guarantees: it behaves as a real one does: a txid names one Pix for ever (the copy-and-paste text is a
 * function of it), what it was told survives a restart, and it reports through `AcquirerReports` alone. An
 * ordinary charge costs it no statement.
 *
 * Source: operator-api.md "The simulated acquirer".
 */
import { buildBrCode } from "@pix-payments/domain/BrCode"
import type { Receiver } from "@pix-payments/domain/Charge"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Ids } from "../Ids.ts"
import { Settings } from "../Settings.ts"
import { Acquirer, AcquirerRefused, AcquirerUnclear, type Emission, type Emitted } from "./Acquirer.ts"
import { dueReport } from "./SimulatorReports.ts"

export const layer = Layer.effect(
  Acquirer,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ids = yield* Ids
    const { acquirerTimeoutMs, simulatorLatencyMs, simulatorSettleMs } = yield* Settings

    const bounded = <A, E>(effect: Effect.Effect<A, E>) =>
      Effect.timeoutOrElse(effect, {
        duration: acquirerTimeoutMs,
        orElse: () => Effect.fail(new AcquirerUnclear({ reason: "no answer in time" }))
      })

    /** True for the first call with a txid; what comes with it is kept in the same commit. */
    const firstTime = (emission: Emission, also: Effect.Effect<unknown, SqlError, SqlClient> = Effect.void) =>
      Effect.gen(function* () {
        const rows = yield* sql`INSERT INTO simulator_charges (txid, accepted_at) VALUES (${emission.txid}, now())
          ON CONFLICT DO NOTHING RETURNING txid`
        if (rows.length > 0) yield* also
        return rows.length > 0
      }).pipe(
        sql.withTransaction,
        Effect.provideService(SqlClient, sql),
        Effect.mapError(() => new AcquirerUnclear({ reason: "the simulator cannot keep what it was told" }))
      )

    const answer = (emission: Emission): Effect.Effect<Emitted, AcquirerRefused | AcquirerUnclear> => {
      switch (emission.payer.email) {
        case "refuse@simulator.test":
          return Effect.fail(new AcquirerRefused({ reason: "simulated refusal" }))
        case "slow@simulator.test":
          return Effect.gen(function* () {
            const isFirst = yield* firstTime(emission)
            return yield* isFirst ? bounded(Effect.delay(emit(emission), "2 seconds")) : emit(emission)
          })
        case "timeout@simulator.test":
          return Effect.gen(function* () {
            return (yield* firstTime(emission)) ? yield* bounded(Effect.never) : yield* emit(emission)
          })
        case "pay@simulator.test":
          return Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const payment = dueReport(ids, { txid: emission.txid, report: "paid", dueAtMs: now + simulatorSettleMs })
            yield* firstTime(emission, payment)
            return yield* emit(emission)
          })
        default:
          return emit(emission)
      }
    }

    return Acquirer.of({
      emit: (emission) =>
        simulatorLatencyMs === 0 ? answer(emission) : bounded(Effect.delay(answer(emission), simulatorLatencyMs))
    })
  })
)

const emit = (emission: Emission): Effect.Effect<Emitted, AcquirerRefused> =>
  Result.match(
    buildBrCode({
      payloadUrl: `pix.simulator.test/qr/v2/${emission.txid}`,
      amount: emission.amount,
      merchantName: emission.merchant.name,
      merchantCity: "SAO PAULO",
      singleUse: true
    }),
    {
      onSuccess: (brCode) => Effect.succeed({ brCode, receiver: receiverOf(emission) }),
      onFailure: ({ reason }) => Effect.fail(new AcquirerRefused({ reason: `no BR code can be made: ${reason}` }))
    }
  )

const receiverOf = ({ merchant }: Emission): Receiver => ({
  name: merchant.name,
  document: merchant.document,
  pix_key: merchant.document,
  pix_key_type: merchant.document.length === 11 ? "cpf" : "cnpj",
  institution_name: "Simulated Acquirer",
  institution_ispb: "00000000",
  branch: "0001",
  account: "1",
  account_type: "payment"
})
