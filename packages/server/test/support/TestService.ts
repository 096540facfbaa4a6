/**
 * The real service in this process, on its own database, and a client that sends exactly the given bytes.
 *
 * ```ts
 * layer(TestService.layer({ settings: { acquirerTimeoutMs: 60_000 } }), { excludeTestServices: true })("…", (it) => {
 *   it.effect("…", () => Effect.gen(function* () {
 *     const { call, makeCaller } = yield* TestService
 *     const { key } = yield* makeCaller()
 *     const { body } = yield* call<Charge>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body: … })
 *   }))
 * })
 * ```
 *
 * The service connects with a role that owns nothing (`asService`). The layer gives the service's own services as well,
 * and the `SqlClient` of the schema's owner.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { allScopes } from "@pix-payments/domain/Scope"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { randomUUID } from "node:crypto"
import * as Http from "node:http"
import { ListenAddresses } from "../../src/http/pipeline/ListenAddresses.ts"
import * as Telemetry from "../../src/base/observability/Telemetry.ts"
import * as Service from "../../src/Service.ts"
import { Settings, type SettingsShape } from "../../src/base/Settings.ts"
import { DatabaseLocation } from "../../src/database/Database.ts"
import { createMigratedDatabase, rolesOf, temporaryFolder } from "./Postgres.ts"

export interface CallOptions {
  /** Goes into `x-api-key`. */
  readonly key?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** Text and bytes go as they are, anything else as its JSON; `undefined` sends no body. */
  readonly body?: unknown
  /** Names in lower case. They win over what the other options set; `undefined` leaves a header out. */
  readonly headers?: Readonly<Http.OutgoingHttpHeaders> | undefined
  /** Sends the body without a content-length. */
  readonly chunked?: boolean | undefined
  /** The address to call from, as 127.0.0.2. */
  readonly from?: string | undefined
}

export interface Answer<A> {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly text: string
  /** The parsed body, of the type that the caller expects: nothing checks it. `undefined` where it is not JSON. */
  readonly body: A
}

/** A JSON object of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>

export type Call = <A = Fields>(method: string, path: string, options?: CallOptions) => Effect.Effect<Answer<A>>

/** An account with an application and a key. */
export interface TestCaller {
  readonly accountId: string
  readonly applicationId: string
  readonly keyId: string
  readonly key: string
}

export interface TestServiceOptions {
  /** Overrides the defaults of `Settings`; ports are 0, and only errors are logged, unless set. */
  readonly settings?: Partial<SettingsShape> | undefined
  /** An existing database; without it the service gets a new one, dropped at the end. */
  readonly databaseUrl?: Redacted.Redacted<string> | undefined
}

export class TestService extends Context.Service<
  TestService,
  {
    readonly publicUrl: string
    readonly operatorUrl: string
    readonly operatorToken: string
    /** Of the schema's owner. */
    readonly databaseUrl: Redacted.Redacted<string>
    /** A request to the public listener. The path goes out as it is written. Interruption hangs up. */
    readonly call: Call
    /** A request to the operator listener, with the token. */
    readonly operate: Call
    /** Creates an account with these fields, an application of it and a key with these scopes (all by default). */
    readonly makeCaller: (options?: {
      readonly account?: Fields
      readonly scopes?: ReadonlyArray<string>
    }) => Effect.Effect<TestCaller>
    readonly makeApplication: (accountId: string) => Effect.Effect<string>
    readonly makeKey: (
      applicationId: string,
      options?: { readonly scopes?: ReadonlyArray<string> | undefined; readonly expires_at?: string }
    ) => Effect.Effect<Pick<TestCaller, "key" | "keyId">>
  }
>()("@pix-payments/server/test/TestService") {
  static readonly layer = (options: TestServiceOptions = {}) => {
    const settings = Layer.effect(
      Settings,
      Effect.gen(function* () {
        const defaults = yield* Settings
        const dataDir = yield* temporaryFolder
        return Settings.of({
          ...defaults,
          dataDir,
          operatorToken: Option.some(Redacted.make(newKey())),
          // Each opens caches and plans of its own in PostgreSQL.
          databaseConnections: 4,
          ...options.settings
        })
      })
    ).pipe(
      Layer.provide(Settings.layer),
      Layer.provide(
        ConfigProvider.layer(
          ConfigProvider.fromEnv({
            env: { PORT: "0", OPERATOR_PORT: "0", LOG_LEVEL: "error", SHUTDOWN_DELAY_MS: "0" }
          })
        )
      )
    )
    const database = Layer.effect(
      DatabaseLocation,
      Effect.map(
        options.databaseUrl === undefined ? createMigratedDatabase : Effect.succeed(options.databaseUrl),
        (url) => DatabaseLocation.of({ ...rolesOf(url), embeddedIn: undefined })
      )
    )
    const owner = Layer.unwrap(
      Effect.map(DatabaseLocation, ({ migrationsUrl, url }) =>
        PgClient.layer({ url: migrationsUrl ?? url, maxConnections: 4 })
      )
    )
    return Layer.effect(TestService, make).pipe(
      Layer.provideMerge(Service.layer),
      Layer.merge(owner),
      Layer.provide(Telemetry.layer),
      Layer.provideMerge(Layer.merge(settings, database))
    )
  }
}

const make = Effect.gen(function* () {
  const listening = yield* ListenAddresses
  const settings = yield* Settings
  const operatorToken = Option.match(settings.operatorToken, { onNone: () => "", onSome: Redacted.value })
  const { migrationsUrl, url } = yield* DatabaseLocation
  const client = yield* clientOf({ publicUrl: listening.public, operatorUrl: listening.operator }, operatorToken)
  return TestService.of({ ...client, databaseUrl: migrationsUrl ?? url })
})

/**
 * One of very many calls at once, repeated as callers do: on a busy machine it may be answered 503, which leaves open whether it
 * happened. What is done once may then be refused.
 */
export const whenFree = <A extends { readonly status: number }, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.repeat(call, { until: ({ status }) => status !== 503 })

/** The same client for a service in another process. */
export const clientOf = Effect.fnUntraced(function* (
  { operatorUrl, publicUrl }: { readonly publicUrl: string; readonly operatorUrl: string },
  operatorToken: string
) {
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Http.Agent({ keepAlive: true, maxSockets: 100 })),
    (held) => Effect.sync(() => held.destroy())
  )

  const call = callTo(agent, publicUrl, {})
  const operate = callTo(agent, operatorUrl, { "x-operator-token": operatorToken })

  const made = (path: string, body: Fields) =>
    Effect.map(operate<Readonly<Record<string, string>>>("POST", `/operator/v1${path}`, { body }), (answer) => {
      if (answer.status !== 201) throw new Error(`${path} answers ${answer.status}: ${answer.text}`)
      return { id: answer.body.id!, key: answer.body.key! }
    })

  const makeApplication = (accountId: string) =>
    Effect.map(made(`/accounts/${accountId}/applications`, { name: "Loja" }), ({ id }) => id)

  const makeKey: TestService["Service"]["makeKey"] = (applicationId, { scopes = allScopes, ...rest } = {}) =>
    Effect.map(made(`/applications/${applicationId}/keys`, { name: "test", scopes, ...rest }), ({ id, key }) => ({
      keyId: id,
      key
    }))

  return {
    publicUrl,
    operatorUrl,
    operatorToken,
    call,
    operate,
    makeApplication,
    makeKey,
    makeCaller: Effect.fn("makeCaller")(function* ({
      account,
      scopes
    }: Parameters<TestService["Service"]["makeCaller"]>[0] = {}) {
      const { id: accountId } = yield* made("/accounts", { ...someAccount, ...account })
      const applicationId = yield* makeApplication(accountId)
      return { accountId, applicationId, ...(yield* makeKey(applicationId, { scopes })) }
    })
  } satisfies Omit<TestService["Service"], "databaseUrl">
})

/** A new idempotency key. */
export const newKey = (): string => randomUUID()

const someAccount = {
  name: "Padaria do Zé",
  legal_name: "Padaria do Zé Ltda",
  document: "11.222.333/0001-81",
  phone: "+5511999998888"
}

const callTo =
  (agent: Http.Agent, baseUrl: string, also: Readonly<Record<string, string>>): Call =>
  <A>(method: string, path: string, options: CallOptions = {}) =>
    Effect.callback<Answer<A>>((resume) => {
      const { body } = options
      const sent =
        body === undefined || typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body)
      const headers: Http.OutgoingHttpHeaders = {
        ...also,
        ...(sent === undefined ? {} : { "content-type": "application/json" }),
        ...(sent === undefined || options.chunked ? {} : { "content-length": String(Buffer.byteLength(sent)) }),
        ...(options.key === undefined ? {} : { "x-api-key": options.key }),
        ...(options.idempotencyKey === undefined ? {} : { "idempotency-key": options.idempotencyKey }),
        ...options.headers
      }
      const { hostname, port } = new URL(baseUrl)
      const request = Http.request({
        agent,
        hostname,
        port,
        method,
        path,
        ...(options.from === undefined ? {} : { localAddress: options.from }),
        headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
      })
      let answered = false
      request.on("response", (response) => {
        answered = true
        // A stream has no end: its status and headers are the answer.
        if (response.headers["content-type"] === "text/event-stream") {
          response.destroy()
          const { headers, statusCode } = response
          return resume(Effect.succeed({ status: statusCode ?? 0, headers, text: "", body: undefined as A }))
        }
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", (error) => resume(Effect.die(error)))
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString()
          const { headers, statusCode } = response
          resume(Effect.succeed({ status: statusCode ?? 0, headers, text, body: parsed(text) as A }))
        })
      })
      // A server that refuses a body before its end may close while we still write.
      request.on("error", (error) => {
        if (!answered) resume(Effect.die(error))
      })
      request.end(sent)
      return Effect.sync(() => request.destroy())
    })

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
