/** The service as a separate process that tests can kill: the built programs, as they are deployed. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { join, resolve } from "node:path"
import { rolesOf } from "./Postgres.ts"

export interface ServiceProcess {
  readonly publicUrl: string
  readonly operatorUrl: string
  readonly pid: number
  readonly signal: (signal: NodeJS.Signals) => void
  /** Its exit code, or the signal that ended it. */
  readonly ended: Effect.Effect<number | NodeJS.Signals>
  /** What it has written so far, to either stream. */
  readonly written: () => string
}

/** Starts the service and waits until it is ready. It does not outlive the scope. */
export const startProcess = (
  env: Readonly<Record<string, string>>,
  ...args: ReadonlyArray<string>
): Effect.Effect<ServiceProcess, never, Scope.Scope> => ready(spawned(env, args))

/** The same with options of Node. */
export const startProcessWith = (
  nodeOptions: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>
): Effect.Effect<ServiceProcess, never, Scope.Scope> => ready(spawned(env, [], "main", nodeOptions))

/** The same from another folder of built programs. */
export const startProcessIn = (
  folder: string,
  env: Readonly<Record<string, string>>
): Effect.Effect<ServiceProcess, never, Scope.Scope> => ready(spawned(env, [], join(folder, "main")))

const ready = (running: ReturnType<typeof spawned>) =>
  Effect.flatMap(running, ({ child, ended, written }) =>
    Effect.promise(
      () =>
        new Promise<ServiceProcess>((resolve, reject) => {
          const look = () => {
            const line = written()
              .split("\n")
              .find((candidate) => candidate.includes("the service is ready"))
            // A terminal gets a page instead of a line.
            const ready = line ?? (written().includes("npm run demo") ? written() : "")
            const [, publicUrl] = /(?:"public":"|API +)(http[^"\s]+?)(?:"|\/v1)/.exec(ready) ?? []
            const [, operatorUrl] = /(?:"operator":"|Operator +)(http[^"\s]+?)(?:"|\/operator)/.exec(ready) ?? []
            if (publicUrl === undefined || operatorUrl === undefined) return
            const signal = (name: NodeJS.Signals) => void child.kill(name)
            resolve({
              publicUrl,
              operatorUrl,
              pid: child.pid ?? 0,
              signal,
              ended: Effect.promise(() => ended),
              written
            })
          }
          child.stdout?.on("data", look)
          void ended.then(() => reject(new Error(`the service did not start: ${written()}`)))
        })
    )
  )

/** Starts the service where it cannot start: how it ends, and what it says. */
export const failedStart = (
  env: Readonly<Record<string, string>>,
  ...args: ReadonlyArray<string>
): Effect.Effect<Ended> => ending(spawned(env, args))

/** Runs another program of the service to its end, which may be named by a path: how it ends, and what it says. */
export const ran = (
  program: string,
  env: Readonly<Record<string, string>>,
  ...args: ReadonlyArray<string>
): Effect.Effect<Ended> => ending(spawned(env, args, program))

/** The same, and kills it with SIGKILL as soon as it has written this. */
export const killedAt = (
  word: string,
  program: string,
  env: Readonly<Record<string, string>>,
  ...args: ReadonlyArray<string>
): Effect.Effect<Ended> =>
  ending(
    Effect.tap(spawned(env, args, program), ({ child, written }) =>
      Effect.sync(() => child.stdout?.on("data", () => written().includes(word) && child.kill("SIGKILL")))
    )
  )

interface Ended {
  readonly code: number | NodeJS.Signals
  /** To either stream. */
  readonly written: string
}

const ending = (running: ReturnType<typeof spawned>): Effect.Effect<Ended> =>
  Effect.scoped(
    Effect.flatMap(running, ({ ended, written }) =>
      Effect.promise(async () => ({ code: await ended, written: written() }))
    )
  )

const spawned = (
  env: Readonly<Record<string, string>>,
  args: ReadonlyArray<string>,
  program = "main",
  nodeOptions: ReadonlyArray<string> = []
) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [...nodeOptions, resolve(programs, `${program}.js`), ...args], {
        env: {
          PATH: process.env["PATH"],
          // As `npm start` does.
          NODE_COMPILE_CACHE: join(import.meta.dirname, "../../../../node_modules/.cache/node-compile"),
          PORT: "0",
          OPERATOR_PORT: "0",
          SHUTDOWN_DELAY_MS: "0",
          ACQUIRER: "simulator",
          ...(env["DATABASE_URL"] !== undefined && { SECRETS_KEYS }),
          ...withServiceRole(env)
        },
        stdio: ["ignore", "pipe", "pipe"]
      })
      let text = ""
      const keep = (chunk: Buffer) => {
        text += chunk.toString()
      }
      child.stdout.on("data", keep)
      child.stderr.on("data", keep)
      return { child: child as ChildProcess, ended: endOf(child), written: () => text }
    }),
    ({ child, ended }) =>
      Effect.promise(() => {
        if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL")
        return ended
      })
  )

/** The owner's role migrates, and the service runs with a role that owns nothing, unless roles are given. */
const withServiceRole = (env: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  if (env["DATABASE_URL"] === undefined || env["MIGRATIONS_DATABASE_URL"] !== undefined) return env
  const { migrationsUrl, url } = rolesOf(Redacted.make(env["DATABASE_URL"]))
  return migrationsUrl === undefined
    ? env
    : { ...env, DATABASE_URL: Redacted.value(url), MIGRATIONS_DATABASE_URL: Redacted.value(migrationsUrl) }
}

const endOf = (child: ChildProcess): Promise<number | NodeJS.Signals> =>
  new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal ?? 0)))

/** Of processes on a database that is not their own. */
const SECRETS_KEYS = Buffer.alloc(32, "the key of these tests").toString("base64")

const programs = join(import.meta.dirname, "../../dist")
