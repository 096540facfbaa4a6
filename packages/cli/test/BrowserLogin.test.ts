/** `pix login --browser`, with requests as the dashboard's page makes them. */
import { shortCodeOf } from "@pix-payments/api/operator/Sessions"
import { assert, layer } from "@effect/vitest"
import { makeOperator, signIn, withToken } from "@pix-payments/server/test/Operators"
import { temporaryFolder } from "@pix-payments/server/test/Postgres"
import { eventually } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { existsSync, readFileSync, statSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { pix, type Running, start } from "./support/Pix.ts"

/** The page that a command shows. */
const pageOf = (running: Running) =>
  Effect.map(
    eventually(
      Effect.sync(() => /^ {2}(http\S+)$/m.exec(running.err())?.[1]),
      (url) => url !== undefined
    ),
    (url) => new URL(url!)
  )

/** The request that takes the browser back to the command. */
const back = (port: string, parameters: Readonly<Record<string, string>>, headers: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const url = `http://127.0.0.1:${port}/?${new URLSearchParams(parameters).toString()}`
    const { headers: answered, status } = await fetch(url, { redirect: "manual", headers })
    return { status, location: answered.get("location") }
  })

/** The same by a tab that is closed before the answer. */
const backAndClose = (port: string, parameters: Readonly<Record<string, string>>) =>
  Effect.promise(
    () =>
      new Promise<void>((resolve, reject) => {
        const socket = connect(Number(port), "127.0.0.1")
        socket.on("error", reject).on("close", () => resolve())
        const path = `/?${new URLSearchParams(parameters).toString()}`
        socket.end(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`, () => socket.destroy())
      })
  )

layer(TestService.layer({ settings: { logLevel: "none" } }), { excludeTestServices: true })("pix login", (it) => {
  const setup = Effect.gen(function* () {
    const { operatorUrl } = yield* TestService
    const operator = yield* makeOperator("developer")
    const { call } = yield* signIn(operator.token)
    const folder = yield* temporaryFolder
    const env = { XDG_CONFIG_HOME: folder }
    const running = yield* start(["login", "--browser", "--url", operatorUrl], { env })
    const page = yield* pageOf(running)
    const { challenge = "", name = "", port = "", state = "" } = Object.fromEntries(page.searchParams)
    const confirm = Effect.map(
      call<{ code: string }>("POST", "/operator/v1/session/code", { body: { challenge, name: `pix on ${name}` } }),
      ({ body, status, text }) => {
        assert.strictEqual(status, 201, text)
        return body.code
      }
    )
    return { operator, operatorUrl, env, file: join(folder, "pix/config.toml"), running, page, port, state, confirm }
  })

  it.effect("CLI-5, CLI-25: gets a token of the operator who confirms, which no URL and no output contains", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { confirm, env, file, operator, operatorUrl, page, port, running, state } = yield* setup
      assert.strictEqual(page.origin, operatorUrl)
      assert.strictEqual(page.pathname, "/terminal")
      const code = yield* confirm
      // Requests of another page, of another host name and for another path.
      assert.strictEqual((yield* back(port, { code, state: `${state.slice(1)}x` })).status, 404)
      assert.strictEqual((yield* back(port, { code })).status, 404)
      assert.isFalse(existsSync(file))
      const { location, status } = yield* back(port, { code, state })
      assert.deepStrictEqual([status, location], [303, `${operatorUrl}/terminal?outcome=done`])
      const { code: exitCode, err, out } = yield* running.ended
      assert.strictEqual(exitCode, 0, err)
      assert.include(err, `The page shows the code ${shortCodeOf(page.searchParams.get("challenge") ?? "")}. Refuse`)
      assert.include(err, `Signed in to ${operatorUrl} as developer (developer).`)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      const [token = ""] = /pixop_[\w-]+/.exec(readFileSync(file, "utf8")) ?? []
      assert.notInclude(err + out, token)
      const { body } = yield* withToken(operate, token)<{ operator: { id: string } }>("GET", "/operator/v1/session")
      assert.strictEqual(body.operator.id, operator.id)
      assert.deepInclude(JSON.parse((yield* pix(["status"], { env })).out), { role: "developer", token: "profile" })
    }).pipe(Effect.scoped)
  )

  it.effect("CLI-2, CLI-25: a refusal, and a code of another sign-in, end with 4 and store nothing", () =>
    Effect.gen(function* () {
      const refused = yield* setup
      const answer = yield* back(refused.port, { error: "access_denied", state: refused.state })
      assert.strictEqual(answer.location, `${refused.operatorUrl}/terminal?outcome=refused`)
      const first = yield* refused.running.ended
      assert.strictEqual(first.code, 4)
      assert.include(first.err, "The sign-in was refused in the browser.")
      assert.isFalse(existsSync(refused.file))

      const other = yield* setup
      const code = yield* other.confirm
      const mine = yield* setup
      const { location } = yield* back(mine.port, { code, state: mine.state })
      assert.strictEqual(location, `${mine.operatorUrl}/terminal?outcome=failed`)
      const second = yield* mine.running.ended
      assert.strictEqual(second.code, 4)
      assert.include(second.err, "The code was not accepted. Repeat: pix login --browser")
      assert.isFalse(existsSync(mine.file))
      const both = yield* pix(["login", "--browser", "--token-file", "t"], { env: mine.env })
      assert.deepStrictEqual([both.code, both.err], [2, "Either --browser or --token-file, not both.\n"])
    }).pipe(Effect.scoped)
  )

  it.effect("CLI-25: a tab that is closed after the confirmation does not stop the sign-in", () =>
    Effect.gen(function* () {
      const { confirm, env, port, running, state } = yield* setup
      const code = yield* confirm
      yield* backAndClose(port, { code, state })
      const { code: exitCode, err } = yield* running.ended
      assert.strictEqual(exitCode, 0, err)
      assert.deepInclude(JSON.parse((yield* pix(["status"], { env })).out), { role: "developer", token: "profile" })
    }).pipe(Effect.scoped)
  )
})
