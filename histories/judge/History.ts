/**
 * What callers, receivers and the bank saw: the only thing that is judged.
 *
 * Times are milliseconds of one monotonic clock, that of the process which watches. A call without `answeredAt` was not
 * answered: it may have happened, at any time since `calledAt`.
 */
export type Fields = Readonly<Record<string, unknown>>

export interface History {
  readonly setup: Setup
  readonly calls: ReadonlyArray<Call>
  readonly facts: ReadonlyArray<Fact>
  readonly deliveries: ReadonlyArray<Delivery>
  /** What the nemesis did, for people. */
  readonly faults: ReadonlyArray<{ readonly at: number; readonly what: string }>
}

interface Setup {
  readonly seed: number
  readonly accounts: ReadonlyArray<AccountSetup>
  readonly endpoints: ReadonlyArray<Endpoint>
  /** Whether clocks of processes were shifted: ids then follow no one clock. */
  readonly clocksShifted: boolean
  /** Since when all was at rest, so that nothing may be open any more; undefined where it never came to rest. */
  readonly restedAt: number | undefined
}

export interface AccountSetup {
  readonly id: string
  readonly feeFixed: number
  readonly feeBasisPoints: number
  readonly releaseDelayMs: number
}

export interface Endpoint {
  readonly id: string
  readonly account: string
  /** The path at the receivers that stands for it. */
  readonly path: string
  readonly secret: string
  readonly events: ReadonlyArray<string>
}

type Operation =
  | "charge.create"
  | "payout.create"
  | "charge.get"
  | "payout.get"
  | "charge.list"
  | "payout.list"
  | "balance.get"
  | "payout.approve"
  | "payout.cancel"
  | "charge.refund"
  | "exception.accept"
  | "events.page"
  | "ledger.verify"

export interface Call {
  readonly op: Operation
  readonly caller: string
  readonly server: number
  /** Its account; empty for calls about the whole installation. */
  readonly account: string
  /** The id in the path. */
  readonly subject?: string
  readonly key?: string
  readonly request?: Fields
  /** Of the pages that one caller reads one after the other: a walk, and where it is. */
  readonly walk?: string
  readonly after?: string
  readonly calledAt: number
  readonly answeredAt?: number
  readonly status?: number
  readonly replayed?: boolean
  readonly body?: Fields
}

/** What the bank did: `subject` is the charge that was paid, or the Pix key of a payout. */
export interface Fact {
  readonly at: number
  readonly what:
    | "paid"
    | "paid-again"
    | "payout-sent"
    | "payout-done"
    | "payout-failed"
    | "return-done"
    | "return-failed"
    | "med-opened"
    | "med-won"
    | "med-lost"
  readonly account: string
  readonly subject: string
  readonly cents: number
  /** The bank's id of the payment, return or payout. */
  readonly id: string
}

export interface Delivery {
  readonly at: number
  readonly path: string
  /** `X-Webhook-Delivery`. */
  readonly id: string
  readonly signature: string | undefined
  readonly bytes: string
  /** The status that the receiver answered; undefined where it cut the connection. */
  readonly answered: number | undefined
}

export interface Conviction {
  /** Of docs/contract.md or docs/operator-api.md. */
  readonly rule: string
  /** The key, account, list or event that it is about. */
  readonly subject: string
  readonly says: string
  /** What a person should look at, in any order. */
  readonly spans: ReadonlyArray<Span>
}

export interface Span {
  readonly label: string
  readonly from: number
  /** Undefined: without an answer, or an end. */
  readonly to: number | undefined
  readonly isCulprit?: boolean
}

export const textOf = (fields: Fields | undefined, name: string): string => {
  const value = fields?.[name]
  return typeof value === "string" ? value : ""
}

export const numberOf = (fields: Fields | undefined, name: string): number => {
  const value = fields?.[name]
  return typeof value === "number" ? value : Number.NaN
}

export const rowsOf = (fields: Fields | undefined, name = "data"): ReadonlyArray<Fields> => {
  const value = fields?.[name]
  return Array.isArray(value) ? (value as ReadonlyArray<Fields>) : []
}

export const spanOf = (call: Call, isCulprit = false): Span => {
  const answer = call.status === undefined ? "no answer" : String(call.status)
  const state = textOf(call.body, "status") || textOf(call.body, "code")
  const available = numberOf(call.body, "available")
  const amount = numberOf(call.request, "amount")
  const label = [
    call.caller,
    call.op,
    call.key ?? call.subject ?? "",
    Number.isNaN(amount) ? "" : `amount=${amount}`,
    `-> ${answer}`,
    call.replayed === true ? "replayed" : "",
    state,
    Number.isNaN(available) ? "" : `available=${available}`,
    `@${call.server}`
  ]
  return {
    label: label.filter((part) => part !== "").join(" "),
    from: call.calledAt,
    to: call.answeredAt,
    isCulprit
  }
}
