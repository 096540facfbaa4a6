/** Deliveries as they are claimed and attempted, and the destinations that bound them. */
import { deliveryBody } from "@pix-payments/domain/Event"
import { eventJson } from "../../events/EventData.ts"
import { part, uuids } from "../../database/statements/Statement.ts"

export type DeliveryStatus = "scheduled" | "delivering" | "delivered" | "failed" | "canceled"

/** First attempts and retries are claimed separately. */
export type Lane = "first" | "retries"

/** A delivery that this process has leased. */
export interface ClaimedDelivery {
  readonly id: string
  readonly event: string
  readonly accountId: string
  readonly endpointId: string | null
  /** The charge, payout or dispute that the event is about. */
  readonly resourceId: string
  readonly url: string
  /** Where it is sent. */
  readonly destination: string
  /** Where it was stored when it was claimed: another destination if its endpoint's URL has changed since. */
  readonly previousDestination: string
  readonly sealedSecret: string | null
  readonly attemptsMade: number
  /** How many of them precede the last resend, which restarted the retry curve. */
  readonly curveFrom: number
  readonly body: string
  /** The `traceparent` of what made it due, in the trace of its charge or payout. */
  readonly trace: string | null
  /** What is stored once it has been sent. Undefined where it is stored already. */
  readonly unstored: UnstoredDelivery | undefined
}

/** A delivery that is sent before it is stored, while its change is leased (`LeasedChanges.ts`). */
export interface UnstoredDelivery {
  readonly changeId: string
  readonly applicationId: string | null
  /** The origin of its URL. */
  readonly origin: string
  /** The time of its change, in epoch milliseconds. */
  readonly createdAtMs: number
}

/** One attempt, as it is stored. */
export interface Attempt {
  readonly id: string
  readonly atMs: number
  readonly durationMs: number
  readonly address: string | null
  readonly statusCode: number | null
  readonly error: string | null
  readonly responseBody: string | null
}

export interface CompletedAttempt {
  readonly delivery: ClaimedDelivery
  readonly attempt: Attempt
  /** The delivery's next state: due again after `delayMs`, or final. */
  readonly outcome:
    | { readonly status: "delivered" | "failed" }
    | { readonly status: "scheduled"; readonly delayMs: number }
}

/** A claimed delivery as statements return it. */
export interface ClaimedRow {
  readonly id: string
  readonly status: DeliveryStatus
  readonly event: string
  readonly account_id: string
  readonly endpoint_id: string | null
  readonly resource_id: string
  readonly url: string
  readonly destination_hash: string
  /** The digest before the claim. */
  readonly previous_hash: string
  readonly secret: string | null
  readonly attempts_made: number
  readonly curve_from: number
  readonly created_at: Date
  readonly sequence: number
  /** The resource, as `eventData` selects it. */
  readonly data: string
  readonly trace: string | null
}

export const toClaimedDelivery = (row: ClaimedRow, unstored?: UnstoredDelivery): ClaimedDelivery => ({
  id: row.id,
  event: row.event,
  accountId: row.account_id,
  endpointId: row.endpoint_id,
  resourceId: row.resource_id,
  url: row.url,
  destination: destinationKey(row.account_id, row.destination_hash),
  previousDestination: destinationKey(row.account_id, row.previous_hash),
  sealedSecret: row.secret,
  attemptsMade: row.attempts_made,
  curveFrom: row.curve_from,
  body: deliveryBody({
    deliveryId: row.id,
    name: row.event,
    createdAt: row.created_at.toISOString(),
    sequence: row.sequence,
    dataJson: eventJson(row.data)
  }),
  trace: row.trace,
  unstored
})

/** Identifies a destination: an account and the digest of a receiver's origin. Its deliveries share a limit. */
export const destinationKey = (accountId: string, originDigest: string): string => `${accountId}/${originDigest}`

/** The same key of a row that has both columns. */
export const DESTINATION_KEY = "account_id || '/' || destination_hash"

export const accountOf = (destination: string): string => destination.slice(0, destination.indexOf("/"))

/** The digest of the origin. */
export const originOf = (destination: string): string => destination.slice(destination.indexOf("/") + 1)

/** Destinations as part of a statement: a table function of account ids and origin digests. */
export const destinations = part(
  { accounts: uuids, origins: uuids },
  (p) => `unnest(${p.accounts}, ${p.origins})`,
  (keys: ReadonlyArray<string>) => ({ accounts: keys.map(accountOf), origins: keys.map(originOf) })
)
