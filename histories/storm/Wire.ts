/** A TCP address that leads to a port, to another one, or nowhere, and whose connections can be cut. */
import { randomInt } from "node:crypto"
import { once } from "node:events"
import * as Net from "node:net"
import type { Random } from "./Random.ts"

export interface Wire extends AsyncDisposable {
  readonly port: number
  /** Cuts every connection; new ones go to this port, or are refused. */
  readonly moveTo: (port: number | undefined) => void
  /** New connections go to this port; those that are open stay. */
  readonly leadTo: (port: number) => void
  /** While it is frayed, each connection is cut after some bytes, in either direction, or with the answer to a COMMIT. */
  readonly fray: (isFrayed: boolean) => void
}

export const makeWire = async (random: Random): Promise<Wire> => {
  const sockets = new Set<Net.Socket>()
  let target: number | undefined
  let isFrayed = false
  const server = Net.createServer((inner) => {
    if (target === undefined) return void inner.destroy()
    const outer = Net.connect(target, "127.0.0.1")
    let left = Infinity
    const cut = () => {
      inner.destroy()
      outer.destroy()
    }
    const pass = (from: Net.Socket, into: Net.Socket, isAnswer: boolean) => {
      sockets.add(from)
      from.on("error", () => {})
      from.on("close", () => {
        sockets.delete(from)
        into.destroy()
      })
      from.on("data", (chunk: Buffer) => {
        if (!isFrayed) {
          left = Infinity
          return void into.write(chunk)
        }
        if (left === Infinity) left = Math.floor(random.next() ** 2 * 60_000)
        if (isAnswer && random.chance(0.02) && chunk.includes("COMMIT")) return cut()
        left -= chunk.length
        if (left > 0) return void into.write(chunk)
        into.write(chunk.subarray(0, Math.max(0, chunk.length + left)), cut)
      })
    }
    pass(inner, outer, false)
    pass(outer, inner, true)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const cutAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: portOf(server),
    moveTo: (port) => {
      target = port
      cutAll()
    },
    leadTo: (port) => {
      target = port
    },
    fray: (on) => {
      isFrayed = on
    },
    [Symbol.asyncDispose]: async () => {
      server.close()
      cutAll()
    }
  }
}

/** Ports that are free now, below those that an operating system gives to connections, which would take them during a restart. */
export const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const ports = new Set<number>()
  while (ports.size < count) {
    const server = Net.createServer()
    const port = randomInt(21_000, 22_000)
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false))
      server.listen(port, "127.0.0.1", () => resolve(true))
    })
    if (isFree) await once(server.close(), "close")
    if (isFree) ports.add(port)
  }
  return [...ports]
}

export const portOf = (server: Net.Server): number => (server.address() as Net.AddressInfo).port
