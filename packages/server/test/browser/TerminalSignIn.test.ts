/** The page that signs in the command line, in a real browser. */
import { shortCodeOf } from "@pix-payments/api/operator/Sessions"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createHash, randomBytes } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { makeOperator } from "../support/Operators.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

/** The port of a listener that redirects each request. */
const listening = (redirectTo: (path: string) => string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer(({ url = "" }, response) =>
          response.writeHead(303, { location: redirectTo(url) }).end()
        )
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return server
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    (server) => String((server.address() as AddressInfo).port)
  )

layer(TestService.layer({ settings: { logLevel: "none" } }), { excludeTestServices: true })("Terminal page", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-150: the operator confirms, and the browser takes a code to this machine, and no token",
    () =>
      Effect.gen(function* () {
        const { operate, operatorUrl } = yield* TestService
        const { id, token } = yield* makeOperator("developer")
        const verifier = randomBytes(32).toString("base64url")
        const challenge = createHash("sha256").update(verifier).digest("base64url")
        const state = randomBytes(32).toString("base64url")
        const arrived: Array<URL> = []
        // As the command does: it leads the browser back to the page.
        const port = yield* listening((path) => {
          const at = new URL(path, "http://127.0.0.1")
          arrived.push(at)
          return `${operatorUrl}/terminal?outcome=${at.searchParams.has("code") ? "done" : "refused"}`
        })
        const page = (name: string) => `/terminal?${new URLSearchParams({ port, challenge, state, name }).toString()}`
        const visited: Array<string> = []
        yield* visiting(operatorUrl, async (visit) => {
          visit.page.on("request", (request) => visited.push(request.url()))
          await visit.page.goto(page("laptop"))
          await visit.signIn(token)
          await visit.inspect("terminal-asks", page("laptop"), "Sign in pix")
          await visit.page.getByText("on laptop gets a personal token of developer").waitFor()
          // The command shows the same code. Who only knows the page's address knows another.
          await visit.page
            .getByText(`Confirm only if the terminal shows this code: ${shortCodeOf(challenge)}`)
            .waitFor()
          assert.lengthOf(arrived, 0)
          await visit.press("Sign in")
          await visit.page.getByText("The command line is signed in").waitFor()
          assert.strictEqual(visit.page.url(), `${operatorUrl}/terminal?outcome=done`)
          await visit.page.goto(page("<b>laptop</b>"))
          await visit.page.getByText("on <b>laptop</b> gets").waitFor()
          await visit.press("Refuse")
          await visit.page.getByText("The command line was not signed in").waitFor()
          // An address that names another machine, or nothing.
          await visit.page.goto(page("laptop").replace(`port=${port}`, "port=evil.example"))
          await visit.page.getByText("Run pix login --browser").waitFor()
          assert.strictEqual(await visit.page.getByRole("main").getByRole("button").count(), 0)
          visit.assertNoFault()
        })
        assert.lengthOf(arrived, 2)
        const [done, refused] = arrived.map(({ searchParams }) => searchParams)
        assert.deepStrictEqual([done!.get("state"), refused!.get("state")], [state, state])
        assert.strictEqual(refused!.get("error"), "access_denied")
        const answer = yield* operate<{ token: string; operator_id: string }>("POST", "/operator/v1/session/token", {
          body: { code: done!.get("code"), verifier },
          headers: { "x-operator-token": undefined }
        })
        assert.strictEqual(answer.status, 201, answer.text)
        assert.strictEqual(answer.body.operator_id, id)
        for (const each of visited) assert.notInclude(each, answer.body.token)
      })
  )
})
