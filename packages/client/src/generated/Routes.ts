/**
 * The route of each operation of `/v1`, and the statuses that are reachable from each status.
 *
 * Generated from `PaymentsApi` by `pnpm run client:generate`. Do not edit.
 */

/** One operation. */
export interface Route {
  readonly method: string
  readonly path: string
  /** The path has an id, which is the method's first argument. */
  readonly id?: true
  readonly body?: true
  readonly query?: true
  /** Accepts an `Idempotency-Key`. */
  readonly keyed?: true
  /** Returns a list. */
  readonly list?: true
  /** May return nothing. */
  readonly empty?: true
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
    delete: { method: "DELETE", path: "/v1/webhooks/{id}", id: true, empty: true },
    events: { method: "GET", path: "/v1/webhooks/events", list: true }
  }
} as const satisfies Record<string, Record<string, Route>>

/** The statuses of a resource, and for each status the indexes of those that are reachable from it, one digit each. */
export interface Statuses {
  readonly all: ReadonlyArray<string>
  readonly reachable: ReadonlyArray<string>
}

export const statuses: Readonly<Record<"charge" | "payout", Statuses>> = {
  charge: {
    all: ["processing", "pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"],
    reachable: ["12345678", "2345678", "2678", "2678", "", "", "", "", "2678"]
  },
  payout: { all: ["pending", "processing", "completed", "failed", "canceled"], reachable: ["1234", "23", "", "", ""] }
}

/** The release of this package. */
export const version = "0.1.0"
