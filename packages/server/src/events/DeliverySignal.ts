/**
 * Wakes the fan-out of every process after a commit with an outbox row, and the claims of this process when deliveries
 * become due otherwise.
 *
 * A lost signal only costs time, because rows are also polled. NOTIFY, which wakes the other processes, is coalesced over
 * 100 ms, because it serialises commits and is a commit itself. This process, which is woken at once, sends most changes.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { randomUUID } from "node:crypto"

/** A row of a statement that has the part `outbox`: a changed resource, and how many outbox rows the statement inserted. */
export interface ChangedRow {
  readonly id: string
  readonly outbox_rows: number
}

export class DeliverySignal extends Context.Service<
  DeliverySignal,
  {
    /** Wakes the fan-out if the committed statement inserted outbox rows. */
    readonly afterCommit: (rows: ReadonlyArray<ChangedRow>) => void
    /** Wakes the claims of this process, of first attempts and of retries. */
    readonly wake: () => void
    /** Waits for the next commit with an outbox row since `rest`. */
    readonly await: Effect.Effect<void>
    /** From here on, wait again. */
    readonly rest: Effect.Effect<void>
    /**
     * The same for claims of first attempts that the fan-out did not send itself, and for those of retries. `rest` returns
     * whether they were woken.
     */
    readonly first: { readonly await: Effect.Effect<void>; readonly rest: Effect.Effect<boolean> }
    readonly retries: { readonly await: Effect.Effect<void>; readonly rest: Effect.Effect<boolean> }
  }
>()("@pix-payments/server/DeliverySignal") {
  static readonly layer = Layer.effect(
    DeliverySignal,
    Effect.gen(function* () {
      const client = yield* PgClient.PgClient
      const here = Latch.makeUnsafe(false)
      const elsewhere = Latch.makeUnsafe(false)
      const first = Latch.makeUnsafe(false)
      const retries = Latch.makeUnsafe(false)
      // Containers share process ids.
      const self = randomUUID()

      const notifyOthers = Effect.gen(function* () {
        yield* elsewhere.await
        yield* elsewhere.close
        yield* client.notify(CHANNEL, self)
        yield* Effect.sleep("100 millis")
      }).pipe(
        Effect.catch(() => Effect.sleep("1 second")),
        Effect.forever
      )

      const listenToOthers = Effect.scoped(
        Effect.gen(function* () {
          const notifications = yield* client.listen(CHANNEL)
          while (true) {
            const { payload } = yield* Queue.take(notifications)
            if (payload !== self) yield* here.open
          }
        })
      ).pipe(
        // Polling replaces the signal until the connection is back.
        Effect.catch(() => Effect.sleep("1 second")),
        Effect.forever
      )

      yield* Effect.forkScoped(notifyOthers)
      yield* Effect.forkScoped(listenToOthers)

      return DeliverySignal.of({
        afterCommit: (rows) => {
          if ((rows[0]?.outbox_rows ?? 0) === 0) return
          here.openUnsafe()
          elsewhere.openUnsafe()
        },
        wake: () => {
          first.openUnsafe()
          retries.openUnsafe()
        },
        await: here.await,
        rest: Effect.asVoid(here.close),
        first: { await: first.await, rest: first.close },
        retries: { await: retries.await, rest: retries.close }
      })
    })
  )
}

const CHANNEL = "pix_payments_deliveries"
