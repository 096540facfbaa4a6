/** An installation for a drill, and what a fault does to it: statements, locks, load. */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { someCharge } from "../../support/ChargeRequests.ts"
import type { connectedAccount } from "../../support/ConnectedProcess.ts"
import { onServer } from "../../support/Postgres.ts"
import type { ServiceProcess } from "../../support/Process.ts"
import { eventually } from "../../support/Receiver.ts"
import { type Answer, newKey } from "../../support/TestService.ts"

export interface Installation extends Pick<
  Effect.Success<ReturnType<typeof connectedAccount>>,
  "call" | "operate" | "key" | "accountId" | "connectionId"
> {
  readonly service: ServiceProcess
  /** Of its database, for the owner. */
  readonly url: Redacted.Redacted<string>
  readonly double: PspDouble
  /** Delays each answer of PostgreSQL from now on. */
  readonly delayDatabase: (ms: number) => void
  /** A callback of the bank to this path, below its connection's. */
  readonly callBack: (path: string) => Effect.Effect<unknown, unknown>
  /** A token of an admin, which is not the installation's. */
  readonly adminToken: string
}

export const run =
  (statement: string) =>
  ({ url }: Pick<Installation, "url">) =>
    onServer(statement, url)

/** Runs statements in a transaction that stays open. */
export const hold = (url: Redacted.Redacted<string>, ...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const connection = yield* PgConnection.make({ url })
    for (const statement of ["BEGIN", "SET LOCAL idle_in_transaction_session_timeout = 0", ...statements]) {
      yield* connection.queryValues(statement, [], false)
    }
  })

export const locked =
  (table: string, mode = "ACCESS EXCLUSIVE") =>
  ({ url }: Installation) =>
    hold(url, `LOCK TABLE ${table} IN ${mode} MODE`)

/** Repeats until the installation ends, whether it fails or not. */
export const every = (seconds: number, effect: Effect.Effect<unknown, unknown, Scope.Scope>) =>
  Effect.forkScoped(Effect.forever(Effect.andThen(Effect.exit(Effect.scoped(effect)), Effect.sleep(seconds * 1000))))

export const times = (count: number, effect: Effect.Effect<unknown, unknown>) =>
  Effect.all(
    Array.from({ length: count }, () => Effect.exit(effect)),
    { concurrency: count, discard: true }
  )

export const expecting = <A>(status: number, answer: Effect.Effect<Answer<A>>) =>
  Effect.map(answer, (given) => {
    if (given.status !== status) throw new Error(`${given.status}: ${given.text}`)
    return given.body
  })

type Caller = Pick<Installation, "call" | "key">

/** A creation, whatever its answer; each time that it runs, another one. */
export const asked = ({ call, key }: Caller, fields: object = {}) =>
  Effect.suspend(() =>
    call<{ readonly id: string }>("POST", "/v1/charges", {
      key,
      idempotencyKey: newKey(),
      body: { ...someCharge, ...fields }
    })
  )

/** A charge, also on a machine that is busy. */
export const charged = (caller: Caller, fields?: object) =>
  Effect.map(
    eventually(asked(caller, fields), ({ status }) => status === 201),
    ({ body }) => body
  )

/** The account uses the simulator. */
export const simulated = ({ accountId, operate }: Installation) =>
  expecting(
    200,
    operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { connection_id: SIMULATOR_CONNECTION } })
  )

export const paid = (installation: Installation, fields?: object) =>
  Effect.gen(function* () {
    yield* simulated(installation)
    const { id } = yield* charged(installation, fields)
    yield* expecting(200, installation.operate("POST", `/operator/v1/simulator/charges/${id}/pay`))
    return id
  })

/** With the endpoint of the account, whose receiver nobody reaches. */
export const withEndpoint = ({ call, key }: Installation) =>
  expecting(
    201,
    call("POST", "/v1/webhooks", {
      key,
      body: { url: "http://127.0.0.1:9/hook", events: ["charge.pix.created", "charge.pix.emitted"] }
    })
  )
