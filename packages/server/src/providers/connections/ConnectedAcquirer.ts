/**
 * The acquirer of all connections: a charge, payout or order goes through its own.
 *
 * Guarantees:
 * - Without a connection it is the simulator's.
 * - While nobody may be called, every order and question is `AcquirerUnclear`.
 * - An order through a connection that is paused, unknown or unusable is `AcquirerUnclear`: nothing was sent, and it is
 *   repeated later. A paused one is still read: payments, outcomes of payouts and disputes.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Acquirer, AcquirerRefused, AcquirerUnclear, type Provider, SimulatedProvider } from "../Acquirer.ts"
import { closedReason, Outward } from "../../base/Outward.ts"
import { type CallOutcome, Metrics } from "../../base/observability/Metrics.ts"
import { ConnectionRegistry, ConnectionUnusable } from "./ConnectionRegistry.ts"

export const layer = Layer.effect(
  Acquirer,
  Effect.gen(function* () {
    const registry = yield* ConnectionRegistry
    const metrics = yield* Metrics
    const clock = yield* Clock.Clock
    const outward = yield* Outward

    /** Measures a call, also one that fails or is interrupted. */
    const timed = <A, E>(connection: string, operation: string, call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.useSpan(`acquirer ${operation}`, { kind: "client" }, (span) => {
        const startedAt = clock.currentTimeMillisUnsafe()
        span.attribute("pix.connection_id", connection)
        return Effect.onExit(call, (exit) =>
          Effect.sync(() => {
            const outcome = outcomeOf(exit)
            span.attribute("pix.outcome", outcome)
            metrics.acquirerCall(connection, operation, outcome, clock.currentTimeMillisUnsafe() - startedAt)
          })
        )
      })

    const loggedAtMs = new Map<string, number>()

    /** An outage makes each call unclear: one of a minute is logged. */
    const logged = <A, E>(connection: string, operation: string, call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.tapError(call, (error) => {
        const what = `${connection} ${operation}`
        const nowMs = clock.currentTimeMillisUnsafe()
        if (!(error instanceof AcquirerUnclear) || nowMs < (loggedAtMs.get(what) ?? 0) + LOGGED_EVERY_MS)
          return Effect.void
        loggedAtMs.set(what, nowMs)
        return Effect.annotateLogs(
          Effect.logWarning(`an answer of the provider is unclear: ${operation}: ${error.reason}`),
          {
            connection_id: connection
          }
        )
      })

    const simulator = yield* SimulatedProvider
    const simulated = Effect.succeed(
      providerThrough(simulator, (operation, call) => timed("simulator", operation, call(simulator)))
    )

    /** Calls the connection as it is when the call begins. */
    const through =
      (id: string): Call =>
      (operation, call) =>
        Effect.mapError(
          registry.use(id, ({ provider }) => logged(id, operation, timed(id, operation, call(provider)))),
          (error) =>
            error instanceof ConnectionUnusable ? new AcquirerUnclear({ reason: error.reason, isUnsent: true }) : error
        )

    return Acquirer.of({
      providerFor: (connectionId) => {
        const closed = closedReason(outward)
        if (closed !== undefined) return unclear(closed)
        if (connectionId === null) return simulated
        const connection = registry.find(connectionId)
        if (connection === undefined) return unclear("the connection is unknown")
        if (connection.open === undefined) return unclear(`the connection is unusable: ${connection.problem}`)
        const provider = providerThrough(connection.open.provider, through(connectionId))
        return Effect.succeed(connection.row.paused ? readOnly(provider) : provider)
      }
    })
  })
)

const LOGGED_EVERY_MS = 60_000

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): CallOutcome => {
  if (Exit.isSuccess(exit)) return "ok"
  const error = Exit.findErrorOption(exit)
  return Option.isSome(error) && error.value instanceof AcquirerRefused ? "refused" : "unclear"
}

const unclear = (reason: string) => Effect.fail(new AcquirerUnclear({ reason, isUnsent: true }))

type Call = <A, E>(
  operation: string,
  call: (provider: Provider) => Effect.Effect<A, E>
) => Effect.Effect<A, E | AcquirerUnclear>

/** A provider with the capabilities of `shape`, whose calls go through `call`. */
const providerThrough = ({ balance, disputes, payouts, received }: Provider, call: Call): Provider => ({
  emit: (emission) => call("emit", (provider) => provider.emit(emission)),
  cancel: (order) => call("cancel", (provider) => provider.cancel(order)),
  orderReturn: (order) => call("return", (provider) => provider.orderReturn(order)),
  ...(received !== undefined && {
    received: {
      find: (endToEndId) => call("find", (provider) => provider.received?.find(endToEndId) ?? absent),
      list: (range) => call("list", (provider) => provider.received?.list(range) ?? absent),
      listReturned: (range) => call("list", (provider) => provider.received?.listReturned(range) ?? absent)
    }
  }),
  ...(payouts !== undefined && {
    payouts: {
      ...(payouts.findsUnnamed === false && { findsUnnamed: false }),
      send: (order) => call("send", (provider) => provider.payouts?.send(order) ?? absent),
      outcome: (order) => call("outcome", (provider) => provider.payouts?.outcome(order) ?? absent),
      ...(payouts.list !== undefined && {
        list: (range) => call("list", (provider) => provider.payouts?.list?.(range) ?? absent)
      })
    }
  }),
  ...(balance !== undefined && { balance: call("balance", (provider) => provider.balance ?? absent) }),
  ...(disputes !== undefined && {
    disputes: {
      ...(disputes.list !== undefined && {
        list: (range) => call("list", (provider) => provider.disputes?.list?.(range) ?? absent)
      }),
      defend: (order) => call("defend", (provider) => provider.disputes?.defend(order) ?? absent)
    }
  })
})

/** Reads from the provider, and sends it nothing. */
const readOnly = ({ balance, disputes, payouts, received }: Provider): Provider => ({
  emit: () => paused,
  cancel: () => paused,
  orderReturn: () => paused,
  ...(received !== undefined && { received }),
  ...(balance !== undefined && { balance }),
  ...(payouts !== undefined && { payouts: { ...payouts, send: () => paused } }),
  ...(disputes !== undefined && { disputes: { ...disputes, defend: () => paused } })
})

const paused = unclear("the connection is paused")

const absent = unclear("the provider does not offer it")
