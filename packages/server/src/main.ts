/**
 * The process: settings, the service, and a graceful end.
 *
 * `--demo` (what `npm start` says) adds a demo account, keeps its credentials, and lets webhooks go to
 * loopback unless `WEBHOOK_ALLOWED_NETWORKS` says otherwise.
 */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Banner from "./startup/StartupMessage.ts"
import { DemoAccount, demoOperatorToken } from "./startup/DemoAccount.ts"
import * as Telemetry from "./observability/Telemetry.ts"
import * as Processes from "./startup/WorkerProcesses.ts"
import * as Service from "./Service.ts"
import { Settings } from "./Settings.ts"
import { DatabaseLocation } from "./sql/Database.ts"

const isDemo = process.argv.includes("--demo")

const environment = Effect.gen(function* () {
  const set = Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : [])))
  if (!isDemo) return set
  const { DATA_DIR: dataDir = ".data", OPERATOR_TOKEN: token } = set
  return {
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8,::1/128",
    // A person at a terminal waits for it; there is no balancer.
    SHUTDOWN_DELAY_MS: "0",
    OPERATOR_TOKEN: token ?? (yield* demoOperatorToken(dataDir)),
    ...set
  }
})

const settings = Layer.unwrap(
  Effect.map(environment, (env) =>
    Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))
  )
)

/** What the first process tells, whoever serves. */
const messages = isDemo
  ? Layer.unwrap(
      Effect.map(Settings, ({ dataDir }) =>
        Layer.effectDiscard(Banner.demo).pipe(Layer.provide(DemoAccount.layer(dataDir)))
      )
    )
  : Layer.effectDiscard(Banner.plain)

const alone = messages.pipe(Layer.provide(Service.layer))

const supervisor = messages.pipe(Layer.provide(Processes.layer), Layer.provide(Service.storesLayer))

const worker = Layer.effectDiscard(Processes.report).pipe(Layer.provide(Service.layer))

type StartError = Layer.Error<typeof alone> | Layer.Error<typeof supervisor> | Layer.Error<typeof worker>
type StartNeeds = Layer.Services<typeof alone> | Layer.Services<typeof supervisor> | Layer.Services<typeof worker>

const running = Layer.unwrap(
  Effect.map(Settings, ({ processes }): Layer.Layer<never, StartError, StartNeeds> =>
    Processes.isWorker ? worker : processes > 1 ? supervisor : alone
  )
).pipe(Layer.provide(DatabaseLocation.layer), Layer.provide(Telemetry.layer), Layer.provide(settings))

Layer.launch(running).pipe(
  Effect.tapCause((cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.void
      : Effect.sync(() => process.stderr.write(`${Banner.reasonOf(cause)}\n`))
  ),
  (program) =>
    NodeRuntime.runMain(program, {
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
    })
)
