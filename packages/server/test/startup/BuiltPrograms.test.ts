/** What `packages/server/build.mjs` builds, and the Dockerfile copies. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs/promises"
import { join } from "node:path"
import { createDatabase, temporaryFolder } from "../support/Postgres.ts"
import { ran, startProcess } from "../support/Process.ts"

const server = join(import.meta.dirname, "../..")

/** The built programs where nothing is installed. */
const image = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  yield* Effect.promise(async () => {
    await Fs.cp(join(server, "dist"), join(folder, "dist"), { recursive: true })
    await Fs.cp(join(server, "package.json"), join(folder, "package.json"))
  })
  return (program: string) => join(folder, "dist", program)
})

layer(Layer.empty, { excludeTestServices: true })("The built programs", (it) => {
  it.effect("need no package beside them", () =>
    Effect.gen(function* () {
      const program = yield* image
      const env = { DATABASE_URL: Redacted.value(yield* createDatabase()) }
      for (const name of ["migrate", "maintain"]) {
        const { code, written } = yield* ran(program(name), env)
        assert.strictEqual(code, 0, written)
      }
      const verified = yield* ran(
        program("cli"),
        { OPERATOR_URL: "http://127.0.0.1:1", OPERATOR_TOKEN: "a token" },
        "ledger",
        "verify"
      )
      assert.match(verified.written, /^No service answers at/)
      // All modules of the service have run by then.
      const withoutDatabase = yield* ran(program("main"), {})
      assert.match(
        withoutDatabase.written,
        /^The service cannot start: There is no PostgreSQL for \S+ in node_modules\. .*DATABASE_URL/
      )
    })
  )

  it.effect("serve the dashboard beside them, and the documentation, which is loaded when it is asked for", () =>
    Effect.gen(function* () {
      const env = { DATABASE_URL: Redacted.value(yield* createDatabase()), DATA_DIR: yield* temporaryFolder }
      execFileSync(process.execPath, [join(server, "../dashboard/build.mjs")])
      const { operatorUrl, publicUrl } = yield* startProcess(env)
      const urls = [`${publicUrl}/docs`, `${publicUrl}/openapi.json`, `${operatorUrl}/charges`]
      const answers = yield* Effect.promise(() => Promise.all(urls.map((url) => fetch(url))))
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200]
      )
    })
  )

  it.effect("run as several processes", () =>
    Effect.gen(function* () {
      const env = { DATABASE_URL: Redacted.value(yield* createDatabase()), DATA_DIR: yield* temporaryFolder }
      const { ended, publicUrl, signal } = yield* startProcess({ ...env, PROCESSES: "2" })
      assert.strictEqual((yield* Effect.promise(() => fetch(`${publicUrl}/v1/charges`))).status, 401)
      signal("SIGTERM")
      assert.strictEqual(yield* ended, 0)
    })
  )
})
