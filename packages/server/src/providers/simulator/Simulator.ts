/**
 * The simulated acquirer: it runs inside the server and answers by rules that a test can choose.
 *
 * Guarantees:
 * - as with a real acquirer, a txid names one Pix for ever (the BR code is a function of it), accepted requests survive a
 *   restart, and outcomes arrive through `AcquirerNotifications` alone;
 * - the emission of an ordinary charge runs no statement.
 */
import { buildBrCode, merchantNameOf } from "@pix-payments/domain/BrCode"
import type { Receiver } from "@pix-payments/domain/Charge"
import { simulatedCharges, simulatedPayouts } from "@pix-payments/domain/SimulatedBank"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Ids } from "../../base/Ids.ts"
import { Settings } from "../../base/Settings.ts"
import * as Batching from "../../database/batching/Batching.ts"
import { bigint, text, uuid } from "../../database/statements/Column.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { rows, statement, uuids, value } from "../../database/statements/Statement.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import {
  AcquirerRefused,
  AcquirerUnclear,
  type Emission,
  type Emitted,
  type PayoutOrder,
  type PayoutProgress,
  type Progress,
  SimulatedProvider
} from "../Acquirer.ts"
import { dueNotification, firstPixOf, newEndToEndId, SIMULATOR_ISPB } from "./SimulatedInstitution.ts"

export const layer = Layer.effect(
  SimulatedProvider,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ids = yield* Ids
    const { acquirerTimeoutMs, simulatorLatencyMs, simulatorSettleMs } = yield* Settings

    const bounded = <A, E>(effect: Effect.Effect<A, E>) =>
      Effect.timeoutOrElse(effect, {
        duration: acquirerTimeoutMs,
        orElse: () => Effect.fail(new AcquirerUnclear({ reason: "no answer in time" }))
      })

    /** True for the first call with a txid. `also` runs in its transaction. */
    const firstTime = (emission: Emission, also: Effect.Effect<unknown, SqlError, SqlClient> = Effect.void) =>
      Effect.gen(function* () {
        const inserted = yield* sql`INSERT INTO simulator_charges (txid, accepted_at) VALUES (${emission.txid}, now())
          ON CONFLICT DO NOTHING RETURNING txid`
        if (inserted.length > 0) yield* also
        return inserted.length > 0
      }).pipe(
        sql.withTransaction,
        Effect.provideService(SqlClient, sql),
        runToCompletion(sql),
        Effect.mapError(() => new AcquirerUnclear({ reason: "the simulator cannot store the request" }))
      )

    const answer = (emission: Emission): Effect.Effect<Emitted, AcquirerRefused | AcquirerUnclear> => {
      switch (emission.payer.email) {
        case simulatedCharges.refused.email:
          return Effect.fail(new AcquirerRefused({ reason: "simulated refusal" }))
        case simulatedCharges.slow.email:
          return Effect.gen(function* () {
            const isFirst = yield* firstTime(emission)
            return yield* isFirst ? bounded(Effect.delay(emit(emission), "2 seconds")) : emit(emission)
          })
        case simulatedCharges.lost.email:
          return Effect.gen(function* () {
            return (yield* firstTime(emission)) ? yield* bounded(Effect.never) : yield* emit(emission)
          })
        case simulatedCharges.paid.email:
          return Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const { txid } = emission
            const payment = { _tag: "charge.paid", txid, endToEndId: firstPixOf(txid) } as const
            yield* firstTime(emission, dueNotification(ids, payment, now + simulatorSettleMs))
            return yield* emit(emission)
          })
        default:
          return emit(emission)
      }
    }

    const late = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | AcquirerUnclear> =>
      simulatorLatencyMs === 0 ? effect : bounded(Effect.delay(effect, simulatorLatencyMs))

    /** Accepts payouts, each once; true for the first call with an id. */
    const accept = yield* Batching.make<PayoutOrder, boolean>({
      maxBatch: 500,
      writes: sql,
      run: (orders) =>
        Effect.gen(function* () {
          const nowMs = yield* Clock.currentTimeMillis
          const inserted = yield* sql.unsafe<{ readonly order_id: string }>(
            ...acceptPayouts({
              payouts: orders.map(({ amount, id, pixKey }) => ({
                order_id: id,
                amount,
                pix_key: pixKey ?? "",
                end_to_end_id: newEndToEndId(nowMs)
              })),
              settleMs: simulatorSettleMs
            })
          )
          const accepted = new Set(inserted.map(({ order_id }) => order_id))
          return orders.map(({ id }) => accepted.has(id))
        })
    })

    const outcome = yield* Batching.make<string, PayoutProgress>({
      maxBatch: 500,
      run: (orderIds) =>
        Effect.map(sql.unsafe<SettledRow>(...findPayouts({ ids: orderIds })), (found) => {
          const byId = new Map(found.map((row) => [row.order_id, row]))
          return orderIds.map((id) => progressOf(byId.get(id)))
        })
    })

    const orUnclear = <A>(effect: Effect.Effect<A, Unavailable>) =>
      Effect.mapError(effect, () => new AcquirerUnclear({ reason: "the simulator cannot store the request" }))

    const send = Effect.fnUntraced(function* (order: PayoutOrder) {
      const first = yield* orUnclear(accept(order))
      if (first && order.pixKey === simulatedPayouts.lost.pixKey) return yield* bounded(Effect.never)
      return yield* orUnclear(outcome(order.id))
    })

    return SimulatedProvider.of({
      emit: (emission) => late(answer(emission)),
      cancel: () => late(Effect.void),
      orderReturn: ({ description }) => late(Effect.succeed(returnOutcome(description))),
      payouts: {
        send: (order) => late(send(order)),
        outcome: ({ id }) => late(orUnclear(outcome(id)))
      },
      disputes: { defend: () => late(Effect.void) }
    })
  })
)

interface SettledRow {
  readonly order_id: string
  readonly failed: boolean
  readonly reason: string | null
  readonly end_to_end_id: string
}

// A payout settles when it is due, unless its Pix key is that of a failure or of one that an operator settles.
const acceptPayouts = statement(
  {
    payouts: rows({ order_id: uuid(), amount: bigint(), pix_key: text(), end_to_end_id: text() }),
    settleMs: value("double precision")
  },
  ({ payouts, settleMs }) => `
  INSERT INTO simulator_payouts (order_id, amount, pix_key, end_to_end_id, fails, due_at)
  SELECT p.order_id, p.amount, p.pix_key, p.end_to_end_id, p.pix_key = '${simulatedPayouts.failed.pixKey}',
    CASE WHEN p.pix_key <> '${simulatedPayouts.held.pixKey}' THEN now() + ${settleMs} * interval '1 millisecond' END
  FROM ${payouts} AS p
  ON CONFLICT DO NOTHING RETURNING order_id`
)

const findPayouts = statement(
  { ids: uuids },
  ({ ids }) => `
  SELECT order_id, fails AS failed, reason, end_to_end_id FROM simulator_payouts
  WHERE order_id = ANY (${ids}) AND due_at <= now()`
)

const progressOf = (settled: SettledRow | undefined): PayoutProgress => {
  if (settled === undefined) return { _tag: "Accepted" }
  if (settled.failed) return { _tag: "Failed", reason: settled.reason ?? "simulated failure" }
  return { _tag: "Completed", endToEndId: settled.end_to_end_id }
}

/** A return completes at once, unless its description is that of a failure or of one that an operator settles. */
const returnOutcome = (description: string | null): Progress => {
  if (description === simulatedPayouts.held.pixKey) return { _tag: "Accepted" }
  return description === simulatedPayouts.failed.pixKey
    ? { _tag: "Failed", reason: "simulated failure" }
    : { _tag: "Completed" }
}

const emit = (emission: Emission): Effect.Effect<Emitted, AcquirerRefused> =>
  emission.method === "pix" ? emitPix(emission) : Effect.succeed({ brCode: null, receiver: receiverOf(emission) })

const emitPix = (emission: Emission): Effect.Effect<Emitted, AcquirerRefused> =>
  Result.match(
    buildBrCode({
      payloadUrl: `pix.simulator.test/qr/v2/${emission.txid}`,
      amount: emission.amount,
      merchantName: merchantNameOf(emission.merchant),
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
  institution_ispb: SIMULATOR_ISPB,
  branch: "0001",
  account: "1",
  account_type: "payment"
})
