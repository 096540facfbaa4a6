/**
 * Seals everything in the database with the newest key of `SECRETS_KEYS` (`reseal`), or counts what each key sealed (`count`).
 *
 * It reads the settings of the server, with all keys that are in use. It exits with 1 where an older key is still needed.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Environment from "./base/Environment.ts"
import { Secrets } from "./base/Secrets.ts"
import { Settings } from "./base/Settings.ts"
import * as Database from "./database/Database.ts"
import { type Counts, countSealed, forgetUnused, reseal } from "./operations/SealedSecrets.ts"
import { requireCell } from "./schema/InstalledCell.ts"
import * as StartupMessage from "./startup/StartupMessage.ts"

const services = Secrets.layer.pipe(
  Layer.provideMerge(Layer.effectDiscard(requireCell)),
  Layer.provideMerge(Database.layer),
  Layer.provide(Database.DatabaseLocation.layer),
  Layer.provide(Settings.layer),
  Layer.provideMerge(
    Layer.effectDiscard(Effect.andThen(Config.Redacted("DATABASE_URL"), Config.Redacted("SECRETS_KEYS")))
  ),
  Layer.provide(Environment.layer)
)

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const show = Effect.fnUntraced(function* (counts: Counts) {
  const { keyId } = yield* Secrets
  for (const [id, count] of [...counts].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    yield* say(`${id}: ${count}${id === keyId ? " (seals)" : ""}`)
  }
})

const program = Effect.gen(function* () {
  const { keyId } = yield* Secrets
  const [command] = process.argv.slice(2)
  if (command === "count") return yield* Effect.flatMap(countSealed, show)
  yield* say(`Sealed with ${keyId}: ${yield* reseal}.`)
  const counts = yield* countSealed
  yield* show(counts)
  const forgotten = yield* forgetUnused(counts)
  if (forgotten.length > 0) yield* say(`Can be dropped from SECRETS_KEYS: ${forgotten.join(", ")}.`)
  if ([...counts].some(([id, count]) => id !== keyId && count > 0)) {
    process.exitCode = 1
    yield* say("An older key is still needed. Repeat this: approvals that wait need it for 72 hours at most.")
  }
})

const [command = "", ...others] = process.argv.slice(2)

const usage = Effect.andThen(
  say("Nothing was done. Write: secrets count, or secrets reseal."),
  Effect.sync(() => void (process.exitCode = 1))
)

// @effect-diagnostics-next-line strictEffectProvide:off
const run = Effect.provide(program, services).pipe(
  Effect.tapCause((cause) => Effect.sync(() => process.stderr.write(`${StartupMessage.failureOf(cause)}\n`)))
)

NodeRuntime.runMain(others.length > 0 || !["count", "reseal"].includes(command) ? usage : run, {
  disableErrorReporting: true
})
