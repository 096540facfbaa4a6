/**
 * Makes the schema and ends: the step of a deployment before the new servers start. Settings as of the server, with
 * `MIGRATIONS_DATABASE_URL` for the role that owns the schema.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Banner from "./startup/StartupMessage.ts"
import { Settings } from "./Settings.ts"
import * as Database from "./sql/Database.ts"

/** Both are needed: the schema is made by one role for another. */
const messages = Layer.effectDiscard(
  Effect.andThen(Config.Redacted("DATABASE_URL"), Config.Redacted("MIGRATIONS_DATABASE_URL"))
)

Layer.build(
  Database.layer.pipe(
    Layer.provide(Database.DatabaseLocation.layer),
    Layer.provide(Settings.layer),
    Layer.provideMerge(messages)
  )
).pipe(
  Effect.andThen(Effect.sync(() => process.stdout.write("The schema is up to date.\n"))),
  Effect.scoped,
  Effect.tapCause((cause) => Effect.sync(() => process.stderr.write(`${Banner.reasonOf(cause)}\n`))),
  (program) => NodeRuntime.runMain(program, { disableErrorReporting: true })
)
