/**
 * Verifies the ledger in the background, incrementally: its result and its age are metrics, and a difference is
 * logged and an alert.
 *
 * Each process verifies a minute after its start and then every ten minutes, so that no process has an old result.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { Metrics } from "../base/observability/Metrics.ts"
import { formatInstant } from "@pix-payments/domain/Instant"
import { LedgerVerification } from "../ledger/LedgerVerification.ts"
import { raise } from "./Alerts.ts"

/** Verifies once. Returns how many ledger accounts and closed days differ. */
export const check = Effect.gen(function* () {
  const { verifyAlone } = yield* LedgerVerification
  const { gauges } = yield* Metrics
  const { accounts, closes, states } = yield* verifyAlone("since-close")
  const differing = [...accounts, ...states].filter(({ computed, kept }) => computed !== kept)
  const count = differing.length + closes.length
  gauges({
    ledger_differences: count,
    ledger_verified_timestamp_seconds: (yield* Clock.currentTimeMillis) / 1000
  })
  for (const { computed, kept, kind, ownerId } of differing.slice(0, MAX_LOGGED)) {
    yield* Effect.annotateLogs(
      Effect.logError(`the ledger differs: a balance is ${kept} cents and should be ${computed}`),
      { owner_id: ownerId, ledger_account: kind }
    )
  }
  for (const { day, ownerId, problem } of closes.slice(0, MAX_LOGGED)) {
    yield* Effect.annotateLogs(Effect.logError(`the ledger differs: ${day} is not as it was: ${problem}`), {
      owner_id: ownerId
    })
  }
  if (count > 0) {
    const day = formatInstant(yield* Clock.currentTimeMillis).slice(0, 10)
    yield* raise({
      key: `ledger:${day}`,
      event: "ledger.differs",
      title: `The books differ: ${differing.length} ledger accounts, ${closes.length} closed days. Stop payouts.`,
      path: "/ledger",
      isUrgent: true
    })
  }
  return count
})

export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const loop = BackgroundLoop.run("ledger verification", Effect.as(check, 0), Effect.sleep("10 minutes"), {
      within: "35 minutes"
    })
    yield* Effect.forkScoped(Effect.andThen(Effect.sleep("1 minute"), loop))
  })
)

const MAX_LOGGED = 10
