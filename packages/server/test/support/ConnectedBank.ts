/** The service with its listener of callbacks over mTLS, and doubles of providers that it is connected to. */
import type { PspDouble, PspDoubleOptions } from "@pix-payments/psp-double/PspDouble"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { writeFile } from "node:fs/promises"
import * as Https from "node:https"
import { join } from "node:path"
import { type ConnectionInput, ConnectionStore } from "../../src/providers/connections/ConnectionStore.ts"
import { makeWebhookSecret } from "../../src/providers/connections/WebhookUrl.ts"
import { ListenAddresses } from "../../src/http/pipeline/ListenAddresses.ts"
import { CallbackConnections } from "../../src/reports/CallbackConnections.ts"
import { Sweep } from "../../src/reports/Sweep.ts"
import { Secrets } from "../../src/base/Secrets.ts"
import type { SettingsShape } from "../../src/base/Settings.ts"
import { startDouble } from "./Bank.ts"
import { created, retrieve, someCharge, until } from "./ChargeRequests.ts"
import { storeConnection } from "./Connections.ts"
import { temporaryFolder } from "./Postgres.ts"
import { eventually, loopback } from "./Receiver.ts"
import { TestService } from "./TestService.ts"

/** Its certificate, and those that it accepts, are of the doubles' authority. A bank has ten seconds, as the machine may be busy. */
export const connectedServiceLayer = (settings: Partial<SettingsShape> = {}) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { authority } = yield* startDouble()
      const { ca, cert, key } = yield* Effect.promise(() => authority.issue({ name: "callbacks", usage: "server" }))
      const folder = yield* temporaryFolder
      const stored = (name: string, text: string) => {
        const path = join(folder, name)
        return Effect.as(
          Effect.promise(() => writeFile(path, text)),
          Option.some(path)
        )
      }
      return TestService.layer({
        settings: {
          acquirerTimeoutMs: 10_000,
          acquirerPort: Option.some(0),
          acquirerTlsCert: yield* stored("cert.pem", cert),
          acquirerTlsKey: yield* stored("key.pem", key),
          acquirerTlsCa: yield* stored("ca.pem", ca),
          acquirerNetworks: loopback,
          ...settings
        }
      })
    })
  )

export interface ConnectedBank {
  readonly double: PspDouble
  readonly connectionId: string
  readonly accountId: string
  readonly key: string
  /** The URL of the connection's callbacks, without the provider's `/pix`. */
  readonly url: string
  readonly secretUrl: string
}

let doubles = 0

/** A double, a connection to it, and an account whose charges and payouts go through it. */
export const connectedBank = (options: PspDoubleOptions = {}, input: Partial<ConnectionInput> = {}) =>
  // End-to-end ids are made from the seed, and are unique.
  Effect.flatMap(startDouble({ seed: ++doubles, ...options }), (double) => connectedTo(double, input))

/** A connection to a double, and an account whose charges and payouts go through it. */
export const connectedTo = Effect.fnUntraced(function* (double: PspDouble, input: Partial<ConnectionInput> = {}) {
  const { makeCaller } = yield* TestService
  const sql = yield* SqlClient
  const { id: connectionId } = yield* storeConnection(double, input)
  const secret = Redacted.value(yield* makeWebhookSecret(yield* ConnectionStore, yield* Secrets, connectionId))
  yield* (yield* CallbackConnections).refresh
  const { accountId, key } = yield* makeCaller()
  yield* sql`UPDATE accounts SET connection_id = ${connectionId}::uuid WHERE id = ${accountId}::uuid`
  const origin = (yield* ListenAddresses).acquirer
  const url = `${origin}/${connectionId}`
  return { double, connectionId, accountId, key, url, secretUrl: `${url}/${secret}` } satisfies ConnectedBank
})

/** Charges that wait for their payment. */
export const pendingCharges = ({ key }: ConnectedBank, count: number, amount = someCharge.amount) =>
  Effect.forEach(
    Array.from({ length: count }, () => amount),
    (each) =>
      Effect.tap(created(key, { amount: each }), ({ id }) =>
        // Where the provider was slow, recovery asks it again.
        until(retrieve(key, id), ({ body }) => body.status === "pending")
      ),
    { concurrency: 8 }
  )

/** Their payers pay. */
export const payAll = ({ double }: ConnectedBank, charges: ReadonlyArray<{ readonly id: string }>) =>
  charges.map(({ id }) => {
    const paid = double.provider.receipts.payCob(txidFromId(id))
    if (paid._tag === "Failure") throw new Error(`the payment of ${id} is refused: ${paid.failure._tag}`)
    return paid.success
  })

export const statusesOf = ({ accountId }: ConnectedBank) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ status: string }>`SELECT status FROM charges WHERE account_id = ${accountId}::uuid`
    return rows.map(({ status }) => status)
  })

/** Makes a sweep due, from that instant on where one is given, and waits for its end. */
export const sweepNow = ({ connectionId }: Pick<ConnectedBank, "connectionId">, fromMs: number | null = null) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    // A lease is three minutes long, and a sweep that has ended is due within one.
    const isReleased = sql`id = ${connectionId}::uuid AND due_at <= now() + interval '61 seconds'`
    const isThere = ({ length }: { readonly length: number }) => length > 0
    // The sweep before may still be running, and would store its own progress.
    yield* eventually(
      sql`UPDATE acquirer_connections
        SET due_at = NULL, swept_until = coalesce(to_timestamp(${fromMs}::double precision / 1000), swept_until)
        WHERE ${isReleased} RETURNING id`,
      isThere
    )
    // At once. The service's own loop looks every second.
    yield* Effect.flatMap(
      (yield* Sweep).claimDue(10),
      Effect.forEach((each) => Effect.forkChild(each))
    )
    yield* eventually(sql`SELECT id FROM acquirer_connections WHERE ${isReleased}`, isThere)
  })

/** How many pages of payments the provider was asked for. */
export const listings = ({ double }: ConnectedBank) =>
  double.exchanges.filter(({ method, path }) => method === "GET" && path.endsWith("/pix")).length

/** Until when the connection has been swept. */
export const progressOf = ({ connectionId }: ConnectedBank) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ swept_until: Date | null; last_days_at: Date | null }>`
      SELECT swept_until, last_days_at FROM acquirer_connections WHERE id = ${connectionId}::uuid`
    return row!
  })

export interface CallbackAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly body: string
}

/** Posts a callback as somebody does who has this certificate, or none. A list of texts is sent as chunks, without an end. */
export const post = (
  url: string,
  body: unknown,
  identity?: { readonly cert: string; readonly key: string },
  headers: Readonly<Record<string, string>> = {}
) =>
  Effect.callback<CallbackAnswer>((resume) => {
    const request = Https.request(
      url,
      { method: "POST", agent: false, rejectUnauthorized: false, headers, ...identity },
      (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => (text += chunk))
        response.on("end", () =>
          resume(
            Effect.succeed({
              status: response.statusCode ?? 0,
              retryAfter: response.headers["retry-after"],
              body: text
            })
          )
        )
      }
    )
    // Of a refusal before the end of the body, the answer counts.
    request.on("error", (error) => resume(Effect.die(error)))
    if (Array.isArray(body)) for (const chunk of body) request.write(chunk)
    else request.end(typeof body === "string" ? body : JSON.stringify(body))
  })

/** How many notifications of a bank are recorded. */
export const notificationsOf = ({ connectionId }: ConnectedBank) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{ count: number }>`
        SELECT count(*)::int AS count FROM notifications WHERE connection_id = ${connectionId}::uuid`,
      ([row]) => row!.count
    )
  )
