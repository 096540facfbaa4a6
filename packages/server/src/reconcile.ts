/**
 * Compares the books with what the banks have since a moment, heals what it can and names the rest: after a restore.
 *
 * `--since` is an instant with an offset. It reads the settings of the server. It exits with 0 where nothing is left to do, with 1
 * where something is, and with 2 where it could not run.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { parseInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readEnvironment } from "./base/Environment.ts"
import { closedReason, Outward } from "./base/Outward.ts"
import { Settings } from "./base/Settings.ts"
import { DatabaseLocation } from "./database/Database.ts"
import { RestoreComparison } from "./reports/RestoreComparison.ts"
import * as Service from "./Service.ts"
import { missingSetting } from "./startup/RequiredSettings.ts"
import * as StartupMessage from "./startup/StartupMessage.ts"

const settings = Layer.unwrap(
  Effect.gen(function* () {
    const env = yield* readEnvironment(process.env)
    const missing = missingSetting(env, { isDemo: false, isWorker: false })
    if (missing !== undefined) return yield* missing
    return Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))
  })
)

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const cannotRun = (line: string) =>
  Effect.andThen(
    say(line),
    Effect.sync(() => void (process.exitCode = 2))
  )

const MOST_DAYS = 190

const reconcile = Effect.fnUntraced(function* (sinceMs: number) {
  const closed = closedReason(yield* Outward)
  if (closed !== undefined) return yield* cannotRun(`Nothing was done: ${closed}.`)
  const { since } = yield* RestoreComparison
  const open = yield* since(sinceMs, ({ kind, text: found }) => say(`${kind}: ${found}`))
  yield* say(open === 0 ? "The books have what the banks have." : `Open: ${open}.`)
  if (open > 0) process.exitCode = 1
})

Effect.gen(function* () {
  const [flag, text = "", ...others] = process.argv.slice(2)
  const sinceMs = parseInstant(text)
  const ageMs = (yield* Clock.currentTimeMillis) - (sinceMs ?? 0)
  if (flag !== "--since" || sinceMs === undefined || others.length > 0 || ageMs < 0 || ageMs > MOST_DAYS * 86_400_000) {
    return yield* cannotRun(
      `Nothing was done. Write: reconcile --since 2026-11-25T12:00:00-03:00, an instant of the last ${MOST_DAYS} days: the moment of the restore, or an hour before.`
    )
  }
  // @effect-diagnostics-next-line strictEffectProvide:off
  yield* Effect.provide(
    reconcile(sinceMs),
    Service.reconciler.pipe(Layer.provide(DatabaseLocation.layer), Layer.provide(settings))
  )
}).pipe(
  Effect.catchCause((cause) =>
    Effect.sync(() => {
      process.stderr.write(`${StartupMessage.failureOf(cause)}\n`)
      process.exitCode = 2
    })
  ),
  (program) => NodeRuntime.runMain(program, { disableErrorReporting: true })
)
