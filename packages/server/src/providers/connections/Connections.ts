/**
 * Connections as operators manage them.
 *
 * Guarantees:
 * - A connection that cannot be opened is not stored: `InvalidConnection` names the part.
 * - The simulator's connection has neither credentials nor a key. It is not checked, and not paused.
 * - While nobody may be called, a check or registration is refused.
 *
 * Rules: OPR-60 to OPR-67.
 */
import type { ConnectionProfile } from "@pix-payments/domain/AcquirerConnection"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { InvalidStateError, type NotFoundError } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { closedReason, Outward } from "../../base/Outward.ts"
import { Secrets } from "../../base/Secrets.ts"
import { Settings } from "../../base/Settings.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { checkConnection, describeFailure } from "./ConnectionCheck.ts"
import {
  clientOf,
  type CredentialsInput,
  InvalidConnection,
  mergeCredentials,
  openCredentials,
  sealCredentials
} from "./ConnectionCredentials.ts"
import { ConnectionRegistry } from "./ConnectionRegistry.ts"
import {
  type CheckStep,
  type ConnectionInput,
  type ConnectionRow,
  ConnectionStore,
  type SealedConnection,
  type WebhookTerms
} from "./ConnectionStore.ts"
import { type ConnectionTerms, type OpenConnection, openConnection } from "./OpenConnection.ts"
import type { ApprovalRequired } from "../../operators/approvals/Authority.ts"
import { findWebhookSecret, makeWebhookSecret, webhookPath } from "./WebhookUrl.ts"

export interface NewConnection extends ConnectionInput {
  readonly profile: typeof ConnectionProfile.Type
  readonly credentials: CredentialsInput
}

export interface ConnectionChanges extends Partial<ConnectionInput> {
  readonly credentials?: CredentialsInput
}

export interface PreparedConnection extends ConnectionInput, SealedConnection {
  readonly id: string
  readonly profile: string
}

export type PreparedChanges = Partial<ConnectionInput & SealedConnection>

export class Connections extends Context.Service<
  Connections,
  {
    /** A new connection as it is stored, with its credentials sealed, once it could be opened. */
    readonly prepare: (input: NewConnection) => Effect.Effect<PreparedConnection, InvalidConnection | Unavailable>
    /** The changes as they are stored, once the connection could be opened with them. Credentials that are left out stay. */
    readonly prepareChanges: (
      id: string,
      changes: ConnectionChanges
    ) => Effect.Effect<PreparedChanges, InvalidConnection | NotFoundError | Unavailable>
    /** A connection whose provider may be called: none of the simulator, and none while nobody may be. */
    readonly getProvider: (id: string) => Effect.Effect<ConnectionRow, NotFoundError | InvalidStateError | Unavailable>
    /** Tries a connection, paused ones included, and stores what was found. */
    readonly check: (
      id: string
    ) => Effect.Effect<ReadonlyArray<CheckStep>, NotFoundError | InvalidStateError | Unavailable>
    /**
     * Stores how the webhook of a connection is to be registered, by the `Authority` around it. What it gives registers it at the
     * provider, outside of a transaction.
     */
    readonly prepareWebhook: (
      id: string,
      url: string,
      withoutMtls: boolean
    ) => Effect.Effect<
      { readonly id: string; readonly register: Effect.Effect<ReadonlyArray<CheckStep>, Unavailable> },
      NotFoundError | InvalidStateError | ApprovalRequired | Unavailable
    >
  }
>()("@pix-payments/server/Connections") {
  static readonly layer = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const store = yield* ConnectionStore
      const secrets = yield* Secrets
      const ids = yield* Ids
      const outward = yield* Outward
      const registry = yield* ConnectionRegistry
      const { keep, stepsOf } = yield* attempts
      const register = yield* registrations

      const getProvider = Effect.fnUntraced(function* (id: string) {
        const row = yield* store.get(id)
        if (closedReason(outward) !== undefined) return yield* new InvalidStateError({ status: "outward_off" })
        return row.kind === "simulator" ? yield* new InvalidStateError({ status: "simulator" }) : row
      })

      return Connections.of({
        ...(yield* preparations),

        getProvider,

        check: Effect.fn("Connections.check")(function* (id) {
          const row = yield* getProvider(id)
          const webhookSecret = yield* findWebhookSecret(store, secrets, id)
          const checked = { id, pixKey: row.pix_key ?? "", webhookSecret, chargeId: ids.next().id }
          const steps = yield* stepsOf(row, (opened) => {
            const alone = checkConnection(opened, opened.client, checked)
            if (row.paused) return alone
            return registry
              .use(id, ({ client }) => checkConnection(opened, client, checked))
              .pipe(Effect.catchTag("ConnectionUnusable", () => alone))
          })
          yield* keep(id, steps)
          const all = [...steps, ...answersStep(row)]
          yield* store.checked(id, all)
          return all
        }),

        prepareWebhook: Effect.fn("Connections.prepareWebhook")(function* (id, url, withoutMtls) {
          const row = yield* getProvider(id)
          // Before the provider tries the URL: it may try it without a certificate, which must be refused.
          const terms = { webhook_mtls: !withoutMtls, webhook_url: url }
          yield* store.webhookTerms(id, terms)
          return { id, register: register(row, terms) }
        })
      })
    })
  )
}

const credentialsOf = Effect.fnUntraced(function* (
  store: ConnectionStore["Service"],
  secrets: Secrets["Service"],
  id: string
) {
  const sealed = yield* store.sealedCredentials(id)
  return sealed === undefined ? {} : yield* openCredentials(secrets, id, sealed)
})

const preparations = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const secrets = yield* Secrets
  const ids = yield* Ids
  const { acquirerTimeoutMs } = yield* Settings

  /** Opens a connection once, and seals its credentials. */
  const sealed = Effect.fnUntraced(function* (id: string, terms: ConnectionTerms) {
    const { certificateExpiresAtMs, paysOut } = yield* Effect.scoped(openConnection(terms, acquirerTimeoutMs))
    const client = clientOf(terms.profile, terms.settings, terms.credentials)
    return {
      certificateExpiresAtMs,
      client,
      paysOut,
      sealedCredentials: sealCredentials(secrets, id, terms.credentials)
    }
  })

  const prepared: Pick<Connections["Service"], "prepare" | "prepareChanges"> = {
    prepare: Effect.fn("Connections.prepare")(function* ({ credentials, ...input }) {
      const { id } = ids.next()
      return { ...input, ...(yield* sealed(id, { ...input, credentials })), id }
    }),

    prepareChanges: Effect.fn("Connections.prepareChanges")(function* (id, { credentials, ...changes }) {
      const row = yield* store.get(id)
      const reopens = credentials !== undefined || changes.settings !== undefined || changes.pix_key !== undefined
      if (row.kind === "simulator") {
        const part =
          credentials === undefined ? SIMULATOR_LACKS.find((field) => changes[field] !== undefined) : "credentials"
        if (part !== undefined) {
          return yield* new InvalidConnection({ part, reason: "cannot be set for the simulator" })
        }
      }
      if (!reopens) return changes
      const terms = {
        profile: row.profile,
        settings: { ...row.settings, ...changes.settings },
        pix_key: changes.pix_key ?? row.pix_key ?? "",
        credentials: mergeCredentials(yield* credentialsOf(store, secrets, id), credentials ?? {})
      }
      return { ...changes, settings: terms.settings, ...(yield* sealed(id, terms)) }
    })
  }
  return prepared
})

/** Tries a stored connection, which is opened for that. */
const attempts = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const secrets = yield* Secrets
  const { acquirerTimeoutMs } = yield* Settings

  /** What `run` found, or why the connection cannot be opened. */
  const stepsOf = Effect.fnUntraced(
    function* (row: ConnectionRow, run: (opened: OpenConnection) => Effect.Effect<ReadonlyArray<CheckStep>>) {
      const terms = { ...row, pix_key: row.pix_key ?? "", credentials: yield* credentialsOf(store, secrets, row.id) }
      return yield* run(yield* openConnection(terms, acquirerTimeoutMs))
    },
    Effect.scoped,
    Effect.catchTag("InvalidConnection", (problem) => Effect.succeed(unopened(problem)))
  )

  const keep = Effect.fnUntraced(function* (id: string, steps: ReadonlyArray<CheckStep>) {
    const found = steps.find(({ step }) => step === "webhook")
    if (found !== undefined) yield* store.webhookRegistered(id, found.ok)
  })

  return { keep, stepsOf }
})

/** Registers webhooks. */
const registrations = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const secrets = yield* Secrets
  const { keep, stepsOf } = yield* attempts

  /** Registers at the provider what is stored. Where it refuses, what was registered before stays. */
  return Effect.fnUntraced(
    function* (row: ConnectionRow, terms: WebhookTerms & { webhook_url: string }) {
      const secret = yield* makeWebhookSecret(store, secrets, row.id)
      const target = `${terms.webhook_url.replace(/\/+$/, "")}${webhookPath(row.id, secret)}`
      const steps = yield* stepsOf(row, ({ client }) =>
        Effect.match(client.registerWebhook(row.pix_key ?? "", target, { withoutMtls: !terms.webhook_mtls }), {
          onFailure: (failure) => webhook(false, describeFailure(failure)),
          onSuccess: () => webhook(true, "The webhook is registered.")
        })
      )
      const { webhook_mtls, webhook_url } = row.settings
      if (!steps.every(({ ok }) => ok) && webhook_mtls !== undefined)
        yield* store.webhookStays(row.id, terms, { webhook_mtls, webhook_url })
      yield* keep(row.id, steps)
      return steps
    },
    Effect.catchTag("NotFoundError", Effect.die)
  )
})

const unopened = ({ part, reason }: InvalidConnection): ReadonlyArray<CheckStep> => [
  { step: "certificate", ok: false, detail: `${part} ${reason}.` }
]

/** What the simulator's connection does not have. */
const SIMULATOR_LACKS = ["settings", "pix_key", "paused", "payouts_paused", "charges_paused"] as const

/** Only where an answer could not be read. */
const answersStep = (row: ConnectionRow): ReadonlyArray<CheckStep> =>
  row.unreadable_since === null
    ? []
    : [
        {
          step: "answers",
          ok: false,
          detail: `Entries of its lists that could not be read since ${row.unreadable_since.toISOString()}: ${row.unreadable_entries}. They are exceptions.`
        }
      ]

const webhook = (ok: boolean, detail: string): ReadonlyArray<CheckStep> => [{ step: "webhook", ok, detail }]
