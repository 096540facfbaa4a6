/** A DNS server on loopback that answers as the test says, or not at all, and records every question. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createSocket } from "node:dgram"
import { once } from "node:events"

export interface Question {
  /** In lower case. */
  readonly name: string
  readonly type: "A" | "AAAA" | "other"
}

/** Addresses of the asked type, with their TTL; or an answer without any; or none at all. */
export type Reply =
  | { readonly addresses: ReadonlyArray<string>; readonly ttl?: number }
  | "no such name"
  | "failure"
  | "silence"

export interface NameServer {
  readonly address: string
  readonly questions: Array<Question>
  /** The names that were asked for, each once, in order. */
  readonly names: () => ReadonlyArray<string>
}

export const nameServer = (reply: (question: Question) => Reply): Effect.Effect<NameServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const questions: Array<Question> = []
      const socket = createSocket("udp4")
      socket.on("message", (message, { address, port }) => {
        const { end, question } = questionOf(message)
        questions.push(question)
        const answer = answerTo(message.subarray(0, end), question, reply(question))
        if (answer !== undefined) socket.send(answer, port, address)
      })
      socket.bind(0, "127.0.0.1")
      await once(socket, "listening")
      return {
        address: `127.0.0.1:${socket.address().port}`,
        questions,
        names: () => [...new Set(questions.map(({ name }) => name))],
        socket
      }
    }),
    ({ socket }) => Effect.promise(() => new Promise<void>((resolve) => socket.close(() => resolve())))
  )

const HEADER = 12
const types: Readonly<Record<number, Question["type"]>> = { 1: "A", 28: "AAAA" }

const questionOf = (message: Buffer): { readonly question: Question; readonly end: number } => {
  const labels: Array<string> = []
  let at = HEADER
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = types[message.readUInt16BE(at + 1)] ?? "other"
  return { question: { name: labels.join(".").toLowerCase(), type }, end: at + 5 }
}

const answerTo = (asked: Buffer, { type }: Question, reply: Reply): Buffer | undefined => {
  if (reply === "silence") return undefined
  const { addresses, ttl = 60 } = typeof reply === "string" ? { addresses: [] } : reply
  const fitting = addresses.filter((address) => address.includes(":") === (type === "AAAA"))
  const head = Buffer.from(asked)
  // A response, recursion desired and available, with its code.
  head.writeUInt16BE(0x8180 | (reply === "no such name" ? 3 : reply === "failure" ? 2 : 0), 2)
  head.writeUInt16BE(fitting.length, 6)
  head.writeUInt32BE(0, 8)
  const records = fitting.map((address) => {
    const bytes = bytesOf(address)
    const record = Buffer.alloc(12 + bytes.length)
    record.writeUInt16BE(0xc000 | HEADER, 0)
    record.writeUInt16BE(type === "AAAA" ? 28 : 1, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt32BE(ttl, 6)
    record.writeUInt16BE(bytes.length, 10)
    bytes.copy(record, 12)
    return record
  })
  return Buffer.concat([head, ...records])
}

const bytesOf = (address: string): Buffer => {
  if (!address.includes(":")) return Buffer.from(address.split(".").map(Number))
  const [front = "", back] = address.split("::")
  const groups = (text: string) => (text === "" ? [] : text.split(":"))
  const [before, after] = [groups(front), groups(back ?? "")]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0")
  const bytes = Buffer.alloc(16)
  for (const [index, group] of [...before, ...zeros, ...after].entries()) {
    bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * index)
  }
  return bytes
}
