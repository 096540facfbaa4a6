/**
 * The collections of Postman and Bruno, run by their own programs against the service. `pnpm run runtimes:install` installs the two;
 * without them the tests are skipped, unless `RUNTIMES=required`.
 */
import { assert, layer } from "@effect/vitest"
import { TestService } from "@pix-payments/server/test/TestService"
import { paidCharge } from "@pix-payments/server/test/Money"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"

const runners = join(import.meta.dirname, "collections/node_modules")
const collections = join(import.meta.dirname, "../collections")

const programs = [
  {
    name: "Postman",
    file: join(runners, "newman/bin/newman.js"),
    args: (url: string, key: string) => [
      "run",
      join(collections, "postman.json"),
      "--env-var",
      `baseUrl=${url}`,
      "--env-var",
      `apiKey=${key}`,
      "--color",
      "off"
    ],
    cwd: collections
  },
  {
    name: "Bruno",
    file: join(runners, "@usebruno/cli/bin/bru.js"),
    args: (url: string, key: string) => [
      "run",
      "--env",
      "local",
      "--env-var",
      `baseUrl=${url}`,
      "--env-var",
      `apiKey=${key}`
    ],
    cwd: join(collections, "bruno")
  }
]

/** Runs a program to its end. */
const run = (file: string, args: ReadonlyArray<string>, cwd: string) =>
  Effect.callback<{ readonly code: number; readonly output: string }>((resume) => {
    execFile(process.execPath, [file, ...args], { cwd, timeout: 120_000 }, (error, stdout, stderr) =>
      resume(Effect.succeed({ code: error === null ? 0 : 1, output: stdout + stderr }))
    )
  })

layer(TestService.layer({}), { excludeTestServices: true })("Collections", (it) => {
  for (const { args, cwd, file, name } of programs) {
    it.effect.skipIf(!existsSync(file) && process.env["RUNTIMES"] !== "required")(
      `ADD-3: ${name} runs every operation of /v1 with the document's example`,
      () =>
        Effect.gen(function* () {
          const { makeCaller, publicUrl } = yield* TestService
          const { key } = yield* makeCaller()
          yield* paidCharge(key, 100_000)
          const { code, output } = yield* run(file, args(publicUrl, key), cwd)
          assert.strictEqual(code, 0, output)
          assert.match(output, name === "Postman" ? /requests\D+13\D+0/ : /Requests\D+13/, output)
        })
    )
  }
})
