/**
 * A faulty wire to PostgreSQL: while it is frayed, each connection is cut after a number of bytes, in either
 * direction, or as the answer to a COMMIT passes, which its sender then never sees. It can also go silent: connections
 * stay open, and nothing that is sent arrives.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { once } from "node:events"
import * as Net from "node:net"
import type { Random } from "./Model.ts"

export interface CuttingWire {
  readonly url: Redacted.Redacted<string>
  readonly fray: (on: boolean) => void
  /** Swallows from now on what is sent over the connections that are open, for good; new ones work. */
  readonly silence: () => void
  /** How many connections were cut, and how many of them with a COMMIT's answer. */
  readonly cuts: () => { readonly all: number; readonly atCommit: number }
}

export const cuttingWire = (
  to: Redacted.Redacted<string>,
  random: Random
): Effect.Effect<CuttingWire, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const target = new URL(Redacted.value(to))
        const sockets = new Set<Net.Socket>()
        const opened = new Set<{ isSilent: boolean }>()
        let isFrayed = false
        let all = 0
        let atCommit = 0
        const server = Net.createServer((inner) => {
          const outer = Net.connect(Number(target.port), target.hostname)
          let bytesLeft = Infinity
          const state = { isSilent: false }
          opened.add(state)
          const cut = () => {
            all++
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
              if (state.isSilent) return
              if (!isFrayed) {
                bytesLeft = Infinity
                return void into.write(chunk)
              }
              if (bytesLeft === Infinity) bytesLeft = Math.floor(random() ** 2 * 60_000)
              if (isAnswer && random() < 0.02 && chunk.includes("COMMIT")) {
                atCommit++
                return cut()
              }
              bytesLeft -= chunk.length
              if (bytesLeft > 0) return void into.write(chunk)
              // Part of it arrives, then nothing.
              into.write(chunk.subarray(0, Math.max(0, chunk.length + bytesLeft)), cut)
            })
          }
          pass(inner, outer, false)
          pass(outer, inner, true)
        })
        server.listen(0, "127.0.0.1")
        await once(server, "listening")
        const url = new URL(target)
        url.port = String((server.address() as Net.AddressInfo).port)
        return {
          url: Redacted.make(url.href),
          fray: (on: boolean) => {
            isFrayed = on
          },
          silence: () => {
            for (const each of opened) each.isSilent = true
          },
          cuts: () => ({ all, atCommit }),
          server,
          sockets
        }
      }),
      ({ server, sockets }) =>
        Effect.sync(() => {
          server.close()
          for (const socket of sockets) socket.destroy()
        })
    ),
    ({ cuts, fray, silence, url }) => ({ url, fray, silence, cuts })
  )
