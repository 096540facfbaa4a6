/**
 * A PostgreSQL primary with a synchronous standby, behind an address that moves, and their faults.
 *
 * The standby receives the log with a delay, and a killed primary sends no more of it. So a commit that did not wait for
 * its standby is lost here as it would be with a machine.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import * as Net from "node:net"
import { join } from "node:path"
import { backUp, putInto } from "../../support/BaseBackup.ts"
import { eventually } from "../../support/Receiver.ts"

interface Server {
  readonly url: Redacted.Redacted<string>
  readonly port: number
  /** SIGKILL. */
  readonly kill: Effect.Effect<void>
}

/** One address for clients, which leads to one server or to none. */
interface Address {
  readonly port: number
  /** Cuts every connection; new ones go to this port, or are refused. */
  readonly moveTo: (port: number | undefined) => void
}

const STANDBY = "standby"

const REPLICATION_DELAY_MS = 150

/** A primary and its standby, replicating synchronously. `folder` is empty. */
export const replicated = Effect.fnUntraced(function* (folder: string) {
  const primaryDir = join(folder, "primary")
  const standbyDir = join(folder, "standby")
  const started = yield* serverOf(primaryDir)
  const wire = yield* movingAddress(REPLICATION_DELAY_MS)
  wire.moveTo(started.port)
  const primary: Server = {
    ...started,
    kill: Effect.andThen(
      Effect.sync(() => wire.moveTo(undefined)),
      started.kill
    )
  }
  const url = new URL(Redacted.value(primary.url))
  yield* backUp(primary.url, primaryDir, standbyDir)
  const conninfo = [
    `host=127.0.0.1 port=${wire.port} user=${url.username}`,
    `password=${url.password} application_name=${STANDBY}`
  ].join(" ")
  yield* Effect.promise(async () => {
    await putInto(standbyDir, "standby.signal", "")
    await putInto(standbyDir, "postgresql.auto.conf", `primary_conninfo = '${conninfo}'\n`)
  })
  const startStandby = serverOf(standbyDir)
  const standby = yield* startStandby
  yield* ask(primary.url, `ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (${STANDBY})'`)
  yield* ask(primary.url, "SELECT pg_reload_conf()")

  const address = yield* movingAddress()
  address.moveTo(primary.port)
  url.port = String(address.port)
  return {
    url: Redacted.make(url.href),
    address,
    primary,
    standby,
    /** Starts the standby again, as it was when it was killed. */
    startStandby,
    isReplicating: eventually(
      ask(primary.url, "SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"),
      (rows) => rows.length === 1
    )
  }
})

/** docs/operations/failover.md: fence, promote, name the standbys that are left, move the address. */
export const failOver = Effect.fnUntraced(function* (
  address: Address,
  { from, to }: { readonly from: Server; readonly to: Server }
) {
  address.moveTo(undefined)
  yield* from.kill
  // Waiting inside pg_promote holds a snapshot, which what is still replayed may cancel (40001).
  yield* ask(to.url, "SELECT pg_promote(false)").pipe(Effect.retry({ times: 10 }))
  yield* eventually(
    Effect.orElseSucceed(ask(to.url, "SELECT pg_is_in_recovery() AS still"), () => []),
    ([row]) => row?.["still"] === false
  )
  yield* ask(to.url, "ALTER SYSTEM SET synchronous_standby_names = ''")
  yield* ask(to.url, "SELECT pg_reload_conf()")
  address.moveTo(to.port)
})

/** The rows of one statement, on a separate connection. */
export const ask = (url: Redacted.Redacted<string>, statement: string) =>
  PgConnection.make({ url }).pipe(
    Effect.flatMap((connection) => connection.query(statement, [], false)),
    Effect.map(({ rows }) => rows),
    Effect.scoped
  )

const serverOf = Effect.fnUntraced(function* (dataDir: string) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const { port, url } = yield* EmbeddedPostgres.start({ dataDir }).pipe(Scope.provide(scope))
  const server: Server = {
    url,
    port,
    kill: Effect.andThen(
      Effect.promise(async () => {
        const [pid] = (await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8")).split("\n")
        process.kill(Number(pid), "SIGKILL")
      }),
      Scope.close(scope, Exit.void)
    )
  }
  return server
})

const movingAddress = (delayMs = 0) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const sockets = new Set<Net.Socket>()
        let target: number | undefined
        const cut = () => {
          for (const socket of sockets) socket.destroy()
        }
        const server = Net.createServer((inner) => {
          if (target === undefined) return void inner.destroy()
          const outer = Net.connect(target, "127.0.0.1")
          for (const [from, into] of [
            [inner, outer],
            [outer, inner]
          ] as const) {
            sockets.add(from)
            from.on("error", () => {})
            from.on("close", () => {
              sockets.delete(from)
              into.destroy()
            })
            if (delayMs === 0) from.pipe(into)
            else from.on("data", (chunk: Buffer) => setTimeout(() => into.destroyed || into.write(chunk), delayMs))
          }
        })
        server.listen(0, "127.0.0.1")
        await once(server, "listening")
        const address: Address = {
          port: (server.address() as Net.AddressInfo).port,
          moveTo: (port) => {
            target = port
            cut()
          }
        }
        return { address, server, cut }
      }),
      ({ cut, server }) =>
        Effect.sync(() => {
          server.close()
          cut()
        })
    ),
    ({ address }) => address
  )
