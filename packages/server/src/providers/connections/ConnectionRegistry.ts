/**
 * The connections of this process: each is opened from its row, and anew when the row's version grows.
 *
 * Guarantees:
 * - A change is applied at once in the process that made it, and within seconds in the others.
 * - A connection that is replaced is closed after its last call has ended. Calls go to the new one meanwhile.
 * - A connection whose row is gone, as it moved to another cell, is closed after its last call.
 * - Opening a connection sends nothing and delays no other. A connection that cannot be opened stays as it was, or is
 *   unusable; the log has the reason once.
 */
import type { ConnectionStatus } from "@pix-payments/api-pix/Connection"
import type { ConnectionState } from "@pix-payments/domain/AcquirerConnection"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { Secrets } from "../../base/Secrets.ts"
import { Settings } from "../../base/Settings.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { type InvalidConnection, openCredentials } from "./ConnectionCredentials.ts"
import { type ConnectionRow, ConnectionStore } from "./ConnectionStore.ts"
import { type OpenConnection, openConnection } from "./OpenConnection.ts"

/** A connection as this process has it. */
export interface RegisteredConnection {
  readonly row: ConnectionRow
  /** Undefined where it cannot be opened. */
  readonly open: OpenConnection | undefined
  /** Why it cannot be opened. */
  readonly problem: string | undefined
}

/** The connection cannot be used now. */
export class ConnectionUnusable extends Data.TaggedError("ConnectionUnusable")<{ readonly reason: string }> {}

export class ConnectionRegistry extends Context.Service<
  ConnectionRegistry,
  {
    /** All connections to providers outside of this service, paused and unusable ones included. */
    readonly all: () => ReadonlyArray<RegisteredConnection>
    readonly find: (id: string) => RegisteredConnection | undefined
    /** Runs with a connection, paused ones included, which is not closed before the effect ends. */
    readonly use: <A, E, R>(
      id: string,
      call: (open: OpenConnection) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | ConnectionUnusable, R>
    readonly stateOf: (connection: RegisteredConnection) => Effect.Effect<ConnectionState>
    /** Undefined where the connection cannot be opened. */
    readonly statusOf: (connection: RegisteredConnection) => Effect.Effect<ConnectionStatus | undefined>
    /** Reads the rows and opens what changed. */
    readonly refresh: Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/ConnectionRegistry") {
  static readonly layer = Layer.effect(
    ConnectionRegistry,
    Effect.gen(function* () {
      const store = yield* ConnectionStore
      const secrets = yield* Secrets
      const { acquirerTimeoutMs: timeoutMs } = yield* Settings
      const scope = yield* Effect.scope
      const entries = new Map<string, Entry>()

      const open = Effect.fnUntraced(function* (row: ConnectionRow) {
        const sealed = yield* store.sealedCredentials(row.id)
        const credentials = sealed === undefined ? {} : yield* openCredentials(secrets, row.id, sealed)
        const terms = { ...row, pix_key: row.pix_key ?? "", credentials }
        const own = yield* Scope.fork(scope)
        return yield* openConnection(terms, timeoutMs).pipe(
          Effect.map((opened): Opened => ({ ...opened, scope: own, calls: 0, isReplaced: false })),
          Effect.onError((cause) => Scope.close(own, Exit.failCause(cause))),
          Scope.provide(own)
        )
      })

      const replace = (entry: Entry, opened: Opened) => {
        const before = entry.opened
        entry.opened = opened
        entry.problem = undefined
        return before === undefined ? Effect.void : retire(before)
      }

      const refuse = (entry: Entry, { part, reason }: InvalidConnection) => {
        entry.problem = `${part} ${reason}`
        return Effect.annotateLogs(Effect.logWarning(`a connection cannot be opened: ${entry.problem}`), {
          connection_id: entry.row.id
        })
      }

      const bringUpToDate = Effect.fnUntraced(
        function* (entry: Entry) {
          const { row } = entry
          if (entry.version >= row.version) return
          yield* Effect.uninterruptible(
            open(row).pipe(
              Effect.tap((opened) => store.paysOut(row.id, opened.paysOut)),
              Effect.flatMap((opened) => replace(entry, opened)),
              Effect.catchTag("InvalidConnection", (problem) => refuse(entry, problem))
            )
          )
          entry.version = row.version
        },
        (effect, entry) => entry.turn.withPermits(1)(effect)
      )

      const entryOf = (row: ConnectionRow): Entry => {
        const known = entries.get(row.id)
        if (known !== undefined) {
          // A poll may have read before a change of this process.
          if (row.version >= known.row.version) known.row = row
          return known
        }
        const entry: Entry = { row, version: 0, opened: undefined, problem: undefined, turn: Semaphore.makeUnsafe(1) }
        entries.set(row.id, entry)
        return entry
      }

      const refresh = Effect.gen(function* () {
        const rows = yield* store.all
        for (const [id, { opened }] of entries) {
          if (rows.some((row) => row.id === id)) continue
          entries.delete(id)
          if (opened !== undefined) yield* retire(opened)
        }
        yield* Effect.forEach(
          rows,
          (row) => {
            const entry = entryOf(row)
            return Effect.catchCause(bringUpToDate(entry), (cause) =>
              Effect.annotateLogs(Effect.logWarning("a connection could not be read", describeCause(cause)), {
                connection_id: row.id
              })
            )
          },
          { concurrency: "unbounded", discard: true }
        )
      }).pipe(Semaphore.makeUnsafe(1).withPermits(1))

      const statusOf: ConnectionRegistry["Service"]["statusOf"] = ({ open: opened }) =>
        opened === undefined ? Effect.undefined : opened.client.connection.status

      yield* Effect.catchTag(refresh, "Unavailable", () => Effect.void)

      return ConnectionRegistry.of({
        all: () => [...entries.values()].map(registered),
        find: (id) => {
          const entry = entries.get(id)
          return entry === undefined ? undefined : registered(entry)
        },
        use: (id, call) =>
          Effect.acquireUseRelease(
            Effect.suspend(() => {
              const opened = entries.get(id)?.opened
              if (opened === undefined) {
                const reason = entries.get(id)?.problem ?? "the connection is unknown"
                return Effect.fail(new ConnectionUnusable({ reason }))
              }
              opened.calls += 1
              return Effect.succeed(opened)
            }),
            call,
            (opened) => {
              opened.calls -= 1
              return opened.isReplaced ? closeUnused(opened) : Effect.void
            }
          ),
        stateOf: (connection) =>
          connection.row.paused
            ? Effect.succeed("paused")
            : Effect.map(statusOf(connection), (status) => {
                if (status === undefined) return "unusable"
                return status.circuit._tag === "Closed" ? "ready" : "circuit_open"
              }),
        statusOf,
        refresh
      })
    })
  )
}

interface Opened extends OpenConnection {
  readonly scope: Scope.Closeable
  /** Calls in flight. */
  calls: number
  isReplaced: boolean
}

interface Entry {
  row: ConnectionRow
  /** Of the row that was tried last. */
  version: number
  opened: Opened | undefined
  problem: string | undefined
  readonly turn: Semaphore.Semaphore
}

const registered = ({ opened, problem, row }: Entry): RegisteredConnection => ({ row, open: opened, problem })

const retire = (opened: Opened) => {
  opened.isReplaced = true
  return closeUnused(opened)
}

const closeUnused = ({ calls, scope }: Opened) => (calls === 0 ? Scope.close(scope, Exit.void) : Effect.void)
