/** `pix` where something is not as it should be: what answers, the home folder, arguments, and standard output. */
import { assert, describe, it as test } from "@effect/vitest"
import { temporaryFolder } from "@pix-payments/server/test/Postgres"
import { eventually } from "@pix-payments/server/test/Receiver"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { execFile, spawn } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { installed, pix } from "./support/Pix.ts"
import { asking, json, jsonLines, type Reply, replying } from "./support/Service.ts"

const WITHIN_MS = 600_000

const ID = "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"

describe("pix", () => {
  test.live(
    "CLI-4: does not follow a redirect, which would take the token to another host",
    () =>
      Effect.gen(function* () {
        const target = yield* replying(() => ({ status: 200, headers: json, body: "{}" }))
        const moved = yield* replying((path) => ({
          status: 307,
          headers: { location: `http://localhost:${target.port}${path}` }
        }))
        for (const args of [["status"], ["charges", "list"], ["listen"]]) {
          const { code, err, out } = yield* asking(moved.port, ...args)
          assert.deepStrictEqual([code, out], [3, ""], err)
          assert.include(err, `http://127.0.0.1:${moved.port} is not an operator listener.`)
        }
        assert.deepStrictEqual(moved.tokens, ["a token", "a token", "a token"])
        assert.deepStrictEqual(target.tokens, [])
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-2, CLI-3: says where something else answers at the URL",
    () =>
      Effect.gen(function* () {
        const html = { "content-type": "text/html" }
        const replies: ReadonlyArray<readonly [Reply, code: number, text: string]> = [
          [{ status: 200, headers: html, body: "<html>Welcome</html>" }, 3, "is not an operator listener"],
          [{ status: 200, headers: json, body: "{}" }, 3, "is not an operator listener"],
          [{ status: 200, headers: json, body: "null" }, 3, "is not an operator listener"],
          [{ status: 200, headers: json, body: "" }, 3, "is not an operator listener"],
          [{ status: 204 }, 3, "is not an operator listener"],
          [{ status: 404, headers: json, body: `{"code":"NOT_FOUND","message":""}` }, 3, "is not an operator listener"],
          [{ status: 401, headers: html, body: "<html>Sign in</html>" }, 4, "does not accept the token"]
        ]
        for (const [reply, expected, text] of replies) {
          const other = yield* replying(() => reply)
          const { code, err, out } = yield* asking(other.port, "status")
          assert.deepStrictEqual([code, out], [expected, ""], err)
          assert.include(err, text)
          assert.lengthOf(err.trimEnd().split("\n"), 1)
        }
        for (const body of ["{}", "[]", `{"object":"list"}`, `{"object":"account","data":[]}`]) {
          const other = yield* replying(() => ({ status: 200, headers: json, body }))
          for (const args of [["balance"], ["charges", "list"], ["logs", "tail"], ["trigger", "charge.pix.paid"]]) {
            const { code, err, out } = yield* asking(other.port, ...args)
            assert.deepStrictEqual([code, out], [3, ""], err)
            assert.include(err, "is not an operator listener")
          }
        }
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-2, CLI-5: names a file that cannot be read or written",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const service = yield* replying(() => ({ status: 200, headers: json, body: `{"object":"list","data":[]}` }))
        const PIX_URL = `http://127.0.0.1:${service.port}`
        const daemon = { HOME: "/dev/null", PIX_URL, PIX_TOKEN: "a token" }
        assert.strictEqual((yield* pix(["charges", "list"], { env: daemon })).code, 0)
        const failures = [
          [
            { env: daemon },
            ["listen", "--print-secret"],
            "/dev/null/.local/state/pix/listen.secret cannot be written: ENOTDIR"
          ],
          [{ env: daemon }, ["listen", "--print-secret"], "set XDG_STATE_HOME to another folder"]
        ] as const
        for (const [options, args, text] of failures) {
          const { code, err } = yield* pix(args, options)
          assert.strictEqual(code, 2, err)
          assert.include(err, text)
          assert.lengthOf(err.trimEnd().split("\n"), 1)
        }
        mkdirSync(join(folder, "pix"))
        const file = join(folder, "pix/config.toml")
        writeFileSync(file, "profile = [")
        for (const command of ["login", "logout", "status"]) {
          const { code, err } = yield* pix([command], { env: { XDG_CONFIG_HOME: folder }, input: "a token" })
          assert.strictEqual(code, 2, err)
          assert.include(err, `${file} is not valid TOML`)
          assert.lengthOf(err.trimEnd().split("\n"), 1)
        }
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-2, CLI-8: an amount that is no number of cents is refused before the question",
    () =>
      Effect.gen(function* () {
        const service = yield* replying(() => ({ status: 500 }))
        const env = { PIX_URL: `http://127.0.0.1:${service.port}`, PIX_TOKEN: "a token" }
        for (const amount of [0, -500, 1.5, "500", 1e30]) {
          for (const command of [
            ["charges", "refund", ID],
            ["payouts", "create", ID, "--pix-key-type", "email", "--pix-key", "ana@example.com"]
          ]) {
            const { code, err } = yield* pix([...command, "--yes", "--data", "-"], {
              env,
              input: JSON.stringify({ amount })
            })
            assert.strictEqual(code, 2, err)
            assert.include(err, "The amount is a number of cents from 1, not ")
          }
        }
        for (const args of [
          ["charges", "list", "--limit", "0"],
          ["listen", "--limit", "-1"],
          ["audit", "get", "export"]
        ]) {
          assert.strictEqual((yield* pix(args, { env })).code, 2, args.join(" "))
        }
        assert.deepStrictEqual(service.tokens, [])
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-2, CLI-47: an address that would be read as another one is refused",
    () =>
      Effect.gen(function* () {
        const service = yield* replying(() => ({ status: 401 }))
        const env = { PIX_URL: `http://127.0.0.1:${service.port}`, PIX_TOKEN: "a token" }
        for (const address of [
          "http://3000/webhooks",
          "https://3001",
          "0xBB8",
          "127.1:80",
          "0",
          "ftp://localhost:3000"
        ]) {
          for (const args of [
            ["listen", "--after", `${ID}.1`, "--forward-to", address],
            ["login", "--url", address]
          ]) {
            const { code, err } = yield* pix(args, { env, input: "a token" })
            assert.strictEqual(code, 2, err)
            assert.include(err, address)
            assert.match(err, /^(?:Not a URL|The host of) .*\n$/)
          }
        }
        const { code } = yield* pix(["accounts", "list"], { env: { ...env, PIX_URL: "https://3001" } })
        assert.strictEqual(code, 2)
        assert.deepStrictEqual(service.tokens, [])
        const args = ["listen", "--after", `${ID}.1`, "--forward-to", "HTTP://localhost:4000/hooks "]
        assert.include((yield* pix(args, { env })).err, "forwarding to http://localhost:4000/hooks.\n")
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-2, CLI-22: an instant that no delivery can have is refused",
    () =>
      Effect.gen(function* () {
        const service = yield* replying(() => ({ status: 500 }))
        for (const since of [
          "99999999999d",
          `${"9".repeat(400)}m`,
          "30000d",
          "1.5h",
          "2026-02-30T00:00:00Z",
          "yesterday"
        ]) {
          const { code, err } = yield* asking(service.port, "events", "resend", "--since", since)
          assert.deepStrictEqual([since, code], [since, 2], err)
          assert.include(err, "--since is no instant from 1970 on.")
        }
        for (const month of ["0000-01", "2026-13"]) {
          const args = ["statement", "--account", ID, "--format", "csv", "--month", month]
          assert.strictEqual((yield* asking(service.port, ...args)).code, 2, month)
        }
        assert.deepStrictEqual(service.tokens, [])
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-28: no token leaves the machine over http without a question",
    () =>
      Effect.gen(function* () {
        const service = yield* replying(() => ({
          status: 200,
          headers: json,
          body: JSON.stringify({ object: "list", data: [], has_more: false })
        }))
        // An address of this machine that is not a loopback address.
        const url = `http://0.0.0.0:${service.port}`
        const config = yield* temporaryFolder
        const env = { PIX_URL: url, PIX_TOKEN: "t".repeat(20), XDG_CONFIG_HOME: config }
        for (const args of [["status"], ["accounts", "list"], ["listen", "--limit", "1"]]) {
          const { code, err } = yield* pix(args, { env })
          assert.deepStrictEqual([args, code], [args, 2], err)
          assert.include(err, `${url} is not encrypted`)
        }
        const login = yield* pix(["login", "--url", url], { env: { XDG_CONFIG_HOME: config }, input: env.PIX_TOKEN })
        assert.strictEqual(login.code, 2, login.err)
        assert.deepStrictEqual(service.tokens, [])
        const agreed = yield* pix(["accounts", "list"], { env: { ...env, PIX_ALLOW_HTTP: "1" } })
        assert.strictEqual(agreed.code, 0, agreed.err)
        assert.deepStrictEqual(service.tokens, [env.PIX_TOKEN])
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-7: text of others has no characters that command a terminal or turn its text around",
    () =>
      Effect.gen(function* () {
        const name = "Ana \u001b[31m\u009b31m\u202eazuo\u200b\u00ad\u3164S\u{e0041}"
        const item = { id: ID, object: "account", name }
        const service = yield* replying((path) =>
          path.startsWith("/operator/v1/accounts")
            ? { status: 200, headers: json, body: JSON.stringify({ object: "list", data: [item], has_more: false }) }
            : { status: 409, headers: json, body: JSON.stringify({ code: "INVALID_STATE", message: name }) }
        )
        for (const args of [["--limit", "1"], ["--all"]]) {
          const { out } = yield* asking(service.port, "accounts", "list", ...args)
          assert.match(out, /^[\n -~]+$/)
          assert.include(JSON.stringify(JSON.parse(out)), JSON.stringify(item))
        }
        const lines = [item, { ...item, name: "Ana" }, { object: "audit_export", entries: 2 }]
        const entries = lines.map((line) => `${JSON.stringify(line)}\n`).join("")
        const log = yield* replying(() => ({
          status: 200,
          headers: jsonLines,
          body: entries
        }))
        const exported = (yield* asking(log.port, "audit", "export")).out
        assert.match(exported, /^[\n -~]+$/)
        const parsed = (text: string) =>
          text
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line) as unknown)
        assert.deepStrictEqual(parsed(exported), parsed(entries))
        const { code, err } = yield* asking(service.port, "charges", "cancel", ID)
        assert.deepStrictEqual([code, err], [5, "Ana  [31m 31mazuoS [INVALID_STATE]\n"])
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-17: --all asks for no page before the reader has taken those before it",
    () =>
      Effect.gen(function* () {
        let pages = 0
        const service = yield* replying(() => {
          const data = Array.from({ length: 100 }, (_, index) => ({
            id: ID.replace(/.{8}$/, String(pages * 100 + index).padStart(8, "0")),
            description: "x".repeat(2000)
          }))
          pages += 1
          return { status: 200, headers: json, body: JSON.stringify({ object: "list", data, has_more: pages < 30 }) }
        })
        const program = join(yield* Effect.promise(installed), "node_modules/.bin/pix")
        const child = spawn(process.execPath, [program, "charges", "list", "--all"], {
          env: { ...process.env, PIX_URL: `http://127.0.0.1:${service.port}`, PIX_TOKEN: "a token" },
          stdio: ["ignore", "pipe", "inherit"]
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
        const asked = (count: number) =>
          eventually(
            Effect.sync(() => pages),
            (made) => made >= count,
            WITHIN_MS
          )
        yield* asked(1)
        // Without a limit, page follows page within milliseconds.
        const ahead = yield* Effect.timeoutOption(asked(10), "3 seconds")
        assert.isTrue(Option.isNone(ahead))
        const out = yield* Effect.promise(() => text(child.stdout))
        assert.lengthOf(out.trimEnd().split("\n"), 3000)
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live(
    "CLI-13: an event whose line the reader has not got is shown again after --resume, and marked",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        // Longer than what the operating system keeps for a reader.
        const [first, second] = [`${ID}.1`, `${ID}.2`] as const
        const events = [first, second].map((id) => ({
          id,
          data: { id: ID, event: "charge.pix.created", data: { id: ID, description: "x".repeat(4_000_000) } }
        }))
        const service = yield* replying((path) => {
          const after = new URL(path, "http://localhost").searchParams.get("after")
          const data = events.slice(events.findIndex(({ id }) => id === after) + 1)
          const body = { object: "list", data, has_more: false, next_after: second }
          return { status: 200, headers: json, body: JSON.stringify(body) }
        })
        const env = {
          PIX_URL: `http://127.0.0.1:${service.port}`,
          PIX_TOKEN: "a token",
          XDG_STATE_HOME: folder
        }
        const program = join(yield* Effect.promise(installed), "node_modules/.bin/pix")
        const child = spawn(process.execPath, [program, "listen", "--poll", "--after", "oldest"], {
          env: { ...process.env, ...env },
          stdio: ["ignore", "pipe", "inherit"]
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
        const ended = new Promise((resolve) => child.once("exit", resolve))
        const positions = join(folder, "pix/listen")
        yield* eventually(
          Effect.sync(() => (existsSync(positions) ? readdirSync(positions) : [])),
          (names) => names.some((name) => name.endsWith(".json")),
          WITHIN_MS
        )
        child.kill("SIGTERM")
        yield* Effect.promise(() => ended)
        const resumed = yield* pix(["listen", "--poll", "--resume", "--limit", "2"], { env })
        assert.strictEqual(resumed.code, 0, resumed.err)
        const lines = resumed.out
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
        assert.deepStrictEqual(
          lines.map(({ id, repeat }) => [id, repeat]),
          [
            [first, true],
            [second, false]
          ]
        )
      }).pipe(Effect.scoped),
    WITHIN_MS
  )

  test.live.skipIf(!existsSync("/dev/full"))(
    "CLI-3: a reader that leaves early ends the command silently, a full disk does not",
    () =>
      Effect.gen(function* () {
        const program = join(yield* Effect.promise(installed), "node_modules/.bin/pix")
        const shell = (script: string, env: Readonly<Record<string, string>> = {}) =>
          Effect.promise(
            () =>
              new Promise<ReadonlyArray<unknown>>((resolve) => {
                const args = ["-o", "pipefail", "-c", script, process.execPath, program]
                execFile("bash", args, { env: { ...process.env, ...env } }, (error, out, err) =>
                  resolve([error?.code ?? 0, out, err])
                )
              })
          )
        assert.deepStrictEqual(yield* shell(`"$0" "$1" completions bash | head -1`), [
          0,
          "###-begin-pix-completions-###\n",
          ""
        ])
        assert.deepStrictEqual(yield* shell(`"$0" "$1" completions bash > /dev/full`), [
          2,
          "",
          "Standard output cannot be written: ENOSPC.\n"
        ])
        // A negative answer stays negative, and a failure stays one where nobody reads its message.
        const verification = { object: "ledger_verification", consistent: false, note: "x".repeat(1_000_000) }
        const service = yield* replying(() => ({ status: 200, headers: json, body: JSON.stringify(verification) }))
        const env = { PIX_URL: `http://127.0.0.1:${service.port}`, PIX_TOKEN: "a token" }
        assert.deepStrictEqual(yield* shell(`"$0" "$1" ledger verify | head -c 1`, env), [1, "{", ""])
        const away = { ...env, PIX_URL: "http://127.0.0.1:1" }
        assert.deepStrictEqual(yield* shell(`"$0" "$1" status 2> >(exec true)`, away), [3, "", ""])
      }).pipe(Effect.scoped),
    WITHIN_MS
  )
})
