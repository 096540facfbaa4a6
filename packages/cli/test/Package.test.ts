/** The packed `pix` under each Node: what is in it, its help, its main actions and exit codes, and where it keeps a token. */
import { assert, describe, layer } from "@effect/vitest"
import { nodes } from "@pix-payments/client/test/Toolchains"
import { TestService } from "@pix-payments/server/test/TestService"
import { temporaryFolder } from "@pix-payments/server/test/Postgres"
import { closedPort, eventually } from "@pix-payments/server/test/Receiver"
import * as Effect from "effect/Effect"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { builtinModules } from "node:module"
import { join } from "node:path"
import { beforeAll, it as test } from "vitest"
import { commands } from "./support/Commands.ts"
import { localReceiver } from "./support/LocalReceiver.ts"
import { supported } from "./support/Nodes.ts"
import { installed, pix, start } from "./support/Pix.ts"

let packed: string

beforeAll(async () => {
  packed = join(await installed(), "node_modules/@pix-payments/cli")
})

describe("the package", () => {
  test("CLI-1: is one file that imports modules of Node only, and installs nothing else", () => {
    assert.sameMembers(readdirSync(packed), ["CHANGELOG.md", "LICENSE", "README.md", "dist", "package.json"])
    assert.deepStrictEqual(readdirSync(join(packed, "dist")), ["pix.js"])
    const code = readFileSync(join(packed, "dist/pix.js"), "utf8")
    assert.isTrue(code.startsWith("#!/usr/bin/env node\n"))
    const imported = [...code.matchAll(/(?:^|[;}])import[^;"']*?["']([^"']+)["']/g)].map(([, name]) => name)
    assert.isAbove(imported.length, 5)
    assert.deepStrictEqual(
      imported.filter((name) => !builtinModules.includes(name!.replace(/^node:/, ""))),
      []
    )
    const manifest = JSON.parse(readFileSync(join(packed, "package.json"), "utf8"))
    assert.deepStrictEqual(
      [manifest.dependencies, manifest.devDependencies, manifest.scripts],
      [undefined, undefined, undefined]
    )
    assert.deepStrictEqual(manifest.bin, { pix: "./dist/pix.js" })
  })
})

const tooOld = nodes.find(({ name }) => name === "Node 20")?.path

layer(TestService.layer(), { excludeTestServices: true })("pix", (it) => {
  it.effect.skipIf(tooOld === undefined && process.env["RUNTIMES"] !== "required")(
    "CLI-1: says that an older Node is too old, and ends with 2",
    () =>
      Effect.gen(function* () {
        const { code, err, out } = yield* pix(["mcp"], { node: tooOld! })
        assert.deepStrictEqual([code, out], [2, ""])
        assert.match(err, /^pix needs Node 22\.13 or later, and this is v20\.[\d.]+\.\n$/)
      })
  )

  for (const { isSkipped, name, program } of supported) {
    it.effect.skipIf(isSkipped)(`CLI-1, CLI-4, CLI-7: says who is signed in, under ${name}`, () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
        const { code, err, out } = yield* pix(["status"], { env, node: program() })
        assert.strictEqual(err, "")
        assert.deepStrictEqual(JSON.parse(out), {
          profile: "default",
          url: operatorUrl,
          token: "PIX_TOKEN",
          operator: "operator",
          role: "admin",
          account_ids: null,
          acquirer: "simulator"
        })
        assert.strictEqual(code, 0)
      })
    )
  }

  // The other test files run under Node 26.
  for (const { isSkipped, name, program } of supported.slice(0, -1)) {
    it.effect.skipIf(isSkipped)(
      `CLI-1, CLI-13, CLI-16, CLI-17: creates, lists, and forwards to a receiver that restarts, under ${name}`,
      () =>
        Effect.gen(function* () {
          const { makeCaller, operatorToken, operatorUrl } = yield* TestService
          const { accountId, applicationId } = yield* makeCaller()
          const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken, XDG_STATE_HOME: yield* temporaryFolder }
          const options = { env, node: program() }
          const local = yield* localReceiver(yield* closedPort)
          const args = ["listen", "--forward-to", local.url, "--account", accountId, "--limit", "4"]
          const listening = yield* start(args, options)
          const said = (text: string) => eventually(Effect.sync(listening.err), (err) => err.includes(text))
          const customer = { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
          const create = Effect.map(
            pix(["charges", "create", applicationId, "--amount", "1990", "--data", "-"], {
              ...options,
              input: JSON.stringify({ customer })
            }),
            ({ code, err, out }) => {
              assert.strictEqual(code, 0, err)
              return JSON.parse(out).id as string
            }
          )
          yield* said("Listening to")
          const first = yield* create
          yield* eventually(Effect.sync(listening.lines), ({ length }) => length === 2)
          yield* local.close
          const second = yield* create
          yield* said("The receiver is away (connection refused)")
          yield* local.open
          assert.strictEqual((yield* listening.ended).code, 0)
          const lines = listening.lines()
          assert.deepStrictEqual(
            lines.map(({ event, repeat, resource_id }) => [event, repeat, resource_id]),
            [first, second].flatMap((id) => [
              ["charge.pix.created", false, id],
              ["charge.pix.emitted", false, id]
            ])
          )
          assert.deepStrictEqual(
            local.ids,
            lines.map(({ event_id }) => event_id)
          )
          const { out } = yield* pix(["charges", "list", "--account", accountId], options)
          assert.deepStrictEqual(
            JSON.parse(out).data.map(({ id }: { readonly id: string }) => id),
            [second, first]
          )
        }).pipe(Effect.scoped)
    )
  }

  // The bundle is one for every Node, so the oldest says whether it is whole; `Help.test.ts` says what is in it.
  const [oldest] = supported
  it.effect.skipIf(oldest!.isSkipped)(
    `CLI-9: every command has help with its name, under ${oldest!.name}`,
    () =>
      Effect.forEach(
        commands,
        (words) =>
          Effect.map(pix([...words, "--help"], { node: oldest!.program() }), ({ code, err, out }) => {
            assert.deepStrictEqual([code, err], [0, ""], words.join(" "))
            assert.include(out, ["pix", ...words].join(" "))
          }),
        { concurrency: 2, discard: true }
      ),
    // Some hundred processes, beside the tests of other files.
    1_200_000
  )

  for (const { isSkipped, name, program } of supported.slice(0, -1)) {
    it.effect.skipIf(isSkipped)(
      `CLI-8, CLI-19, CLI-22, CLI-23, CLI-24: triggers, asks, counts, verifies and completes, under ${name}`,
      () =>
        Effect.gen(function* () {
          const { makeCaller, operatorToken, operatorUrl } = yield* TestService
          const { accountId } = yield* makeCaller()
          const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
          const run = (...args: ReadonlyArray<string>) => pix(args, { env, node: program() })
          const triggered = yield* run("trigger", "charge.pix.paid", "--account", accountId)
          assert.strictEqual(triggered.code, 0, triggered.err)
          const [{ id }] = JSON.parse(triggered.out).steps
          const asked = yield* run("charges", "refund", id, "--amount", "990")
          assert.deepStrictEqual([asked.code, asked.out], [2, ""])
          assert.include(asked.err, "R$ 9,90 (nine reais and ninety centavos)")
          assert.strictEqual((yield* run("charges", "refund", id, "--amount", "990", "--yes")).code, 0)
          const balance = JSON.parse((yield* run("balance", accountId)).out)
          assert.deepInclude(balance.data[0], { account_id: accountId, available: 1000 })
          const counted = yield* run("events", "resend", "--failed", "--since", "1h", "--dry-run")
          assert.deepInclude(JSON.parse(counted.out), { object: "resend", dry_run: true })
          assert.strictEqual((yield* run("ledger", "verify", "--full")).code, 0)
          assert.include((yield* run("completions", "bash")).out, "print-secret")
        })
    )
  }

  it.effect(
    "CLI-4, CLI-5, CLI-6: keeps a token from standard input in a file of its owner, and sends it to its service only",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const folder = yield* temporaryFolder
        const env = { XDG_CONFIG_HOME: folder }
        const login = yield* pix(["login", "--url", operatorUrl, "--profile", "live"], {
          env,
          input: `${operatorToken}\n`
        })
        assert.strictEqual(login.code, 0, login.err)
        assert.notInclude(login.out + login.err, operatorToken)
        const file = join(folder, "pix/config.toml")
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        assert.strictEqual(statSync(join(folder, "pix")).mode & 0o777, 0o700)
        assert.deepInclude(JSON.parse((yield* pix(["status"], { env })).out), { profile: "live", token: "profile" })
        const elsewhere = yield* pix(["status"], { env: { ...env, PIX_URL: "http://127.0.0.1:1" } })
        assert.deepStrictEqual(
          [elsewhere.code, elsewhere.err],
          [4, "Not signed in. Run pix login, or set PIX_TOKEN.\n"]
        )
        assert.strictEqual((yield* pix(["logout", "--profile", "live"], { env })).code, 0)
        assert.notInclude(readFileSync(file, "utf8"), operatorToken)
      }).pipe(Effect.scoped)
  )

  it.effect("CLI-2, CLI-3: ends with the code of its failure, and says on standard error what to do", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
      const ended = (args: ReadonlyArray<string>, changed: Readonly<Record<string, string>> = {}) =>
        Effect.map(pix(args, { env: { ...env, ...changed } }), ({ code, err, out }) => [code, out, err])
      assert.deepStrictEqual(yield* ended(["lisen"]), [
        2,
        "",
        `Unknown subcommand "lisen" for "pix"\n\n  Did you mean this?\n    listen\nSee: pix --help\n`
      ])
      assert.deepStrictEqual(yield* ended(["status", "--profile", "none"]), [
        2,
        "",
        "There is no profile none. Create it: pix login --profile none\n"
      ])
      assert.deepStrictEqual(yield* ended(["status"], { PIX_URL: "http://127.0.0.1:1" }), [
        3,
        "",
        "No service answers at http://127.0.0.1:1. Start it, or set PIX_URL to its operator listener.\n"
      ])
      assert.deepStrictEqual(yield* ended(["status"], { PIX_TOKEN: "not the token" }), [
        4,
        "",
        `${operatorUrl} does not accept the token. Sign in again: pix login\n`
      ])
      const unknown = "01a2027c-27ce-74b6-88f7-06b8f8b33cb6.1"
      const [code, , err] = yield* ended(["listen", "--after", unknown])
      assert.strictEqual(code, 5)
      assert.include(String(err), "are no longer kept")
    })
  )
})
