/** What `packages/server/build.mjs` builds, and the Dockerfile copies. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { randomUUID } from "node:crypto"
import * as Redacted from "effect/Redacted"
import { execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import * as Fs from "node:fs/promises"
import { dirname, join } from "node:path"
import { createDatabase, temporaryFolder } from "../support/Postgres.ts"
import { ran, startProcessIn } from "../support/Process.ts"

const server = join(import.meta.dirname, "../..")
const root = join(server, "../..")

/** The folder of the programs in an image: the built service and dashboard, and no packages. */
const image = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  yield* Effect.promise(async () => {
    for (const path of ["packages/server/package.json", "packages/server/dist", "packages/dashboard/dist"]) {
      await Fs.cp(join(root, path), join(folder, path), { recursive: true })
    }
  })
  return join(folder, "packages/server/dist")
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
      assert.includeMembers(yield* builtByDockerfile, [
        "index.html",
        "main.js",
        "migrate.js",
        "maintain.js",
        "secrets.js"
      ])
    })
  )

  it.effect("need no package beside them, and find the dashboard", () =>
    Effect.gen(function* () {
      execFileSync(process.execPath, [join(root, "packages/dashboard/build.mjs")], { stdio: "ignore" })
      const folder = yield* image
      const env = {
        DATABASE_URL: Redacted.value(yield* createDatabase()),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN: randomUUID()
      }
      for (const name of ["migrate", "maintain"]) {
        const { code, written } = yield* ran(join(folder, name), env)
        assert.strictEqual(code, 0, written)
      }
      const { operatorUrl, publicUrl } = yield* startProcessIn(folder, env)
      // The script of the documentation is loaded when it is asked for.
      const urls = [`${publicUrl}/docs`, `${publicUrl}/openapi.json`, `${operatorUrl}/charges`]
      const answers = yield* Effect.promise(() => Promise.all(urls.map((url) => fetch(url))))
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200]
      )
      // A build that removes calls whose results are not used removes the check of this path, and the process ends.
      const undecodable = yield* Effect.promise(() => fetch(`${publicUrl}/v1/charges/%E0%A4%A`))
      assert.strictEqual(undecodable.status, 401)
    })
  )

  it.effect("say what to do without a database, where no PostgreSQL is beside them", () =>
    Effect.gen(function* () {
      const { code, written } = yield* ran(join(yield* image, "main"), {})
      assert.strictEqual(code, 1)
      assert.match(
        written,
        /^The service cannot start: There is no PostgreSQL for \S+ in node_modules\. .*DATABASE_URL/
      )
    })
  )
})
