/**
 * Migrates the schema and grants the privileges: the step of a deployment before the new servers start.
 *
 * `--wait 60` is for how many seconds it waits for PostgreSQL at most; 60 without it. It reads the settings of the server. `MIGRATIONS_DATABASE_URL` is the role that owns the schema.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Environment from "./base/Environment.ts"
import { Settings } from "./base/Settings.ts"
import { DatabaseLocation } from "./database/Database.ts"
import { Patience } from "./database/FirstConnection.ts"
import * as MigratedDatabase from "./schema/MigratedDatabase.ts"
import * as StartupMessage from "./startup/StartupMessage.ts"

/** Both are required: one role migrates the schema, and grants privileges to the other. */
const requiredSettings = Layer.effectDiscard(
  Effect.andThen(Config.Redacted("DATABASE_URL"), Config.Redacted("MIGRATIONS_DATABASE_URL"))
)

const [flag, seconds = "60", ...others] = process.argv.slice(2)
const waitMs = Number(seconds) * 1000

const migration = Layer.build(
  MigratedDatabase.layer.pipe(
    Layer.provide(DatabaseLocation.layer),
    Layer.provide(Settings.layer),
    Layer.provideMerge(requiredSettings),
    Layer.provide(Environment.layer)
  )
).pipe(
  Effect.tap(() => Effect.sync(() => process.stdout.write("The schema is up to date.\n"))),
  Effect.scoped,
  Effect.provideService(Patience, waitMs),
  Effect.tapCause((cause) => Effect.sync(() => process.stderr.write(`${StartupMessage.failureOf(cause)}\n`)))
)

const usage = Effect.sync(() => {
  process.stdout.write("Nothing was done. Write: migrate, or migrate --wait and a number of seconds up to 3600.\n")
  process.exitCode = 1
})

const isKnown = (flag === undefined || flag === "--wait") && others.length === 0 && waitMs >= 0 && waitMs <= 3_600_000
NodeRuntime.runMain(isKnown ? migration : usage, { disableErrorReporting: true })
