// @effect-diagnostics strictEffectProvide:off
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { gzipSync } from "node:zlib"
import { publint } from "publint"
import { rolldown } from "rolldown"
import { afterAll, beforeAll, it as test } from "vitest"
import { TestService } from "@pix-payments/server/test/TestService"
import { declaredProcess, expected, imports, program, selfRunningProgram } from "./support/SampleProgram.ts"
import { isRequired, runtimes } from "./support/Runtimes.ts"
import { install, link, npmPack, pack, type Project } from "./support/Tarball.ts"

let folder: string
let tarball: string
/** The folder of the unpacked tarball. */
let unpacked: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pix-payments-client-"))
  tarball = await pack(folder)
  await promisify(execFile)("tar", ["-xzf", tarball, "-C", folder])
  unpacked = join(folder, "package")
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const strict = (options: object) =>
  JSON.stringify({
    compilerOptions: {
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noImplicitReturns: true,
      verbatimModuleSyntax: true,
      target: "es2022",
      types: [],
      ...options
    },
    include: ["*.ts", "*.mts", "*.cts"]
  })

layer(TestService.layer(), { excludeTestServices: true })("the tarball, installed into an empty project", (it) => {
  const makeProject = (name: string, files: Readonly<Record<string, string>>, linked?: ReadonlyArray<string>) =>
    Effect.promise(() => install(join(folder, name), tarball, files, linked))

  /** Runs a file against the real service. Returns its parsed output. */
  const runFile = (project: Project, file: string, node = process.execPath) =>
    withCredentials((env) => project.run(file, env, [node]))

  /** Runs with the URL and an API key of the real service. Returns the parsed output. */
  const withCredentials = (run: (env: Readonly<Record<string, string>>) => Promise<string>) =>
    Effect.gen(function* () {
      const { makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      return JSON.parse(yield* Effect.promise(() => run({ PAYMENTS_URL: publicUrl, PAYMENTS_API_KEY: key })))
    })

  const timeoutMs = 600_000

  it.effect(
    "compiles with strict TypeScript, moduleResolution bundler and the types of browsers and workers",
    () =>
      Effect.gen(function* () {
        const project = yield* makeProject("bundler", {
          "tsconfig.json": strict({
            module: "esnext",
            moduleResolution: "bundler",
            lib: ["es2022", "dom", "dom.iterable"]
          }),
          "main.mts": imports + declaredProcess + selfRunningProgram
        })
        assert.strictEqual(yield* Effect.promise(() => project.typeCheck()), "")
        assert.deepStrictEqual(yield* runFile(project, "main.mts"), expected)
      }),
    timeoutMs
  )

  it.effect(
    "compiles with strict TypeScript, moduleResolution nodenext and the types of Node, as ESM and CommonJS",
    () =>
      Effect.gen(function* () {
        const project = yield* makeProject(
          "nodenext",
          {
            "tsconfig.json": strict({ module: "nodenext", lib: ["es2022"], types: ["node"] }),
            "main.mts": imports + selfRunningProgram,
            "main.cts": `import client = require("@pix-payments/client")
const payments = new client.Payments({ baseUrl: "https://pix.example.com", apiKey: "pix_" })
export = payments
`
          },
          ["@types/node"]
        )
        assert.strictEqual(yield* Effect.promise(() => project.typeCheck()), "")
        assert.deepStrictEqual(yield* runFile(project, "main.mts"), expected)
      }),
    timeoutMs
  )

  for (const runtime of runtimes) {
    const { name, unavailable } = runtime
    if (unavailable !== undefined)
      process.stderr.write(`The client is not tested under ${name}, which ${unavailable}\n`)
    it.effect.skipIf(unavailable !== undefined && !isRequired)(
      `works under ${name} as under Node`,
      () =>
        Effect.gen(function* () {
          const project = yield* makeProject(name, {})
          assert.deepStrictEqual(
            yield* withCredentials((env) => runtime.run(project, imports + program, env)),
            expected
          )
        }),
      timeoutMs
    )
  }

  it.effect(
    "every snippet of the README, of the guides and of the doc comments compiles",
    () =>
      Effect.gen(function* () {
        const texts = yield* Effect.promise(async () => {
          const declarations = (await readdir(join(unpacked, "dist"))).filter((name) => name.endsWith(".d.ts"))
          const guides = join(import.meta.dirname, "../../../docs/guides/en.md")
          const files = ["README.md", ...declarations.map((name) => `dist/${name}`)].map((name) => join(unpacked, name))
          return Promise.all(
            [...files, guides].map(async (file) => ({
              name: basename(file),
              text: (await readFile(file, "utf8")).replaceAll(/^ +\* ?/gm, "")
            }))
          )
        })
        const blocks = texts.flatMap(({ name, text }) =>
          [...text.matchAll(/^```(?:ts|typescript)\n(.*?)^```/gms)].map(([, code], index) => [
            `${name.replaceAll(/\W/g, "-")}-${index + 1}.mts`,
            `${code}\nexport {}\n`
          ])
        )
        const languages = texts.flatMap(({ text }) =>
          [...text.matchAll(/^```(\w+)$/gm)].map(([, language]) => language)
        )
        // Every code block with a language is counted.
        assert.includeMembers(["ts", "sh"], [...new Set(languages)])
        assert.isAtLeast(blocks.length, 18)
        const project = yield* makeProject(
          "examples",
          {
            "tsconfig.json": strict({
              module: "nodenext",
              lib: ["es2024", "dom", "dom.iterable", "esnext.disposable"],
              types: ["node"],
              // Frameworks have errors in their own declarations.
              skipLibCheck: true
            }),
            ...Object.fromEntries(blocks)
          },
          ["@types/node", "undici"]
        )
        // The frameworks of the snippets are dependencies of the examples, not of the client.
        yield* Effect.promise(() =>
          link(
            project.folder,
            ["express", "@types/express", "fastify", "hono"],
            join(import.meta.dirname, "../../../examples/node_modules")
          )
        )
        assert.strictEqual(yield* Effect.promise(() => project.typeCheck()), "")
      }),
    timeoutMs
  )
})

describe("the package", () => {
  test("installs beside Effect 3, because it does not depend on effect", async () => {
    const effect3 = join(folder, "effect-3")
    await mkdir(effect3, { recursive: true })
    await writeFile(join(effect3, "package.json"), JSON.stringify({ name: "effect", version: "3.19.19" }))
    const project = join(folder, "beside-effect-3")
    await mkdir(project, { recursive: true })
    await writeFile(
      join(project, "package.json"),
      JSON.stringify({
        private: true,
        dependencies: { effect: `file:${effect3}`, "@pix-payments/client": `file:${tarball}` }
      })
    )
    // npm checks peer dependencies strictly.
    await promisify(execFile)("npm", ["install", "--offline", "--no-audit", "--no-fund", "--strict-peer-deps"], {
      cwd: project
    })
    const { version } = JSON.parse(await readFile(join(project, "node_modules/effect/package.json"), "utf8"))
    assert.strictEqual(version, "3.19.19")
    assert.include(await readdir(join(project, "node_modules/@pix-payments")), "client")
  })

  test("contains only the published files", async () => {
    const names = await readdir(unpacked, { recursive: true })
    const unexpected = names.filter(
      (name) => !/^(README\.md|CHANGELOG\.md|LICENSE|package\.json|dist|dist\/[\w-]+(\.d\.c?ts|\.c?js))$/.test(name)
    )
    assert.deepStrictEqual(unexpected, [])
    const manifest = JSON.parse(await readFile(join(unpacked, "package.json"), "utf8"))
    assert.isUndefined(manifest.dependencies)
    assert.isUndefined(manifest.devDependencies)
    assert.isUndefined(manifest.scripts)
    assert.strictEqual(manifest.license, "MIT")
    assert.match(
      await readFile(join(unpacked, "LICENSE"), "utf8"),
      /^MIT License\n\nCopyright \(c\) 2026 The pix-payments/
    )
    assert.isUndefined(manifest.peerDependencies)
    assert.notProperty(manifest, "private")
  })

  test("cannot be packed by npm, which would leave its exports in src", async () => {
    const destination = join(folder, "by-npm")
    await mkdir(destination, { recursive: true })
    assert.include(await npmPack(destination), "Pack and publish with pnpm")
    assert.deepStrictEqual(await readdir(destination), [])
  })

  test("publint reports nothing", async () => {
    const { messages } = await publint({ pkgDir: unpacked, pack: false, strict: true })
    assert.deepStrictEqual(messages, [])
  })

  test("attw reports nothing for node10, node16 from CommonJS and ESM, and bundlers", async () => {
    const checked = await checkPackage(createPackageFromTarballData(await readFile(tarball)))
    if (!checked.types) return assert.fail("no types")
    assert.deepStrictEqual(checked.problems, [])
    const resolutions = Object.entries(checked.entrypoints)
      .filter(([name]) => name !== "./package.json")
      .map(([name, { resolutions }]) => [name, Object.keys(resolutions)])
    const all = ["node10", "node16-cjs", "node16-esm", "bundler"]
    assert.deepStrictEqual(
      resolutions,
      [".", "./receiver", "./stores", "./testing", "./webhooks"].map((name) => [name, all])
    )
  })

  test("the manifest has its repository, and is published with provenance", async () => {
    const manifest = JSON.parse(await readFile(join(unpacked, "package.json"), "utf8"))
    for (const field of ["repository", "homepage", "bugs"]) assert.property(manifest, field)
    const { publishConfig } = JSON.parse(await readFile(join(import.meta.dirname, "../package.json"), "utf8"))
    assert.isTrue(publishConfig.provenance)
  })

  /** An entry, bundled with all that it imports. */
  const bundled = async (entry: string) => {
    const bundle = await rolldown({
      input: join(unpacked, "dist", entry),
      platform: "browser",
      external: /^effect($|\/)/,
      logLevel: "silent"
    })
    const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false } as object)
    await bundle.close()
    const [chunk] = output
    return {
      imports: chunk.imports,
      modules: chunk.moduleIds,
      code: chunk.code,
      gzipped: gzipSync(chunk.code, { level: 9 }).length
    }
  }

  test.each([
    ["index.js", 7420],
    ["webhooks.js", 1500],
    ["receiver.js", 2200],
    ["stores.js", 900],
    ["testing.js", 1000]
  ])("%s imports nothing and is at most %i bytes gzipped", async (entry, limit) => {
    const { code, gzipped, imports, modules } = await bundled(entry)
    assert.deepStrictEqual(imports, [])
    assert.isTrue(modules.every((module) => module.startsWith(unpacked)))
    assert.notMatch(code, /["']effect\//)
    assert.isAtMost(gzipped, limit)
    assert.isAbove(gzipped, limit / 3)
  })

  /** The declarations of an entry, and the packages that they import. */
  const declarations = async (entry: string) => {
    const files = new Map<string, string>()
    const outside = new Set<string>()
    const visit = async (name: string): Promise<void> => {
      if (files.has(name)) return
      const text = await readFile(join(unpacked, "dist", name), "utf8")
      files.set(name, text)
      const code = text.replaceAll(/\/\*.*?\*\//gs, "")
      for (const [, from = ""] of code.matchAll(/(?:from|import\()\s*["']([^"']+)["']/g)) {
        if (from.startsWith("./")) await visit(from.slice(2).replace(/\.js$/, ".d.ts"))
        else outside.add(from)
      }
    }
    await visit(entry)
    return { text: [...files.values()].join("\n"), outside: [...outside] }
  }

  test("declarations import no other package", async () => {
    for (const entry of ["index.d.ts", "webhooks.d.ts", "receiver.d.ts", "stores.d.ts", "testing.d.ts"]) {
      assert.deepStrictEqual((await declarations(entry)).outside, [], entry)
    }
  })

  test("everything public is documented", async () => {
    const texts = await Promise.all(
      ["index.d.ts", "webhooks.d.ts", "receiver.d.ts", "stores.d.ts", "testing.d.ts"].map(declarations)
    )
    const undocumented = new Set<string>()
    let seen = 0
    for (const { text } of texts) {
      const lines = text.split("\n")
      for (const [index, line] of lines.entries()) {
        const isMember = /^  (?:readonly |static |declare |get |async )*\[?["\w.]+\]?\??[:(<]/.test(line)
        const isDeclared = /^(?:declare |export )+(?:interface|class|type|const|function) /.test(line)
        if (!isMember && !isDeclared) continue
        if (
          /^declare const \w+_base/.test(line) ||
          /^ {2}(?:then|catch|finally|constructor|\[Symbol|readonly (?:_tag|code: C;|\[Symbol))/.test(line)
        )
          continue
        seen += 1
        if (!lines[index - 1]?.trimEnd().endsWith("*/")) undocumented.add(line.trim())
      }
    }
    assert.deepStrictEqual([...undocumented], [])
    assert.isAbove(seen, 250)
  })
})
