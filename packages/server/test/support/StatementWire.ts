/**
 * A connection to PostgreSQL that shows each statement before it arrives, and may end there.
 *
 * Guarantees:
 * - PostgreSQL never gets a statement that the wire ends at. Its transaction is rolled back.
 * - `process`: all connections end, and none is accepted until `restart`, as if the process had been killed.
 * - `connection`: only that connection ends.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { once } from "node:events"
import * as Net from "node:net"

export type End = "process" | "connection"

export interface StatementWire {
  readonly url: Redacted.Redacted<string>
  /** How often something has ended. */
  readonly ends: () => number
  /** Accepts connections again. */
  readonly restart: () => void
}

export interface Observer {
  /** Before a statement arrives. `transaction` is the last statement before it of its transaction, if any. */
  readonly before: (statement: string, transaction: string | undefined) => End | undefined
  /** When PostgreSQL has answered a statement, with the notices in its answer. */
  readonly after?: (statement: string, notices: ReadonlyArray<string>) => void
}

export const statementWire = (
  to: Redacted.Redacted<string>,
  { after, before }: Observer
): Effect.Effect<StatementWire, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const target = new URL(Redacted.value(to))
        const sockets = new Set<Net.Socket>()
        const state = { isDead: false, ends: 0 }
        const endAll = () => {
          for (const socket of sockets) socket.destroy()
        }
        const server = Net.createServer((inner) => {
          if (state.isDead) return void inner.destroy()
          const outer = Net.connect(Number(target.port), target.hostname)
          for (const [socket, other] of [
            [inner, outer],
            [outer, inner]
          ] as const) {
            sockets.add(socket)
            socket.on("error", () => {})
            socket.on("close", () => {
              sockets.delete(socket)
              other.destroy()
            })
          }
          const statements = statementsIn()
          const sent = messagesIn(false)
          const answered = messagesIn(true)
          let running: string | undefined
          let notices: Array<string> = []
          let transaction: string | undefined
          inner.on("data", (chunk: Buffer) => {
            for (const message of sent(chunk)) {
              const statement = statements(message)
              if (statement !== undefined) {
                const end = before(statement, transaction)
                if (end !== undefined) {
                  state.ends++
                  state.isDead = end === "process"
                  return end === "process" ? endAll() : void inner.destroy()
                }
                transaction = /^\s*(BEGIN|COMMIT|ROLLBACK)/i.test(statement) ? undefined : statement
                running = statement
              }
              outer.write(message.bytes)
            }
          })
          outer.on("data", (chunk: Buffer) => {
            for (const { bytes, type } of answered(chunk)) {
              if (type === NOTICE) notices.push(noticeIn(bytes))
              if (type !== READY_FOR_QUERY) continue
              if (running !== undefined) after?.(running, notices)
              running = undefined
              notices = []
            }
            inner.write(chunk)
          })
        })
        server.listen(0, "127.0.0.1")
        await once(server, "listening")
        const url = new URL(target)
        url.port = String((server.address() as Net.AddressInfo).port)
        return {
          url: Redacted.make(url.href),
          ends: () => state.ends,
          restart: () => {
            state.isDead = false
          },
          close: () => {
            server.close()
            endAll()
          }
        }
      }),
      ({ close }) => Effect.sync(close)
    ),
    ({ ends, restart, url }) => ({ url, ends, restart })
  )

interface Message {
  /** Empty for the first messages of a client, which have no type. */
  readonly type: string
  readonly bytes: Buffer
}

/** Splits one direction of a connection into the messages of PostgreSQL's protocol. */
const messagesIn = (isAnswer: boolean) => {
  let rest = Buffer.alloc(0)
  let isStarted = isAnswer
  return (chunk: Buffer): ReadonlyArray<Message> => {
    rest = Buffer.concat([rest, chunk])
    const messages: Array<Message> = []
    for (;;) {
      const prefix = isStarted ? 1 : 0
      if (rest.length < prefix + 4) return messages
      const length = prefix + rest.readInt32BE(prefix)
      if (rest.length < length) return messages
      const bytes = rest.subarray(0, length)
      messages.push({ type: isStarted ? String.fromCharCode(bytes[0]!) : "", bytes })
      // The message with a version of the protocol is the last one without a type.
      isStarted ||= bytes.readUInt16BE(4) === PROTOCOL
      rest = rest.subarray(length)
    }
  }
}

/** Follows prepared statements and portals. Returns the text of a statement when a message executes it. */
const statementsIn = () => {
  const prepared = new Map<string, string>()
  const portals = new Map<string, string>()
  return ({ bytes, type }: Message): string | undefined => {
    const [first = "", second = ""] = bytes.toString("utf8", 5).split("\0", 2)
    if (type === PARSE) prepared.set(first, second)
    else if (type === BIND) portals.set(first, prepared.get(second) ?? "")
    else if (type === EXECUTE) return portals.get(first)
    else if (type === QUERY) return first
    return undefined
  }
}

/** Fields have a letter each; `M` is the text. */
const noticeIn = (bytes: Buffer): string => /(?:^|\0)M([^\0]*)/.exec(bytes.toString("utf8", 5))?.[1] ?? ""

const PROTOCOL = 3
const PARSE = "P"
const BIND = "B"
const EXECUTE = "E"
const QUERY = "Q"
const NOTICE = "N"
const READY_FOR_QUERY = "Z"
