/** `scripts/builds.mjs`: when a build runs, and what it leaves where it fails or is not alone. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFile } from "node:child_process"
import * as Fs from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { temporaryFolder } from "../support/Postgres.ts"

const root = join(import.meta.dirname, "../../../..")

/** Writes how often it ran, waits until so many builds have begun, and fails where the source says so. */
const BUILD = `
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { builds, runBuild } from "../../scripts/builds.mjs"
await runBuild(builds.service, async (folder) => {
  const runs = new URL("runs", import.meta.url)
  appendFileSync(runs, "x")
  while (readFileSync(runs).length < Number(process.env.BEGUN ?? 0)) await setTimeout(1)
  const source = readFileSync(new URL("src/main.ts", import.meta.url), "utf8")
  writeFileSync(folder + "/main.js", source)
  if (source.includes("fail")) throw new Error("the build fails")
})
`

/** A workspace with the packages of the service, each with one source. */
const workspace = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const path = (name: string) => join(folder, name)
  yield* Effect.promise(async () => {
    await Fs.mkdir(path("scripts"))
    await Fs.copyFile(join(root, "scripts/builds.mjs"), path("scripts/builds.mjs"))
    await Fs.writeFile(path("pnpm-lock.yaml"), "")
    for (const name of ["server", "api", "api-pix", "domain", "embedded-postgres"]) {
      await Fs.mkdir(path(`packages/${name}/src`), { recursive: true })
      await Fs.writeFile(path(`packages/${name}/package.json`), '{ "type": "module" }')
      await Fs.writeFile(path(`packages/${name}/src/main.ts`), "1")
    }
    await Fs.writeFile(path("packages/server/build.mjs"), BUILD)
  })
  const server = (name: string) => path(`packages/server/${name}`)
  const read = (name: string) => Effect.promise(() => Fs.readFile(server(name), "utf8").catch(() => "absent"))
  return {
    server,
    write: (name: string, text: string) => Effect.promise(() => Fs.writeFile(path(name), text)),
    /** The exit code. */
    build: (begun = 0) =>
      Effect.promise(() =>
        promisify(execFile)(process.execPath, [server("build.mjs")], { env: { BEGUN: String(begun) } }).then(
          () => 0,
          ({ code }: { readonly code: number }) => code
        )
      ),
    built: read("dist/main.js"),
    runs: Effect.map(read("runs"), ({ length }) => length),
    folders: Effect.promise(async () => (await Fs.readdir(server("."))).filter((name) => name.startsWith("dist")))
  }
})

layer(Layer.empty, { excludeTestServices: true })("A build", (it) => {
  it.effect("runs where a source has changed, and where its result is not complete", () =>
    Effect.gen(function* () {
      const { build, built, runs, server, write } = yield* workspace
      yield* build()
      yield* build()
      assert.deepStrictEqual([yield* built, yield* runs], ["1", 1])
      yield* write("packages/domain/src/main.ts", "2")
      yield* build()
      assert.strictEqual(yield* runs, 2)
      yield* write("pnpm-lock.yaml", "another")
      yield* build()
      assert.strictEqual(yield* runs, 3)
      yield* Effect.promise(() => Fs.rm(server("dist/main.js")))
      yield* build()
      assert.deepStrictEqual([yield* built, yield* runs], ["1", 4])
    })
  )

  it.effect("that fails leaves the one before, and is repeated", () =>
    Effect.gen(function* () {
      const { build, built, folders, runs, write } = yield* workspace
      yield* build()
      yield* write("packages/server/src/main.ts", "fail")
      assert.deepStrictEqual([yield* build(), yield* build()], [1, 1])
      assert.deepStrictEqual([yield* built, yield* runs, yield* folders], ["1", 3, ["dist"]])
    })
  )

  it.effect("beside others leaves one result, and none fails", () =>
    Effect.gen(function* () {
      const { build, built, folders, write } = yield* workspace
      yield* build()
      yield* write("packages/server/src/main.ts", "2")
      // Each of the five waits for the others, after the one before them.
      const codes = yield* Effect.forEach([6, 6, 6, 6, 6], build, { concurrency: "unbounded" })
      assert.deepStrictEqual(codes, [0, 0, 0, 0, 0])
      assert.deepStrictEqual([yield* built, yield* folders], ["2", ["dist"]])
    })
  )

  it.effect("removes what an interrupted one left", () =>
    Effect.gen(function* () {
      const { build, folders, server } = yield* workspace
      yield* Effect.promise(() =>
        Promise.all(["dist.999999999", "dist.999999999.old"].map((name) => Fs.mkdir(server(name))))
      )
      yield* build()
      assert.deepStrictEqual(yield* folders, ["dist"])
    })
  )
})
