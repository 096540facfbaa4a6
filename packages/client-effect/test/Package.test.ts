// @effect-diagnostics strictEffectProvide:off
import { assert, describe, layer } from "@effect/vitest"
import { install, pack } from "@pix-payments/client/test/Tarball"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { publint } from "publint"
import { rolldown } from "rolldown"
import { afterAll, beforeAll, it as test } from "vitest"

let folder: string
let tarball: string
/** The folder of the unpacked tarball. */
let unpacked: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pix-payments-client-effect-"))
  tarball = await pack(folder, join(import.meta.dirname, ".."))
  await promisify(execFile)("tar", ["-xzf", tarball, "-C", folder])
  unpacked = join(folder, "package")
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const strict = JSON.stringify({
  compilerOptions: {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noImplicitReturns: true,
    verbatimModuleSyntax: true,
    module: "nodenext",
    target: "es2022",
    lib: ["es2024", "dom", "esnext.disposable"],
    types: []
  },
  include: ["*.mts"]
})

const program = `import { PaymentsClient } from "@pix-payments/client-effect"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

const main = Effect.gen(function* () {
  const payments = yield* PaymentsClient
  const charge = yield* payments.charges.create({
    amount: 1990,
    customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
  })
  const all = yield* Stream.runCollect(payments.charges.list())
  const missing = yield* payments.charges.retrieve("none").pipe(
    Effect.as(false),
    Effect.catchReason("PaymentsError", "CHARGE_NOT_FOUND", () => Effect.succeed(true))
  )
  return { status: charge.status, found: all.some(({ id }) => id === charge.id), missing }
})
Effect.runPromise(Effect.provide(main, PaymentsClient.layerConfig)).then((done) => console.log(JSON.stringify(done)))
`

const timeoutMs = 600_000

layer(TestService.layer(), { excludeTestServices: true })("the tarball, installed into an empty project", (it) => {
  it.effect(
    "works with an installed effect, which is not a dependency",
    () =>
      Effect.gen(function* () {
        const project = yield* Effect.promise(() =>
          install(join(folder, "effect"), tarball, { "tsconfig.json": strict, "main.mts": program }, ["effect"])
        )
        assert.strictEqual(yield* Effect.promise(() => project.typeCheck()), "")
        const { makeCaller, publicUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const printed = yield* Effect.promise(() =>
          project.run("main.mts", { PAYMENTS_URL: publicUrl, PAYMENTS_API_KEY: key })
        )
        assert.deepStrictEqual(JSON.parse(printed), { found: true, missing: true, status: "pending" })
        const installed = yield* Effect.promise(() => readdir(join(project.folder, "node_modules/@pix-payments")))
        assert.deepStrictEqual(installed, ["client-effect"])
      }),
    timeoutMs
  )

  it.effect(
    "every snippet of the README and of the doc comments compiles",
    () =>
      Effect.gen(function* () {
        const texts = yield* Effect.promise(() =>
          Promise.all(["README.md", "dist/index.d.ts"].map((name) => readFile(join(unpacked, name), "utf8")))
        )
        const blocks = texts
          .flatMap((text) => [...text.replaceAll(/^ +\* ?/gm, "").matchAll(/^```ts\n(.*?)^```/gms)])
          .map(([, code], index) => [`example-${index + 1}.mts`, `${code}\nexport {}\n`])
        assert.isAtLeast(blocks.length, 2)
        const project = yield* Effect.promise(() =>
          install(join(folder, "examples"), tarball, { "tsconfig.json": strict, ...Object.fromEntries(blocks) }, [
            "effect"
          ])
        )
        assert.strictEqual(yield* Effect.promise(() => project.typeCheck()), "")
      }),
    timeoutMs
  )
})

describe("the package", () => {
  test("contains only the published files", async () => {
    const names = await readdir(unpacked, { recursive: true })
    const unexpected = names.filter(
      (name) => !/^(README\.md|CHANGELOG\.md|LICENSE|package\.json|dist|dist\/[\w-]+(\.d\.ts|\.js))$/.test(name)
    )
    assert.deepStrictEqual(unexpected, [])
    const manifest = JSON.parse(await readFile(join(unpacked, "package.json"), "utf8"))
    assert.isUndefined(manifest.dependencies)
    assert.isUndefined(manifest.devDependencies)
    assert.deepStrictEqual(manifest.peerDependencies, { effect: "^4.1.0" })
    assert.isUndefined(manifest.scripts)
  })

  test("publint reports nothing", async () => {
    const { messages } = await publint({ pkgDir: unpacked, pack: false, strict: true })
    assert.deepStrictEqual(messages, [])
  })

  test("code and types import only effect", async () => {
    const bundle = await rolldown({
      input: join(unpacked, "dist/index.js"),
      platform: "browser",
      external: /^effect($|\/)/,
      logLevel: "silent"
    })
    const { output } = await bundle.generate({ format: "esm" })
    await bundle.close()
    assert.isAbove(output[0].imports.length, 0)
    assert.isTrue(output[0].imports.every((name) => name.startsWith("effect/")))
    const types = (await readFile(join(unpacked, "dist/index.d.ts"), "utf8")).replaceAll(/\/\*.*?\*\//gs, "")
    const outside = [...types.matchAll(/(?:from|import\()\s*["']([^"']+)["']/g)].map(([, from]) => from ?? "")
    assert.isAbove(outside.length, 0)
    assert.isTrue(outside.every((name) => name.startsWith("effect/")))
  })
})
