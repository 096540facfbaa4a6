// @effect-diagnostics strictEffectProvide:off
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll } from "vitest"
import { TestService } from "@pix-payments/server/test/TestService"
import { expected, imports, program, requires, selfRunningProgram } from "./support/SampleProgram.ts"
import { isRequired } from "./support/Runtimes.ts"
import { install, pack, type Project } from "./support/Tarball.ts"
import { compilers, jest, modules, nodes } from "./support/Toolchains.ts"

let folder: string
let tarball: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pix-payments-toolchains-"))
  tarball = await pack(folder)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const timeoutMs = 600_000

/** The settings of `nest new`, or node16 for compilers without node10 resolution. */
const commonJs = (compiler: string, options: object = {}) =>
  JSON.stringify({
    compilerOptions: {
      ...(compiler === "TypeScript 7"
        ? { module: "node16", moduleResolution: "node16" }
        : { module: "commonjs", moduleResolution: "node10" }),
      ...(compiler === "TypeScript 6" ? { ignoreDeprecations: "6.0" } : {}),
      target: "es2020",
      lib: ["es2020"],
      types: ["node"],
      rootDir: ".",
      strict: true,
      esModuleInterop: true,
      outDir: "dist",
      ...options
    },
    include: ["*.ts"]
  })

const application = `import "reflect-metadata"
import { Injectable } from "@nestjs/common"
${imports}
@Injectable()
export class Checkout {
  constructor(private readonly payments: Payments) {}
  async create(): Promise<string> {
    const charge = await this.payments.charges.create({
      amount: 1990,
      customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
    })
    return charge.status
  }
}
${program.replace("const charge = await payments.charges.create({", "await new Checkout(payments).create()\n  const charge = await payments.charges.create({")}
void run()
`

/** A receiver's handlers. */
const receivers = `import { type DeliveryStore, webhookReceiver } from "@pix-payments/client/receiver"
import { isEvent, unwrap, type WebhookEvent } from "@pix-payments/client/webhooks"
declare const store: DeliveryStore
export const receive = webhookReceiver({
  secrets: [process.env.OLD_SECRET, process.env.NEW_SECRET],
  store,
  on: {
    "charge.pix.paid": async ({ data, isStale }) => console.log(data.amount.toFixed(), data.pix.end_to_end_id, isStale),
    "payment.pix.failed": ({ data }) => console.log(data.fee.toFixed()),
    "*": (event) => console.log(event.event)
  }
})
export const later = (event: WebhookEvent): number => {
  if (isEvent(event, ["dispute.pix.won", "dispute.pix.lost"])) return event.data.charge_id.length
  switch (event.event) {
    case "charge.pix.partially_paid":
    case "charge.pix.paid":
      return event.data.amount
    default:
      // @ts-expect-error: no event has this name.
      return isEvent(event, "refund.pix.created") ? 1 : 0
  }
}
export const unwrapped = unwrap({ body: "", headers: {}, secrets: undefined })
`

const jestTest = `${requires}
const { PaymentsError } = require("@pix-payments/client")
test("the client works in a realm of Jest", async () => {
${program.replace("console.log(JSON.stringify(", "return (").replace("retries }))", "retries })")}
  expect(await run()).toEqual(${JSON.stringify(expected)})
  await expect(payments.charges.retrieve("none")).rejects.toBeInstanceOf(PaymentsError)
})
`

layer(TestService.layer(), { excludeTestServices: true })("the client, installed", (it) => {
  const makeProject = (name: string, files: Readonly<Record<string, string>>, linked?: ReadonlyArray<string>) =>
    Effect.promise(() => install(join(folder, name), tarball, files, linked, modules))

  /** Runs with the URL and an API key of the real service. */
  const withCredentials = (run: (env: Readonly<Record<string, string>>) => Promise<string>) =>
    Effect.gen(function* () {
      const { makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      return yield* Effect.promise(() => run({ PAYMENTS_URL: publicUrl, PAYMENTS_API_KEY: key }))
    })

  const runFile = (project: Project, file: string, node = process.execPath) =>
    Effect.map(
      withCredentials((env) => project.run(file, env, [node])),
      (printed) => JSON.parse(printed)
    )

  const testIfInstalled = (name: string, path: string | undefined) => {
    if (path === undefined) process.stderr.write(`The client is not tested with ${name}: pnpm run runtimes:install\n`)
    return it.effect.skipIf(path === undefined && !isRequired)
  }

  for (const { name, path } of nodes) {
    testIfInstalled(name, path)(
      `${name}: runs as ESM and as CommonJS, and instanceof works across both`,
      () =>
        Effect.gen(function* () {
          const both = `import { createRequire } from "node:module"
import { PaymentsError, Payments } from "@pix-payments/client"
const other = createRequire(import.meta.url)("@pix-payments/client")
const error = await new Payments({ baseUrl: "http://x", apiKey: "pix_" }).charges.retrieve("").catch((caught) => caught)
console.log(JSON.stringify([other.PaymentsError === PaymentsError, error instanceof other.UsageError, error instanceof other.ApiError]))
`
          const files = {
            "main.mjs": imports + selfRunningProgram,
            "main.cjs": requires + selfRunningProgram,
            "both.mjs": both
          }
          const project = yield* makeProject(name.replace(" ", "-"), files)
          const { stdout } = yield* Effect.promise(() => promisify(execFile)(path ?? "", ["--version"]))
          if (name === nodes[0]?.name) {
            const { engines } = JSON.parse(
              yield* Effect.promise(() => readFile(join(import.meta.dirname, "../package.json"), "utf8"))
            )
            assert.strictEqual(engines.node, `>=${stdout.trim().slice(1)}`)
          }
          assert.deepStrictEqual(yield* runFile(project, "main.mjs", path), expected, stdout)
          assert.deepStrictEqual(yield* runFile(project, "main.cjs", path), expected, stdout)
          assert.deepStrictEqual(yield* runFile(project, "both.mjs", path), [false, true, false])
        }),
      timeoutMs
    )
  }

  for (const { name, path } of compilers) {
    testIfInstalled(name, path)(
      `${name}: an application on NestJS and CommonJS, target es2020, compiles and runs`,
      () =>
        Effect.gen(function* () {
          const command = [process.execPath, path ?? ""]
          const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true, skipLibCheck: true }
          const linked = ["@types/node", "@nestjs/common", "reflect-metadata", "rxjs"]
          const project = yield* makeProject(
            `nest-${name.replace(" ", "-")}`,
            { "tsconfig.json": commonJs(name, decorators), "main.ts": application, "receivers.ts": receivers },
            linked
          )
          assert.strictEqual(yield* Effect.promise(() => project.typeCheck(command)), "")
          const built = yield* Effect.promise(() => readFile(join(project.folder, "dist/main.js"), "utf8"))
          assert.include(built, `require("@pix-payments/client")`)
          assert.deepStrictEqual(yield* runFile(project, "dist/main.js", nodes[0]?.path), expected)
          // Its declarations compile without skipLibCheck.
          const strict = yield* makeProject(
            `types-${name.replace(" ", "-")}`,
            {
              "tsconfig.json": commonJs(name, { noEmit: true, skipLibCheck: false, lib: ["es2020", "dom"], types: [] }),
              "main.ts": `${imports}declare const process: { readonly env: Readonly<Record<string, string | undefined>> }\n${selfRunningProgram}export {}\n`,
              "receivers.ts": `declare const process: { readonly env: Readonly<Record<string, string | undefined>> }\n${receivers}`
            },
            []
          )
          assert.strictEqual(yield* Effect.promise(() => strict.typeCheck(command)), "")
        }),
      timeoutMs
    )
  }

  testIfInstalled("Jest", jest)(
    "Jest runs it as CommonJS, in its own realm",
    () =>
      Effect.gen(function* () {
        const config = JSON.stringify({ private: true, jest: { transform: {}, watchman: false } })
        const project = yield* makeProject("jest", { "package.json": config, "main.test.js": jestTest })
        yield* withCredentials((env) =>
          project.run("--ci", { ...env, HOME: folder }, [process.execPath, jest ?? "", "--rootDir", project.folder])
        )
      }),
    timeoutMs
  )
})
