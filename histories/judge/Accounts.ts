/**
 * The money of an account as one order of what happened: PAY-1, PAY-2, PAY-5, BAL-1, BAL-2, BAL-4, BAL-5, CHG-26, DSP-1, DSP-3.
 *
 * Each payout, payment, refund, dispute, release and read of the balance is a step with the time in which it may have happened.
 * The account is right if the steps have an order that fits these times, in which each read shows the sum, and no payout or
 * refund takes what is not there.
 */
import {
  type AccountSetup,
  type Call,
  type Conviction,
  type Fact,
  type History,
  numberOf,
  spanOf,
  textOf
} from "./History.ts"
import { type BalanceRead, beyondBounds, type BeyondBounds } from "./Bounds.ts"
import { order, sorted } from "./Search.ts"
import type { Sighting, Sightings } from "./Sightings.ts"
import type { Step } from "./Step.ts"

export interface AccountsVerdict {
  readonly convictions: ReadonlyArray<Conviction>
  /** Accounts whose search reached its bound. */
  readonly undecided: ReadonlyArray<string>
  readonly steps: number
}

export const judgeAccounts = (history: History, sightings: Sightings): AccountsVerdict => {
  const convictions: Array<Conviction> = []
  const undecided: Array<string> = []
  let count = 0
  const calls = Map.groupBy(history.calls, ({ account }) => account)
  const facts = Map.groupBy(history.facts, ({ account }) => account)
  for (const account of history.setup.accounts) {
    const own = calls.get(account.id) ?? []
    const reads = own.filter((call) => call.op === "balance.get" && call.status === 200).map(readOf)
    const moves = stepsOf(account, own, facts.get(account.id) ?? [], sightings, history)
    count += reads.length + moves.length
    const beyond = beyondBounds(reads, moves)
    if (beyond !== undefined) {
      convictions.push(convictionOf(account, beyond))
      continue
    }
    const verdict = order(sorted([...reads, ...moves]))
    if (verdict._tag === "Undecided") undecided.push(account.id)
    if (verdict._tag !== "Impossible") continue
    const { available, last, open, ordered, pending, stuck } = verdict
    convictions.push({
      rule: "BAL-1, BAL-4, PAY-1, PAY-2",
      subject: `account ${account.id}`,
      says:
        `no order explains "${stuck.label}": after the longest one, of ${ordered} steps, ` +
        `available is ${available} and pending ${pending}; ${open.length} more were open beside it`,
      spans: [
        { label: stuck.label, from: stuck.from, to: endOf(stuck), isCulprit: true },
        ...open.slice(0, 30).map(spanOfStep),
        ...last.map(spanOfStep)
      ]
    })
  }
  return { convictions, undecided, steps: count }
}

const convictionOf = ({ id }: AccountSetup, { least, most, open, part, read }: BeyondBounds): Conviction => ({
  rule: "BAL-1, BAL-2, BAL-3",
  subject: `account ${id}`,
  says:
    `"${read.label}" shows ${part} ${read.shown[part]}, which can only be between ${least} and ${most}, ` +
    "by what surely happened before it and what may have happened by then",
  spans: [{ ...spanOfStep(read), isCulprit: true }, ...open.slice(0, 30).map(spanOfStep)]
})

const spanOfStep = (step: Step) => ({ label: step.label, from: step.from, to: endOf(step) })

const endOf = ({ to }: Step): number | undefined => (to === Infinity ? undefined : to)

const stepsOf = (
  account: AccountSetup,
  calls: ReadonlyArray<Call>,
  facts: ReadonlyArray<Fact>,
  sightings: Sightings,
  { setup }: History
): ReadonlyArray<Step> => [
  ...groups(calls, "payout.create").flatMap((attempts) =>
    payoutSteps(account, attempts, calls, facts, sightings, setup.restedAt !== undefined)
  ),
  ...groups(calls, "charge.refund").flatMap((attempts) => refundSteps(attempts, facts, setup.restedAt !== undefined)),
  ...groups(calls, "exception.accept").flatMap(acceptSteps),
  ...facts.flatMap((fact) =>
    paymentSteps(account, fact, sightings.get(fact.subject) ?? [], setup.restedAt !== undefined)
  )
]

/** Calls of one operation by their idempotency key. */
const groups = (calls: ReadonlyArray<Call>, op: Call["op"]): ReadonlyArray<ReadonlyArray<Call>> => [
  ...Map.groupBy(
    calls.filter((call) => call.op === op),
    ({ key }) => key ?? ""
  ).values()
]

const readOf = (call: Call): BalanceRead => {
  const shown = { available: numberOf(call.body, "available"), pending: numberOf(call.body, "pending") }
  return {
    ...step(spanOf(call).label, call.calledAt, call.answeredAt!, 0),
    shown,
    allows: (available, pending) => available === shown.available && pending === shown.pending
  }
}

export const feeOf = ({ feeBasisPoints, feeFixed }: AccountSetup, amount: number): number =>
  feeFixed + Math.floor((amount * feeBasisPoints + 5000) / 10_000)

const payoutSteps = (
  account: AccountSetup,
  attempts: ReadonlyArray<Call>,
  calls: ReadonlyArray<Call>,
  facts: ReadonlyArray<Fact>,
  sightings: Sightings,
  rested: boolean
): ReadonlyArray<Step> => {
  const amount = numberOf(attempts[0]!.request, "amount")
  const cost = amount + feeOf(account, amount)
  const steps: Array<Step> = attempts
    .filter(({ body, status }) => status === 400 && textOf(body, "code") === "INSUFFICIENT_BALANCE")
    .map((call) => ({
      ...step(spanOf(call).label, call.calledAt, call.answeredAt!, 0),
      allows: (available) => available < cost
    }))
  const answered = attempts.filter(({ status }) => status === 201)
  const id = textOf(answered[0]?.body, "id") || idOf(textOf(attempts[0]!.request, "reference"), sightings)
  const seen = sightings.get(id) ?? []
  const from = Math.min(...attempts.map(({ calledAt }) => calledAt))
  const definite = Math.min(...answered.map(({ answeredAt }) => answeredAt!), ...seen.map(({ to }) => to))
  if (answered.length === 0 && attempts.every(({ status }) => status !== undefined && status < 500)) return steps
  // At rest everything was listed: what nobody saw never happened.
  if (rested && answered.length === 0 && seen.length === 0) return steps
  const label = `payout ${textOf(attempts[0]!.request, "pix_key")} −${cost}`
  steps.push({
    ...step(label, from, definite, -cost),
    ...placeOf(seen),
    allows: (available) => available >= cost,
    isOptional: answered.length === 0 && seen.length === 0
  })
  const ended = seen.filter(({ status }) => status === "failed" || status === "canceled")
  const isDone = rested || seen.some(({ status }) => status === "completed")
  if (ended.length === 0 && isDone) return steps
  const pixKey = textOf(attempts[0]!.request, "pix_key")
  const failedAt = facts.find(({ subject, what }) => what === "payout-failed" && subject === pixKey)?.at
  const canceledAt = calls.find(({ op, subject }) => op === "payout.cancel" && subject === id)?.calledAt
  // Nobody may have seen yet how it ended.
  const how = ended[0]?.status ?? "failed or canceled"
  const first = Math.min(failedAt ?? Infinity, canceledAt ?? Infinity)
  if (ended.length === 0 && first === Infinity) return steps
  const cause = how === "canceled" ? canceledAt : how === "failed" ? failedAt : first
  steps.push({
    needs: label,
    ...step(
      `payout ${pixKey} ${how} +${cost}`,
      Math.max(from, cause ?? from, lastBefore(seen, ended)),
      firstOf(ended),
      cost
    ),
    ...placeOf(ended),
    isOptional: ended.length === 0
  })
  return steps
}

/** The payout of a reference, where nobody was answered with it. */
const idOf = (reference: string, sightings: Sightings): string => {
  if (reference === "") return ""
  for (const [id, seen] of sightings) if (textOf(seen[0]!.fields, "reference") === reference) return id
  return ""
}

/** A refund's money leaves with its order, and is back where the bank refuses it. */
const refundSteps = (
  attempts: ReadonlyArray<Call>,
  facts: ReadonlyArray<Fact>,
  rested: boolean
): ReadonlyArray<Step> => {
  const { key = "", request } = attempts[0]!
  const amount = numberOf(request, "amount")
  const steps: Array<Step> = attempts
    .filter(({ body, status }) => status === 400 && textOf(body, "code") === "INSUFFICIENT_BALANCE")
    .map((call) => ({
      ...step(spanOf(call).label, call.calledAt, call.answeredAt!, 0),
      allows: (available) => available < amount
    }))
  const from = Math.min(...attempts.map(({ calledAt }) => calledAt))
  const answers = attempts.filter(({ status }) => status === 200 || status === 422)
  const fateOf = (fate: Fact["what"]) =>
    facts.find(({ cents, subject, what }) => what === fate && subject === attempts[0]!.subject && cents === amount)
  const failed = fateOf("return-failed")
  // The bank has the order of a refund that took the money before.
  const sentBefore = failed?.at ?? fateOf("return-done")?.at ?? Infinity
  const definite = Math.min(sentBefore, ...answers.map(({ answeredAt }) => answeredAt!))
  if (definite === Infinity && attempts.every(({ status }) => status !== undefined && status < 500)) return steps
  // At rest the bank has every order.
  if (definite === Infinity && rested) return steps
  steps.push({
    ...step(`refund ${key} −${amount}`, from, definite, -amount),
    allows: (available) => available >= amount,
    isOptional: definite === Infinity
  })
  const refused = answers.find(({ status }) => status === 422)
  if (failed !== undefined || refused !== undefined) {
    const to = refused?.answeredAt ?? Infinity
    const at = Math.max(from, Math.min(failed?.at ?? from, to))
    steps.push({ ...step(`refund ${key} failed +${amount}`, at, to, amount), needs: `refund ${key} −${amount}` })
  }
  return steps
}

const acceptSteps = (attempts: ReadonlyArray<Call>): ReadonlyArray<Step> => {
  const { key = "", request } = attempts[0]!
  const amount = numberOf(request, "amount")
  const answers = attempts.filter(({ status }) => status === 200)
  const from = Math.min(...attempts.map(({ calledAt }) => calledAt))
  if (answers.length === 0 && attempts.every(({ status }) => status !== undefined && status < 500)) return []
  return [
    {
      ...step(`accept ${key} +${amount}`, from, Math.min(...answers.map(({ answeredAt }) => answeredAt!)), amount),
      isOptional: answers.length === 0
    }
  ]
}

const PAID = new Set(["paid", "refunded", "infraction", "charged_back"])

const paymentSteps = (
  account: AccountSetup,
  fact: Fact,
  seen: ReadonlyArray<Sighting>,
  rested: boolean
): ReadonlyArray<Step> => {
  const { at, cents, subject, what } = fact
  const isOptional = !rested
  if (what === "paid") {
    const paid = seen.filter(({ status }) => PAID.has(status))
    const from = Math.max(at, lastBefore(seen, paid))
    const to = firstOf(paid)
    const label = `charge ${subject} paid +${cents}`
    if (account.releaseDelayMs === 0) return [{ ...step(label, from, to, cents), ...placeOf(paid), isOptional }]
    return [
      { ...step(label, from, to, 0, cents), ...placeOf(paid), isOptional },
      {
        needs: label,
        ...step(`charge ${subject} released +${cents}`, at + account.releaseDelayMs, Infinity, cents, -cents),
        ...placeOf(paid),
        allows: (_, pending) => pending >= cents,
        isOptional
      }
    ]
  }
  if (what === "med-opened") {
    const contested = seen.filter(({ status }) => status === "infraction" || status === "charged_back")
    return [
      {
        ...step(`MED ${subject} −${cents}`, at, firstOf(contested), -cents),
        ...placeOf(contested),
        needs: `charge ${subject} paid +${cents}`,
        isOptional
      }
    ]
  }
  if (what === "med-won") {
    const contested = seen.findLast(({ status }) => status === "infraction")
    const again = seen.filter(
      ({ sequence, status }) => status === "paid" && sequence > (contested?.sequence ?? Infinity)
    )
    return [
      {
        ...step(`MED ${subject} won +${cents}`, at, firstOf(again), cents),
        ...placeOf(again),
        needs: `MED ${subject} −${cents}`,
        isOptional
      }
    ]
  }
  return []
}

const always = () => true

const step = (label: string, from: number, to: number, available: number, pending = 0): Step => ({
  label,
  from,
  to,
  available,
  pending,
  allows: always
})

/** Where the event stream has it first. */
const placeOf = (seen: ReadonlyArray<Sighting>): Pick<Step, "place"> => {
  const places = seen.flatMap(({ place }) => place ?? [])
  return places.length === 0 ? {} : { place: Math.min(...places) }
}

/** When it was first known to have happened. */
const firstOf = (seen: ReadonlyArray<Sighting>): number => Math.min(Infinity, ...seen.map(({ to }) => to))

/** It had not happened at some moment after this: a read that began here showed an earlier state. */
const lastBefore = (seen: ReadonlyArray<Sighting>, after: ReadonlyArray<Sighting>): number => {
  const sequence = Math.min(Infinity, ...after.map((sighting) => sighting.sequence))
  return Math.max(
    -Infinity,
    ...seen.filter((sighting) => sighting.isCurrent && sighting.sequence < sequence).map(({ from }) => from)
  )
}
