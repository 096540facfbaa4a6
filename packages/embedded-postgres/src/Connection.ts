/** How clients connect, and when they can: a server is ready when it says so and a connection to its database opens. */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { superuser } from "./Cluster.ts"
import type { DataFolder } from "./DataFolder.ts"
import { codeOf, elsewhere, failure, reasonOf } from "./Failure.ts"
import { readIfPresent } from "./Files.ts"

export interface Address {
  readonly port: number
  readonly password: Redacted.Redacted<string>
}

export const urlOf = ({ password, port }: Address, database: string): Redacted.Redacted<string> =>
  Redacted.make(`postgres://${superuser}:${Redacted.value(password)}@127.0.0.1:${port}/${encodeURIComponent(database)}`)

/** Waits until the server of this folder accepts connections, and creates the database if it does not exist. */
export const awaitReady = (address: Address, database: string, folder: DataFolder, serverLog: Effect.Effect<string>) =>
  Effect.andThen(
    untilReady(folder),
    connectTo(address, database).pipe(
      Effect.catchIf(
        (error) => codeOf(error.reason.cause) === UNKNOWN_DATABASE,
        () =>
          Effect.flatMap(connectTo(address, "postgres"), ({ query }) =>
            query(`CREATE DATABASE "${database.replaceAll('"', '""')}"`, [], false)
          )
      ),
      Effect.scoped,
      Effect.retry({
        schedule: Schedule.upTo(every20ms, { duration: "30 seconds" }),
        while: ({ reason }) => reason._tag === "ConnectionError"
      }),
      Effect.catch((error) =>
        error.reason._tag === "AuthenticationError"
          ? failure(`The database in ${folder.cluster} does not accept the password in ${folder.password}`, {
              alternatives: elsewhere
            })
          : Effect.flatMap(serverLog, (log) =>
              failure(`PostgreSQL does not answer (${reasonOf(error.reason.cause)}): ${log}`, {
                alternatives: elsewhere
              })
            )
      )
    )
  )

/**
 * By `postmaster.pid`, as pg_ctl does: a connection alone may have reached another server that has the port. Recovery
 * after a crash may take minutes; interrupted, it would start over at the next start.
 */
const untilReady = (folder: DataFolder) =>
  readIfPresent(folder.pidFile).pipe(
    Effect.repeat({ until: (content) => content?.split("\n")[STATUS_LINE]?.trim() === "ready", schedule: every20ms }),
    Effect.timeoutOrElse({
      duration: "10 minutes",
      orElse: () => failure(`PostgreSQL was not ready after 10 minutes (${folder.log})`, { alternatives: elsewhere })
    })
  )

/** From 0. */
const STATUS_LINE = 7

const connectTo = (address: Address, database: string) =>
  PgConnection.make({ url: urlOf(address, database), connectTimeout: "5 seconds", applicationName: "start" })

const every20ms = Schedule.spaced("20 millis")

const UNKNOWN_DATABASE = "3D000"
