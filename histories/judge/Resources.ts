/** Each charge and payout as a register: reads never go back, and states follow the transitions (ADD-1, CHG-7, PAY-4, PAY-5). */
import { type Conviction, type History, type Span, textOf } from "./History.ts"
import type { Sighting, Sightings } from "./Sightings.ts"

const CHARGE: Readonly<Record<string, ReadonlyArray<string>>> = {
  processing: ["pending", "failed"],
  pending: ["paid", "canceled", "failed", "expired"],
  expired: ["paid", "pending"],
  paid: ["refunded", "infraction", "charged_back"],
  infraction: ["paid", "charged_back", "refunded"]
}

const PAYOUT: Readonly<Record<string, ReadonlyArray<string>>> = {
  pending: ["processing", "canceled"],
  processing: ["completed", "failed"]
}

export const judgeResources = ({ setup }: History, sightings: Sightings): ReadonlyArray<Conviction> => {
  const convictions: Array<Conviction> = []
  const accounts = new Map<string, string>()
  for (const [id, seen] of sightings) {
    const { kind } = seen[0]!
    const convict = (rule: string, says: string, culprits: ReadonlyArray<Sighting>) =>
      convictions.push({
        rule,
        subject: `${kind} ${id}`,
        says,
        spans: seen.map((one) => spanOf(one, culprits.includes(one)))
      })

    for (const { account } of seen) {
      if (account === "") continue
      const first = accounts.get(id) ?? account
      accounts.set(id, first)
      if (first !== account) convict("API-9", `seen by account ${account}, and of account ${first}`, seen)
    }

    let latest: Sighting | undefined
    for (const one of seen.filter(({ isCurrent }) => isCurrent).toSorted((a, b) => a.from - b.from)) {
      const older = newestBefore(seen, one.from)
      if (older !== undefined && older.sequence > one.sequence) {
        convict("ADD-1", `a read shows sequence ${one.sequence} after another one had shown ${older.sequence}`, [
          older,
          one
        ])
        break
      }
      latest = one
    }

    const bySequence = [...Map.groupBy(seen, ({ sequence }) => sequence)].toSorted(([a], [b]) => a - b)
    for (const [sequence, same] of bySequence) {
      const states = new Set(same.map(({ status }) => (status === "expired" ? "pending" : status)))
      if (states.size > 1) convict("ADD-1", `sequence ${sequence} has the states ${[...states].join(", ")}`, same)
    }
    const allowed = kind === "charge" ? CHARGE : PAYOUT
    for (let index = 1; index < bySequence.length; index++) {
      const [before, earlier] = bySequence[index - 1]!
      const [after, later] = bySequence[index]!
      const from = earlier[0]!.status
      const to = later[0]!.status
      if (!reaches(allowed, from, to, after - before)) {
        convict(kind === "charge" ? "CHG-7" : "PAY-4", `${from} became ${to} from sequence ${before} to ${after}`, [
          ...earlier,
          ...later
        ])
      }
    }

    if (latest === undefined) continue
    if (kind === "payout" && latest.status === "completed" && textOf(latest.fields, "end_to_end_id") === "") {
      convict("PAY-5", "completed without an end_to_end_id", [latest])
    }
    if (latest.from >= (setup.restedAt ?? Infinity) && latest.status === "processing") {
      convict(kind === "charge" ? "CHG-4" : "PAY-6", "still processing at the end, when all had come to rest", [latest])
    }
  }
  return convictions
}

/** Of the reads that had ended, the one with the highest sequence. */
const newestBefore = (seen: ReadonlyArray<Sighting>, at: number): Sighting | undefined =>
  seen
    .filter(({ to }) => to < at)
    .reduce<Sighting | undefined>(
      (best, one) => (best === undefined || one.sequence > best.sequence ? one : best),
      undefined
    )

/** Whether a state is reached in this many transitions at most; a change may keep its state. */
const reaches = (
  allowed: Readonly<Record<string, ReadonlyArray<string>>>,
  from: string,
  to: string,
  within: number
): boolean => {
  const reached = new Set([from])
  for (let steps = 0; steps < Math.min(within, 8) && !reached.has(to); steps++) {
    for (const state of Array.from(reached)) for (const next of allowed[state] ?? []) reached.add(next)
    // `expired` is derived: it is one with `pending`.
    if (reached.has("pending")) reached.add("expired")
    if (reached.has("expired")) reached.add("pending")
  }
  return reached.has(to)
}

const spanOf = ({ by, from, sequence, status, to }: Sighting, isCulprit: boolean): Span => ({
  label: `${by} ${status} sequence=${sequence}`,
  from,
  to,
  isCulprit
})
