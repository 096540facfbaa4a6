/** `pix audit export`: lines that are written as they arrive. */
import { assert, describe, it as test } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { installed } from "./support/Pix.ts"
import { asking, json, jsonLines, replying, serving } from "./support/Service.ts"

const WITHIN_MS = 600_000

const ID = "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"

describe("pix audit export", () => {
  test.live(
    "CLI-26: the exported audit log is written as it arrives: 200 MB in a heap of 48 MB",
    () =>
      Effect.gen(function* () {
        const entries = 2000
        const entry = `${JSON.stringify({ object: "audit_entry", after: { text: "x".repeat(100_000) } })}\n`
        const service = yield* serving((_, response) => {
          response.writeHead(200, jsonLines)
          Readable.from(
            (function* () {
              for (let index = 0; index < entries; index++) yield entry
              yield `${JSON.stringify({ object: "audit_export", entries })}\n`
            })()
          ).pipe(response)
        })
        const program = join(yield* Effect.promise(installed), "node_modules/.bin/pix")
        const child = spawn(process.execPath, ["--max-old-space-size=48", program, "audit", "export"], {
          env: { ...process.env, PIX_URL: `http://127.0.0.1:${service.port}`, PIX_TOKEN: "a token" },
          stdio: ["ignore", "pipe", "inherit"]
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
        const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
        let bytes = 0
        child.stdout.on("data", (chunk: Buffer) => (bytes += chunk.length))
        assert.strictEqual(yield* Effect.promise(() => ended), 0)
        assert.isAbove(bytes, entries * entry.length)
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-26: an exported audit log without its last line ends with 3, and an incomplete line is not written",
    () =>
      Effect.gen(function* () {
        const entry = JSON.stringify({ object: "audit_entry", id: ID })
        const end = (entries: number) => `${JSON.stringify({ object: "audit_export", entries })}\n`
        for (const [body, code, out] of [
          [`${entry}\n${end(1)}`, 0, `${entry}\n${end(1)}`],
          [end(0), 0, end(0)],
          ["", 3, ""],
          [`${entry}\n`, 3, `${entry}\n`],
          [`${entry}\n${entry.slice(0, 20)}`, 3, `${entry}\n`],
          [`${entry}\n${end(2)}`, 3, `${entry}\n${end(2)}`],
          [`${entry}\n${end(1).trimEnd()}`, 3, `${entry}\n`]
        ] as const) {
          const service = yield* replying(() => ({ status: 200, headers: jsonLines, body }))
          const ended = yield* asking(service.port, "audit", "export")
          assert.deepStrictEqual([ended.code, ended.out], [code, out], ended.err)
          if (code !== 0) assert.include(ended.err, "incomplete")
        }
        const cut = yield* serving((_, response) => {
          response.writeHead(200, jsonLines).write(`${entry}\n`, () => response.destroy())
        })
        const { code, err } = yield* asking(cut.port, "audit", "export")
        assert.strictEqual(code, 3, err)
        assert.include(err, "incomplete")
        const refused = yield* replying(() => ({
          status: 400,
          headers: json,
          body: JSON.stringify({ code: "VALIDATION_ERROR", message: "a reason", details: ["created_after"] })
        }))
        assert.strictEqual((yield* asking(refused.port, "audit", "export")).code, 5)
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live("CLI-38: statement files are imported one after the other, and what could not be read is shown", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "pix-statements-"))
      const files = ["a.ofx", "b.ofx"].map((name) => join(folder, name))
      for (const file of files) writeFileSync(file, `the content of ${file}`)
      const statement = { object: "bank_statement", lines_read: 3, lines_new: 2, lines_known: 1, problems: [] }
      const balance = { line: 9, reason: "it is a balance, not a movement", text: "SALDO" }
      const answers = (answer: object) =>
        replying(() => ({
          status: 201,
          headers: json,
          body: JSON.stringify({ ...statement, lines_unread: 1, unread: [balance], ...answer })
        }))
      const service = yield* answers({})
      const { code, out } = yield* asking(service.port, "statements", "import", ...files, "--connection", ID, "--json")
      assert.strictEqual(code, 0)
      assert.lengthOf(out.trim().split("\n"), 2)
      const missing = yield* asking(service.port, "statements", "import", join(folder, "no.ofx"), "--connection", ID)
      assert.strictEqual(missing.code, 2)
      assert.include(missing.err, "cannot be read: ENOENT")
      const unread = [{ line: 7, reason: "its amount cannot be read", text: "1.234" }, balance]
      for (const wrong of [{ problems: ["its closing is wrong"] }, { unread }]) {
        const { port } = yield* answers(wrong)
        assert.strictEqual((yield* asking(port, "statements", "import", files[0]!, "--connection", ID)).code, 1)
      }
    }).pipe(Effect.scoped)
  )

  test.live("CLI-37: a file is written as it is, and a refusal is none", () =>
    Effect.gen(function* () {
      const bytes = Buffer.from([0x25, 0x50, 0x44, 0x46, 0, 255, 254, 10])
      const service = yield* serving((_, response) => {
        response.writeHead(200, { "content-type": "application/pdf" }).end(bytes)
      })
      const program = join(yield* Effect.promise(installed), "node_modules/.bin/pix")
      const { status, stdout } = spawnedFor(program, service.port, ID)
      assert.deepStrictEqual([yield* Effect.promise(() => status), Buffer.concat(stdout)], [0, bytes])
      const refused = yield* replying(() => ({
        status: 409,
        headers: json,
        body: JSON.stringify({ code: "INVALID_STATE", message: "a reason" })
      }))
      const { code, out } = yield* asking(refused.port, "receipts", "charge", ID)
      assert.deepStrictEqual([code, out], [5, ""])
    }).pipe(Effect.scoped)
  )
})

const spawnedFor = (program: string, port: number, id: string) => {
  const child = spawn(process.execPath, [program, "receipts", "charge", id, "--format", "pdf"], {
    env: { ...process.env, PIX_URL: `http://127.0.0.1:${port}`, PIX_TOKEN: "a token" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const stdout: Array<Buffer> = []
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk))
  const status = new Promise<number | null>((resolve) => child.once("close", resolve))
  return { status, stdout }
}
