/** Processes of the operating system, by id. */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { codeOf } from "./Failure.ts"
import { readIfPresent } from "./Files.ts"

/** The environment of every child process. The parent's variables may be secrets: none is inherited. */
export const environment = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" }

export const isRoot = () => process.geteuid?.() === 0

export const isAlive = (pid: number): boolean => {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  const failure = signal(pid, 0)
  return failure === undefined || failure === "EPERM"
}

/** Sends a signal. Returns the error code if that fails. */
export const signal = (pid: number, name: NodeJS.Signals | 0): string | undefined => {
  try {
    process.kill(pid, name)
    return undefined
  } catch (cause) {
    return codeOf(cause) ?? "EPERM"
  }
}

/** The output of a command, empty if it fails. */
export const outputOf = (command: string, ...args: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.tryPromise(() => promisify(execFile)(command, args, { env: environment })).pipe(
    Effect.map(({ stdout }) => stdout.trim()),
    Effect.orElseSucceed(() => "")
  )

/**
 * When a process started, as text that no other process shares. Ids alone are reused: in a container, at every start.
 * Undefined if the process does not exist, empty if the system does not say.
 */
export const startTimeOf = Effect.fnUntraced(function* (pid: number) {
  if (!isAlive(pid)) return undefined
  if (process.platform !== "linux") {
    const [state = "", ...started] = (yield* outputOf("ps", "-o", "state=", "-o", "lstart=", "-p", `${pid}`)).split(
      /\s+/
    )
    return state.startsWith("Z") ? undefined : started.join(" ")
  }
  const [stat, boot] = yield* Effect.all([
    Effect.orElseSucceed(readIfPresent(`/proc/${pid}/stat`), () => undefined),
    Effect.orElseSucceed(readIfPresent("/proc/sys/kernel/random/boot_id"), () => undefined)
  ])
  // Fields 3 (state) and 22 (start time). They follow the name, which may contain anything.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")
  if (fields === undefined) return ""
  return fields[0] === "Z" ? undefined : `${boot?.trim()} ${fields[19]}`
})
