import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

const root = join(import.meta.dirname, "../..")

/** The service as `npm start` runs it, with its own data folder. */
const service = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = await mkdtemp(join(tmpdir(), "pix-demo-"))
    const child = spawn(process.execPath, [join(root, "packages/server/dist/main.js"), "--demo"], {
      env: {
        ...process.env,
        DATA_DIR: join(folder, "data"),
        PORT: "0",
        OPERATOR_PORT: "0",
        LOG_FORMAT: "json"
      },
      stdio: ["ignore", "pipe", "inherit"]
    })
    return { child, folder, printed: await untilReady(child) }
  }),
  ({ child, folder }) =>
    Effect.promise(async () => {
      if (child.exitCode === null) {
        child.kill("SIGTERM")
        await once(child, "exit")
      }
      await rm(folder, { recursive: true, force: true })
    })
)

/** What the service prints until it is ready. */
const untilReady = async (child: ChildProcess): Promise<string> => {
  let text = ""
  for await (const chunk of child.stdout ?? []) {
    text += chunk
    if (/the service is ready.*\n/.test(text)) return text
  }
  throw new Error(`The service did not start: ${text}`)
}

const run = promisify(execFile)

describe("npm start and npm run demo", () => {
  it.live("the printed curl call creates a charge, and the demo completes", () =>
    Effect.gen(function* () {
      const { folder, printed } = yield* service
      const ready = printed.split("\n").find((line) => line.includes("the service is ready"))
      const { annotations } = JSON.parse(ready ?? "")
      assert.match(annotations.docs, /\/docs$/)
      const credentials = JSON.parse(yield* Effect.promise(() => readFile(annotations.credentials, "utf8")))
      for (const secret of [credentials.api_key, credentials.operator_token]) assert.notInclude(printed, secret)

      const called = yield* Effect.promise(() =>
        run("bash", ["-c", `${annotations.try} --silent`], {
          env: { ...process.env, PAYMENTS_API_KEY: credentials.api_key }
        })
      )
      assert.strictEqual(JSON.parse(called.stdout).status, "pending")

      const demo = yield* Effect.promise(() =>
        run(process.execPath, [join(root, "examples/demo.ts")], {
          env: {
            ...process.env,
            // It has the addresses too.
            DATA_DIR: join(folder, "data")
          }
        })
      )
      for (const line of [
        /charge\.pix\.created +signature verified/,
        /charge\.pix\.emitted +signature verified/,
        /charge\.pix\.paid +signature verified/,
        / paid +paid_at .* end_to_end_id E0/
      ]) {
        assert.match(demo.stdout, line)
      }
    }).pipe(Effect.scoped)
  )
})
