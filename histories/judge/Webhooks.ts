/** Deliveries as receivers got them: at least once, the same bytes under one id, signed (DLV-2, DLV-4, DLV-10, EVT-7, EVT-8, SIG-1). */
import { createHmac } from "node:crypto"
import { type Conviction, type Delivery, type Endpoint, type History, numberOf, textOf } from "./History.ts"
import { dataOf, parsed, type Sightings } from "./Sightings.ts"
import { EVENT_OF } from "./Events.ts"

/** In the catalog, and not dispatched yet (EVT-13). */
const NOT_DISPATCHED = new Set(["payment.pix.completed", "charge.pix.expired"])

export const judgeWebhooks = ({ deliveries, setup }: History, sightings: Sightings): ReadonlyArray<Conviction> => {
  const convictions: Array<Conviction> = []
  const convict = (rule: string, subject: string, says: string, of: ReadonlyArray<Delivery>) =>
    convictions.push({
      rule,
      subject,
      says,
      spans: of.map(({ answered, at, id, path }) => ({
        label: `${path} ${id} -> ${answered ?? "cut"}`,
        from: at,
        to: at
      }))
    })
  const endpoints = new Map(setup.endpoints.map((endpoint) => [endpoint.path, endpoint]))
  const accepted = new Set<string>()
  const ids = new Map<string, string>()
  for (const [id, attempts] of Map.groupBy(deliveries, (delivery) => delivery.id)) {
    const { bytes, path } = attempts[0]!
    const envelope = parsed(bytes)
    const data = dataOf(envelope)
    if (attempts.some((attempt) => attempt.bytes !== bytes))
      convict("DLV-4", `delivery ${id}`, "two attempts sent different bytes", attempts)
    if (attempts.some((attempt) => attempt.path !== path))
      convict("DLV-5", `delivery ${id}`, "it went to two destinations", attempts)
    if (textOf(envelope, "id") !== id)
      convict("EVT-4", `delivery ${id}`, `its envelope has the id ${textOf(envelope, "id")}`, attempts)
    const event = `${path} ${textOf(envelope, "event")} ${textOf(data, "id")} ${numberOf(data, "sequence")}`
    const other = ids.get(event)
    if (other !== undefined)
      convict("DLV-10", event, `the deliveries ${other} and ${id} are of one event and destination`, attempts)
    ids.set(event, id)
    const endpoint = endpoints.get(path)
    const unsigned = attempts.filter(
      (attempt) => endpoint === undefined || attempt.signature !== signatureOf(endpoint, attempt.bytes)
    )
    if (unsigned.length > 0) convict("SIG-1", `delivery ${id}`, "its signature is not that of its endpoint", unsigned)
    if (attempts.some(({ answered }) => answered !== undefined && answered >= 200 && answered < 300)) {
      accepted.add(`${path} ${textOf(envelope, "event")} ${textOf(data, "id")}`)
    }
  }
  if (setup.restedAt === undefined) return convictions
  for (const [id, seen] of sightings) {
    const account = seen.find((one) => one.account !== "")?.account
    const names = new Set(seen.flatMap(({ kind, status }) => EVENT_OF[`${kind} ${status}`] ?? []))
    for (const { account: owner, events, path } of setup.endpoints) {
      if (owner !== account) continue
      for (const name of names) {
        if (NOT_DISPATCHED.has(name) || !events.includes(name) || accepted.has(`${path} ${name} ${id}`)) continue
        convict("DLV-2, EVT-8", `${name} of ${id}`, `${path} never took it`, [])
      }
    }
  }
  return convictions
}

export const signatureOf = ({ secret }: Pick<Endpoint, "secret">, bytes: string): string =>
  `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`
