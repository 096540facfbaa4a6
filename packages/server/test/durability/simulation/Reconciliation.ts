/**
 * The service's charges, payouts, exceptions and books against the bank, at the end of a history: Pix by Pix and payout by
 * payout, each ledger account of each owner.
 *
 * Which charge a Pix pays, and how an exception ended, is as operators and callers read it, and must be as the contract
 * allows. Where the money is then follows from the bank alone (`MoneyModel.ts`).
 */
import { idFromTxid } from "@pix-payments/domain/Txid"
import type { Callers, Merchant } from "./Callers.ts"
import type { Database } from "./Database.ts"
import type { Institutions } from "./Institutions.ts"
import {
  type BankPayout,
  type BankPix,
  type Fact,
  factsOfReturn,
  moneyOf,
  moneyOfPayout,
  type PixMoney
} from "./MoneyModel.ts"

/** Returns violations. */
export const reconcile = async (options: {
  readonly database: Database
  readonly callers: Callers
  readonly institutions: Institutions
}): Promise<ReadonlyArray<string>> => {
  const {
    callers,
    database: { query },
    institutions
  } = options
  const { balanceCents, denied, payouts, pix, unpaid } = institutions.statement()
  const broken: Array<string> = []
  const merchantOf = new Map(
    callers.operations.flatMap(({ id, merchant }) => (id === undefined ? [] : [[id, merchant]]))
  )
  const charges = await query<ChargeRow>(
    `SELECT id, CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END AS status, amount,
       end_to_end_id, status = 'failed' AND failure_reason = 'no usable answer of the bank' AND expires_at <= now() AS is_given_up
     FROM charges`
  )
  const exceptions = await query<ExceptionRow>(
    `SELECT e.id, e.kind, e.status, e.connection_id, e.end_to_end_id, e.amount, e.action, e.charge_id, e.account_id, e.payout_id,
       e.refund_id, e.provider_outcome, e.resolved_by, c.exception_rule AS rule
     FROM acquirer_exceptions e JOIN acquirer_connections c ON c.id = e.connection_id`
  )
  const books = makeBooks(await query<BookRow>(booksByResource))

  /** What contradicts the returns of a payment: refunds of its charge, returns of its exceptions, MEDs that were lost. */
  const contradictionsOf = async (charge: ChargeRow | undefined, known: ReadonlyArray<ExceptionRow>) => {
    const subjects = await query<{ id: string }>(
      `SELECT id FROM acquirer_orders WHERE kind IN ('refund', 'return') AND (charge_id = $1::uuid OR exception_id = ANY ($2::uuid[]))
       UNION ALL SELECT id FROM refunds WHERE charge_id = $1::uuid AND origin = 'provider'
       UNION ALL SELECT id FROM disputes WHERE exception_id = ANY ($2::uuid[])`,
      [charge?.id ?? null, `{${known.map(({ id }) => id).join()}}`]
    )
    const ids = new Set(subjects.map(({ id }) => id))
    return exceptions.filter(({ refund_id }) => refund_id !== null && ids.has(refund_id))
  }

  const ofPix = new Map<string, ChargeRow>()
  for (const charge of charges) if (charge.end_to_end_id !== null) ofPix.set(charge.end_to_end_id, charge)
  for (const one of pix) {
    const charge = ofPix.get(one.endToEndId)
    const known = exceptions.filter(({ end_to_end_id }) => end_to_end_id === one.endToEndId)
    broken.push(...misfits(one, charge, known))
    const accepted = known.find(({ action, kind }) => action === "accept" && isPayment(kind))
    const account =
      accepted === undefined
        ? merchantOf.get(charge?.id ?? "")
        : callers.merchants.find(({ accountId }) => accountId === accepted.account_id)
    if (accepted !== undefined && !isAsked(accepted, callers, merchantOf)) {
      broken.push(`exception ${accepted.id} is accepted by ${accepted.resolved_by}, and nobody asked for it`)
    }
    const facts = [
      ...one.facts,
      ...one.returns.flatMap((each) => factsOfReturn(each, callers.settledByHand.get(each.orderId))),
      ...(accepted === undefined ? [] : [acceptance(accepted, callers)])
    ]
    const possible = moneyOf(one.cents, charge !== undefined && accepted === undefined, facts)
    const found = books.take([...(charge === undefined ? [] : [charge.id]), ...known.map(({ id }) => id)])
    const contradicted = await contradictionsOf(charge, known)
    broken.push(
      ...contradicted.flatMap((each) => (isAskedOfOrder(each, callers) ? [] : [`nobody accepted ${each.id}`]))
    )
    const beside = contradicted.filter(isInForce).map((each) => placed(each, heldBy(each)))
    const besideBooks = books.take(contradicted.map(({ id }) => id))
    if (besideBooks !== entriesOf("", {}, beside))
      broken.push(`what contradicts Pix ${one.endToEndId} is in the books "${besideBooks}"`)
    const held = beside.reduce((sum, { cents }) => sum + cents, 0)
    const fitting = possible.filter(
      (money) => found === accountsOf(money, account, one.connectionId) && held === money.contradicted
    )
    const what = `Pix ${one.endToEndId} of ${one.cents} (${charge?.id ?? known[0]?.id}) with ${describe(facts)}`
    if (fitting.length === 0) {
      const expected = possible
        .map((money) => `${accountsOf(money, account, one.connectionId)} beside ${money.contradicted}`)
        .join(" or ")
      broken.push(`${what} is in the books "${found}" beside ${held}, in the model "${expected}"`)
    } else if (charge !== undefined && !fitting.some((money) => statesOf(money).includes(charge.status))) {
      broken.push(`${what} pays a charge that is ${charge.status}`)
    }
  }

  const arrived = new Map(pix.map((one) => [one.endToEndId, one]))
  for (const { amount, end_to_end_id, id, is_given_up, status } of charges) {
    const isPaid = ["paid", "refunded", "charged_back", "infraction"].includes(status)
    if (isPaid !== (end_to_end_id !== null))
      broken.push(`charge ${id} is ${status} with the settlement ${end_to_end_id}`)
    if (end_to_end_id !== null && !arrived.has(end_to_end_id)) broken.push(`charge ${id} is paid by no Pix`)
    // CHG-4: what the bank has of it does not matter any more.
    if (end_to_end_id !== null || is_given_up) continue
    const expected = unpaid.get(id)
    if (expected === undefined) broken.push(`charge ${id} is ${status}, and the acquirer knows no Pix of it`)
    else if (!expected.includes(status))
      broken.push(`charge ${id} is ${status}, at the acquirer ${expected.join(" or ")}`)
    const paying = pix.find(({ cents, txid }) => idFromTxid(txid ?? "") === id && cents === Number(amount))
    if (paying !== undefined && !callers.isCanceled(id)) {
      broken.push(`charge ${id} is ${status}, and ${paying.endToEndId} has paid it: no charge`)
    }
  }
  for (const id of unpaid.keys()) {
    if (!charges.some((charge) => charge.id === id))
      broken.push(`the acquirer has a Pix that is no charge of ours: ${id}`)
  }

  const stored = await query<PayoutRow>("SELECT id, status, amount, description FROM payouts")
  for (const { amount, description, id, status } of stored) {
    const [sent, ...others] = payouts.filter(({ operation }) => operation === description)
    if (others.length > 0) broken.push(`payout ${id} was sent twice`)
    const byHand = callers.settledByHand.get(id)
    const expected =
      sent === undefined
        ? ["pending", "canceled", ...(denied.has(description) ? ["failed"] : [])]
        : [...endsOf(sent), ...(byHand === undefined ? [] : [byHand])]
    if (!expected.includes(status)) broken.push(`payout ${id} is ${status}, at the acquirer ${expected.join(" or ")}`)
    if (sent !== undefined && sent.cents !== Number(amount)) broken.push(`payout ${id} was sent with another amount`)
    const merchant = merchantOf.get(id)
    if (merchant === undefined) continue
    const raised = exceptions.filter(({ payout_id }) => payout_id === id)
    broken.push(...raised.flatMap((each) => (isAskedOfOrder(each, callers) ? [] : [`nobody accepted ${each.id}`])))
    const money = moneyOfPayout(Number(amount), merchant, status as "pending")
    const beside = besides(sent, status, raised)
    if (typeof beside === "string") broken.push(`payout ${id} of ${amount} that is ${status} ${beside}`)
    const found = books.take([id, ...raised.map((each) => each.id)])
    const model = entriesOf(merchant.accountId, money, typeof beside === "string" ? [] : beside)
    if (found !== model) broken.push(`payout ${id} of ${amount} is in the books "${found}", in the model "${model}"`)
  }
  for (const { operation } of payouts) {
    if (!stored.some(({ description }) => description === operation))
      broken.push(`${operation} was sent, and is no payout of ours`)
  }

  // The rule decides first; where it returns, an operator decides what the provider would not return.
  const byOperator = await query<{ id: string; action: string; rule: string }>(
    `SELECT e.id, e.action, c.exception_rule AS rule
     FROM acquirer_exceptions e JOIN acquirer_connections c ON c.id = e.connection_id
     WHERE (e.status = 'open' OR e.resolved_by <> 'rule') AND (e.unallocated > 0 OR e.action IN ('accept', 'return'))
       AND (c.exception_rule = 'accept' AND e.kind IN ('wrong_amount', 'second_payment', 'late_payment')
         OR c.exception_rule = 'return' AND e.payout_id IS NULL AND e.kind NOT IN ('unmatched_return', 'unmatched_dispute', 'contradictory_outcome') AND NOT EXISTS (
           SELECT FROM acquirer_orders o WHERE o.exception_id = e.id AND o.state = 'refused'))`
  )
  for (const { action, id, rule } of byOperator) {
    broken.push(`the rule is ${rule}, and exception ${id} ended by ${action}`)
  }

  for (const [id, found] of books.rest()) broken.push(`${id} is in the books "${found}", in the model not at all`)
  const booked = books.acquirer()
  if (booked !== balanceCents) broken.push(`the provider has ${balanceCents}, the ledger ${booked}`)
  return broken
}

/** The books by resource; each is taken once. */
const makeBooks = (rows: ReadonlyArray<BookRow>) => {
  const byResource = Map.groupBy(rows, ({ resource_id }) => resource_id)
  const sum = (some: ReadonlyArray<BookRow>) => {
    const sums = new Map<string, number>()
    for (const { amount, kind, owner_id } of some) {
      const key = `${owner_id} ${kind}`
      sums.set(key, (sums.get(key) ?? 0) + Number(amount))
    }
    return inWords(sums)
  }
  return {
    take: (ids: ReadonlyArray<string>): string => {
      const taken = ids.flatMap((id) => byResource.get(id) ?? [])
      for (const id of ids) byResource.delete(id)
      return sum(taken)
    },
    rest: () => [...byResource].map(([id, some]) => [id, sum(some)] as const).filter(([, found]) => found !== ""),
    /** What the acquirer has of ours. */
    acquirer: () => rows.reduce((total, { amount, kind }) => (kind === "acquirer" ? total - Number(amount) : total), 0)
  }
}

const inWords = (sums: ReadonlyMap<string, number>): string =>
  [...sums]
    .filter(([, cents]) => cents !== 0)
    .map(([account, cents]) => `${account} ${cents}`)
    .toSorted()
    .join(", ")

const entriesOf = (owner: string, money: Readonly<Record<string, number>>, beside: ReadonlyArray<Beside>): string => {
  const sums = new Map(Object.entries(money).map(([kind, cents]) => [`${owner} ${kind}`, cents]))
  const add = (account: string, cents: number) => sums.set(account, (sums.get(account) ?? 0) + cents)
  for (const { account, cents } of beside) {
    add(account, cents)
    add(`${account.split(" ")[0]} acquirer`, -cents)
  }
  return inWords(sums)
}

/** Money of an exception: in `unallocated`, or in the account that accepted it. */
interface Beside {
  readonly account: string
  readonly cents: number
}

/** Open, accepted or dismissed. */
const isInForce = ({ action, status }: ExceptionRow): boolean => status === "open" || action !== null

const heldBy = ({ amount, provider_outcome }: ExceptionRow): number =>
  provider_outcome === "completed" ? -Number(amount) : Number(amount)

const placed = (one: ExceptionRow, cents: number): Beside => ({
  account: one.action === "accept" ? `${one.account_id} available` : `${one.connection_id} unallocated`,
  cents
})

/** What a payout may be: as the bank said at some time. */
const endsOf = ({ ends }: BankPayout): ReadonlyArray<string> => (ends.length === 0 ? ["processing"] : ends)

/** BAL-16, BAL-17: what the bank did beyond the state of a payout, where it is, or what of it is missing. */
const besides = (
  sent: BankPayout | undefined,
  status: string,
  raised: ReadonlyArray<ExceptionRow>
): ReadonlyArray<Beside> | string => {
  const [contradicting, ...others] = raised.filter((each) => each.kind === "contradictory_outcome" && isInForce(each))
  const isContradicted = sent !== undefined && sent.ends.length > 0 && sent.ends.at(-1) !== status
  if (others.length > 0) return "has two contradictions in force"
  if (isContradicted !== (contradicting !== undefined)) return `has ${contradicting?.id ?? "no contradiction"} in force`
  const back = raised.filter(({ kind }) => kind === "returned_payout")
  const amounts = (all: ReadonlyArray<number>) => all.toSorted((a, b) => a - b).join()
  const [known, came] = [amounts(back.map(({ amount }) => Number(amount))), amounts(sent?.sentBack ?? [])]
  if (known !== came) return `was sent back as ${came}, and the service has ${known}`
  const contradicted = contradicting && (status === "completed" ? sent!.cents : -sent!.cents)
  return [
    ...(contradicted === undefined ? [] : [placed(contradicting!, contradicted)]),
    ...back.map((one) => placed(one, Number(one.amount)))
  ]
}

/** An operator, or the rule, accepted what was accepted. */
const isAskedOfOrder = ({ action, id, kind, resolved_by, rule }: ExceptionRow, { acceptances }: Callers): boolean =>
  action !== "accept" ||
  (resolved_by === "rule" ? rule === "accept" && kind === "returned_payout" : acceptances.has(id))

const accountsOf = ({ blocked, free, unallocated }: PixMoney, account: Merchant | undefined, connection: string) => {
  const owner = account?.accountId ?? "nobody"
  return inWords(
    new Map([
      [`${owner} available`, free],
      [`${owner} blocked`, blocked],
      [`${owner} acquirer`, -free - blocked],
      [`${connection} unallocated`, unallocated],
      [`${connection} acquirer`, -unallocated]
    ])
  )
}

/** BAL-10: `refunded` or `charged_back` once nothing is left. */
const statesOf = ({ blocked, free, isLost, meds }: PixMoney): ReadonlyArray<string> => {
  if (free + blocked === 0) return ["refunded", "charged_back"]
  if (isLost) return ["charged_back"]
  return [Object.keys(meds).length > 0 ? "infraction" : "paid"]
}

const isPayment = (kind: string) => kind !== "unmatched_return" && kind !== "unmatched_dispute"

/** How a Pix pays a charge, or is an exception, as BAL-11 and BAL-12 do not allow it. */
const misfits = (
  { cents, endToEndId, txid }: BankPix,
  charge: ChargeRow | undefined,
  known: ReadonlyArray<ExceptionRow>
): ReadonlyArray<string> => {
  const raised = known.filter(({ kind }) => isPayment(kind))
  const accepted = raised.find(({ action, charge_id }) => action === "accept" && charge_id === charge?.id)
  if ((charge === undefined || accepted !== undefined ? 0 : 1) + raised.length !== 1) {
    return [`Pix ${endToEndId} of ${cents} pays ${charge?.id ?? "no charge"} and has ${raised.length} exceptions`]
  }
  if (charge !== undefined && Number(charge.amount) !== cents) {
    return [`Pix ${endToEndId} of ${cents} pays charge ${charge.id} of ${charge.amount}`]
  }
  if (charge !== undefined && accepted === undefined && idFromTxid(txid ?? "") !== charge.id) {
    return [`Pix ${endToEndId} for ${txid} pays charge ${charge.id}`]
  }
  return raised.some(({ amount }) => Number(amount) !== cents)
    ? [`Pix ${endToEndId} of ${cents} has an exception of another amount`]
    : []
}

/** An operator asked for the acceptance with this account, or with a charge of it; or a rule made it. */
const isAsked = (
  { account_id, charge_id, id, kind, resolved_by, rule }: ExceptionRow,
  { acceptances }: Callers,
  merchantOf: ReadonlyMap<string, Merchant>
): boolean => {
  if (resolved_by === "rule") {
    return rule === "accept" && ["wrong_amount", "second_payment", "late_payment"].includes(kind)
  }
  const asked = acceptances.get(id) ?? []
  return asked.some(({ accountId, chargeId }) => {
    const merchant = merchantOf.get(chargeId ?? charge_id ?? "")
    return account_id === (accountId ?? merchant?.accountId)
  })
}

const acceptance = ({ id, resolved_by }: ExceptionRow, { acceptances }: Callers): Fact => {
  const asked = resolved_by === "rule" ? [] : (acceptances.get(id) ?? [])
  const known = asked.flatMap(({ known }) => known ?? [])
  return { tag: "accepted", at: asked[0]?.at ?? 0, ...(known.length > 0 && { known: Math.min(...known) }) }
}

const describe = (facts: ReadonlyArray<Fact>): string =>
  facts.length === 0
    ? "nothing since"
    : facts.map((fact) => `${fact.tag} ${"cents" in fact ? fact.cents : ""}`).join(", ")

const booksByResource = `
  SELECT t.account_id AS owner_id, t.resource_id, ends.kind, sum(ends.amount)::bigint AS amount FROM ledger_transfers t
  CROSS JOIN LATERAL (VALUES (t.credit, t.amount), (t.debit, -t.amount)) AS ends (kind, amount)
  GROUP BY t.account_id, t.resource_id, ends.kind HAVING sum(ends.amount) <> 0`

interface BookRow {
  readonly owner_id: string
  readonly resource_id: string
  readonly kind: string
  readonly amount: bigint
}

interface ChargeRow {
  readonly id: string
  readonly status: string
  readonly amount: bigint
  readonly end_to_end_id: string | null
  readonly is_given_up: boolean
}

interface ExceptionRow {
  readonly id: string
  readonly kind: string
  readonly status: string
  readonly connection_id: string
  readonly payout_id: string | null
  readonly refund_id: string | null
  readonly provider_outcome: string | null
  readonly end_to_end_id: string | null
  readonly amount: bigint
  readonly action: string | null
  readonly charge_id: string | null
  readonly account_id: string | null
  readonly resolved_by: string | null
  /** Of its connection. */
  readonly rule: string
}

interface PayoutRow {
  readonly id: string
  readonly description: string
  readonly status: string
  readonly amount: bigint
}
