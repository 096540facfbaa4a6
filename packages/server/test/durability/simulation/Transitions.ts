/** The tables of transitions of `domain`, as the moves of stored rows and as their events. */
import { chargeTransitions } from "@pix-payments/domain/Charge"
import { disputeTransitions } from "@pix-payments/domain/Dispute"
import { payoutTransitions } from "@pix-payments/domain/Payout"

/** A charge that is `expired` is stored as `pending`. */
const stored = (state: string) => (state === "expired" ? "pending" : state)

const tables = [
  { kind: "charges", name: "charge", transitions: chargeTransitions },
  { kind: "payouts", name: "payment", transitions: payoutTransitions },
  { kind: "disputes", name: "dispute", transitions: disputeTransitions }
] as const

/** Every move that the tables know, and how a resource begins. */
export const allowedMoves: ReadonlySet<string> = new Set([
  "charges ->processing",
  "payouts ->pending",
  "payouts ->processing",
  "disputes ->open",
  "disputes ->lost",
  ...tables.flatMap(({ kind, transitions }) =>
    transitions.flatMap(({ from, to }) => from.map((state) => `${kind} ${stored(state)}>${to}`))
  )
])

/** The events of each transition. */
export const eventsOf = new Map<string, Array<string>>([
  ["payment ->pending", ["created"]],
  ["payment ->processing", ["created processing"]],
  ["dispute ->open", ["opened"]],
  ["dispute ->lost", ["lost"]]
])
for (const { name, transitions } of tables) {
  for (const { events, from, to } of transitions) {
    for (const state of from) {
      const step = `${name} ${stored(state)}>${to}`
      eventsOf.set(step, [...(eventsOf.get(step) ?? []), events.join(" ")])
    }
  }
}
