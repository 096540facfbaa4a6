/** The service's charges, payouts and ledger against the books of the double, Pix by Pix and payout by payout. */
import { txidFromId } from "@pix-payments/domain/Txid"
import type { ReceivedPix } from "@pix-payments/psp-double/provider/State"
import * as Result from "effect/Result"
import { providerIdOf } from "../../../src/acquirer/Acquirer.ts"
import type { Bank } from "./Bank.ts"
import type { Database } from "./Database.ts"

/** Returns violations. */
export const reconcileBank = async (options: {
  readonly database: Database
  readonly bank: Bank
  readonly pix: ReadonlyArray<ReceivedPix>
}): Promise<ReadonlyArray<string>> => {
  const {
    bank: { double },
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
  const arrived = new Set(pix.map(({ endToEndId }) => endToEndId))
  for (const { end_to_end_id, id, status } of charges) {
    const isPaid = ["paid", "refunded", "charged_back", "infraction"].includes(status)
    if (isPaid !== (end_to_end_id !== null))
      broken.push(`charge ${id} is ${status} with the settlement ${end_to_end_id}`)
    if (end_to_end_id !== null && !arrived.has(end_to_end_id)) broken.push(`charge ${id} is paid by no Pix`)
  }

  const payouts = await query<PayoutRow>("SELECT id, status, amount FROM payouts")
  for (const { amount, id, status } of payouts) {
    const sent = Result.getOrUndefined(double.provider.payouts.get(providerIdOf(id)))
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
  readonly status: string
  readonly amount: bigint
}
