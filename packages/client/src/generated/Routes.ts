/**
 * Where each operation of `/v1` is found, and what it takes.
 *
 * Generated from `PaymentsApi` by `pnpm run client:generate`. Do not edit.
 */

/** One operation. */
export interface Route {
  readonly method: string
  readonly path: string
  /** Its first argument is the id in the path. */
  readonly id?: true
  readonly body?: true
  readonly query?: true
  /** It takes an `Idempotency-Key`. */
  readonly keyed?: true
  /** It answers with a list. */
  readonly list?: true
}

export const routes = {
  charges: {
    create: { method: "POST", path: "/v1/charges", body: true, keyed: true },
    list: { method: "GET", path: "/v1/charges", query: true, list: true },
    retrieve: { method: "GET", path: "/v1/charges/{id}", id: true }
  },
  payouts: {
    create: { method: "POST", path: "/v1/payouts", body: true, keyed: true },
    list: { method: "GET", path: "/v1/payouts", query: true, list: true },
    retrieve: { method: "GET", path: "/v1/payouts/{id}", id: true }
  },
  balance: {
    retrieve: { method: "GET", path: "/v1/balance" }
  },
  account: {
    retrieve: { method: "GET", path: "/v1/account" }
  },
  webhooks: {
    list: { method: "GET", path: "/v1/webhooks", list: true },
    create: { method: "POST", path: "/v1/webhooks", body: true },
    update: { method: "PATCH", path: "/v1/webhooks/{id}", id: true, body: true },
    delete: { method: "DELETE", path: "/v1/webhooks/{id}", id: true },
    events: { method: "GET", path: "/v1/webhooks/events", list: true }
  }
} as const satisfies Record<string, Record<string, Route>>

/** What a charge of each status may become, at once or by and by; nothing where the status is final. */
export const laterChargeStatuses: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["processing", ["pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"]],
  ["pending", ["paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"]],
  ["paid", ["paid", "refunded", "charged_back", "infraction"]],
  ["expired", ["paid", "refunded", "charged_back", "infraction"]],
  ["canceled", []],
  ["failed", []],
  ["refunded", []],
  ["charged_back", []],
  ["infraction", ["paid", "refunded", "charged_back", "infraction"]]
])

/** The release of this package. */
export const version = "0.1.0"
