/**
 * Child processes and free ports.
 *
 * Guarantees:
 * - a child process lives as long as its scope;
 * - it is killed when it does not end within ten seconds of SIGTERM.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"

/** Ends the bench without figures. */
export class BenchError extends Data.TaggedError("BenchError")<{ readonly message: string }> {}

export interface Child {
  readonly process: ChildProcess
  readonly pid: number
  /** The end of what it has written to standard output and error. */
  readonly recentOutput: () => string
}

/** A process of `node` with these arguments. Its environment is `env` and PATH, nothing else. */
export const spawnNode = (
  name: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  ipc: "ipc" | "no ipc" = "no ipc"
) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async (): Promise<Child> => {
        const child = spawn(process.execPath, args, {
          env: { PATH: process.env["PATH"], ...env },
          stdio: ["ignore", "pipe", "pipe", ...(ipc === "ipc" ? (["ipc"] as const) : [])]
        })
        let output = ""
        const append = (chunk: Buffer) => {
          output = (output + chunk.toString("utf8")).slice(-4000)
        }
        child.stdout?.on("data", append)
        child.stderr?.on("data", append)
        await once(child, "spawn")
        return { process: child, pid: child.pid ?? 0, recentOutput: () => output.trim() }
      },
      catch: (cause) => new BenchError({ message: `${name} cannot be started: ${String(cause)}` })
    }),
    stop
  )

/** Starts a server; returns it when `readyUrl` answers 200, with the time that took. */
export const startNode = (name: string, start: ReturnType<typeof spawnNode>, readyUrl: string) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    const child = yield* start
    yield* waitUntilReady(name, child, readyUrl)
    return { child, startedInMs: performance.now() - startedAt }
  })

/** Waits until the URL answers 200. Fails when the child exits first. */
export const waitUntilReady = (name: string, child: Child, url: string) =>
  Effect.tryPromise(() => fetch(url, { signal: AbortSignal.timeout(2000) }).then(({ status }) => status)).pipe(
    Effect.orElseSucceed(() => 0),
    Effect.flatMap((status) => {
      // If the child has exited, another process answers on its port.
      if (hasExited(child.process)) return Effect.fail("exited")
      return status === 200 ? Effect.void : Effect.fail("not ready")
    }),
    Effect.retry({ schedule: Schedule.spaced("10 millis"), while: (reason) => reason === "not ready" }),
    Effect.timeout("2 minutes"),
    Effect.mapError(() => new BenchError({ message: `${name} does not start: ${child.recentOutput()}` }))
  )

/**
 * A port on which nothing listens. It is below the system's ephemeral range, so that no outgoing connection takes it
 * before the server listens, and concurrent runs of the bench, and tests beside them, search different ranges.
 */
export const freePort = Effect.tryPromise({
  try: async () => {
    for (let tries = 0; tries < PORTS_PER_RUN; tries++) {
      const port = FIRST_PORT + (process.pid % RUNS) * PORTS_PER_RUN + (nextPort++ % PORTS_PER_RUN)
      if (await isFree(port)) return port
    }
    throw new Error(`all ${PORTS_PER_RUN} are in use`)
  },
  catch: (cause) => new BenchError({ message: `there is no free port: ${String(cause)}` })
})

const FIRST_PORT = 22_000
const RUNS = 50
const PORTS_PER_RUN = 200
let nextPort = 0

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once("error", () => resolve(false))
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)))
  })

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** The next message of a child that was spawned with "ipc", after `message` is sent to it. */
export const ask = <A>(name: string, child: Child, message: object, timeoutSeconds: number) =>
  Effect.tryPromise({
    try: (signal) =>
      new Promise<A>((resolve, reject) => {
        const settle = (end: () => void) => {
          child.process.off("exit", exited)
          child.process.off("message", answered)
          end()
        }
        const exited = () => settle(() => reject(new Error(child.recentOutput())))
        const answered = (answer: A) => settle(() => resolve(answer))
        child.process.once("exit", exited)
        child.process.once("message", answered)
        signal.addEventListener("abort", exited)
        child.process.send(message)
      }),
    catch: (cause) => new BenchError({ message: `${name} fails: ${String(cause)}` })
  }).pipe(
    Effect.timeoutOrElse({
      duration: `${timeoutSeconds} seconds`,
      orElse: () => Effect.fail(new BenchError({ message: `${name} does not answer: ${child.recentOutput()}` }))
    })
  )

/** SIGTERM, and SIGKILL after ten seconds. */
const stop = ({ process: child }: Child) =>
  Effect.promise(async () => {
    if (hasExited(child)) return
    const exited = once(child, "exit")
    child.kill("SIGTERM")
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000)
    await exited
    clearTimeout(timer)
  })
