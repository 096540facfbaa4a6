/**
 * The settings of the service, read once at start. All are optional; `docs/operations/settings.md` describes them.
 */
import { type Network, parseNetworks } from "@pix-payments/domain/PublicUrl"
import { parseRetryDelays, retryDelaysMs } from "@pix-payments/domain/RetryCurve"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { loopbackHosts, parseHosts } from "./AllowedHosts.ts"
import { parseDatabaseUrl } from "./DatabaseUrl.ts"
import { type SamplerName, samplers } from "./observability/Tracing.ts"
import { weaknessOf } from "./TokenStrength.ts"

export interface SettingsShape {
  readonly host: string
  readonly port: number
  /** Where payers reach the public listener. Unset: the address that it listens on. */
  readonly publicUrl: Option.Option<string>
  readonly operatorHost: string
  readonly operatorPort: number
  /** The hosts that the operator listener answers to, besides its own address. */
  readonly operatorHosts: ReadonlyArray<string>
  /** Proxies whose `X-Forwarded-For` names an operator's address. */
  readonly operatorTrustedProxy: ReadonlyArray<Network>
  /** Unset: generated at the first start and printed once. */
  readonly operatorToken: Option.Option<Redacted.Redacted<string>>
  /** The identity provider that operators sign in with. Unset: none. */
  readonly oidc: Option.Option<OidcSettings>
  /** Unset: an embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: Option.Option<Redacted.Redacted<string>>
  /** The role that migrates the schema. Unset: the role of `databaseUrl`, if it has the privileges. */
  readonly migrationsDatabaseUrl: Option.Option<Redacted.Redacted<string>>
  readonly databaseConnections: number
  readonly dataDir: string
  /** Keys that encrypt webhook secrets. The first encrypts, all decrypt. Unset: generated in `dataDir`. */
  readonly secretsKeys: Option.Option<Redacted.Redacted<string>>
  /** `simulator`: also of accounts without a connection. `connections`: those refuse charges and payouts. */
  readonly acquirer: "simulator" | "connections"
  /** The listener of providers' callbacks. Unset: none. */
  readonly acquirerPort: Option.Option<number>
  readonly acquirerHost: string
  /** PEM files: certificate and key of that listener, and the authority of its callers' certificates. */
  readonly acquirerTlsCert: Option.Option<string>
  readonly acquirerTlsKey: Option.Option<string>
  readonly acquirerTlsCa: Option.Option<string>
  /** Proxies whose headers name a callback's sender. */
  readonly acquirerTrustedProxy: ReadonlyArray<Network>
  /** The common names of accepted certificates; empty: all of the authority. */
  readonly acquirerCertificateNames: ReadonlyArray<string>
  /** Addresses of providers, beside those of their profiles, whose callbacks need no certificate but a secret. */
  readonly acquirerNetworks: ReadonlyArray<Network>
  /** How long a creation waits for the acquirer before it answers `processing`. */
  readonly acquirerTimeoutMs: number
  readonly simulatorSettleMs: number
  readonly simulatorLatencyMs: number
  readonly webhookRetryDelaysMs: ReadonlyArray<number>
  readonly webhookTimeoutMs: number
  /** The maximum of registered endpoints of an application. */
  readonly webhookEndpointsPerApplication: number
  readonly webhookAllowedNetworks: ReadonlyArray<Network>
  readonly rateLimitPerMinute: Option.Option<number>
  /** The maximum of `/v1` requests in flight in a process. The next one is answered 503. */
  readonly maxRequestsInFlight: number
  /** The maximum of connections of a listener in a process. One more is closed at once. */
  readonly maxConnections: number
  /** How long a caller may take to read a response before its connection is closed. */
  readonly answerTimeoutMs: number
  /** How long a process still accepts requests after SIGTERM, so that balancers notice. */
  readonly shutdownDelayMs: number
  /** For how many days lines of the request log are kept. */
  readonly retentionRequestsDays: number
  /** For how many days attempts of deliveries are kept. */
  readonly retentionAttemptsDays: number
  /** For how many days notifications of the acquirer are kept. */
  readonly retentionNotificationsDays: number
  /** For how many days deliveries are kept. */
  readonly retentionDeliveriesDays: number
  /** For how many days events and the history of resources are kept. */
  readonly retentionEventsDays: number
  /** After how many days the payers of charges that were never paid are erased. */
  readonly retentionUnpaidPayersDays: number
  /** The name of the cell whose database it is. Unset: there is one cell. */
  readonly cell: Option.Option<string>
  /** All cells with the addresses of their dashboards; empty: the dashboard shows no choice. */
  readonly cells: ReadonlyArray<{ readonly name: string; readonly url: string }>
  /** `off`: nobody is called. */
  readonly outward: "on" | "off"
  /** Whether the words by which charges and payouts are found are written. */
  readonly searchWords: "on" | "off"
  /** The mail server of alerts to operators: `smtps://user:password@host`. Unset: no e-mail. */
  readonly smtpUrl: Option.Option<Redacted.Redacted<string>>
  /** The sender of these mails. */
  readonly smtpFrom: string
  readonly processes: number
  readonly logLevel: "debug" | "info" | "warn" | "error" | "none"
  readonly logFormat: Option.Option<"pretty" | "json">
  readonly otlpEndpoint: Option.Option<string>
  readonly otelServiceName: string
  /** Which requests are traced, and the part of them where it is a ratio. */
  readonly tracesSampler: SamplerName
  readonly tracesSamplerArg: number
}

export interface OidcSettings {
  /** As the provider writes it in its tokens. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted<string>
  /** The claim that limits roles. Unset: none does. */
  readonly roleClaim: Option.Option<string>
}

const atLeast = (minimum: number, name: string) =>
  Config.schema(Schema.Int.check(Schema.isGreaterThanOrEqualTo(minimum)), name)

// 0: a free port.
const port = (name: string) => Config.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 })), name)

const parsed = <A>(name: string, parse: (text: string) => Result.Result<A, string>): Config.Config<A> =>
  checked(name, Config.String(name), parse)

const checked = <A, B>(
  name: string,
  read: Config.Config<A>,
  check: (value: A) => Result.Result<B, string>
): Config.Config<B> =>
  Config.mapEffect(read, (value) =>
    Effect.mapError(
      Effect.fromResult(check(value)),
      (message) =>
        new Config.ConfigError(new Schema.SchemaError(new SchemaIssue.InvalidValue({ message: `${name}: ${message}` })))
    )
  )

/** CIDRs; none by default. */
const networks = (name: string) => parsed(name, parseNetworks).pipe(Config.withDefault([] as ReadonlyArray<Network>))

const databaseUrl = (name: string) => checked(name, Config.Redacted(name), parseDatabaseUrl)

const strongToken = (token: Redacted.Redacted<string>): Result.Result<Redacted.Redacted<string>, string> => {
  const weakness = weaknessOf(Redacted.value(token))
  return weakness === undefined ? Result.succeed(token) : Result.fail(weakness)
}

const smtpUrl = (url: Redacted.Redacted<string>): Result.Result<Redacted.Redacted<string>, string> =>
  ["smtp:", "smtps:"].includes(URL.parse(Redacted.value(url))?.protocol ?? "")
    ? Result.succeed(url)
    : Result.fail("must begin with smtp:// or smtps://")

const cellName = (text: string): Result.Result<string, string> =>
  /^[a-z0-9-]{1,20}$/.test(text)
    ? Result.succeed(text)
    : Result.fail("must be a name of 1 to 20 characters: a to z, 0 to 9 and -")

const cellList = (text: string): Result.Result<SettingsShape["cells"], string> => {
  const cells = text.split(",").map((part) => {
    const [, name = "", url = ""] = /^([^=]*)=(.*)$/.exec(part.trim()) ?? []
    return { name, url: URL.parse(url) }
  })
  return cells.every(({ name, url }) => Result.isSuccess(cellName(name)) && /^https?:$/.test(url?.protocol ?? ""))
    ? Result.succeed(cells.map(({ name, url }) => ({ name, url: url!.origin })))
    : Result.fail(
        "must be names of cells with the addresses of their dashboards: a=https://a.example.com,b=https://b.example.com"
      )
}

const publicUrl = (text: string): Result.Result<string, string> => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" && url.username === ""
    ? Result.succeed(url.href.replace(/\/$/, ""))
    : Result.fail(`"${text}" is not the URL of the public listener`)
}

const issuerUrl = (text: string): Result.Result<string, string> => {
  const url = URL.parse(text)
  if (url === null || url.search !== "" || url.hash !== "") return Result.fail(`"${text}" is not the URL of an issuer`)
  const isLoopback = loopbackHosts.includes(url.hostname)
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback)
    ? Result.succeed(text)
    : Result.fail("must begin with https://")
}

/** All of an identity provider's settings, or none. */
const oidc: Config.Config<Option.Option<OidcSettings>> = checked(
  "OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET",
  Config.all({
    issuer: Config.option(parsed("OIDC_ISSUER", issuerUrl)),
    clientId: Config.option(Config.String("OIDC_CLIENT_ID")),
    clientSecret: Config.option(Config.Redacted("OIDC_CLIENT_SECRET")),
    roleClaim: Config.option(Config.String("OIDC_ROLE_CLAIM"))
  }),
  ({ clientId, clientSecret, issuer, roleClaim }) => {
    const settings = Option.all({ issuer, clientId, clientSecret })
    const isUnset = [issuer, clientId, clientSecret, roleClaim].every((each) => Option.isNone<unknown>(each))
    return Option.isNone(settings) && !isUnset
      ? Result.fail("all three are needed")
      : Result.succeed(Option.map(settings, (set) => ({ ...set, roleClaim })))
  }
)

const config: Config.Config<SettingsShape> = Config.all({
  host: Config.String("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: port("PORT").pipe(Config.withDefault(3000)),
  publicUrl: Config.option(parsed("PUBLIC_URL", publicUrl)),
  operatorHost: Config.String("OPERATOR_HOST").pipe(Config.withDefault("127.0.0.1")),
  operatorPort: port("OPERATOR_PORT").pipe(Config.withDefault(3001)),
  operatorHosts: parsed("OPERATOR_HOSTS", parseHosts).pipe(Config.withDefault(loopbackHosts)),
  operatorTrustedProxy: networks("OPERATOR_TRUSTED_PROXY"),
  operatorToken: Config.option(checked("OPERATOR_TOKEN", Config.Redacted("OPERATOR_TOKEN"), strongToken)),
  oidc,
  databaseUrl: Config.option(databaseUrl("DATABASE_URL")),
  migrationsDatabaseUrl: Config.option(databaseUrl("MIGRATIONS_DATABASE_URL")),
  // Migrations lock on one connection and work on another.
  databaseConnections: atLeast(3, "DATABASE_CONNECTIONS").pipe(Config.withDefault(16)),
  dataDir: Config.String("DATA_DIR").pipe(Config.withDefault(".data")),
  secretsKeys: Config.option(Config.Redacted("SECRETS_KEYS")),
  acquirer: Config.Literals(["simulator", "connections"], "ACQUIRER").pipe(Config.withDefault("simulator" as const)),
  acquirerPort: Config.option(port("ACQUIRER_PORT")),
  acquirerHost: Config.String("ACQUIRER_HOST").pipe(Config.withDefault("127.0.0.1")),
  acquirerTlsCert: Config.option(Config.String("ACQUIRER_TLS_CERT")),
  acquirerTlsKey: Config.option(Config.String("ACQUIRER_TLS_KEY")),
  acquirerTlsCa: Config.option(Config.String("ACQUIRER_TLS_CA")),
  acquirerTrustedProxy: networks("ACQUIRER_TRUSTED_PROXY"),
  acquirerCertificateNames: Config.String("ACQUIRER_CERTIFICATE_NAMES").pipe(
    Config.withDefault(""),
    Config.map((names) => names.split(",").flatMap((name) => name.trim() || []))
  ),
  acquirerNetworks: networks("ACQUIRER_NETWORKS"),
  acquirerTimeoutMs: atLeast(1, "ACQUIRER_TIMEOUT_MS").pipe(Config.withDefault(5000)),
  simulatorSettleMs: atLeast(0, "SIMULATOR_SETTLE_MS").pipe(Config.withDefault(1000)),
  simulatorLatencyMs: atLeast(0, "SIMULATOR_LATENCY_MS").pipe(Config.withDefault(0)),
  webhookRetryDelaysMs: parsed("WEBHOOK_RETRY_DELAYS", parseRetryDelays).pipe(Config.withDefault(retryDelaysMs)),
  webhookTimeoutMs: atLeast(1, "WEBHOOK_TIMEOUT_MS").pipe(Config.withDefault(10_000)),
  webhookEndpointsPerApplication: atLeast(1, "WEBHOOK_ENDPOINTS_PER_APPLICATION").pipe(Config.withDefault(100)),
  webhookAllowedNetworks: networks("WEBHOOK_ALLOWED_NETWORKS"),
  rateLimitPerMinute: Config.option(atLeast(1, "RATE_LIMIT_PER_MINUTE")),
  maxRequestsInFlight: atLeast(1, "MAX_REQUESTS_IN_FLIGHT").pipe(Config.withDefault(500)),
  maxConnections: atLeast(1, "MAX_CONNECTIONS").pipe(Config.withDefault(10_000)),
  answerTimeoutMs: atLeast(1, "ANSWER_TIMEOUT_MS").pipe(Config.withDefault(30_000)),
  shutdownDelayMs: atLeast(0, "SHUTDOWN_DELAY_MS").pipe(Config.withDefault(5000)),
  retentionRequestsDays: atLeast(1, "RETENTION_REQUESTS_DAYS").pipe(Config.withDefault(30)),
  retentionAttemptsDays: atLeast(1, "RETENTION_ATTEMPTS_DAYS").pipe(Config.withDefault(30)),
  retentionNotificationsDays: atLeast(1, "RETENTION_NOTIFICATIONS_DAYS").pipe(Config.withDefault(396)),
  retentionDeliveriesDays: atLeast(1, "RETENTION_DELIVERIES_DAYS").pipe(Config.withDefault(396)),
  retentionEventsDays: atLeast(1, "RETENTION_EVENTS_DAYS").pipe(Config.withDefault(396)),
  // A charge can be paid for seven days.
  retentionUnpaidPayersDays: atLeast(8, "RETENTION_UNPAID_PAYERS_DAYS").pipe(Config.withDefault(396)),
  cell: Config.option(parsed("CELL", cellName)),
  cells: parsed("CELLS", cellList).pipe(Config.withDefault([])),
  outward: Config.Literals(["on", "off"], "OUTWARD").pipe(Config.withDefault("on" as const)),
  searchWords: Config.Literals(["on", "off"], "SEARCH_WORDS").pipe(Config.withDefault("on" as const)),
  smtpUrl: Config.option(checked("SMTP_URL", Config.Redacted("SMTP_URL"), smtpUrl)),
  smtpFrom: Config.String("SMTP_FROM").pipe(Config.withDefault("pix-payments@localhost")),
  processes: atLeast(1, "PROCESSES").pipe(Config.withDefault(1)),
  logLevel: Config.Literals(["debug", "info", "warn", "error", "none"], "LOG_LEVEL").pipe(
    Config.withDefault("info" as const)
  ),
  logFormat: Config.option(Config.Literals(["pretty", "json"], "LOG_FORMAT")),
  otlpEndpoint: Config.option(Config.String("OTEL_EXPORTER_OTLP_ENDPOINT")),
  otelServiceName: Config.String("OTEL_SERVICE_NAME").pipe(Config.withDefault("pix-payments")),
  tracesSampler: Config.Literals(samplers, "OTEL_TRACES_SAMPLER").pipe(
    Config.withDefault("parentbased_traceidratio" as const)
  ),
  tracesSamplerArg: Config.schema(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
    "OTEL_TRACES_SAMPLER_ARG"
  ).pipe(Config.withDefault(0.1))
})

export class Settings extends Context.Service<Settings, SettingsShape>()("@pix-payments/server/base/Settings") {
  /** Reads the environment. Fails with the name of the first malformed variable. */
  static readonly layer = Layer.effect(Settings, Effect.map(config, Settings.of))
}
