/**
 * The service's charges, payouts and ledger against the books of the double: Pix by Pix, return by return, MED by MED and
 * payout by payout.
 */
import { txidFromId } from "@pix-payments/domain/Txid"
import { isOpen } from "@pix-payments/psp-double/provider/Infractions"
import type { ReceivedPix } from "@pix-payments/psp-double/provider/State"
import * as Result from "effect/Result"
import { orderIdOf } from "../../../src/payments/payouts/PayoutTable.ts"
import { providerIdOf } from "../../../src/providers/Acquirer.ts"
import type { Bank } from "./Bank.ts"
import type { Database } from "./Database.ts"

/** Returns violations. */
export const reconcileBank = async (options: {
  readonly database: Database
  readonly bank: Bank
  readonly pix: ReadonlyArray<ReceivedPix>
}): Promise<ReadonlyArray<string>> => {
  const {
    bank: { double, rule },
    database: { query },
    pix
  } = options
  const broken: Array<string> = []
  for (const { failures, operation } of double.api.violations)
    broken.push(`${operation} breaks the contract: ${failures.join("; ")}`)
  for (const { failures, operation } of double.api.defects)
    broken.push(`the double breaks the contract at ${operation}: ${failures.join("; ")}`)

  const [sums] = await query<{ acquirer: bigint }>(
    "SELECT coalesce(sum(balance), 0)::bigint AS acquirer FROM ledger_accounts WHERE kind = 'acquirer'"
  )
  const balance = double.provider.balanceCents()
  if (-Number(sums!.acquirer) !== balance) {
    broken.push(`the provider has ${balance}, the ledger ${-Number(sums!.acquirer)}`)
  }

  const charges = await query<ChargeRow>("SELECT id, status, amount, end_to_end_id FROM charges")
  const byPix = new Map(
    charges.flatMap((charge) => (charge.end_to_end_id === null ? [] : [[charge.end_to_end_id, charge]]))
  )
  const exceptions = await query<ExceptionRow>(
    `SELECT end_to_end_id, amount, action, charge_id FROM acquirer_exceptions
     WHERE end_to_end_id IS NOT NULL AND kind NOT IN ('unmatched_return', 'unmatched_dispute')`
  )
  for (const { cents, endToEndId, txid } of pix) {
    const charge = byPix.get(endToEndId)
    const raised = exceptions.filter(({ end_to_end_id }) => end_to_end_id === endToEndId)
    const accepted = charge && raised.find(({ action, charge_id }) => action === "accept" && charge_id === charge.id)
    if ((charge === undefined || accepted !== undefined ? 0 : 1) + raised.length !== 1) {
      broken.push(`Pix ${endToEndId} of ${cents} pays ${charge?.id ?? "no charge"} and has ${raised.length} exceptions`)
    } else if (charge !== undefined && Number(charge.amount) !== cents) {
      broken.push(`Pix ${endToEndId} of ${cents} pays charge ${charge.id} of ${charge.amount}`)
    } else if (charge !== undefined && accepted === undefined && txidFromId(charge.id) !== txid) {
      broken.push(`Pix ${endToEndId} for ${txid} pays charge ${charge.id}`)
    } else if (raised.some(({ amount }) => Number(amount) !== cents)) {
      broken.push(`Pix ${endToEndId} of ${cents} has an exception of another amount`)
    }
  }
  // The rule decides first; where it returns, an operator decides what the provider would not return.
  const byOperator = await query<{ id: string; action: string }>(
    `SELECT id, action FROM acquirer_exceptions e
     WHERE (status = 'open' OR resolved_by <> 'rule') AND (unallocated > 0 OR action IN ('accept', 'return'))
       AND ($1 = 'accept' AND kind IN ('wrong_amount', 'second_payment', 'late_payment')
         OR $1 = 'return' AND kind NOT IN ('unmatched_return', 'unmatched_dispute') AND NOT EXISTS (
           SELECT FROM acquirer_orders o WHERE o.exception_id = e.id AND o.state = 'refused'))`,
    [rule]
  )
  for (const { action, id } of byOperator) broken.push(`the rule is ${rule}, and exception ${id} ended by ${action}`)

  const arrived = new Set(pix.map(({ endToEndId }) => endToEndId))
  for (const { end_to_end_id, id, status } of charges) {
    const isPaid = ["paid", "refunded", "charged_back", "infraction"].includes(status)
    if (isPaid !== (end_to_end_id !== null))
      broken.push(`charge ${id} is ${status} with the settlement ${end_to_end_id}`)
    if (end_to_end_id !== null && !arrived.has(end_to_end_id)) broken.push(`charge ${id} is paid by no Pix`)
  }

  const funds = await query<FundsRow>(fundsOfCharges)
  const infractions = double.provider.infractions.list(ALWAYS, ALL).items
  for (const { cents, endToEndId, returns } of pix) {
    const charge = byPix.get(endToEndId)
    const own = funds.find(({ id }) => id === charge?.id)
    // The money of an exception that was accepted is posted under the exception.
    if (charge === undefined || own === undefined) continue
    const returned = returns.reduce((sum, { cents, status }) => (status === "DEVOLVIDO" ? sum + cents : sum), 0)
    const [left, blocked, inTransit] = [Number(own.left), Number(own.blocked), Number(own.in_transit)]
    const claims = infractions.filter((infraction) => infraction.endToEndId === endToEndId)
    const contested = claims.filter(isOpen).reduce((sum, { cents }) => sum + cents, 0)
    const what = `charge ${charge.id} of ${cents} is ${charge.status}`
    if (left !== cents - returned) broken.push(`${what}, ${left} are left of it, at the provider ${cents - returned}`)
    if (inTransit !== 0) broken.push(`${what}, ${inTransit} of it are in transit`)
    if (blocked > contested) broken.push(`${what}, ${blocked} of it are blocked, at the provider ${contested}`)
    const isLost = claims.some(({ status }) => status === "ACEITA")
    const expected =
      left === 0
        ? ["refunded", "charged_back"]
        : // A MED that was lost ends the charge, also where a part is left (DSP-4).
          [isLost ? "charged_back" : contested > 0 ? "infraction" : "paid"]
    if (!expected.includes(charge.status)) broken.push(`${what} with ${left} left and ${contested} contested`)
    // A return takes what a MED contests first (DSP-7).
    if (charge.status === "infraction" && blocked === 0 && returned === 0)
      broken.push(`${what}, and nothing of it is blocked`)
  }

  const payouts = await query<PayoutRow>(`SELECT id, status, amount, ${orderIdOf("p")} AS order_id FROM payouts p`)
  for (const { amount, id, order_id, status } of payouts) {
    const sent = Result.getOrUndefined(double.provider.payouts.get(providerIdOf(order_id)))
    const expected = sent === undefined ? ["pending", "canceled"] : [OUTCOMES[sent.status]]
    if (!expected.includes(status)) broken.push(`payout ${id} is ${status}, at the provider ${sent?.status}`)
    if (sent !== undefined && sent.cents !== Number(amount)) broken.push(`payout ${id} was sent with another amount`)
  }
  return broken
}

const OUTCOMES: Readonly<Record<string, string>> = {
  EM_PROCESSAMENTO: "processing",
  REALIZADO: "completed",
  NAO_REALIZADO: "failed"
}

const fundsOfCharges = `
  SELECT t.resource_id AS id, sum(ends.amount)::bigint AS left,
    coalesce(sum(ends.amount) FILTER (WHERE ends.kind = 'blocked'), 0)::bigint AS blocked,
    coalesce(sum(ends.amount) FILTER (WHERE ends.kind = 'returns_in_transit'), 0)::bigint AS in_transit
  FROM ledger_transfers t JOIN charges c ON c.id = t.resource_id
  CROSS JOIN LATERAL (VALUES (t.credit, t.amount), (t.debit, -t.amount)) AS ends (kind, amount)
  WHERE ends.kind <> 'acquirer' GROUP BY t.resource_id`

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
const ALL = { page: 0, size: Number.MAX_SAFE_INTEGER }

interface FundsRow {
  readonly id: string
  readonly left: bigint
  readonly blocked: bigint
  readonly in_transit: bigint
}

interface ChargeRow {
  readonly id: string
  readonly status: string
  readonly amount: bigint
  readonly end_to_end_id: string | null
}

interface ExceptionRow {
  readonly end_to_end_id: string
  readonly amount: bigint
  readonly action: string | null
  readonly charge_id: string | null
}

interface PayoutRow {
  readonly id: string
  readonly order_id: string
  readonly status: string
  readonly amount: bigint
}
