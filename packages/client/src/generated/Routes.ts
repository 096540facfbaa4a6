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

/** The statuses of a kind of resource, and for each one those that may follow, at once or by and by, by their places. */
export interface Statuses {
  readonly all: ReadonlyArray<string>
  readonly later: ReadonlyArray<string>
}

export const statuses: Readonly<Record<"charge" | "payout", Statuses>> = {
  charge: {
    all: ["processing", "pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"],
    later: ["12345678", "2345678", "2678", "2678", "", "", "", "", "2678"]
  },
  payout: { all: ["pending", "processing", "completed", "failed", "canceled"], later: ["1234", "23", "", "", ""] }
}

/** The release of this package. */
export const version = "0.1.0"
