/** A delivery that this process holds the lease of, and the row that it is made of. */
import { deliveryBody } from "@pix-payments/domain/Event"
import type { DeliveryRow } from "./DeliveryStore.ts"

/** First attempts and retries are claimed apart. */
export type Lane = "first" | "repeated"

export interface Claimed {
  readonly id: string
  readonly event: string
  readonly accountId: string
  readonly endpointId: string | null
  /** The charge, payout or dispute that the event is about. */
  readonly resourceId: string
  readonly url: string
  /** The place that it takes, and the one that it was found at, which its endpoint may have left since. */
  readonly destination: string
  readonly foundAt: string
  readonly sealedSecret: string | null
  readonly attemptsMade: number
  /** How many of them came before the curve began again, at a resend. */
  readonly curveFrom: number
  readonly body: string
}

/** By what deliveries share places: an account, and the digest of an origin. */
export const placeOf = (accountId: string, destinationHash: string): string => `${accountId}/${destinationHash}`

export const accountOf = (place: string): string => place.slice(0, place.indexOf("/"))

/** The digest of the origin. */
export const originOf = (place: string): string => place.slice(place.indexOf("/") + 1)

/** Of rows that the previous release inserted. */
export const NO_DIGEST = "00000000-0000-0000-0000-000000000000"

/** Places as two parameters: the accounts and the digests, each as the text of an SQL array. */
export const placeParameters = (places: Iterable<string>): readonly [string, string] => {
  const accounts: Array<string> = []
  const hashes: Array<string> = []
  for (const place of places) {
    accounts.push(accountOf(place))
    hashes.push(originOf(place))
  }
  return [arrayOf(accounts), arrayOf(hashes)]
}

/** Ids as the text of an SQL array. */
export const arrayOf = (ids: Iterable<string>): string => `{${[...ids].join(",")}}`

export interface TakenRow {
  readonly id: string
  readonly status: DeliveryRow["status"]
  readonly event: string
  readonly account_id: string
  readonly endpoint_id: string | null
  readonly resource_id: string
  readonly url: string
  readonly destination_hash: string
  /** The destination that it was found at. */
  readonly found_hash: string
  readonly secret: string | null
  readonly attempts_made: number
  readonly curve_from: number
  readonly created_at: Date
  readonly sequence: number
  /** The resource, as the JSON text that was stored. */
  readonly data: string
}

export const toClaimed = (row: TakenRow): Claimed => ({
  id: row.id,
  event: row.event,
  accountId: row.account_id,
  endpointId: row.endpoint_id,
  resourceId: row.resource_id,
  url: row.url,
  destination: placeOf(row.account_id, row.destination_hash),
  foundAt: placeOf(row.account_id, row.found_hash),
  sealedSecret: row.secret,
  attemptsMade: row.attempts_made,
  curveFrom: row.curve_from,
  body: deliveryBody({
    deliveryId: row.id,
    name: row.event,
    createdAt: row.created_at.toISOString(),
    sequence: row.sequence,
    dataJson: row.data
  })
})
