/**
 * The bench's own access to the databases of contenders: schema, queries and checks.
 */
import { DatabaseLocation } from "@pix-payments/server/database/Database"
import { layer as migratedDatabase } from "@pix-payments/server/schema/MigratedDatabase"
import { Settings } from "@pix-payments/server/base/Settings"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { Client } from "pg"
import { BenchError } from "./Processes.ts"

/** Runs our server's migrations. */
export const migrate = (databaseUrl: string) =>
  Layer.build(
    migratedDatabase.pipe(
      Layer.provide(
        Layer.succeed(DatabaseLocation, DatabaseLocation.of({ url: Redacted.make(databaseUrl), embeddedIn: undefined }))
      ),
      Layer.provide(Settings.layer),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
    )
  ).pipe(
    Effect.scoped,
    Effect.mapError((error) => new BenchError({ message: `migrations fail: ${error.message}` }))
  )

/** The result of `use`, which gets a connection that is closed afterwards, also where it is interrupted. */
export const withDatabase = <A>(databaseUrl: string, use: (database: Client) => Promise<A>) =>
  Effect.acquireUseRelease(
    query(async () => {
      const database = new Client({ connectionString: databaseUrl })
      // The database may stop while a query runs.
      database.on("error", () => {})
      await database.connect()
      return database
    }),
    (database) => query(() => use(database)),
    (database) => Effect.promise(() => database.end())
  )

const query = <A>(run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new BenchError({ message: `database query fails: ${String(cause)}` })
  })

/**
 * The sentences of `check`, which is retried for 20 s while it returns any: the request log and deliveries are written
 * after the response, and lag on a busy machine. None of this time is measured.
 */
export const violationsIn = (databaseUrl: string, check: (database: Client) => Promise<ReadonlyArray<string>>) =>
  withDatabase(databaseUrl, check).pipe(
    Effect.repeat({
      until: (sentences) => sentences.length === 0,
      schedule: Schedule.max([Schedule.spaced("300 millis"), Schedule.recurs(70)])
    })
  )
