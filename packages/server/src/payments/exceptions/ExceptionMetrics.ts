/** The gauges of exceptions. They are read in the background, so that a scrape waits for no query. */
import { exceptionKinds } from "@pix-payments/domain/AcquirerException"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import { Metrics } from "../../base/observability/Metrics.ts"
import { ExceptionStore } from "./ExceptionStore.ts"

export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* ExceptionStore
    const metrics = yield* Metrics
    const round = Effect.map(store.totals, ({ open, unallocated }) => {
      for (const kind of exceptionKinds) metrics.gauges({ acquirer_exceptions_open: open.get(kind) ?? 0 }, { kind })
      metrics.gauges({ acquirer_unallocated_cents: unallocated })
      return 0
    })
    yield* Effect.forkScoped(BackgroundLoop.run("metrics of exceptions", round, Effect.sleep("5 seconds")))
  })
)
