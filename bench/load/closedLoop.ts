/**
 * The closed-loop load generator, a child process: each connection sends its next request when the last one is answered.
 *
 * Why raw HTTP/1.1 over `node:net`: it shares the machine with the contender, so a request must cost it little.
 */
import { connect, type Socket } from "node:net"
import { type Histogram, makeHistogram, record } from "./Histogram.ts"
import { type LoadJob, loadJobs, type Target } from "./Jobs.ts"

export interface LoadCommand {
  readonly job: string
  readonly target: Target
  readonly prepared: ReadonlyArray<string>
  /** Of the idempotency keys. */
  readonly keyPrefix: string
  readonly connections: number
  readonly seconds: number
  /** The maximum number of requests; absent: no maximum. */
  readonly requests?: number
}

export interface LoadResult {
  /** Correct answers, including those after the end. */
  readonly answered: number
  /** Correct answers before the end. */
  readonly inTime: number
  readonly errors: number
  /** The first few errors. */
  readonly errorSamples: ReadonlyArray<string>
  readonly seconds: number
  readonly latencies: Histogram
  readonly cpuMicros: number
}

process.on("message", (command: LoadCommand) => {
  void generate(command).then((result) => process.send?.(result))
})
process.on("disconnect", () => process.exit(0))
// Ctrl-C reaches the whole process group, but the bench ends its children itself.
process.on("SIGINT", () => {})

/** The wait for outstanding answers after the end. */
const DRAIN_MS = 15_000

async function generate(command: LoadCommand): Promise<LoadResult> {
  const job = loadJobs.find(({ name }) => name === command.job)
  if (job === undefined) throw new Error(`there is no job ${command.job}`)
  const makeRequest = job.makeRequests(command.target, command.prepared, command.keyPrefix)
  let left = command.requests ?? Number.POSITIVE_INFINITY
  const next = () => {
    left--
    return makeRequest()
  }
  const isCorrect = job.isCorrect?.(command.prepared) ?? (() => true)
  const sockets = await Promise.all(Array.from({ length: command.connections }, () => open(command.target.port)))

  const latencies = makeHistogram()
  const errorSamples: Array<string> = []
  const count = { answered: 0, inTime: 0, errors: 0 }
  const cpu = process.cpuUsage()
  const start = performance.now()
  const end = start + command.seconds * 1000

  const fail = (error: string) => {
    count.errors++
    if (errorSamples.length < 5) errorSamples.push(error)
  }
  const answered = (request: string, answer: string, sentAt: number): boolean => {
    const now = performance.now()
    record(latencies, (now - sentAt) * 1000)
    if (answer.slice(9, 12) === String(job.status) && isCorrect(request, answer)) {
      count.answered++
      if (now <= end) count.inTime++
    } else {
      fail(answer.slice(0, 500))
    }
    return now < end && left > 0
  }

  await Promise.all(sockets.map((socket) => drive(socket, job, next, end, answered, fail)))
  const { system, user } = process.cpuUsage(cpu)
  return { ...count, errorSamples, seconds: command.seconds, latencies, cpuMicros: system + user }
}

/** Sends requests over one connection until the end; resolves after its last answer. */
const drive = (
  socket: Socket,
  job: LoadJob,
  next: () => string,
  end: number,
  answered: (request: string, answer: string, sentAt: number) => boolean,
  fail: (error: string) => void
): Promise<void> =>
  new Promise((resolve) => {
    let request = ""
    let received = ""
    let sentAt = 0
    let done = false
    const finish = (error?: string) => {
      if (done) return
      done = true
      clearTimeout(timer)
      if (error !== undefined) fail(error)
      socket.destroy()
      resolve()
    }
    const timer = setTimeout(() => finish("no answer in time"), end - performance.now() + DRAIN_MS)
    const send = () => {
      request = next()
      sentAt = performance.now()
      socket.write(request)
    }

    socket.on("data", (chunk: Buffer) => {
      // latin1 has one character for each byte, so string lengths are byte lengths.
      received += chunk.toString("latin1")
      const head = received.indexOf("\r\n\r\n")
      if (head < 0) return
      const length = contentLength(received, head)
      if (length === undefined) return finish(`${job.name}: an answer without content-length`)
      if (received.length < head + 4 + length) return
      const answer = received
      received = ""
      if (answered(request, answer, sentAt)) send()
      else finish()
    })
    socket.on("error", (error) => finish(`connection: ${error.message}`))
    socket.on("close", () => finish("the connection was closed"))
    send()
  })

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => {
      socket.off("error", reject)
      resolve(socket)
    })
    socket.once("error", reject)
  })

const contentLength = (answer: string, head: number): number | undefined => {
  const lower = answer.indexOf("content-length: ")
  const at = lower >= 0 && lower < head ? lower : answer.indexOf("Content-Length: ")
  if (at < 0 || at > head) return undefined
  return Number(answer.slice(at + 16, answer.indexOf("\r\n", at)))
}
