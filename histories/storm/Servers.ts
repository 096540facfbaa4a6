/** Servers of the service as processes: the built program, killed, stopped, continued and started again on the same ports. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createWriteStream, readFileSync } from "node:fs"
import { join } from "node:path"

export interface Server {
  readonly index: number
  readonly publicUrl: string
  readonly operatorUrl: string
  readonly callbackPort: number
  readonly start: () => Promise<void>
  /** SIGKILL, or SIGTERM for a stop that drains; waits for its end. */
  readonly end: (signal: "SIGKILL" | "SIGTERM") => Promise<void>
  readonly freeze: (isFrozen: boolean) => void
  readonly stepClock: () => void
}

export interface ServerOptions {
  readonly index: number
  readonly program: string
  readonly ports: readonly [number, number, number]
  readonly env: Readonly<Record<string, string>>
  readonly logFolder: string
}

export const makeServer = ({ env, index, logFolder, ports, program }: ServerOptions): Server => {
  const [publicPort, operatorPort, callbackPort] = ports
  const log = createWriteStream(join(logFolder, `server-${index}.log`), { flags: "a" })
  let child: ChildProcess | undefined

  const start = async (times = 1): Promise<void> => {
    const started = spawn(process.execPath, [`--import=${join(import.meta.dirname, "clock.preload.mjs")}`, program], {
      env: {
        PATH: process.env["PATH"],
        ...env,
        PORT: String(publicPort),
        OPERATOR_PORT: String(operatorPort),
        ACQUIRER_PORT: String(callbackPort)
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    child = started
    const killed = () => void started.kill("SIGKILL")
    process.once("exit", killed)
    started.once("close", () => void process.off("exit", killed))
    started.stdout.pipe(log, { end: false })
    started.stderr.pipe(log, { end: false })
    for (let tries = 0; tries < READY_TRIES; tries++) {
      const isReady = await fetch(`http://127.0.0.1:${operatorPort}/health/ready`, {
        signal: AbortSignal.timeout(2000)
      }).then(
        ({ ok }) => ok,
        () => false
      )
      if (isReady) return
      if (started.exitCode !== null || started.signalCode !== null) {
        if (times < MOST_STARTS) return start(times + 1)
        break
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const said = readFileSync(join(logFolder, `server-${index}.log`), "utf8").slice(-2000)
    throw new Error(`server ${index} does not start: ${said}`)
  }

  return {
    index,
    publicUrl: `http://127.0.0.1:${publicPort}`,
    operatorUrl: `http://127.0.0.1:${operatorPort}`,
    callbackPort,
    start: () => start(),
    end: async (signal) => {
      const ended = child
      if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return
      ended.kill("SIGCONT")
      ended.kill(signal)
      await once(ended, "close")
    },
    freeze: (isFrozen) => void child?.kill(isFrozen ? "SIGSTOP" : "SIGCONT"),
    stepClock: () => void child?.kill("SIGUSR2")
  }
}

const READY_TRIES = 1200
/** It ends at its start where PostgreSQL goes away then. */
const MOST_STARTS = 20
