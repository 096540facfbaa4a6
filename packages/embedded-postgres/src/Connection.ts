/** How clients connect, and when they can: a server is ready when a connection to its database opens. */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type { SqlError } from "effect/sql/SqlError"
import { superuser } from "./Cluster.ts"
import type { DataFolder } from "./DataFolder.ts"
import { codeOf, elsewhere, failure, reasonOf } from "./Failure.ts"

export interface Address {
  readonly port: number
  readonly password: Redacted.Redacted<string>
}

export const urlOf = ({ password, port }: Address, database: string): Redacted.Redacted<string> =>
  Redacted.make(`postgres://${superuser}:${Redacted.value(password)}@127.0.0.1:${port}/${encodeURIComponent(database)}`)

/** Waits until the server accepts connections, and creates the database if it does not exist. */
export const awaitReady = (address: Address, database: string, folder: DataFolder, serverLog: Effect.Effect<string>) =>
  connectTo(address, database).pipe(
    Effect.catchIf(
      (error) => sqlStateOf(error) === UNKNOWN_DATABASE,
      () =>
        Effect.flatMap(connectTo(address, "postgres"), ({ query }) =>
          query(`CREATE DATABASE "${database.replaceAll('"', '""')}"`, [], false)
        )
    ),
    Effect.scoped,
    // Recovery after a crash may take minutes. Interrupted, it would start over at the next start.
    Effect.retry({
      schedule: Schedule.upTo(every20ms, { duration: "10 minutes" }),
      while: (error) => sqlStateOf(error) === CANNOT_CONNECT_NOW
    }),
    Effect.retry({
      schedule: Schedule.upTo(every20ms, { duration: "30 seconds" }),
      while: ({ reason }) => reason._tag === "ConnectionError"
    }),
    Effect.catch((error) =>
      error.reason._tag === "AuthenticationError"
        ? // If another server has the port, ours is about to exit and say so: that failure comes first.
          Effect.delay(
            failure(`The database in ${folder.cluster} does not accept the password in ${folder.password}`, {
              alternatives: elsewhere
            }),
            "500 millis"
          )
        : Effect.flatMap(serverLog, (log) =>
            failure(`PostgreSQL does not answer (${reasonOf(error.reason.cause)}): ${log}`, {
              alternatives: elsewhere
            })
          )
    )
  )

const connectTo = (address: Address, database: string) =>
  PgConnection.make({ url: urlOf(address, database), connectTimeout: "5 seconds", applicationName: "start" })

const every20ms = Schedule.spaced("20 millis")

const sqlStateOf = (error: SqlError): string | undefined => codeOf(error.reason.cause)

const UNKNOWN_DATABASE = "3D000"
const CANNOT_CONNECT_NOW = "57P03"
