/** Single answers: no 500, none that never comes, and no unknown resource that exists (ERR-9, ERR-11, CHG-19, PAY-19). */
import { type Conviction, type History, spanOf, textOf } from "./History.ts"

/** A call that takes longer hangs; `ERR-9` promises an end. */
const HANGING_MS = 60_000

export const judgeAnswers = ({ calls }: History): ReadonlyArray<Conviction> => {
  const convictions: Array<Conviction> = []
  const knownAt = new Map<string, number>()
  for (const { answeredAt, body, op, status } of calls) {
    if (status !== 201 || (op !== "charge.create" && op !== "payout.create")) continue
    const id = textOf(body, "id")
    knownAt.set(id, Math.min(knownAt.get(id) ?? Infinity, answeredAt!))
  }
  for (const call of calls) {
    const convict = (rule: string, says: string) =>
      convictions.push({ rule, subject: `${call.op} by ${call.caller}`, says, spans: [spanOf(call, true)] })
    if (call.status === 500) convict("ERR-11", `answered 500 ${textOf(call.body, "message")}`)
    if (call.answeredAt !== undefined && call.answeredAt - call.calledAt > HANGING_MS) {
      convict("ERR-9", `answered after ${Math.round((call.answeredAt - call.calledAt) / 1000)} s`)
    }
    const isRead = call.op === "charge.get" || call.op === "payout.get"
    if (isRead && call.status === 404 && (knownAt.get(call.subject ?? "") ?? Infinity) < call.calledAt) {
      convict(
        call.op === "charge.get" ? "CHG-19" : "PAY-19",
        `${call.subject} was answered 201 before, and is unknown now`
      )
    }
  }
  return convictions
}
