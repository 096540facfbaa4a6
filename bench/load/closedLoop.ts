/**
 * The load generator, a process of its own: raw keep-alive HTTP/1.1 over `node:net`, one request at a time on each
 * connection. It does as little as it can for a request, since it shares the machine with what it measures.
 */
import { connect, type Socket } from "node:net"
import { type Histogram, makeHistogram, record } from "./Histogram.ts"
import { type LoadJob, loadJobs, type Target } from "./Jobs.ts"

export interface LoadOrder {
  readonly job: string
  readonly target: Target
  readonly prepared: ReadonlyArray<string>
  readonly run: string
  readonly connections: number
  readonly seconds: number
  /** How many requests at the most; as many as there is time for, where it is not given. */
  readonly requests?: number
}

export interface LoadResult {
  /** Right answers, those after the end included. */
  readonly answered: number
  /** Right answers within the time. */
  readonly inTime: number
  readonly errors: number
  /** The first few of them. */
  readonly complaints: ReadonlyArray<string>
  readonly seconds: number
  readonly latencies: Histogram
  readonly cpuMicros: number
}

process.on("message", (order: LoadOrder) => {
  void generate(order).then((result) => process.send?.(result))
})
process.on("disconnect", () => process.exit(0))
// Ctrl-C reaches the whole group; the bench ends us in its own time.
process.on("SIGINT", () => {})

/** How long answers are waited for after the end. */
const DRAIN_MS = 15_000

async function generate(order: LoadOrder): Promise<LoadResult> {
  const job = loadJobs.find(({ name }) => name === order.job)
  if (job === undefined) throw new Error(`there is no job ${order.job}`)
  const make = job.requests(order.target, order.prepared, order.run)
  let left = order.requests ?? Number.POSITIVE_INFINITY
  const next = () => {
    left--
    return make()
  }
  const isRight = job.isRight?.(order.prepared) ?? (() => true)
  const sockets = await Promise.all(Array.from({ length: order.connections }, () => open(order.target.port)))

  const latencies = makeHistogram()
  const complaints: Array<string> = []
  const count = { answered: 0, inTime: 0, errors: 0 }
  const cpu = process.cpuUsage()
  const start = performance.now()
  const end = start + order.seconds * 1000

  const complain = (complaint: string) => {
    count.errors++
    if (complaints.length < 5) complaints.push(complaint)
  }
  const answered = (request: string, answer: string, sentAt: number): boolean => {
    const now = performance.now()
    record(latencies, (now - sentAt) * 1000)
    if (answer.slice(9, 12) === String(job.status) && isRight(request, answer)) {
      count.answered++
      if (now <= end) count.inTime++
    } else {
      complain(answer.slice(0, 500))
    }
    return now < end && left > 0
  }

  await Promise.all(sockets.map((socket) => drive(socket, job, next, end, answered, complain)))
  const { system, user } = process.cpuUsage(cpu)
  return { ...count, complaints, seconds: order.seconds, latencies, cpuMicros: system + user }
}

/** Keeps one connection busy until the end; resolves when its last answer is there. */
const drive = (
  socket: Socket,
  job: LoadJob,
  next: () => string,
  end: number,
  answered: (request: string, answer: string, sentAt: number) => boolean,
  complain: (complaint: string) => void
): Promise<void> =>
  new Promise((resolve) => {
    let request = ""
    let received = ""
    let sentAt = 0
    let done = false
    const finish = (complaint?: string) => {
      if (done) return
      done = true
      clearTimeout(timer)
      if (complaint !== undefined) complain(complaint)
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
      // One character a byte, so that lengths are bytes.
      received += chunk.toString("latin1")
      const head = received.indexOf("\r\n\r\n")
      if (head < 0) return
      const length = contentLength(received, head)
      if (length === undefined) return finish(`an answer to ${job.name} without content-length`)
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
