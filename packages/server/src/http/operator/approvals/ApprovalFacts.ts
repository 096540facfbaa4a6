/**
 * What a request for approval is about, as it is now: the values `before` of a request.
 *
 * Guarantees:
 * - One function gives them when a request is stored, when it is approved and when its requester repeats it. No action compares
 *   by itself.
 * - In a transaction, what it reads stays as it is until the end. It locks the account, what the action names, and for money the
 *   ledger first, in the order of the actions themselves.
 *
 * A balance and a limit on use are no facts: each payment changes them. The summary has the balance as it is now, and the action
 * checks both.
 *
 * Rules: OPR-114, OPR-115.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounts } from "../../../accounts/Accounts.ts"
import { ApiKeys } from "../../../accounts/ApiKeys.ts"
import { lockLedgerOf } from "../../../ledger/Ledger.ts"
import { NotFoundError } from "../../../base/Errors.ts"
import { runToCompletion } from "../../../database/RunToCompletion.ts"
import type { Fields } from "../../../operators/approvals/ApprovalRow.ts"
import type { ApprovalRequest } from "../../../operators/approvals/ApprovalStore.ts"
import { clusterIdentifier, Installation } from "../../../operators/Installation.ts"
import { Operators, rightsOf } from "../../../operators/Operators.ts"
import { lockRow } from "../../../database/RowLock.ts"
import { ChargeStore } from "../../../payments/charges/ChargeStore.ts"
import { ExceptionStore, type StoredException } from "../../../payments/exceptions/ExceptionStore.ts"
import { HandSettlements } from "../../../payments/exceptions/HandSettlements.ts"
import { Payouts } from "../../../payments/payouts/Payouts.ts"
import { type ConnectionRow, ConnectionStore } from "../../../providers/connections/ConnectionStore.ts"
import { toApiKey, toOperatorAccount } from "../administration/AccountResource.ts"

type Asked = Pick<ApprovalRequest, "action" | "resourceId" | "accountId" | "request">

export const approvalFacts = Effect.gen(function* () {
  const sql = yield* SqlClient
  const accounts = yield* Accounts
  const ofResource = yield* resourceFacts

  /** The account whose money moves, or that is changed. */
  const ofAccount = Effect.fnUntraced(function* (id: string | null) {
    if (id === null) return {}
    yield* lockRow(sql, "accounts", id)
    const { connection_id, default_connection_id, name, status } = yield* accounts.get(id)
    return { account_name: name, account_status: status, account_connection: connection_id ?? default_connection_id }
  })

  return (asked: Asked) =>
    Effect.gen(function* () {
      const accountId = accountOf(asked)
      const facts: Fields = { ...(yield* ofAccount(accountId)), ...(yield* ofResource(asked, accountId)) }
      return { ...facts, ...(yield* namesIn(sql, asked.request, facts)) } as Fields
    }).pipe(runToCompletion(sql))
})

/** A connection by the fields of requests: its addresses, and how its webhook is registered. */
export const connectionFields = ({ settings: stored, ...row }: ConnectionRow) => {
  const { webhook_mtls: mtls = null, webhook_url = null, ...settings } = stored
  return { ...row, settings, mtls, url: row.webhook_registered_at === null ? null : webhook_url }
}

/** The account whose money it moves, or that it changes. A request that concerns two accounts is of none. */
export const accountOf = ({ accountId, action, request }: Omit<Asked, "resourceId">): string | null =>
  action === "exception.accept" ? String(request["account_id"]) : accountId

const resourceFacts = Effect.gen(function* () {
  const accounts = yield* Accounts
  const installation = yield* Installation
  const payouts = yield* Payouts
  const settlements = yield* HandSettlements
  const { ofApplication, ofCluster, ofConnection, ofDefault, ofException, ofKey, ofOperator } = yield* lockedResources

  return Effect.fnUntraced(function* ({ action, request, ...asked }: Asked, accountId: string | null) {
    const id = asked.resourceId ?? ""
    switch (action) {
      case "account.update":
        return named(request, toOperatorAccount(yield* accounts.get(id)))
      case "account.move":
        return { moved_to: (yield* accounts.get(id)).moved_to }
      case "key.create":
        return yield* ofApplication(id)
      case "key.update":
        return yield* ofKey(id, request)
      case "operator.update": {
        const operator = yield* ofOperator(id)
        return { ...rightsOf(operator), name: operator.name }
      }
      case "operator_token.create": {
        const operator = yield* ofOperator(id)
        return { ...rightsOf(operator), operator_name: operator.name }
      }
      case "connection.create":
        return yield* ofDefault(request)
      case "connection.update":
        return { ...(yield* ofConnection(id, request)), ...(yield* ofDefault(request)) }
      case "connection.register_webhook":
        return yield* ofConnection(id, request)
      case "installation.update":
        yield* ofCluster
        return named(request, { ...(yield* installation.get) })
      case "installation.confirm_outward":
        return yield* ofCluster
      case "payout.approve":
        return { status: (yield* payouts.find(id)).status }
      case "payout.settle":
        return yield* settlements.facts("payout", id)
      case "refund.settle":
        return yield* settlements.facts("refund", id)
      case "exception.settle": {
        const { exception } = yield* ofException(id, accountId)
        return { ...identityOf(exception), ...(yield* settlements.facts("exception", id)) }
      }
      case "exception.accept": {
        const { charge, exception } = yield* ofException(id, accountId, request["charge_id"])
        return {
          ...identityOf(exception),
          status: exception.status,
          unallocated: exception.unallocated,
          charge_id: exception.chargeId,
          account_id: exception.accountId,
          ...(charge !== undefined && { charge_status: charge.status })
        }
      }
      // About nothing but their account.
      case "payout.create":
      case "adjustment.create":
      case "payer.anonymise":
      case "operator.create":
        return {}
    }
  })
})

/** What actions name, locked. */
const lockedResources = Effect.gen(function* () {
  const sql = yield* SqlClient
  const accounts = yield* Accounts
  const keys = yield* ApiKeys
  const operators = yield* Operators
  const connections = yield* ConnectionStore
  const exceptions = yield* ExceptionStore
  const charges = yield* ChargeStore

  const ofApplication = Effect.fnUntraced(function* (id: string) {
    yield* lockRow(sql, "applications", id)
    const { active, name } = yield* accounts.getApplication(id)
    return { application_name: name, application_active: active }
  })

  const ofKey = Effect.fnUntraced(function* (id: string, request: Fields) {
    yield* lockRow(sql, "api_keys", id)
    const key = toApiKey(yield* keys.get(id))
    return { ...named(request, key), name: key.name, revoked_at: key.revoked_at }
  })

  const ofOperator = Effect.fnUntraced(function* (id: string) {
    yield* lockRow(sql, "operators", id)
    return yield* operators.get(id)
  })

  const ofConnection = Effect.fnUntraced(function* (id: string, request: Fields) {
    yield* lockRow(sql, "acquirer_connections", id)
    const fields = connectionFields(yield* connections.get(id))
    const { mtls, name, pix_key, settings, url, version } = fields
    return { ...named(request, fields), name, pix_key, version, settings, mtls, url }
  })

  /** The connection that another one is to replace as the default. */
  const ofDefault = Effect.fnUntraced(function* (request: Fields) {
    if (request["is_default"] !== true) return {}
    const [row] = yield* sql<{ id: string }>`SELECT id FROM acquirer_connections WHERE is_default FOR NO KEY UPDATE`
    return { default_connection: row?.id ?? null }
  })

  /** The cluster that was confirmed last, and that of this database. */
  const ofCluster = Effect.map(
    sql.unsafe<Fields>(`SELECT system_identifier AS confirmed_cluster, ${clusterIdentifier} AS cluster
      FROM installation_settings FOR NO KEY UPDATE`),
    ([row]) => ({ ...row })
  )

  /** An exception with its ledger, locked. */
  const ofException = Effect.fnUntraced(function* (id: string, accountId: string | null, chargeId?: unknown) {
    const known = yield* exceptions.get(id)
    if (known === undefined) return yield* new NotFoundError()
    yield* lockLedgerOf(sql, [known.connectionId, ...(accountId === null ? [] : [accountId])])
    const charge = typeof chargeId === "string" ? yield* charges.lock(chargeId) : undefined
    return { exception: (yield* exceptions.lock(id)) ?? known, charge }
  })

  return { ofApplication, ofCluster, ofConnection, ofDefault, ofException, ofKey, ofOperator }
})

/** The names of the accounts and connections that fields point to. */
const namesIn = Effect.fnUntraced(function* (sql: SqlClient, ...all: ReadonlyArray<Fields>) {
  const pointers = all.flatMap((fields) => [fields["account_ids"], fields["account_id"], fields["connection_id"]])
  const ids = [...new Set(pointers.flat().filter((id): id is string => typeof id === "string"))]
  if (ids.length === 0) return {}
  const found = yield* Effect.forEach(["accounts", "acquirer_connections"], (table) =>
    sql.unsafe<{ id: string; name: string }>(
      `SELECT id, name FROM ${table} WHERE id = ANY ($1::uuid[]) ORDER BY id FOR SHARE`,
      [`{${ids.join(",")}}`]
    )
  )
  return { names: Object.fromEntries(found.flat().map(({ id, name }) => [id, name])) }
})

const identityOf = ({ endToEndId, kind, payer }: StoredException) => ({
  kind,
  payer: payer?.name ?? null,
  end_to_end_id: endToEndId
})

/** The fields of a row that a request names. */
const named = (request: Fields, row: object): Fields =>
  Object.fromEntries(Object.entries(row).filter(([name]) => name in request))
