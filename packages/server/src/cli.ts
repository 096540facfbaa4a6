/**
 * The command line for operators: a client of the operator API, derived from its declaration.
 *
 * `ledger verify` prints each ledger account whose kept balance differs from its transfers, and exits with 1 if one does. Where the
 * service cannot be asked, it says why and exits with 2.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { OperatorAuthentication } from "@pix-payments/api/Security"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { hasProperty } from "effect/Predicate"
import { demoOperatorToken } from "./startup/DemoAccount.ts"

const baseUrl = process.env["OPERATOR_URL"] ?? "http://127.0.0.1:3001"

/** What went wrong, and what to do. */
const reasonOf = (error: unknown): string => {
  if (HttpClientError.isHttpClientError(error) && error.reason._tag === "TransportError") {
    return `No service answers at ${baseUrl}. Start it, or set OPERATOR_URL to its operator listener.`
  }
  return hasProperty(error, "code") && error.code === "UNAUTHORIZED"
    ? `The service at ${baseUrl} does not accept the operator token. Set OPERATOR_TOKEN.`
    : String(error)
}

const operator = Effect.flatMap(
  Effect.suspend(() => {
    const { DATA_DIR: dataDir = ".data", OPERATOR_TOKEN: token } = process.env
    return token === undefined ? demoOperatorToken(dataDir) : Effect.succeed(token)
  }),
  (token) =>
    HttpApiClient.make(OperatorApi, { baseUrl }).pipe(
      Effect.provide([
        HttpApiMiddleware.layerClient(OperatorAuthentication, ({ next, request }) =>
          next(HttpClientRequest.setHeader(request, "x-operator-token", token))
        ),
        FetchHttpClient.layer
      ])
    )
)

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const full = Flag.Boolean("full").pipe(
  Flag.withDescription("Read all entries, not only those since the last checkpoint"),
  Flag.withDefault(false)
)

const verify = Command.make("verify", { full }, (flags) =>
  Effect.gen(function* () {
    const { ledger } = yield* operator
    const { accounts, consistent, differences } = yield* ledger.verify({ query: flags.full ? { full: "true" } : {} })
    for (const { account, computed, kept } of differences) {
      yield* say(`${account.account_id ?? "installation"} ${account.name}: kept ${kept}, computed ${computed}`)
    }
    yield* say(
      consistent
        ? `The ledger is consistent: ${accounts.length} ledger accounts.`
        : `The ledger is NOT consistent: ${differences.length} of ${accounts.length} ledger accounts differ.`
    )
    if (!consistent) process.exitCode = 1
  })
)

const cli = Command.make("pix-payments").pipe(
  Command.withSubcommands([Command.make("ledger").pipe(Command.withSubcommands([verify]))])
)

Command.run(cli, { version: "0.1.0" }).pipe(
  // @effect-diagnostics-next-line strictEffectProvide:off
  Effect.provide(NodeServices.layer),
  Effect.catch((error) =>
    Effect.sync(() => {
      process.stderr.write(`${reasonOf(error)}\n`)
      process.exitCode = 2
    })
  ),
  NodeRuntime.runMain
)
