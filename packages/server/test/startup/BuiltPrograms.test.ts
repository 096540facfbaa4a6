/** What `packages/server/build.mjs` builds, and the Dockerfile copies. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import * as Fs from "node:fs/promises"
import { dirname, join } from "node:path"
import { createDatabase, temporaryFolder } from "../support/Postgres.ts"
import { ran, startProcess } from "../support/Process.ts"

const server = join(import.meta.dirname, "../..")
const root = join(server, "../..")

/** The built programs where nothing is installed. */
const image = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  yield* Effect.promise(async () => {
    await Fs.cp(join(server, "dist"), join(folder, "dist"), { recursive: true })
    await Fs.cp(join(server, "package.json"), join(folder, "package.json"))
  })
  return (program: string) => join(folder, "dist", program)
})

/** What the first stage of the Dockerfile builds from the files that it copies, with the packages that are installed here. */
const builtByDockerfile = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  return yield* Effect.promise(async () => {
    const [, stage = ""] = (await Fs.readFile(join(root, "Dockerfile"), "utf8")).split(/^FROM .*$/m)
    const copied = [...stage.matchAll(/^COPY (.+)$/gm)].flatMap(([, paths = ""]) => paths.split(" ").slice(0, -1))
    const filter = (source: string) => !/\/(?:node_modules|dist[^/]*|test)$/.test(source)
    for (const path of copied) await Fs.cp(join(root, path), join(folder, path), { recursive: true, filter })
    for (const path of ["", ...(await Fs.readdir(join(folder, "packages"))).map((name) => `packages/${name}`)]) {
      await Fs.symlink(join(root, path, "node_modules"), join(folder, path, "node_modules"))
    }
    const programs = [...stage.matchAll(/node (packages\/\S+)/g)].map(([, program = ""]) => program)
    for (const program of programs) execFileSync(process.execPath, [join(folder, program)])
    return programs.flatMap((program) => readdirSync(join(folder, dirname(program), "dist")))
  })
})

layer(Layer.empty, { excludeTestServices: true })("The built programs", (it) => {
  it.effect("are made by the Dockerfile, of the files that it copies", () =>
    Effect.gen(function* () {
      assert.includeMembers(yield* builtByDockerfile, ["index.html", "main.js", "migrate.js", "maintain.js", "cli.js"])
    })
  )

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
