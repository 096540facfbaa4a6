/**
 * Runs the service until SIGINT or SIGTERM, then shuts it down gracefully.
 *
 * `--demo`, which `npm start` sets, adds a demo account. Unless they are set, the acquirer is the simulator and webhooks to
 * loopback are allowed.
 */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { readEnvironment } from "./base/Environment.ts"
import * as Telemetry from "./base/observability/Telemetry.ts"
import * as WorkerMetrics from "./base/observability/WorkerMetrics.ts"
import * as Service from "./Service.ts"
import { Settings } from "./base/Settings.ts"
import { DatabaseLocation } from "./database/Database.ts"
import { DemoAccount, demoOperatorToken } from "./startup/DemoAccount.ts"
import { missingSetting } from "./startup/RequiredSettings.ts"
import * as StartupMemory from "./startup/StartupMemory.ts"
import * as StartupMessage from "./startup/StartupMessage.ts"
import * as WorkerProcesses from "./startup/WorkerProcesses.ts"

const isDemo = process.argv.includes("--demo")

const environment = Effect.gen(function* () {
  const set = yield* readEnvironment(process.env)
  const missing = missingSetting(set, { isDemo, isWorker: WorkerProcesses.isWorker })
  if (missing !== undefined) return yield* missing
  if (!isDemo) return set
  const { DATA_DIR: dataDir = ".data", OPERATOR_TOKEN: token } = set
  return {
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8,::1/128",
    // There is no balancer that must notice the shutdown first.
    SHUTDOWN_DELAY_MS: "0",
    OPERATOR_TOKEN: token ?? (yield* demoOperatorToken(dataDir)),
    ACQUIRER: "simulator",
    ...set
  }
})

const settings = Layer.unwrap(
  Effect.map(environment, (env) =>
    Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))
  )
)

const started = <E, R>(report: Effect.Effect<void, E, R>) =>
  Layer.effectDiscard(Effect.andThen(StartupMemory.release, report))

const demo = Layer.unwrap(
  Effect.map(Settings, ({ dataDir }) =>
    started(StartupMessage.showDemo).pipe(Layer.provide(DemoAccount.layer(dataDir)))
  )
)

const ready = started(StartupMessage.logReady)

/** Shown by the process that was started, not by its workers. */
const message: Layer.Layer<
  never,
  Layer.Error<typeof demo> | Layer.Error<typeof ready>,
  Layer.Services<typeof demo> | Layer.Services<typeof ready>
> = isDemo ? demo : ready

const single = message.pipe(Layer.provide(Service.layer))

const supervisor = message.pipe(Layer.provide(WorkerProcesses.layer), Layer.provide(Service.storesLayer))

const worker = started(WorkerProcesses.reportAddresses).pipe(
  Layer.provide(Service.layer),
  Layer.provide(WorkerMetrics.layer)
)

type StartError = Layer.Error<typeof single> | Layer.Error<typeof supervisor> | Layer.Error<typeof worker>
type StartNeeds = Layer.Services<typeof single> | Layer.Services<typeof supervisor> | Layer.Services<typeof worker>

const running = Layer.unwrap(
  Effect.map(Settings, ({ processes }): Layer.Layer<never, StartError, StartNeeds> =>
    WorkerProcesses.isWorker ? worker : processes > 1 ? supervisor : single
  )
).pipe(Layer.provide(DatabaseLocation.layer), Layer.provide(Telemetry.layer), Layer.provide(settings))

Layer.launch(running).pipe(
  Effect.tapCause((cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.void
      : Effect.sync(() => process.stderr.write(`${StartupMessage.failureOf(cause)}\n`))
  ),
  (program) =>
    NodeRuntime.runMain(program, {
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
    })
)
