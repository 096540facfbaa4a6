/** The load balancers of `deploy/`, started here with addresses of this machine in place of the servers' names. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs"
import * as Net from "node:net"
import { join } from "node:path"

export type Balancer = "nginx" | "haproxy"

export interface Ports {
  readonly public: number
  readonly operator: number
}

/** Its version, or `undefined` where it is not installed. */
export const versionOf = (balancer: Balancer): string | undefined => {
  try {
    // nginx writes it to the other stream.
    const text = execFileSync("sh", ["-c", `${balancer} -v 2>&1`], { env: environment, encoding: "utf8" })
    return /\d+\.\d+\.\d+/.exec(text)?.[0]
  } catch {
    return undefined
  }
}

/** Starts it in front of two servers, and waits until it listens. It logs to `logOf(folder)`. */
export const startBalancer = (
  balancer: Balancer,
  listen: Ports,
  servers: readonly [Ports, Ports],
  folder: string
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => {
        const file = join(folder, `${balancer}.conf`)
        writeFileSync(file, configurationOf(balancer, listen, servers, folder))
        const log = openSync(logOf(folder), "a")
        const child = spawn(balancer, argumentsOf(balancer, file, folder), {
          env: environment,
          stdio: ["ignore", log, "ignore"]
        })
        closeSync(log)
        return child
      }),
      (child) => Effect.promise(() => stopped(child))
    ),
    (child) => Effect.promise(() => listening(child, listen.public))
  )

/** The file of its log of requests. */
export const logOf = (folder: string): string => join(folder, "balancer.log")

/** Where balancers are installed. */
export const environment = { PATH: `${process.env["PATH"]}:/usr/sbin:/usr/local/sbin` }

const root = join(import.meta.dirname, "../../../..")

const configurationOf = (balancer: Balancer, listen: Ports, servers: readonly [Ports, Ports], folder: string) => {
  const shipped = readFileSync(join(root, "deploy", balancer === "nginx" ? "nginx.conf" : "haproxy.cfg"), "utf8")
  const addressed = shipped.replaceAll(/server-([12]):(300[01])/g, (_, server: string, port: string) => {
    const ports = servers[Number(server) - 1]!
    return `127.0.0.1:${port === "3000" ? ports.public : ports.operator}`
  })
  if (balancer === "nginx") {
    // Its temporary files: where this user may write.
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => {
      const path = join(folder, kind)
      mkdirSync(path, { recursive: true })
      chmodSync(path, 0o777)
      return `  ${kind}_temp_path ${path};`
    })
    chmodSync(folder, 0o755)
    return addressed
      .replace("http {\n", `http {\n${temporary.join("\n")}\n`)
      .replace("listen 3000;", `listen 127.0.0.1:${listen.public};`)
      .replace("listen 3001;", `listen 127.0.0.1:${listen.operator};`)
  }
  let server = 0
  return addressed
    .replace("bind :3000", `bind 127.0.0.1:${listen.public}`)
    .replace("bind :3001", `bind 127.0.0.1:${listen.operator}`)
    .replaceAll(/port 3001/g, () => `port ${servers[server++]!.operator}`)
}

const argumentsOf = (balancer: Balancer, file: string, folder: string): ReadonlyArray<string> =>
  balancer === "nginx"
    ? ["-c", file, "-e", join(folder, "nginx.log"), "-g", `daemon off; pid ${join(folder, "nginx.pid")};`]
    : ["-db", "-f", file]

const listening = async (child: ChildProcess, port: number): Promise<void> => {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the balancer ended with ${child.exitCode}`)
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = Net.connect(port, "127.0.0.1", () => {
        socket.destroy()
        resolve(true)
      })
      socket.on("error", () => resolve(false))
    })
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const stopped = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  child.kill("SIGTERM")
  await ended
}
