/**
 * Guards of docs/faults.md ("Broken on purpose"), and how each is taken out of the sources. A text that is gone fails
 * `Seeded.test.ts`: then the guard has moved, and so must its line here.
 */
export interface Seeded {
  /** As docs/faults.md calls it, where it has it. */
  readonly guard: string
  readonly of: "money" | "idempotency" | "isolation" | "events"
  readonly changes: ReadonlyArray<{ readonly file: string; readonly from: string; readonly to: string }>
}

const server = "packages/server/src"
const one = (guard: string, of: Seeded["of"], file: string, from: string, to: string): Seeded => ({
  guard,
  of,
  changes: [{ file, from, to }]
})

export const SEEDED: ReadonlyArray<Seeded> = [
  one(
    "the idempotency key of a charge",
    "idempotency",
    `${server}/payments/charges/ChargeStatements.ts`,
    "SELECT idempotency_digest(application_id, 'charge', origin, idempotency_key), id FROM requested",
    "SELECT idempotency_digest(id, 'charge', origin, idempotency_key), id FROM requested"
  ),
  one(
    "the idempotency key of a payout",
    "idempotency",
    `${server}/payments/payouts/creation/NewPayoutStatements.ts`,
    'SELECT ${orderIdOf("r")}, r.id FROM requested r',
    "SELECT idempotency_digest(r.id, 'payout', r.origin, r.idempotency_key), r.id FROM requested r"
  ),
  {
    guard: "the check of the balance",
    of: "money",
    changes: [
      {
        file: `${server}/payments/payouts/creation/PayoutCreation.ts`,
        from: "if (available < needed)",
        to: "if (available < -1e15)"
      },
      { file: `${server}/ledger/Ledger.ts`, from: "AND balance >= taken", to: "" }
    ]
  },
  one("the check of the balance under its lock", "money", `${server}/ledger/Ledger.ts`, "AND balance >= taken", ""),
  one(
    "the payout fee",
    "money",
    "packages/domain/src/Cents.ts",
    "return fee.fixed + whole * fee.basis_points +",
    "return 0 * fee.fixed + whole * fee.basis_points +"
  ),
  one(
    "the release of a failed payout's funds",
    "money",
    `${server}/payments/payouts/PayoutDecision.ts`,
    'failed: [{ reason: "payout.failed", credit: "available", cents: ({ amount, fee }) => amount + fee }]',
    'failed: [{ reason: "payout.failed", credit: "available", cents: ({ fee }) => fee }]'
  ),
  one(
    "the release of a canceled payout's fee",
    "money",
    `${server}/payments/payouts/PayoutDecision.ts`,
    'canceled: [{ reason: "payout.canceled", credit: "available", cents: ({ amount, fee }) => amount + fee }]',
    'canceled: [{ reason: "payout.canceled", credit: "available", cents: ({ amount }) => amount }]'
  ),
  one(
    "the guards of a payout's state change",
    "money",
    `${server}/payments/payouts/PayoutStatements.ts`,
    "AND p.sequence = i.sequence - 1 AND p.status || '>' || i.status IN (${allowedTransitions})",
    ""
  ),
  one(
    "the guards of a charge's state change",
    "money",
    `${server}/payments/charges/ChargeStatements.ts`,
    "AND c.sequence = i.sequence - 1 AND c.status || '>' || i.status IN (${allowedTransitions})",
    ""
  ),
  one(
    "the claim of a settlement",
    "money",
    `${server}/payments/charges/Settlements.ts`,
    "WHERE s.charge_id IS NULL\n      RETURNING",
    "RETURNING"
  ),
  one(
    "the distinction between an unclear creation and a rejection",
    "money",
    `${server}/payments/charges/ChargeEmission.ts`,
    "Effect.succeed(isOverdue ?",
    "Effect.succeed(true ?"
  ),
  one(
    "the distinction between an unclear submission and a failure",
    "money",
    `${server}/payments/payouts/PayoutSubmission.ts`,
    "Effect.succeed(isUnsent === true ? UNSENT : UNCLEAR))",
    'Effect.succeed({ _tag: "Failed", reason: "unclear" }))'
  ),
  one(
    "the same id when a payout is submitted again",
    "money",
    `${server}/payments/payouts/PayoutSubmission.ts`,
    "        id: orderId,\n        amount: payout.amount,",
    '        id: orderId.slice(0, 20) + String(Math.floor(Math.random() * 1e12)).padStart(12, "0"),\n        amount: payout.amount,'
  ),
  one(
    "the same txid in a recovery",
    "money",
    `${server}/payments/charges/ChargeEmission.ts`,
    "txid: txidFromId(charge.id),",
    'txid: txidFromId(charge.id).slice(0, 20) + String(Math.floor(Math.random() * 1e12)).padStart(12, "0"),'
  ),
  one(
    "charge recovery",
    "money",
    `${server}/payments/charges/ChargeRecovery.ts`,
    "          claimDueRecoveries(sql, capacity, leaseMs).pipe(",
    "          Effect.andThen(Effect.never, claimDueRecoveries(sql, capacity, leaseMs)).pipe("
  ),
  one(
    "blocking of funds by a MED",
    "money",
    `${server}/payments/disputes/DisputeDecision.ts`,
    'movements: movementsFrom(parts, "blocked")',
    "movements: []"
  ),
  one(
    "the money back of a won MED",
    "money",
    `${server}/payments/disputes/DisputeDecision.ts`,
    'const movements = [{ debit: "blocked", credit: "available", amount } as const]',
    "const movements: [] = []"
  ),
  one(
    "the release of the funds of a rejected refund",
    "money",
    `${server}/payments/refunds/RefundDecision.ts`,
    '{ debit: "returns_in_transit", credit: "available", amount: rest - pending }',
    '{ debit: "returns_in_transit", credit: "blocked", amount: rest - pending }'
  ),
  {
    guard: "the time of a release",
    of: "money",
    changes: [
      // Of the accounts, and of the payments of one.
      { file: `${server}/ledger/Releases.ts`, from: "  ) <= now()", to: "  ) <= now() + interval '1 hour'" },
      { file: `${server}/ledger/Releases.ts`, from: "(a.id, now())", to: "(a.id, now() + interval '1 hour')" }
    ]
  },
  one(
    "whose charge a read is",
    "isolation",
    `${server}/payments/charges/Charges.ts`,
    'charge?.accountId === caller.account.id && charge.origin === "api"',
    'charge !== undefined && charge.origin === "api"'
  ),
  one(
    "the watermark of the event stream",
    "events",
    `${server}/events/EventLog.ts`,
    'const watermark = "pg_snapshot_xmin(pg_current_snapshot())"',
    'const watermark = "pg_snapshot_xmax(pg_current_snapshot())"'
  ),
  one(
    "derived delivery ids",
    "events",
    `${server}/webhooks/fan-out/FanOutStatements.ts`,
    "concat_ws(' ', ${change}, ${event}, ${endpoint})",
    "concat_ws(' ', ${change}, ${event}, ${endpoint}, random()::text)"
  ),
  one(
    "the same bytes in every attempt",
    "events",
    `${server}/webhooks/deliveries/Delivery.ts`,
    "createdAt: row.created_at.toISOString(),",
    "createdAt: new Date(row.created_at.getTime() + row.attempts_made).toISOString(),"
  ),
  one(
    "the item that a page of a list ends with",
    "isolation",
    "packages/domain/src/List.ts",
    "has_more: itemsRead.length > limit",
    "has_more: itemsRead.length > limit + 1"
  )
]
