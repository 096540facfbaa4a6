#!/usr/bin/env node
/**
 * `pix`: the command line of the service, a client of the operator interface.
 *
 * Rules: CLI-1 to CLI-3.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Terminal from "effect/Terminal"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import manifest from "../package.json" with { type: "json" }
import { exitCodes, Failure } from "./Failure.ts"
import { root } from "./Root.ts"
import { notice } from "./Terminal.ts"

// npm only warns. Without this, a command may work until it reaches what an older Node lacks.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  notice(`pix needs Node 22.13 or later, and this is ${process.version}.`)
  process.exit(exitCodes.usage)
}

// A reader that closes early, such as `head`, ends the command. A negative answer has set its exit code by then.
process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
  if (code === "EPIPE") process.exit(process.exitCode ?? 0)
  notice(`Standard output cannot be written: ${code ?? message}.`)
  process.exit(exitCodes.usage)
})
// Without a reader of messages, the exit code still says how the command ended.
process.stderr.on("error", () => {})

const exitCodeOf = (error: unknown): number => {
  if (error instanceof Failure) {
    notice(error.message)
    return error.exitCode
  }
  if (CliError.isCliError(error)) {
    return error._tag === "ShowHelp" && error.errors.length === 0 ? 0 : exitCodes.usage
  }
  notice(String(error))
  return exitCodes.usage
}

/** Help goes to standard output if asked for. An error is short, and goes to standard error. */
const present: CliOutput.Presenter["present"] = (event) =>
  event._tag === "InvalidInvocation"
    ? Effect.sync(() => {
        for (const error of event.errors) notice(CliError.getUserMessage(error) ?? error.message)
        notice(`See: ${event.commandPath.join(" ")} --help`)
      })
    : CliOutput.defaultPresenter.present(event)

/** Standard output has answers only, and may be a file. */
const questionsOnStandardError = Layer.effect(
  Terminal.Terminal,
  Effect.map(Terminal.Terminal, (terminal) =>
    Terminal.make({ ...terminal, display: (text) => Effect.sync(() => void process.stderr.write(text)) })
  )
)

Command.run(root, { version: manifest.version }).pipe(
  Effect.provide([
    Layer.provideMerge(questionsOnStandardError, NodeServices.layer),
    CliOutput.layerPresenter({ present }),
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })
  ]),
  Effect.catch((error) =>
    Effect.sync(() => {
      process.exitCode = exitCodeOf(error)
    })
  ),
  Effect.tapCause((cause) =>
    Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.sync(() => notice(Cause.pretty(cause)))
  ),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
