/**
 * Every list of both surfaces, with what each of its filters may be asked for: from the declarations, so that a new list,
 * or a new filter, needs a line here.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { exceptionKinds, exceptionStatuses } from "@pix-payments/domain/AcquirerException"
import { ApprovalStatus } from "@pix-payments/domain/Approval"
import { ChargeStatus } from "@pix-payments/domain/Charge"
import { DisputeStatus } from "@pix-payments/domain/Dispute"
import { PayoutStatus } from "@pix-payments/domain/Payout"
import { RefundStatus } from "@pix-payments/domain/Refund"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { hasProperty } from "effect/Predicate"
import { type DeclaredRoute, operatorRoutes, paymentsRoutes } from "./Declared.ts"
import type { Tenant } from "./Million.ts"

export interface TenantAsked extends Tenant {
  readonly key: string
  /** Something that the lists can be narrowed to. */
  readonly some: { readonly charge: string; readonly endToEndId: string; readonly instant: string }
}

export type Query = Readonly<Record<string, string>>

/** A list, the rows that it is of, and the conditions that its filters mean, in plain words. */
export interface ListAsked {
  readonly template: string
  readonly path: string
  readonly isPublic: boolean
  readonly table: string
  /** Conditions that hold for all that is in the list, and those on what a cursor may name. */
  readonly scope: ReadonlyArray<string>
  readonly values: Readonly<Record<string, ReadonlyArray<string>>>
  /** Filters that no index serves beside others: each is asked for alone, and with an account. */
  readonly walked: Readonly<Record<string, ReadonlyArray<string>>>
  readonly means: (filter: string, value: string) => string
  /** It may also be read oldest first. */
  readonly isOrdered: boolean
}

const states = ["scheduled", "delivering", "delivered", "failed", "canceled"]

const chargeStatus = `CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END`

const deliveryStatus = `CASE WHEN status = 'scheduled' AND EXISTS (
    SELECT 1 FROM webhook_endpoints w WHERE w.id = endpoint_id AND w.deleted_at IS NOT NULL
  ) THEN 'canceled' ELSE status END`

/** Lines of the books. Plans do not depend on the values. */
const lineFilters = {
  type: ["charge", "adjustment"],
  from: ["2020-01-01"],
  to: ["2100-01-01"],
  amount_min: ["1"],
  amount_max: ["1"],
  reveal: []
}

const isFailing = `active AND disabled_at IS NULL AND EXISTS (
    SELECT 1 FROM webhook_endpoint_health h WHERE h.endpoint_id = id AND h.consecutive_failures > 0
  )`

const operatorId = "01a1fd37-d21e-717f-8451-d23f26a87900"

const approvalStatus = `CASE WHEN used_at IS NULL AND status <> 'rejected' AND expires_at <= now() THEN 'expired'
  ELSE status END`

const listedReconciliation = "01a1fd37-d21e-717f-8451-d23f26a87901"

/** The operator whose tokens are listed. */
export const addListedOperator = Effect.flatMap(
  SqlClient,
  (sql) => sql`INSERT INTO operators (id, name, email, role, active, created_at)
    VALUES (${operatorId}::uuid, 'A', 'a@example.com', 'viewer', true, now()) ON CONFLICT DO NOTHING`
)

/** The day of a bank account whose lines are listed. */
export const addListedReconciliation = Effect.flatMap(
  SqlClient,
  (sql) => sql`INSERT INTO reconciliations (id, connection_id, day, status, created_at)
    VALUES (${listedReconciliation}::uuid, ${SIMULATOR_CONNECTION}::uuid, '2026-11-25', 'done', now()) ON CONFLICT DO NOTHING`
)

/** All lists, as a tenant, or an operator who looks for that tenant, asks for them. */
export const listsFor = (tenant: TenantAsked): ReadonlyArray<ListAsked> => {
  const { accountId, applicationId, endpointId, keyId, some } = tenant
  const created = { created_after: [some.instant], created_before: ["2100-01-01T00:00:00Z"] }
  const amounts = { amount_min: ["2"], amount_max: ["1000"] }
  const own = `account_id = '${accountId}'`
  const known: Readonly<Record<string, Pick<ListAsked, "table" | "values"> & Partial<ListAsked>>> = {
    "/v1/charges": {
      table: "charges",
      scope: [own, "origin = 'api'"],
      values: { status: ChargeStatus.literals, method: ["pix", "card"], ...created }
    },
    "/v1/payouts": {
      table: "payouts",
      scope: [own],
      values: { status: PayoutStatus.literals, method: ["pix", "ted"], ...created }
    },
    "/operator/v1/accounts": { table: "accounts", values: {} },
    "/operator/v1/accounts/{id}/applications": {
      table: "applications",
      path: `/operator/v1/accounts/${accountId}/applications`,
      scope: [own],
      values: {}
    },
    "/operator/v1/applications/{id}/keys": {
      table: "api_keys",
      path: `/operator/v1/applications/${applicationId}/keys`,
      scope: [`application_id = '${applicationId}'`],
      values: {}
    },
    "/operator/v1/charges": {
      table: "charges",
      values: {
        account_id: [accountId],
        origin: ["api", "checkout"],
        reference: ["same"],
        end_to_end_id: [some.endToEndId]
      },
      walked: {
        ...created,
        ...amounts,
        status: ChargeStatus.literals,
        method: ["pix", "card"],
        application_id: [applicationId],
        connection_id: [endpointId],
        paid_after: [some.instant],
        paid_before: ["2100-01-01T00:00:00Z"],
        failed_after: [some.instant],
        failed_before: ["2100-01-01T00:00:00Z"],
        failure_reason: ["none"],
        customer_document: ["52998224725"],
        q: ["maria silva"]
      }
    },
    "/operator/v1/payouts": {
      table: "payouts",
      values: { account_id: [accountId], status: PayoutStatus.literals, method: ["pix", "ted"] },
      walked: {
        ...created,
        ...amounts,
        origin: ["api", "dashboard"],
        application_id: [applicationId],
        connection_id: [endpointId],
        failed_after: [some.instant],
        failed_before: ["2100-01-01T00:00:00Z"],
        failure_reason: ["none"],
        reference: ["same"],
        end_to_end_id: [some.endToEndId],
        recipient_document: ["52998224725"],
        q: ["maria silva"]
      }
    },
    "/operator/v1/approvals": {
      table: "approvals",
      values: { status: ApprovalStatus.literals },
      walked: { ...created, account_id: [accountId] }
    },
    "/operator/v1/disputes": {
      table: "disputes",
      values: { charge_id: [some.charge], status: DisputeStatus.literals },
      walked: {
        ...created,
        ...amounts,
        account_id: [accountId],
        same_payer_as: [SIMULATOR_CONNECTION],
        deadline_before: ["2100-01-01T00:00:00Z"],
        order: ["deadline"]
      }
    },
    "/operator/v1/refunds": {
      table: "refunds",
      values: { charge_id: [some.charge], status: RefundStatus.literals },
      walked: { ...created, ...amounts, account_id: [accountId] }
    },
    "/operator/v1/bank-statements": { table: "bank_statements", values: { connection_id: [SIMULATOR_CONNECTION] } },
    "/operator/v1/reconciliations": { table: "reconciliations", values: { connection_id: [SIMULATOR_CONNECTION] } },
    "/operator/v1/reconciliations/{id}/lines": {
      table: "reconciliation_lines",
      path: `/operator/v1/reconciliations/${listedReconciliation}/lines`,
      scope: [`reconciliation_id = '${listedReconciliation}'`],
      values: { state: ["missing_here", "owner"] }
    },
    "/operator/v1/exceptions": {
      table: "acquirer_exceptions",
      values: { status: exceptionStatuses, kind: exceptionKinds },
      walked: { ...created, account_id: [accountId] }
    },
    "/operator/v1/deliveries": {
      table: "deliveries",
      values: {
        status: states,
        resource_id: [some.charge],
        endpoint_id: [endpointId],
        event: ["charge.pix.paid", "dispute.pix.lost"]
      },
      walked: { ...created, account_id: [accountId] }
    },
    "/operator/v1/requests": {
      table: "requests",
      values: {
        key_id: [keyId],
        resource_id: [some.charge],
        request_id: ["7"],
        route: ["GET /v1/charges", "POST /v1/payouts"],
        status: ["200", "201", "400", "2xx", "4xx"]
      },
      walked: { ...created, account_id: [accountId] }
    },
    "/operator/v1/webhooks": {
      table: "webhook_endpoints",
      scope: ["deleted_at IS NULL"],
      values: { account_id: [accountId], failing: ["true", "false"] }
    },
    "/operator/v1/outbox-failures": { table: "outbox_failures", values: {} },
    "/operator/v1/operators": { table: "operators", values: {} },
    "/operator/v1/alert-channels": { table: "alert_channels", scope: ["deleted_at IS NULL"], values: {} },
    "/operator/v1/operators/{id}/tokens": {
      table: "operator_tokens",
      path: `/operator/v1/operators/${operatorId}/tokens`,
      scope: [`operator_id = '${operatorId}'`],
      values: {}
    },
    "/operator/v1/sessions": { table: "operator_sessions", values: {} },
    "/operator/v1/audit": {
      table: "audit",
      values: { action: ["keys.revoke", "installation.use"], operator_id: [operatorId] },
      walked: created
    },
    "/operator/v1/connections": { table: "acquirer_connections", values: {} },
    "/operator/v1/accounts/{id}/transactions": {
      table: "ledger_transfers",
      path: `/operator/v1/accounts/${accountId}/transactions`,
      scope: [own],
      values: { ...lineFilters, balance: [] }
    },
    "/operator/v1/connections/{id}/transactions": {
      table: "ledger_transfers",
      path: `/operator/v1/connections/${SIMULATOR_CONNECTION}/transactions`,
      scope: [`connection_id = '${SIMULATOR_CONNECTION}'`],
      values: lineFilters
    },
    "/operator/v1/accounts/{id}/closes": {
      table: "closes",
      path: `/operator/v1/accounts/${accountId}/closes`,
      scope: [`owner_id = '${accountId}'`],
      values: {}
    },
    "/operator/v1/connections/{id}/closes": {
      table: "closes",
      path: `/operator/v1/connections/${SIMULATOR_CONNECTION}/closes`,
      scope: [`owner_id = '${SIMULATOR_CONNECTION}'`],
      values: {}
    },
    "/operator/v1/ledger/entries": {
      table: "ledger_transfers",
      values: { account_id: [accountId], resource_id: [some.charge] },
      walked: created
    }
  }
  return routes.map(({ filters, isOrdered, template }) => {
    const found = known[template]
    const listed = { ...found?.values, ...found?.walked }
    const missing = found === undefined ? [template] : filters.filter((filter) => !(filter in listed))
    if (found === undefined || missing.length > 0) throw new Error(`${template} needs a line for ${missing.join(", ")}`)
    return {
      template,
      path: template,
      isPublic: template.startsWith("/v1/"),
      scope: [],
      walked: {},
      isOrdered,
      means: (filter, value) => meaning(found.table, filter, value),
      ...found
    }
  })
}

const meaning = (table: string, filter: string, value: string): string => {
  if (filter === "amount_min") return `amount >= ${value}`
  if (filter === "amount_max") return `amount <= ${value}`
  if (filter === "paid_after") return `paid_at > '${value}'`
  if (filter === "paid_before") return `paid_at < '${value}'`
  if (filter === "failed_after") return failed(table, `> '${value}'`)
  if (filter === "failed_before") return failed(table, `< '${value}'`)
  if (filter === "deadline_before") return `status IN ('open', 'under_review') AND defense_deadline_at < '${value}'`
  if (filter === "order") return "status IN ('open', 'under_review') AND defense_deadline_at IS NOT NULL"
  if (filter === "q" || filter === "same_payer_as") return "false"
  // A request of nobody's key is of no account.
  if (filter === "account_id" && table === "requests") return `account_id = '${value}' AND key_id IS NOT NULL`
  const createdAt = table === "disputes" ? "opened_at" : /^(requests|audit)$/.test(table) ? "at" : "created_at"
  if (filter === "created_after") return `${createdAt} > '${value}'`
  if (filter === "created_before") return `${createdAt} < '${value}'`
  if (filter === "status" && table === "charges") return `${chargeStatus} = '${value}'`
  if (filter === "status" && table === "approvals") return `${approvalStatus} = '${value}'`
  if (filter === "status" && table === "deliveries") return `${deliveryStatus} = '${value}'`
  if (filter === "status" && value.endsWith("xx")) return `status / 100 = ${value.charAt(0)}`
  if (filter === "type") return `reason = '${value === "charge" ? "charge.paid" : value}'`
  if (filter === "from" || filter === "amount_min") return `${filter === "from" ? "day" : "amount"} >= '${value}'`
  if (filter === "to" || filter === "amount_max") return `${filter === "to" ? "day" : "amount"} <= '${value}'`
  if (filter === "failing") return value === "true" ? isFailing : "true"
  return `${filter} = '${value}'`
}

const failed = (table: string, at: string): string =>
  `EXISTS (SELECT FROM changes c WHERE c.resource_id = ${table}.id AND c.status = 'failed' AND c.created_at ${at})`

/** Of a list, the filters that a cursor must be in as well: those say what the list is of. */
export const isScope = ({ template }: ListAsked, filter: string): boolean =>
  (filter === "account_id" &&
    /charges|payouts|disputes|refunds|deliveries|requests|exceptions|approvals/.test(template)) ||
  (filter === "origin" && /charges/.test(template))

const fieldsOf = ({ endpoint }: DeclaredRoute): ReadonlyArray<string> => {
  const find = (schema: unknown): ReadonlyArray<string> | undefined => {
    if (hasProperty(schema, "fields")) return Object.keys(Object(schema.fields))
    if (hasProperty(schema, "schema")) return find(schema.schema)
    if (hasProperty(schema, "members") && Array.isArray(schema.members)) {
      return schema.members.map(find).find((found) => found !== undefined)
    }
    return undefined
  }
  return find(endpoint.query) ?? []
}

const routes = [...paymentsRoutes, ...operatorRoutes]
  .map((route) => ({ template: route.template, fields: fieldsOf(route) }))
  .filter(({ fields }) => fields.includes("starting_after"))
  .map(({ fields, template }) => {
    // The order of disputes is one of the few that are not decided.
    const isOrdered = fields.includes("order") && !template.endsWith("/disputes")
    const others = new Set(["starting_after", "limit", ...(isOrdered ? ["order"] : [])])
    return { template, isOrdered, filters: fields.filter((name) => !others.has(name)) }
  })

/** Every choice of one value, or of none, for each filter. Ends of time come together. */
export const combinationsOf = ({ values, walked }: ListAsked): ReadonlyArray<Query> => {
  const served = Object.entries(values).reduce<ReadonlyArray<Query>>(
    (made, [name, each]) =>
      name === "created_before"
        ? made.map((one) => ("created_after" in one ? { ...one, [name]: each[0]! } : one))
        : made.flatMap((one) => [one, ...each.map((value) => ({ ...one, [name]: value }))]),
    [{}]
  )
  const [account] = values["account_id"] ?? []
  const others = Object.entries(walked).flatMap(([name, each]) =>
    each.flatMap((value) => [
      { [name]: value },
      ...(account === undefined ? [] : [{ account_id: account, [name]: value }])
    ])
  )
  return [...served, ...others]
}

/** Whether a list may look at more rows than it shows for this query. */
export const isWalked = ({ values, walked }: ListAsked, query: Query): boolean =>
  Object.keys(query).some((name) => name in walked && !(name in values) && !name.startsWith("created_"))

/** Ends of time are one filter. */
export const filtersOf = (query: Query): ReadonlyArray<string> =>
  Object.keys(query).filter((name) => name !== "created_before")
