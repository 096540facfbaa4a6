/**
 * The acquirer of all connections: a charge, payout or order goes through its own.
 *
 * Guarantees:
 * - Without a connection it is the simulator's.
 * - A connection that is paused, unknown or unusable is `AcquirerUnclear`: nothing was sent, and the order stays to be
 *   repeated.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Acquirer, AcquirerUnclear, type Provider, SimulatedProvider } from "../acquirer/Acquirer.ts"
import { ConnectionRegistry, ConnectionUnusable } from "./ConnectionRegistry.ts"

export const layer = Layer.effect(
  Acquirer,
  Effect.gen(function* () {
    const simulated = Effect.succeed(yield* SimulatedProvider)
    const registry = yield* ConnectionRegistry

    /** Calls the connection as it is when the call begins. */
    const through =
      (id: string): Call =>
      (call) =>
        Effect.mapError(
          registry.use(id, ({ provider }) => call(provider)),
          (error) => (error instanceof ConnectionUnusable ? new AcquirerUnclear({ reason: error.reason }) : error)
        )

    return Acquirer.of({
      of: (connectionId) => {
        if (connectionId === null) return simulated
        const connection = registry.find(connectionId)
        if (connection === undefined) return unclear("the connection is unknown")
        if (connection.row.paused) return unclear("the connection is paused")
        if (connection.open === undefined) return unclear(`the connection is unusable: ${connection.problem}`)
        return Effect.succeed(providerThrough(connection.open.provider, through(connectionId)))
      }
    })
  })
)

const unclear = (reason: string) => Effect.fail(new AcquirerUnclear({ reason }))

type Call = <A, E>(call: (provider: Provider) => Effect.Effect<A, E>) => Effect.Effect<A, E | AcquirerUnclear>

/** A provider with the capabilities of `shape`, whose calls go through `call`. */
const providerThrough = ({ disputes, payouts, received }: Provider, call: Call): Provider => ({
  emit: (emission) => call((provider) => provider.emit(emission)),
  cancel: (order) => call((provider) => provider.cancel(order)),
  orderReturn: (order) => call((provider) => provider.orderReturn(order)),
  ...(received !== undefined && {
    received: {
      find: (endToEndId) => call((provider) => provider.received?.find(endToEndId) ?? absent),
      list: (range) => call((provider) => provider.received?.list(range) ?? absent)
    }
  }),
  ...(payouts !== undefined && {
    payouts: {
      send: (order) => call((provider) => provider.payouts?.send(order) ?? absent),
      outcome: (order) => call((provider) => provider.payouts?.outcome(order) ?? absent),
      ...(payouts.list !== undefined && {
        list: (range) => call((provider) => provider.payouts?.list?.(range) ?? absent)
      })
    }
  }),
  ...(disputes !== undefined && {
    disputes: {
      ...(disputes.list !== undefined && {
        list: (range) => call((provider) => provider.disputes?.list?.(range) ?? absent)
      }),
      defend: (order) => call((provider) => provider.disputes?.defend(order) ?? absent)
    }
  })
})

const absent = unclear("the provider does not offer it")
