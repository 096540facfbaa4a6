/**
 * Makes the partitions of the next months and quarters, removes expired ones, erases the payers of old unpaid charges, and rebuilds
 * indexes of past partitions, once: for a timer. A service that owns its tables does all but the rebuilds itself.
 *
 * It reads the settings of the server. `MIGRATIONS_DATABASE_URL` is the role that owns the schema.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Environment from "./base/Environment.ts"
import { Settings } from "./base/Settings.ts"
import * as Database from "./database/Database.ts"
import { requireCell } from "./schema/InstalledCell.ts"
import type { Rebuilt } from "./schema/partitions/IndexRebuild.ts"
import * as Maintenance from "./schema/partitions/Maintenance.ts"
import * as StartupMessage from "./startup/StartupMessage.ts"

const settings = Layer.effectDiscard(requireCell).pipe(
  Layer.provide(Database.layer),
  Layer.provideMerge(Database.DatabaseLocation.layer),
  Layer.provideMerge(Settings.layer),
  Layer.provideMerge(
    Layer.effectDiscard(Effect.andThen(Config.Redacted("DATABASE_URL"), Config.Redacted("MIGRATIONS_DATABASE_URL")))
  ),
  Layer.provide(Environment.layer)
)

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const rebuildLine = Option.match({
  onNone: () => "Indexes rebuilt: 0. Another process rebuilds them.",
  onSome: ({ failed, rebuilt }: Rebuilt) =>
    `Indexes rebuilt: ${rebuilt.length}.${failed.length > 0 ? ` Failed, for the next run: ${failed.join(", ")}.` : ""}`
})

Effect.gen(function* () {
  const [unknown] = process.argv.slice(2)
  if (unknown !== undefined) {
    process.exitCode = 1
    yield* say(`Nothing was done: ${unknown} is unknown. There are no options.`)
    return
  }
  const { done, made, postponed, removed } = yield* Maintenance.run
  if (!done) {
    process.exitCode = 1
    yield* say("Nothing was done: another process maintains the partitions, or this role does not own the tables.")
    return
  }
  yield* say(`Partitions made: ${made}. Removed: ${removed.map(({ name }) => name).join(", ") || "none"}.`)
  if (postponed.length > 0) {
    process.exitCode = 1
    yield* say(
      `Not done: ${postponed.join(", ")}. A transaction is open for long (pg_stat_activity). Repeat it afterwards.`
    )
  }
  yield* Effect.flatMap(Maintenance.expirePayers, (erased) =>
    say(`Payers of unpaid charges erased: ${Option.getOrElse(erased, () => 0)}.`)
  )
  yield* Effect.flatMap(Maintenance.rebuildIndexes(), (done) => say(rebuildLine(done)))
}).pipe(
  // @effect-diagnostics-next-line strictEffectProvide:off
  Effect.provide(settings),
  Effect.tapCause((cause) => Effect.sync(() => process.stderr.write(`${StartupMessage.failureOf(cause)}\n`))),
  (program) => NodeRuntime.runMain(program, { disableErrorReporting: true })
)
