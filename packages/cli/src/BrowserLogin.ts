/**
 * `pix login --browser`: a signed-in operator confirms in the dashboard, and this command gets a personal token. CLI-25.
 *
 * The browser comes back to a listener of this command with a code, as OAuth does for native applications (RFC 8252).
 *
 * Guarantees:
 * - No URL contains the token. The code in one is exchanged once, with a verifier that only this process has (PKCE).
 * - The token is stored also where the tab was closed after the confirmation.
 * - The listener is on 127.0.0.1 and answers one request: that with the state of this sign-in.
 *
 * Not guaranteed: the state is secret from web pages, not from other users of this machine. It is in the arguments of the
 * program that opens the page, which they can list. Such a user cannot get the token, which needs the verifier, but can
 * answer in place of the browser: refuse the sign-in, or end it as an operator of theirs. The message at the end names who
 * is signed in.
 */
import type { CreatedOperatorToken } from "@pix-payments/api/operator/Operators"
import { shortCodeOf } from "@pix-payments/api/operator/Sessions"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { spawn } from "node:child_process"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { hostname } from "node:os"
import { exitCodes, Failure } from "./Failure.ts"
import { call } from "./OperatorClient.ts"
import { canAsk, notice, printable } from "./Terminal.ts"

const TIMEOUT = "10 minutes"

const random = (): string => randomBytes(32).toString("base64url")

const denied = (message: string) => new Failure({ message, exitCode: exitCodes.denied })

/** Stores a token of the operator who confirms at the dashboard of `url`, before the browser shows that it is done. */
export const storeTokenFromBrowser = <E, R>(
  url: string,
  store: (token: Redacted.Redacted) => Effect.Effect<void, E, R>
) =>
  Effect.gen(function* () {
    const verifier = random()
    const state = random()
    const callback = yield* listening(state)
    const challenge = createHash("sha256").update(verifier).digest("base64url")
    const page = new URL("/terminal", url)
    page.search = new URLSearchParams({
      port: String(callback.port),
      challenge,
      state,
      name: printable(hostname()).slice(0, 100)
    }).toString()
    notice(
      `Confirm in a browser on this machine, as a signed-in operator:\n  ${page.href}\n` +
        `The page shows the code ${shortCodeOf(challenge)}. Refuse any other.`
    )
    if (canAsk()) openInBrowser(page.href)
    const { code, redirect } = yield* Effect.promise(() => callback.arrived).pipe(
      Effect.timeoutOrElse({
        duration: TIMEOUT,
        orElse: () => Effect.fail(denied(`Nobody confirmed within ${TIMEOUT}.`))
      })
    )
    const showing = (outcome: string) => Effect.promise(() => redirect(new URL(`/terminal?outcome=${outcome}`, url)))
    if (code === undefined) {
      yield* showing("refused")
      return yield* denied("The sign-in was refused in the browser.")
    }
    const exchanged = call({ url, token: Redacted.make("") }, "signIn.exchange", { payload: { code, verifier } })
    const { body } = yield* exchanged.pipe(
      Effect.tapError(() => showing("failed")),
      Effect.mapError((failure) =>
        failure.exitCode === exitCodes.denied
          ? denied("The code was not accepted. Repeat: pix login --browser")
          : failure
      )
    )
    yield* store(Redacted.make((body as CreatedOperatorToken).token)).pipe(Effect.tapError(() => showing("failed")))
    yield* showing("done")
  }).pipe(Effect.scoped)

interface Callback {
  /** Undefined if the operator refused. */
  readonly code: string | undefined
  /** Leads the browser on, so that its history does not keep the code. Resolves once the answer was sent, or has no reader. */
  readonly redirect: (to: URL) => Promise<void>
}

/** A listener for the one request with this state. It closes with the scope. */
const listening = (state: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<{ readonly server: Server; readonly arrived: Promise<Callback> }>((resolve, reject) => {
            const server = createServer()
            const arrived = new Promise<Callback>((arrive) => {
              let isOver = false
              server.on("request", (request, response) => {
                const { port } = server.address() as AddressInfo
                const parameters = isOver ? undefined : parametersOf(request, port, state)
                if (parameters === undefined) return void response.writeHead(404, headers).end()
                isOver = true
                arrive({
                  code: parameters.get("code") ?? undefined,
                  redirect: (to) => redirected(response, to)
                })
              })
            })
            server.once("error", reject)
            server.listen(0, "127.0.0.1", () => resolve({ server, arrived }))
          })
      ),
      ({ server }) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    ({ arrived, server }) => ({ arrived, port: (server.address() as AddressInfo).port })
  )

const headers = { connection: "close", "cache-control": "no-store", "referrer-policy": "no-referrer" }

const redirected = (response: ServerResponse, to: URL): Promise<void> =>
  new Promise((resolve) => {
    // A tab that was closed before: the response emits nothing more.
    if (response.closed || response.destroyed) return resolve()
    response.once("close", () => resolve())
    response.writeHead(303, { ...headers, location: to.href }).end()
  })

/** The parameters of the request that this sign-in waits for. Other web pages do not know its state. */
const parametersOf = (request: IncomingMessage, port: number, state: string): URLSearchParams | undefined => {
  if (request.method !== "GET" || request.headers.host !== `127.0.0.1:${port}`) return undefined
  const url = URL.parse(request.url ?? "", `http://127.0.0.1:${port}`)
  const given = Buffer.from(url?.searchParams.get("state") ?? "")
  const isOurs = given.length === state.length && timingSafeEqual(given, Buffer.from(state))
  return isOurs && url?.pathname === "/" ? url.searchParams : undefined
}

const openers: Readonly<Record<string, readonly [string, ...ReadonlyArray<string>]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"]
}

/** Opens the page, where the machine can. Its address was shown, and is in the list of processes: see above. */
const openInBrowser = (url: string): void => {
  const [program, ...args] = openers[process.platform] ?? ["xdg-open"]
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true })
  child.on("error", () => {})
  child.unref()
}
