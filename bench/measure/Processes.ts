/**
 * Child processes that live as long as a scope, and end within bounded time.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"

/** Why there are no figures: a sentence. */
export class BenchError extends Data.TaggedError("BenchError")<{ readonly message: string }> {}

export interface Child {
  readonly process: ChildProcess
  readonly pid: number
  /** What it wrote last. */
  readonly lastWords: () => string
}

/** Runs `node` with these arguments; the environment is what is given and PATH, nothing else. */
export const node = (
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
        let words = ""
        const keep = (chunk: Buffer) => {
          words = (words + chunk.toString("utf8")).slice(-4000)
        }
        child.stdout?.on("data", keep)
        child.stderr?.on("data", keep)
        await once(child, "spawn")
        return { process: child, pid: child.pid ?? 0, lastWords: () => words.trim() }
      },
      catch: (cause) => new BenchError({ message: `${name} cannot be run: ${String(cause)}` })
    }),
    stop
  )

/** Waits until the URL answers 200. A child that ends meanwhile ends the wait. */
export const ready = (name: string, child: Child, url: string) =>
  Effect.tryPromise(() => fetch(url, { signal: AbortSignal.timeout(2000) }).then(({ status }) => status)).pipe(
    Effect.orElseSucceed(() => 0),
    Effect.flatMap((status) => {
      // Whoever answers on the port of a child that has ended is another.
      if (hasEnded(child.process)) return Effect.fail("ended")
      return status === 200 ? Effect.void : Effect.fail("not yet")
    }),
    Effect.retry({ schedule: Schedule.spaced("10 millis"), while: (reason) => reason === "not yet" }),
    Effect.timeout("30 seconds"),
    Effect.mapError(() => new BenchError({ message: `${name} does not start: ${child.lastWords()}` }))
  )

/**
 * A port on which nobody listens. It is none of those that the system gives out itself (to a connection, say, before
 * the program that it is for listens), and of several runs of the bench each looks in a range of its own.
 */
export const freePort = Effect.tryPromise({
  try: async () => {
    for (let tries = 0; tries < PORTS_OF_A_RUN; tries++) {
      const port = FIRST_PORT + (process.pid % RUNS) * PORTS_OF_A_RUN + (nextPort++ % PORTS_OF_A_RUN)
      if (await isFree(port)) return port
    }
    throw new Error(`all of ${PORTS_OF_A_RUN} are taken`)
  },
  catch: (cause) => new BenchError({ message: `there is no free port: ${String(cause)}` })
})

const FIRST_PORT = 12_000
const RUNS = 100
const PORTS_OF_A_RUN = 200
let nextPort = 0

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once("error", () => resolve(false))
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)))
  })

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** Sends a message to a child with "ipc", and waits for the next one from it. */
export const ask = <A>(name: string, child: Child, message: object, seconds: number) =>
  Effect.tryPromise({
    try: (signal) =>
      new Promise<A>((resolve, reject) => {
        const settle = (end: () => void) => {
          child.process.off("exit", ended)
          child.process.off("message", answered)
          end()
        }
        const ended = () => settle(() => reject(new Error(child.lastWords())))
        const answered = (answer: A) => settle(() => resolve(answer))
        child.process.once("exit", ended)
        child.process.once("message", answered)
        signal.addEventListener("abort", ended)
        child.process.send(message)
      }),
    catch: (cause) => new BenchError({ message: `${name} fails: ${String(cause)}` })
  }).pipe(
    Effect.timeoutOrElse({
      duration: `${seconds} seconds`,
      orElse: () => Effect.fail(new BenchError({ message: `${name} does not come to an end: ${child.lastWords()}` }))
    })
  )

/** Asks it to stop; after ten seconds it is not asked any more. */
const stop = ({ process: child }: Child) =>
  Effect.promise(async () => {
    if (hasEnded(child)) return
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000)
    await ended
    clearTimeout(timer)
  })
