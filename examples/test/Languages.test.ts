/** The receivers in other languages, those whose runtime is on this machine, against signed deliveries and the published vectors. */
import { signForTest } from "@pix-payments/client/testing"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it, onTestFinished } from "vitest"

interface Attempt {
  readonly secret: string
  readonly id: string
  readonly timestamp: string
  readonly body: string
  readonly signature: string
}

const folder = join(import.meta.dirname, "../receivers")

const languages = [
  { name: "Python", command: ["python3", "python/receiver.py"], file: "python/receiver.py" },
  { name: "Java", command: ["java", "java/Receiver.java"], file: "java/Receiver.java" },
  { name: "PHP", command: ["php", "-S", "127.0.0.1:0", "php/receiver.php"], file: "php/receiver.php" },
  { name: "Go", command: ["go", "run", "go/main.go"], file: "go/main.go" }
]

/** Whether the receiver can be run here. */
const canRun = (command: string): boolean => {
  try {
    execFileSync(command, [command === "go" ? "version" : "--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

for (const { command, name } of languages) {
  if (!canRun(command[0]!)) process.stderr.write(`The receiver in ${name} is not run here.\n`)
}

/** What a receiver printed, without what comes before a line: the time with Go, process and time with PHP's server. */
const linesOf = (output: string): ReadonlyArray<string> =>
  output
    .split("\n")
    .filter(Boolean)
    .map((line) => line.replace(/^(\[[^\]]*\] |[\d/]+ [\d:]+ )+/, ""))

/** The vectors that the README of the receivers names. */
const attempts: ReadonlyArray<Attempt> = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../packages/domain/test/vectors.json"), "utf8")
).attempts.valid
const [plain, standard] = [
  attempts.find(({ secret }) => !secret.startsWith("whsec_"))!,
  attempts.find(({ secret }) => secret.startsWith("whsec_"))!
]

interface Running {
  readonly url: string
  /** The lines that it printed, once one meets a condition. */
  readonly linesWith: (wanted: string) => Promise<ReadonlyArray<string>>
  readonly close: () => Promise<void>
}

const start = async ([program = "", ...words]: ReadonlyArray<string>): Promise<Running> => {
  const handled = await mkdtemp(join(tmpdir(), "pix-handled-"))
  const child: ChildProcess = spawn(program, words, {
    cwd: folder,
    env: {
      ...process.env,
      // Java reads the environment in the encoding of the locale.
      LC_ALL: "C.UTF-8",
      PORT: "0",
      PHP_CLI_SERVER_WORKERS: "4",
      HANDLED: handled,
      WEBHOOK_SECRET: standard.secret,
      OLD_WEBHOOK_SECRET: plain.secret
    },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of processes, because PHP's server has workers.
    detached: true
  })
  let output = ""
  const port = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      const found = /(?:listening |Development Server \(http:\/\/127\.0\.0\.1:)(\d+)/.exec(output)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout!.on("data", read)
    child.stderr!.on("data", read)
    child.once("close", () => reject(new Error(output)))
  })
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    linesWith: (wanted) =>
      new Promise((resolve) => {
        const look = () => {
          if (output.includes(wanted)) resolve(linesOf(output))
        }
        child.stdout!.on("data", look)
        child.stderr!.on("data", look)
        look()
      }),
    close: async () => {
      const ended = new Promise((resolve) => child.once("close", resolve))
      process.kill(-child.pid!)
      await ended
      await rm(handled, { recursive: true, force: true })
    }
  }
}

const eventOf = (id: string, data: object = {}) => ({
  id,
  object: "event",
  event: "charge.pix.paid",
  resource: "charge",
  method: "pix",
  action: "paid",
  created_at: "2026-11-21T12:00:00.000Z",
  sequence: 3,
  data: { id: "c", object: "charge", ...data, reference: "ação 🎉" }
})

describe("a receiver in", () => {
  it.each(languages)("$name has at most 150 lines and no dependencies", ({ file }) => {
    const text = readFileSync(join(folder, file), "utf8")
    assert.isAtMost(text.trimEnd().split("\n").length, 150)
    assert.notMatch(text, /github\.com|pip install|composer|org\.|require_once/)
  })

  it
    .skipIf(!languages.some(({ command }) => canRun(command[0]!)))
    .each(languages.filter(({ command }) => canRun(command[0]!)))(
    "$name verifies, deduplicates and answers (DLV-10, SIG-3, ADD-2)",
    async ({ command }) => {
      const { close, linesWith, url } = await start(command)
      onTestFinished(close)
      const post = async (delivery: { readonly body: string; readonly headers: Record<string, string> }) =>
        (await fetch(url, { method: "POST", ...delivery })).status
      const signed = (event: object, secret = standard.secret, sentAt?: Date) => signForTest({ event, secret, sentAt })

      const first = await signed(eventOf("d-1"))
      assert.strictEqual(await post(first), 204)
      assert.strictEqual(await post(first), 204)
      const both = await signed(eventOf("d-2"), plain.secret)
      assert.sameMembers(
        [...new Set(await Promise.all(Array.from({ length: 30 }, () => post(both))))].filter(
          (status) => status !== 503
        ),
        [204]
      )
      assert.deepStrictEqual(
        (await linesWith("handled d-2")).filter((line) => line.startsWith("handled")),
        ["handled d-1 charge.pix.paid", "handled d-2 charge.pix.paid"]
      )
      assert.strictEqual(await post(await signed(eventOf("d-3", { test: true }))), 204)
      assert.strictEqual(await post(await signed(eventOf("d-4"), "another")), 401)
      assert.notInclude((await linesWith("refused wrong signature")).join(), "d-3")
      assert.strictEqual(await post({ ...first, body: first.body.replace("charge.pix.paid", "charge.pix.made") }), 401)
      assert.strictEqual(await post({ body: first.body, headers: {} }), 401)
      // Five minutes are accepted. On a busy machine a time to come is nearer when it is read.
      for (const ms of [-301_000, 330_000]) {
        // @effect-diagnostics-next-line globalDate:off
        assert.strictEqual(await post(await signed(eventOf("d-5"), standard.secret, new Date(Date.now() + ms))), 401)
      }
      assert.strictEqual((await fetch(url)).status, 405)
      assert.strictEqual(await post({ ...first, body: "x".repeat(3_145_728) }), 413)

      // A vector was sent long ago: its time is refused once its signature is right.
      for (const { body, id, signature, timestamp } of attempts) {
        const headers = {
          "webhook-id": id,
          "webhook-timestamp": timestamp,
          "webhook-signature": `v1,AAAA ${signature}`
        }
        assert.strictEqual(await post({ body, headers }), 401)
        assert.strictEqual(await post({ body: `${body} `, headers }), 401)
      }
      await post(await signed(eventOf("d-6")))
      const refused = (await linesWith("handled d-6")).filter((line) => line.startsWith("refused"))
      assert.deepStrictEqual(
        refused.slice(-2 * attempts.length).map((line) => line.split(":")[0]),
        attempts.flatMap(() => ["refused too old", "refused wrong signature"])
      )
    }
  )
})
