/**
 * A simulated process: the service's own layers, from the routes of `/v1` to the loops, between two simulated edges.
 *
 * Guarantees: nothing of it is shared with another process or survives it but what is in PostgreSQL; it ends by being
 * killed, with no finalizer, or in order, with all of them.
 */
import { makeGenerator } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { ApiKeys } from "../../../src/accounts/ApiKeys.ts"
import { DeliverySignal } from "../../../src/events/DeliverySignal.ts"
import { PausedDeliveries } from "../../../src/webhooks/deliveries/PausedDeliveries.ts"
import { type Answer, codeAnswer, errorAnswer } from "../../../src/http/pipeline/Answer.ts"
import * as KeyGuard from "../../../src/http/public/KeyGuard.ts"
import { KeyRateLimit } from "../../../src/http/public/KeyRateLimit.ts"
import { routesBehind } from "../../../src/http/public/PublicServer.ts"
import { findRoute, makeTable } from "../../../src/http/pipeline/Router.ts"
import { Ids } from "../../../src/base/Ids.ts"
import { Metrics } from "../../../src/base/observability/Metrics.ts"
import { describeCause } from "../../../src/base/observability/SafeCause.ts"
import * as Sweep from "../../../src/reports/Sweep.ts"
import * as Service from "../../../src/Service.ts"
import { Outward } from "../../../src/base/Outward.ts"
import { Settings } from "../../../src/base/Settings.ts"
import { Unavailable } from "../../../src/database/Unavailable.ts"
import { PublicAddress } from "../../../src/base/network/PublicAddress.ts"
import type { Server } from "./SqlServer.ts"
import { ACQUIRER_TIMEOUT_MS, type SimulatedAcquirer } from "./Institutions.ts"
import type { Machine, Running } from "./Machine.ts"
import { type Receivers, WEBHOOK_TIMEOUT_MS } from "./Receivers.ts"

/** A call of `/v1`. */
export interface Request {
  readonly method: string
  readonly path: string
  readonly key: string
  readonly idempotencyKey?: string
  readonly body?: unknown
}

export class Routes extends Context.Service<Routes, { readonly answer: (request: Request) => Effect.Effect<Answer> }>()(
  "@pix-payments/server/test/simulation/Routes"
) {}

/** The operations of a process. */
export type Services = Layer.Success<ReturnType<typeof wholeService>>

export interface ServerProcess extends Running {
  /** Starting, ready, ending, or dead. */
  readonly state: () => "starting" | "ready" | "ending" | "dead"
  /** Runs an effect with its services; calls back with its exit, unless the process dies first. */
  readonly do: <A, E>(effect: Effect.Effect<A, E, Services>, ended: (exit: Exit.Exit<A, E>) => void) => void
  /** `kill -9`. */
  readonly kill: () => void
  /** SIGTERM. */
  readonly stop: () => void
}

export interface Edges {
  readonly machine: Machine
  readonly server: Server
  readonly acquirer: SimulatedAcquirer
  readonly receivers: Receivers
  readonly retryDelaysMs: ReadonlyArray<number>
}

export const startProcess = (edges: Edges, name: string): ServerProcess => {
  const { machine } = edges
  let state: ReturnType<ServerProcess["state"]> = "starting"
  let services: Context.Context<Services> | undefined
  const scope = Scope.makeUnsafe()
  const process: ServerProcess = {
    name,
    alive: true,
    frozenSinceMs: undefined,
    skewMs: 0,
    state: () => state,
    do: (effect, ended) => {
      if (services === undefined) return
      const context = services
      machine.as(process, () => {
        watch(Effect.runForkWith(context)(effect), ended)
      })
    },
    kill: () => {
      machine.note(process, "is killed")
      state = "dead"
      machine.kill(process)
    },
    stop: () => {
      machine.note(process, "is stopped by SIGTERM")
      state = "ending"
      machine.as(process, () => {
        watch(Effect.runForkWith(machine.referencesOf(process))(Scope.close(scope, Exit.void)), () => {
          state = "dead"
          machine.kill(process)
        })
      })
    }
  }
  const whole = wholeService(edges, process)
  const start = () => {
    if (!process.alive) return
    const building = Layer.buildWithMemoMap(whole, Layer.makeMemoMapUnsafe(), scope)
    machine.as(process, () => {
      watch(Effect.runForkWith(machine.referencesOf(process))(building), (exit) => {
        if (Exit.isSuccess(exit)) {
          services = Context.merge(machine.referencesOf(process), exit.value)
          if (state === "starting") state = "ready"
          machine.note(process, "is ready")
          return
        }
        // A process manager starts it again.
        machine.note(process, `does not start: ${String(exit.cause).slice(0, 200)}`)
        state = "dead"
        machine.kill(process)
      })
    })
  }
  machine.note(process, "starts")
  start()
  return process
}

const watch = <A, E>(fiber: Fiber.Fiber<A, E>, ended: (exit: Exit.Exit<A, E>) => void) => {
  fiber.addObserver(ended)
}

const wholeService = ({ acquirer, machine, receivers, retryDelaysMs, server }: Edges, process: Running) => {
  const settings = Layer.effect(
    Settings,
    Effect.map(Settings, (defaults) =>
      Settings.of({
        ...defaults,
        operatorToken: Option.some(Redacted.make("nobody asks for it here")),
        secretsKeys: Option.some(Redacted.make(Buffer.alloc(32, 7).toString("base64"))),
        acquirerTimeoutMs: ACQUIRER_TIMEOUT_MS,
        webhookTimeoutMs: WEBHOOK_TIMEOUT_MS,
        webhookRetryDelaysMs: retryDelaysMs,
        ...acquirer.settings
      })
    )
  ).pipe(Layer.provide(Settings.layer), Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({}))))

  const ids = Layer.effect(
    Ids,
    Effect.map(Clock.Clock, (clock) => {
      const generate = makeGenerator((target) => {
        for (let i = 0; i < target.length; i++) target[i] = machine.below(256)
      })
      return Ids.of({ next: () => generate(clock.currentTimeMillisUnsafe()) })
    })
  )

  const logger = Logger.layer([
    Logger.make(({ logLevel, message }) => {
      if (logLevel !== "Debug" && logLevel !== "Trace") {
        machine.note(process, `log: ${String(message).split("\n")[0]!.slice(0, 160)}`)
      }
    })
  ])

  const foundation = Layer.mergeAll(
    ids,
    DeliverySignal.layer,
    Metrics.layer,
    PublicAddress.layer,
    PausedDeliveries.layer
  ).pipe(Layer.provideMerge(server.clientsOf(process)), Layer.provideMerge(Layer.merge(settings, logger)))

  return Layer.mergeAll(Layer.effect(Routes, makeRoutes), Service.loops, Sweep.loop).pipe(
    Layer.provideMerge(Service.inbound),
    Layer.provideMerge(Service.deciders),
    Layer.provideMerge(acquirer.layerFor(process)),
    Layer.provideMerge(Service.stores),
    Layer.provideMerge(receivers.layerFor(process)),
    Layer.provideMerge(foundation)
  )
}

/** The routes as the public listener has them, without sockets. */
const makeRoutes = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const guard = KeyGuard.make(keys, KeyRateLimit.of({ take: () => 0 }), yield* Outward)
  const table = makeTable(yield* routesBehind(guard))
  return Routes.of({
    answer: ({ body, idempotencyKey, key, method, path }) => {
      const found = findRoute(table, method, path)
      if (found._tag !== "Found") return Effect.die(new Error(`${method} ${path} is no route`))
      const request = {
        credentials: { key, cached: keys.cached(key) },
        idempotencyKey,
        lastEventId: undefined,
        params: found.params,
        search: "",
        body: found.route.takesBody ? JSON.stringify(body ?? {}) : "",
        info: {
          arrival: { id: "", epochMs: 0 },
          requestId: "",
          route: found.route.template,
          keyId: null,
          accountId: null,
          resourceId: null,
          address: null,
          traceId: null
        }
      }
      return Effect.catchCause(
        Effect.catch(
          found.route.answer(request, () => true),
          (error) =>
            Effect.succeed(error instanceof Unavailable ? codeAnswer("SERVICE_UNAVAILABLE") : errorAnswer(error))
        ),
        (cause) => Effect.as(Effect.logError(describeCause(cause)), codeAnswer("INTERNAL_ERROR"))
      )
    }
  })
})
