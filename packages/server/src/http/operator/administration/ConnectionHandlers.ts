/**
 * The operator routes of connections to providers.
 *
 * Rules: OPR-60 to OPR-67.
 */
import {
  type Connection,
  type ConnectionCheck,
  decodeCreateConnection,
  decodeRegisterWebhook,
  decodeUpdateConnection
} from "@pix-payments/api/operator/Connections"
import { ValidationError } from "@pix-payments/api/WireErrors"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { normalPixKey } from "@pix-payments/domain/PixKey"
import * as Effect from "effect/Effect"
import { Ids } from "../../../base/Ids.ts"
import type { Fields } from "../../../operators/approvals/ApprovalRow.ts"
import type { ApprovalRequest } from "../../../operators/approvals/ApprovalStore.ts"
import { ConnectionRegistry } from "../../../providers/connections/ConnectionRegistry.ts"
import type { InvalidConnection } from "../../../providers/connections/ConnectionCredentials.ts"
import {
  Connections,
  type PreparedChanges,
  type PreparedConnection
} from "../../../providers/connections/Connections.ts"
import {
  areBrakes,
  type CheckStep,
  type ConnectionRow,
  ConnectionStore
} from "../../../providers/connections/ConnectionStore.ts"
import { AuditLog, withoutSecrets } from "../../../operations/AuditLog.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, notFound, refusedAs, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { connectionFields } from "../approvals/ApprovalFacts.ts"
import { fourEyes } from "../approvals/FourEyes.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const connectionHandlers = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const registry = yield* ConnectionRegistry

  const handlers: OperatorHandlers<"connections"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* store.list(page)
        const connections = yield* Effect.forEach(rows, (row) => toConnection(registry, row))
        return listAnswer(connections, (connection) => connection, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        const row = yield* store.get(yield* knownId(params))
        return answer(200, yield* toConnection(registry, row))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

export const connectionActionHandlers = Effect.gen(function* () {
  const store = yield* ConnectionStore
  const registry = yield* ConnectionRegistry
  const connections = yield* Connections
  const audit = yield* AuditLog
  const ids = yield* Ids
  const { run } = yield* fourEyes

  /** Opens what changed. Where the database is away just now, the next round does it. */
  const shown = (status: number) => (row: ConnectionRow) =>
    Effect.map(Effect.andThen(Effect.ignore(registry.refresh), toConnection(registry, row)), (connection) =>
      answer(status, connection)
    )

  /** A request has what is stored once it is approved, with the credentials sealed, and shows the rest. */
  const requestOf = (
    action: "connection.create" | "connection.update",
    resourceId: string | null,
    request: Fields,
    prepared: PreparedConnection | PreparedChanges
  ): ApprovalRequest => ({
    action,
    resourceId,
    accountId: null,
    concerns: null,
    request,
    seal: () => JSON.stringify(prepared),
    // What is not shown may differ: a request with credentials is equal to none.
    ...("credentials" in request && { key: ids.next().id })
  })

  const rowOf = (id: string) => ({ table: "acquirer_connections", id }) as const
  const fieldsOf = (id: string) => Effect.map(store.get(id), connectionFields)

  const handlers: OperatorHandlers<"connectionActions"> = {
    create: ({ body }) =>
      Effect.gen(function* () {
        const input = yield* decodeBody(body, decodeCreateConnection)
        const { credentials, ...visible } = {
          name: input.name,
          profile: input.profile,
          settings: settingsOf(input.settings),
          credentials: input.credentials,
          pix_key: normalPixKey(input.pix_key) ?? input.pix_key,
          exception_rule: input.exception_rule ?? "hold",
          paused: input.paused ?? false,
          payouts_paused: input.payouts_paused ?? false,
          charges_paused: input.charges_paused ?? false,
          is_default: input.is_default ?? false
        }
        const prepared = yield* connections.prepare({ ...visible, credentials })
        const request = requestedFields(visible, credentials)
        return yield* run(
          Effect.as(store.assertMayHave(prepared), requestOf("connection.create", null, request, prepared)),
          store.create(prepared).pipe(audit.recordWith("connectionActions.create", { after: withoutSecrets(request) })),
          shown(201)
        )
      }).pipe(
        Effect.catchTags({
          RequestRefused: invalid,
          InvalidConnection: invalidConnection,
          InvalidStateError: invalidState
        })
      ),
    update: ({ body, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const { credentials, pix_key, settings, ...others } = yield* decodeBody(body, decodeUpdateConnection)
        const visible = {
          ...others,
          ...(settings !== undefined && { settings: settingsOf(settings) }),
          ...(pix_key !== undefined && { pix_key: normalPixKey(pix_key) ?? pix_key })
        }
        const changes = yield* connections.prepareChanges(id, {
          ...visible,
          ...(credentials !== undefined && { credentials })
        })
        const request = requestedFields(visible, credentials)
        return yield* run(
          Effect.gen(function* () {
            const { client } = changes
            if (client !== undefined) yield* store.assertMayHave({ ...(yield* store.get(id)), ...changes, client })
            return areBrakes(changes) ? undefined : requestOf("connection.update", id, request, changes)
          }),
          store
            .update(id, changes)
            .pipe(audit.recordChange("connectionActions.update", rowOf(id), fieldsOf(id), withoutSecrets(request))),
          shown(200)
        )
      }).pipe(
        Effect.catchTags({
          RequestRefused: invalid,
          InvalidConnection: invalidConnection,
          InvalidStateError: invalidState,
          NotFoundError: notFound
        })
      ),
    check: ({ params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const { steps } = yield* Effect.map(connections.check(id), (steps) => ({ id, steps })).pipe(
          audit.recordAfter("connectionActions.check")
        )
        return answer(200, toCheck(id, steps))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, InvalidStateError: invalidState })),
    registerWebhook: ({ body, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        yield* store.get(id)
        const { mtls, url } = yield* decodeBody(body, decodeRegisterWebhook)
        const request = { url, mtls: mtls !== false }
        return yield* run(
          Effect.as(connections.getProvider(id), {
            action: "connection.register_webhook",
            resourceId: id,
            accountId: null,
            concerns: null,
            request
          } as const),
          connections
            .prepareWebhook(id, url, mtls === false)
            .pipe(audit.recordChange("connectionActions.registerWebhook", rowOf(id), fieldsOf(id), request)),
          ({ register }) => Effect.map(register, (steps) => answer(200, toCheck(id, steps)))
        )
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound, InvalidStateError: invalidState }))
  }
  return handlers
})

/** What a request asks for: of credentials their names, and the client at the provider. */
const requestedFields = (visible: Fields, credentials: { readonly client_id?: string } | undefined): Fields => ({
  ...visible,
  ...(credentials !== undefined && { credentials: Object.keys(credentials).toSorted() }),
  ...(credentials?.client_id !== undefined && { client_id: credentials.client_id })
})

const invalid = refusedAs("VALIDATION_ERROR")

const invalidConnection = ({ part, reason }: InvalidConnection) =>
  new ValidationError({ details: [part], message: `${part} ${reason}.` })

/** A field that is null counts as absent. */
const settingsOf = (
  settings: { readonly base_url?: string | null; readonly token_url?: string | null } | null | undefined
) => ({
  ...(typeof settings?.base_url === "string" && { base_url: settings.base_url }),
  ...(typeof settings?.token_url === "string" && { token_url: settings.token_url })
})

const toCheck = (connection_id: string, steps: ReadonlyArray<CheckStep>): ConnectionCheck => ({
  object: "connection_check",
  connection_id,
  ok: steps.every(({ ok }) => ok),
  steps
})

const toConnection = Effect.fnUntraced(function* (registry: ConnectionRegistry["Service"], row: ConnectionRow) {
  const registered = registry.find(row.id)
  const isSimulator = row.id === SIMULATOR_CONNECTION
  const connection: Connection = {
    id: row.id,
    object: "connection",
    name: row.name,
    kind: row.kind,
    profile: row.profile,
    settings: { base_url: row.settings.base_url ?? null, token_url: row.settings.token_url ?? null },
    pix_key: row.pix_key,
    statement_account: row.statement_account,
    exception_rule: row.exception_rule,
    paused: row.paused,
    payouts_paused: row.payouts_paused,
    charges_paused: row.charges_paused,
    is_default: row.is_default,
    pays_out: row.pays_out,
    state: isSimulator
      ? "ready"
      : yield* registry.stateOf({ row, open: registered?.open, problem: registered?.problem }),
    problem: registered?.problem ?? null,
    certificate_expires_at: row.certificate_expires_at?.toISOString() ?? null,
    webhook_registered: row.webhook_registered_at !== null,
    foreign_entries: row.foreign_entries,
    foreign_at: row.foreign_at?.toISOString() ?? null,
    unreadable_entries: row.unreadable_entries,
    unreadable_since: row.unreadable_since?.toISOString() ?? null,
    checked_at: row.checked_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString()
  }
  return connection
})
