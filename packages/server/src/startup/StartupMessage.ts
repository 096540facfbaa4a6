/**
 * The message of a start: on a terminal a page, elsewhere one log line, and of the demo a short text with the links on standard
 * error. On failure, one sentence.
 *
 * Guarantees:
 * - Credentials of the demo are printed to a terminal only. The log line names the file that contains them, or the generated token.
 * - The sign-in link of the demo signs in as the installation's token does, which is printed beside it.
 * - A start warns where any certificate may call back; without `--demo`, also if the acquirer is the simulator, or PostgreSQL one
 *   that can crash.
 */
import { CurrentOperator } from "@pix-payments/api/Security"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { ListenAddresses } from "../http/pipeline/ListenAddresses.ts"
import { OperatorToken } from "../http/operator/sign-in/OperatorToken.ts"
import { AuditLog } from "../operations/AuditLog.ts"
import { installation, linkUrl } from "../operators/Operator.ts"
import { OperatorTokens } from "../operators/OperatorTokens.ts"
import { Settings } from "../base/Settings.ts"
import { DatabaseLocation } from "../database/Database.ts"
import { DemoAccount } from "./DemoAccount.ts"

/** Logs the addresses, and the file of a generated operator token. */
export const logReady = Effect.gen(function* () {
  const addresses = yield* ListenAddresses
  const settings = yield* Settings
  const { file } = yield* OperatorToken
  const database = yield* DatabaseLocation
  yield* Effect.annotateLogs(Effect.logInfo("the service is ready"), {
    public: addresses.public,
    operator: addresses.operator,
    database: database.embeddedIn === undefined ? "DATABASE_URL" : `embedded in ${database.embeddedIn}`,
    ...(file !== undefined && { operator_token_file: file })
  })
  if (settings.acquirer === "simulator") {
    yield* Effect.logWarning("the acquirer is the simulator (ACQUIRER=simulator): no real money is received or sent")
  }
  yield* warnOfAnyCertificate
  yield* warnOfPostgreSql
})

/** 18.0 to 18.6 free memory that they still use, where a row is checked again after its lock (docs/faults.md). */
const warnOfPostgreSql = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [server] = yield* sql<{ number: number; name: string }>`
    SELECT current_setting('server_version_num')::integer AS number, current_setting('server_version') AS name`
  if (server !== undefined && server.number < FIRST_SOUND_SERVER) {
    yield* Effect.logWarning(
      `PostgreSQL ${server.name} can crash where two sessions change a row at once: nothing is lost, and calls are answered 503 until it is back. Update it to 18.7 or later`
    )
  }
}).pipe(Effect.ignore)

const FIRST_SOUND_SERVER = 180_007

const warnOfAnyCertificate = Effect.gen(function* () {
  const { acquirerCertificateNames, acquirerPort, acquirerTlsCa, acquirerTrustedProxy } = yield* Settings
  const verifies = Option.isSome(acquirerTlsCa) || acquirerTrustedProxy.length > 0
  if (Option.isSome(acquirerPort) && verifies && acquirerCertificateNames.length === 0) {
    yield* Effect.logWarning(
      "any certificate of the authority in ACQUIRER_TLS_CA, or that the proxy verifies, may call back: name the provider's in ACQUIRER_CERTIFICATE_NAMES"
    )
  }
})

/** Prints the addresses, the credentials of the demo and a first call. */
export const showDemo = Effect.gen(function* () {
  const addresses = yield* ListenAddresses
  const account = yield* DemoAccount
  const { token } = yield* OperatorToken
  const database = yield* DatabaseLocation
  yield* account.storeAddresses(addresses)
  yield* warnOfAnyCertificate
  if (!process.stdout.isTTY) {
    yield* Effect.annotateLogs(Effect.logInfo("the service is ready"), {
      public: addresses.public,
      docs: `${addresses.public}/docs`,
      operator: addresses.operator,
      database: database.embeddedIn === undefined ? "DATABASE_URL" : `embedded in ${database.embeddedIn}`,
      demo_account: account.name,
      credentials: account.credentialsFile,
      try: curl(addresses.public, "$PAYMENTS_API_KEY", " ")
    })
    yield* Effect.sync(() => process.stderr.write(shortText(addresses, account.credentialsFile)))
    return
  }
  const link = yield* signInLink(addresses.operator)
  const bold = (text: string) => `\u001b[1m${text}\u001b[22m`
  const dim = (text: string) => `\u001b[2m${text}\u001b[22m`
  const lines = [
    "",
    bold("Pix payments is ready"),
    "",
    `  API            ${addresses.public}/v1`,
    `  Reference      ${addresses.public}/docs`,
    `  Operator       ${addresses.operator}/operator/v1`,
    `  Dashboard      ${link}`,
    dim("                 (signs in once, within five minutes; then with the operator token)"),
    `  Database       ${database.embeddedIn === undefined ? "DATABASE_URL" : `embedded PostgreSQL 18 in ${database.embeddedIn}`}`,
    "",
    `  Demo account   ${account.name}`,
    `  API key        ${account.apiKey}`,
    `  Operator token ${Redacted.value(token)}`,
    dim(`                 (stored in ${account.credentialsFile})`),
    "",
    bold("Create a charge:"),
    "",
    curl(addresses.public, account.apiKey, " \\\n  "),
    "",
    `Or watch a charge from creation to payment, in another terminal: ${bold("npm run demo")}`,
    ""
  ]
  yield* Effect.sync(() => process.stdout.write(`${lines.join("\n")}\n`))
})

const shortText = (addresses: { readonly public: string; readonly operator: string }, file: string): string =>
  [
    `Pix payments is ready: API ${addresses.public}/v1, reference ${addresses.public}/docs, dashboard ${addresses.operator}/`,
    `Key and token are in ${file}. Sign in with operator_token, or: pix login. Watch a charge: npm run demo`,
    ""
  ].join("\n")

/** A link that signs in to the dashboard at `origin` as the installation (OPR-130). */
const signInLink = Effect.fnUntraced(
  function* (origin: string) {
    const tokens = yield* OperatorTokens
    const audit = yield* AuditLog
    const { token } = yield* tokens.makeLink({ id: null, sessionId: null }).pipe(audit.recordWith("session.link"))
    return linkUrl(origin, token)
  },
  Effect.provideService(CurrentOperator, { ...installation, via: "installation", sessionId: null })
)

/** Why the service cannot start, in one sentence. An unexpected failure has its stack. */
export const failureOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof Config.ConfigError) return `A setting is wrong: ${settingOf(error)}.`
  if (isSqlError(error)) return `The service cannot start: ${databaseReasonOf(error)}`
  if (hasProperty(error, "_tag") && hasProperty(error, "message"))
    return `The service cannot start: ${messageOf(error)}`
  return `The service cannot start: ${Cause.pretty(cause)}`
}

/** `PORT: Expected …`, from the lines of the schema's error. */
const settingOf = ({ cause }: Config.ConfigError): string =>
  messageOf(cause)
    .replace(/^SchemaError\(([^]*)\)$/, "$1")
    .replace(/^(.*)\n\s+at \["(\w+)"\]$/gm, "$2: $1")
    .replaceAll("\n", "; ")

const databaseReasonOf = (error: SqlError): string => {
  const reason = messageOf(error.reason.cause)
  switch (error.reason._tag) {
    case "ConnectionError":
      return `the database of DATABASE_URL does not answer (${reason}).`
    case "AuthenticationError":
      return `the database of DATABASE_URL refuses the user or the password (${reason}).`
    default:
      return `the database of DATABASE_URL cannot be used: ${messageOf(error)} (${reason}).`
  }
}

const messageOf = (error: unknown): string =>
  hasProperty(error, "message") && error.message !== "" ? String(error.message) : String(error)

const curl = (base: string, key: string, separator: string): string => {
  const body = {
    amount: 1990,
    customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" },
    description: "Pedido 1001",
    reference: "pedido-1001"
  }
  return [
    `curl ${base}/v1/charges`,
    `-H "x-api-key: ${key}"`,
    `-H 'Idempotency-Key: pedido-1001'`,
    `-H 'Content-Type: application/json'`,
    `-d '${JSON.stringify(body)}'`
  ].join(separator)
}
