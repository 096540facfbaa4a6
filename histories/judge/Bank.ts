/** What the bank has equals the books: no payout twice, no payment without one, and each balance at the end (PAY-6, CHG-8, CHG-9, BAL-3). */
import { feeOf } from "./Accounts.ts"
import {
  type AccountSetup,
  type Call,
  type Conviction,
  type Fact,
  type History,
  numberOf,
  rowsOf,
  spanOf,
  textOf
} from "./History.ts"
import type { Sighting, Sightings } from "./Sightings.ts"

const PAID = new Set(["paid", "refunded", "infraction", "charged_back"])

export const judgeBank = (history: History, sightings: Sightings): ReadonlyArray<Conviction> => {
  const { calls, facts, setup } = history
  const convictions: Array<Conviction> = []
  const isAtRest = setup.restedAt !== undefined
  const convict = (rule: string, subject: string, says: string, spans: Conviction["spans"] = []) =>
    convictions.push({ rule, subject, says, spans })
  const factSpans = (of: ReadonlyArray<Fact>) =>
    of.map(({ at, cents, id, what }) => ({ label: `bank ${what} ${id} ${cents}`, from: at, to: at }))

  const paid = new Map(facts.filter(({ what }) => what === "paid").map((fact) => [fact.subject, fact]))
  const sent = Map.groupBy(
    facts.filter(({ what }) => what === "payout-sent"),
    ({ subject }) => subject
  )
  const done = new Map(facts.filter(({ what }) => what === "payout-done").map((fact) => [fact.subject, fact]))
  for (const [pixKey, all] of sent) {
    if (all.length > 1)
      convict("PAY-6", `payout to ${pixKey}`, `the bank was ordered ${all.length} times to pay it`, factSpans(all))
  }

  for (const [id, seen] of sightings) {
    const at = (states: ReadonlySet<string>) => seen.find(({ status }) => states.has(status))
    const last = newest(seen)
    if (last === undefined) continue
    if (last.kind === "charge") {
      const credited = at(PAID)
      const fact = paid.get(id)
      if (credited !== undefined && (fact === undefined || fact.at > credited.to)) {
        convict(
          "CHG-7, CHG-9",
          `charge ${id}`,
          "it was shown as paid before anybody paid it",
          factSpans(fact === undefined ? [] : [fact])
        )
      }
      if (isAtRest && fact !== undefined && credited === undefined) {
        convict(
          "CHG-6, BAL-4",
          `charge ${id}`,
          `the bank has its payment, and it stayed ${last.status}`,
          factSpans([fact])
        )
      }
      continue
    }
    const pixKey = textOf(recipientOf(last), "pix_key")
    if (pixKey === "") continue
    const atBank = done.get(pixKey)
    if (last.status === "completed" && atBank === undefined)
      convict("PAY-5", `payout ${id}`, "completed, and the bank never paid it")
    if (last.status !== "completed" && atBank !== undefined && isAtRest) {
      convict("PAY-5, PAY-6", `payout ${id}`, `the bank paid it, and it is ${last.status}`, factSpans([atBank]))
    }
    if (last.status === "canceled" && sent.has(pixKey))
      convict("PAY-4", `payout ${id}`, "canceled, and ordered at the bank", factSpans(sent.get(pixKey)!))
    if (last.status === "completed" && atBank !== undefined && textOf(last.fields, "end_to_end_id") !== atBank.id) {
      convict("PAY-5", `payout ${id}`, `its end_to_end_id is not the bank's: ${atBank.id}`)
    }
  }

  const asked = new Set(
    calls.filter(({ op }) => op === "payout.create").map(({ request }) => textOf(request, "pix_key"))
  )
  for (const [pixKey, all] of sent)
    if (!asked.has(pixKey)) convict("PAY-6", `payout to ${pixKey}`, "nobody asked for it", factSpans(all))

  for (const call of calls) {
    if (call.op === "ledger.verify" && call.status === 200 && call.body?.["consistent"] !== true) {
      const differences = rowsOf(call.body, "differences").length + rowsOf(call.body, "states").length
      convict("BAL-3, BAL-8, BAL-15", "ledger/verify", `${differences} accounts of the ledger differ`, [
        spanOf(call, true)
      ])
    }
  }
  if (isAtRest) for (const account of setup.accounts) convictions.push(...balanceAtRest(account, history, sightings))
  return convictions
}

/** The last balance is what the bank did, less what it was asked to send, and its fees. */
const balanceAtRest = (
  account: AccountSetup,
  { calls, facts }: History,
  sightings: Sightings
): ReadonlyArray<Conviction> => {
  const reads = calls.filter((call) => call.op === "balance.get" && call.account === account.id && call.status === 200)
  const last = reads.toSorted((a, b) => a.answeredAt! - b.answeredAt!).at(-1)
  if (last === undefined) return []
  const ofAccount = facts.filter((fact) => fact.account === account.id)
  const sum = (what: Fact["what"]) =>
    ofAccount.reduce((total, fact) => (fact.what === what ? total + fact.cents : total), 0)
  const spent = ofAccount
    .filter(({ what }) => what === "payout-done")
    .reduce((total, { cents }) => total + cents + feeOf(account, cents), 0)
  const accepted = new Map(
    calls
      .filter((call: Call) => call.op === "exception.accept" && call.account === account.id && call.status === 200)
      .map(({ key, request }) => [key, numberOf(request, "amount")])
  )
  const extra = [...accepted.values()].reduce((total, cents) => total + cents, 0)
  const expected = sum("paid") + extra - sum("return-done") - sum("med-lost") - spent
  const shown = numberOf(last.body, "total")
  if (shown === expected) return []
  return [
    {
      rule: "BAL-2, BAL-3, BAL-4",
      subject: `account ${account.id}`,
      says: `at rest its total is ${shown}, and what the bank did makes ${expected}; ${sightings.size} resources were seen`,
      spans: [spanOf(last, true)]
    }
  ]
}

const newest = (seen: ReadonlyArray<Sighting>): Sighting | undefined =>
  seen.reduce<Sighting | undefined>(
    (best, one) => (best === undefined || one.sequence >= best.sequence ? one : best),
    undefined
  )

const recipientOf = ({ fields }: Sighting) => {
  const recipient = fields["recipient"]
  return typeof recipient === "object" && recipient !== null ? (recipient as Readonly<Record<string, unknown>>) : {}
}
