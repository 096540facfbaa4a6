/**
 * The stream of events as its readers saw it: each event once, each reader the same ones in the same order, those of one resource in
 * the order of its changes, and an event for each state that somebody saw (OPR-100 to OPR-103, EVT-5, CHG-2, PAY-4).
 */
import { type Conviction, type Fields, type History, numberOf, rowsOf, textOf } from "./History.ts"
import { dataOf, type Sightings } from "./Sightings.ts"

export const judgeEvents = ({ calls, setup }: History, sightings: Sightings): ReadonlyArray<Conviction> => {
  const convictions: Array<Conviction> = []
  const convict = (rule: string, subject: string, says: string, spans: Conviction["spans"] = []) =>
    convictions.push({ rule, subject, says, spans })
  const pages = calls.filter(({ op, status }) => op === "events.page" && status === 200)
  const readers = [...Map.groupBy(pages, ({ caller }) => caller)].map(([reader, ofReader]) => ({
    reader,
    events: ofReader.flatMap(({ body }) => rowsOf(body))
  }))

  const contents = new Map<string, string>()
  for (const { events, reader } of readers) {
    const seen = new Set<string>()
    const sequences = new Map<string, number>()
    const states = new Set<string>()
    for (const event of events) {
      const id = textOf(event, "id")
      const envelope = dataOf(event)
      const data = dataOf(envelope)
      const resource = textOf(data, "id")
      if (seen.has(id)) convict("OPR-102", `reader ${reader}`, `the event ${id} came twice`)
      seen.add(id)
      const state = `${textOf(envelope, "event")} ${resource} ${numberOf(data, "sequence")}`
      if (states.has(state) && !state.includes(".message"))
        convict("EVT-5", `reader ${reader}`, `two events say the same: ${state}`)
      states.add(state)
      const sequence = numberOf(data, "sequence")
      if (sequence < (sequences.get(resource) ?? 0)) {
        convict(
          "OPR-103",
          `resource ${resource}`,
          `reader ${reader} got sequence ${sequence} after ${sequences.get(resource)}`
        )
      }
      sequences.set(resource, sequence)
      const content = JSON.stringify(event)
      if ((contents.get(id) ?? content) !== content)
        convict("OPR-101", `event ${id}`, "two readers got different events under one id")
      contents.set(id, content)
    }
  }

  const [first, ...others] = readers
  for (const { events, reader } of others) {
    const at = disagreement(first!.events, events)
    if (at !== undefined) convict("OPR-102, OPR-103", `readers ${first!.reader} and ${reader}`, at)
  }
  if (first === undefined || setup.restedAt === undefined) return convictions
  const names = new Set(
    first.events.map(dataOf).map((event) => `${textOf(event, "event")} ${textOf(dataOf(event), "id")}`)
  )
  for (const [name, id] of owed(sightings)) {
    if (!names.has(`${name} ${id}`))
      convict("OPR-100, OPR-102", `event ${name} of ${id}`, "the state was seen, and no event of it came")
  }
  return convictions
}

/** Where two readers, which both began at the beginning, got something else. */
const disagreement = (one: ReadonlyArray<Fields>, other: ReadonlyArray<Fields>): string | undefined => {
  for (let index = 0; index < Math.min(one.length, other.length); index++) {
    const a = textOf(one[index], "id")
    const b = textOf(other[index], "id")
    if (a !== b) return `event ${index} is ${a} for one of them, and ${b} for the other`
  }
  return one.length === other.length ? undefined : `one of them got ${one.length} events, the other ${other.length}`
}

/** The event that a state is announced with. */
export const EVENT_OF: Readonly<Record<string, ReadonlyArray<string>>> = {
  "charge pending": ["charge.pix.created", "charge.pix.emitted"],
  "charge expired": ["charge.pix.created", "charge.pix.emitted"],
  "charge paid": ["charge.pix.created", "charge.pix.paid"],
  "charge failed": ["charge.pix.failed"],
  "charge refunded": ["charge.pix.refunded"],
  "charge infraction": ["charge.pix.infraction"],
  "charge charged_back": ["charge.pix.charged_back"],
  "payout pending": ["payment.pix.created"],
  "payout processing": ["payment.pix.created", "payment.pix.processing"],
  "payout completed": ["payment.pix.created", "payment.pix.completed"],
  "payout failed": ["payment.pix.created", "payment.pix.failed"],
  "payout canceled": ["payment.pix.created", "payment.pix.canceled"]
}

const owed = (sightings: Sightings): ReadonlySet<readonly [string, string]> =>
  new Set(
    [...sightings].flatMap(([id, seen]) => {
      const names = new Set(seen.flatMap(({ kind, status }) => EVENT_OF[`${kind} ${status}`] ?? []))
      return [...names].map((name) => [name, id] as const)
    })
  )
