/**
 * The open-loop load generator, a child process: it sends requests at a fixed rate, whether or not earlier ones are
 * answered. A connection has one request in flight; where no connection is free, a request is counted as not sent.
 */
import { connect, type Socket } from "node:net"
import { type Histogram, makeHistogram, record } from "./Histogram.ts"
import { loadJobs, type Target } from "./Jobs.ts"

export interface OpenLoopCommand {
  readonly job: string
  readonly target: Target
  readonly keyPrefix: string
  readonly connections: number
  readonly perSecond: number
  readonly seconds: number
}

export interface OpenLoopResult {
  readonly accepted: number
  /** Answers 503 with `Retry-After`. */
  readonly shed: number
  /** Other answers, and connections that were closed. */
  readonly errors: number
  /** The first few errors. */
  readonly errorSamples: ReadonlyArray<string>
  /** Requests for which no connection was free. */
  readonly notSent: number
  /** Not answered 15 seconds after the end. */
  readonly unanswered: number
  readonly acceptedLatencies: Histogram
  readonly shedLatencies: Histogram
  /** Accepted in each second from the start. */
  readonly acceptedBySecond: ReadonlyArray<number>
}

process.on("message", (command: OpenLoopCommand) => {
  void generate(command).then((result) => process.send?.(result))
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})

const DRAIN_MS = 15_000

async function generate(command: OpenLoopCommand): Promise<OpenLoopResult> {
  const job = loadJobs.find(({ name }) => name === command.job)
  if (job === undefined) throw new Error(`there is no job ${command.job}`)
  const next = job.makeRequests(command.target, [], command.keyPrefix)
  const acceptedLatencies = makeHistogram()
  const shedLatencies = makeHistogram()
  const errorSamples: Array<string> = []
  const acceptedBySecond: Array<number> = Array.from({ length: Math.ceil(command.seconds) }, () => 0)
  const count = { accepted: 0, shed: 0, errors: 0, notSent: 0 }
  let start = 0

  const free: Array<Connection> = []
  const all = await Promise.all(Array.from({ length: command.connections }, () => open(command.target.port)))
  let busy = 0
  const fail = (error: string) => {
    count.errors++
    if (errorSamples.length < 5) errorSamples.push(error)
  }
  const answered = (connection: Connection, status: string, answer: string) => {
    const micros = (performance.now() - connection.sentAt) * 1000
    busy--
    free.push(connection)
    if (status === String(job.status)) {
      count.accepted++
      const second = Math.floor((performance.now() - start) / 1000)
      if (second < acceptedBySecond.length) acceptedBySecond[second]!++
      record(acceptedLatencies, micros)
    } else if (status === "503" && /\r\nretry-after: [1-9]/i.test(answer)) {
      count.shed++
      record(shedLatencies, micros)
    } else {
      fail(answer.slice(0, 300))
    }
  }
  for (const socket of all)
    free.push(
      listenOn(socket, answered, () => {
        busy--
        fail("the connection was closed")
      })
    )

  start = performance.now()
  let sent = 0
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsed = performance.now() - start
      if (elapsed >= command.seconds * 1000) {
        clearInterval(timer)
        return resolve()
      }
      const due = Math.floor((elapsed / 1000) * command.perSecond) - sent
      sent += due
      for (let i = 0; i < due; i++) {
        const connection = free.pop()
        if (connection === undefined) {
          count.notSent += due - i
          break
        }
        busy++
        connection.sentAt = performance.now()
        connection.socket.write(next())
      }
    }, 2)
  })
  const end = performance.now() + DRAIN_MS
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (busy > 0 && performance.now() < end) return
      clearInterval(timer)
      resolve()
    }, 20)
  })
  const unanswered = busy
  for (const socket of all) {
    socket.removeAllListeners("close")
    socket.destroy()
  }
  return { ...count, errorSamples, unanswered, acceptedLatencies, shedLatencies, acceptedBySecond }
}

interface Connection {
  readonly socket: Socket
  sentAt: number
}

const listenOn = (
  socket: Socket,
  answered: (connection: Connection, status: string, answer: string) => void,
  closed: () => void
): Connection => {
  const connection: Connection = { socket, sentAt: 0 }
  let received = ""
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1")
    const head = received.indexOf("\r\n\r\n")
    if (head < 0) return
    const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, head + 2))?.[1]
    if (length === undefined || received.length < head + 4 + Number(length)) return
    const answer = received
    received = ""
    answered(connection, answer.slice(9, 12), answer)
  })
  socket.on("error", () => {})
  socket.on("close", closed)
  return connection
}

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => {
      socket.off("error", reject)
      resolve(socket)
    })
    socket.once("error", reject)
  })
