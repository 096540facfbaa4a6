/** Every time that somebody saw a resource, and in which state: in answers, lists, events and deliveries. */
import { type Call, type Fields, type History, numberOf, rowsOf, textOf } from "./History.ts"

export interface Sighting {
  readonly id: string
  readonly kind: "charge" | "payout"
  readonly account: string
  readonly status: string
  readonly sequence: number
  readonly fields: Fields
  readonly from: number
  readonly to: number
  /** Whether it is the state at some moment between `from` and `to`. An event shows an older one. */
  readonly isCurrent: boolean
  readonly by: string
  /** How many events the stream has before it; of an event only. */
  readonly place?: number
}

export type Sightings = ReadonlyMap<string, ReadonlyArray<Sighting>>

export const sightingsOf = ({ calls, deliveries }: History): Sightings => {
  const found = new Map<string, Array<Sighting>>()
  const see = (fields: Fields, rest: Omit<Sighting, "id" | "kind" | "status" | "sequence" | "fields">) => {
    const id = textOf(fields, "id")
    const kind = kindOf(fields)
    if (id === "" || kind === undefined) return
    const one = { id, kind, status: textOf(fields, "status"), sequence: numberOf(fields, "sequence"), fields, ...rest }
    const before = found.get(id)
    if (before === undefined) found.set(id, [one])
    else before.push(one)
  }
  const places = new Map<string, number>()
  for (const call of calls) {
    if (call.answeredAt === undefined || call.status === undefined || call.status >= 300) continue
    const seen = {
      account: call.account,
      from: call.calledAt,
      to: call.answeredAt,
      isCurrent: true,
      by: `${call.caller} ${call.op}`
    }
    for (const fields of resourcesIn(call)) see(fields, seen)
    if (call.op === "events.page") {
      for (const envelope of rowsOf(call.body).map(dataOf)) {
        const place = places.get(call.caller) ?? 0
        places.set(call.caller, place + 1)
        see(dataOf(envelope), {
          ...seen,
          account: "",
          isCurrent: false,
          place,
          by: `${call.caller} ${textOf(envelope, "event")}`
        })
      }
    }
  }
  for (const { at, bytes, path } of deliveries) {
    const envelope = parsed(bytes)
    const by = `delivery ${path} ${textOf(envelope, "event")}`
    see(dataOf(envelope), { account: "", from: at, to: at, isCurrent: false, by })
  }
  return found
}

/** The resources that an answer shows as they are. */
const resourcesIn = (call: Call): ReadonlyArray<Fields> => {
  if (call.body === undefined) return []
  if (call.op === "charge.list" || call.op === "payout.list") return rowsOf(call.body)
  return [call.body]
}

/** The data of an envelope; of an event of the stream, its envelope. */
export const dataOf = (envelope: Fields | undefined): Fields => {
  const data = envelope?.["data"]
  return typeof data === "object" && data !== null ? (data as Fields) : {}
}

export const parsed = (bytes: string): Fields | undefined => {
  try {
    return JSON.parse(bytes) as Fields
  } catch {
    return undefined
  }
}

const kindOf = (fields: Fields): Sighting["kind"] | undefined => {
  const object = textOf(fields, "object")
  if (object === "charge") return "charge"
  return object === "payout" || object === "payment" ? "payout" : undefined
}
