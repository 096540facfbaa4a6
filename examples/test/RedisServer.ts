/** A Redis of this machine: `redis-server` or `valkey-server`, where one is on the path. It is in memory, behind a socket file. */
import { execFileSync, spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

const isThere = (program: string): boolean => {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** The program, or `undefined` where there is none. */
export const redisProgram: string | undefined = ["redis-server", "valkey-server"].find(isThere)

export interface RedisServer {
  readonly send: (command: ReadonlyArray<string>) => Promise<unknown>
  /** Takes time from what is left of each key. */
  readonly pass: (seconds: number) => Promise<void>
  readonly close: () => Promise<void>
}

export const startRedis = async (program: string): Promise<RedisServer> => {
  const folder = await mkdtemp(join(tmpdir(), "pix-redis-"))
  const file = join(folder, "socket")
  const server = spawn(program, ["--port", "0", "--unixsocket", file, "--save", "", "--dir", folder])
  await new Promise<void>((resolve, reject) => {
    let output = ""
    server.stdout.on("data", (chunk) => {
      output += chunk
      if (/ready to accept connections/i.test(output)) resolve()
    })
    server.once("exit", () => reject(new Error(output)))
  })
  const socket = connect(file)
  const send = sender(socket)
  return {
    send,
    pass: async (seconds) => {
      for (const key of (await send(["KEYS", "*"])) as ReadonlyArray<string>) {
        // An end in the past deletes the key.
        await send(["PEXPIRE", key, `${Number(await send(["PTTL", key])) - seconds * 1000}`])
      }
    },
    close: async () => {
      const ended = new Promise((resolve) => server.once("exit", resolve))
      socket.destroy()
      server.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Sends commands in RESP 2; replies come in the order of the commands. */
const sender = (socket: Socket) => {
  const waiting: Array<(reply: unknown) => void> = []
  let lines: Array<string> = []
  let rest = ""
  /** The reply that the lines begin with, and the lines after it; `undefined` where it is not complete. */
  const read = ([first, ...after]: ReadonlyArray<string>): readonly [unknown, Array<string>] | undefined => {
    if (first === undefined) return undefined
    const value = first.slice(1)
    if (first[0] === "$") {
      if (value === "-1") return [null, after]
      return after.length === 0 ? undefined : [after[0], after.slice(1)]
    }
    if (first[0] !== "*") return [first[0] === ":" ? Number(value) : first[0] === "-" ? new Error(value) : value, after]
    const items: Array<unknown> = []
    for (let left = after; ;) {
      if (items.length === Number(value)) return [items, left]
      const item = read(left)
      if (item === undefined) return undefined
      items.push(item[0])
      left = item[1]
    }
  }
  socket.on("data", (chunk) => {
    const parts = (rest + chunk.toString()).split("\r\n")
    rest = parts.pop() ?? ""
    lines.push(...parts)
    for (let reply = read(lines); reply !== undefined; reply = read(lines)) {
      lines = reply[1]
      waiting.shift()?.(reply[0])
    }
  })
  return (command: ReadonlyArray<string>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      waiting.push((reply) => (reply instanceof Error ? reject(reply) : resolve(reply)))
      const words = command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
      socket.write(`*${command.length}\r\n${words.join("")}`)
    })
}
