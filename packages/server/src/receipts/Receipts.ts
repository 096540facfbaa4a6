/**
 * Receipts (comprovantes) of paid charges, completed payouts and completed refunds.
 *
 * Guarantees:
 * - A receipt is derived from the rows of its resource at each reading. Nothing is stored but the key of the codes, once.
 * - Only money that moved has one: none where the bank says later that it did not.
 *
 * Rules: OPR-270 to OPR-272.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomBytes } from "node:crypto"
import { InvalidStateError, NotFoundError } from "../base/Errors.ts"
import { statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { contradictionOf } from "../providers/LateOutcomes.ts"
import { codeOf, namedBy, type ReceiptKind, type ReceiptOf } from "./ReceiptCode.ts"
import type { Receipt, ReceiptParty } from "./ReceiptText.ts"

export class Receipts extends Context.Service<
  Receipts,
  {
    /** Fails with `InvalidStateError` where no money moved. */
    readonly of: (of: ReceiptOf) => Effect.Effect<Receipt, InvalidStateError | NotFoundError | Unavailable>
    /** The receipt that a code is of; undefined for a code that names none. */
    readonly verified: (code: string) => Effect.Effect<Receipt | undefined, Unavailable>
  }
>()("@pix-payments/server/Receipts") {
  static readonly layer = Layer.effect(
    Receipts,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const key = yield* keyOfCodes

      const of = Effect.fnUntraced(function* ({ id, kind }: ReceiptOf) {
        const [row] = yield* orUnavailable(sql.unsafe<ReceiptRow>(...finds[kind]({ id })))
        if (row === undefined) return yield* new NotFoundError()
        if (!row.moved || row.at === null) return yield* new InvalidStateError({ status: row.status })
        return receiptOf({ kind, id }, row, codeOf({ kind, id }, key))
      })

      return Receipts.of({
        of,
        verified: (code) => {
          const named = namedBy(code, key)
          if (named === undefined) return Effect.undefined
          return Effect.catchTags(of(named), {
            InvalidStateError: () => Effect.undefined,
            NotFoundError: () => Effect.undefined
          })
        }
      })
    })
  )
}

/** It is no secret beside the rows that the codes name: it is in the same database. */
const keyOfCodes = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`INSERT INTO installation (name, value) VALUES ('receipt_key', ${randomBytes(32).toString("base64")})
    ON CONFLICT DO NOTHING`
  const [row] = yield* sql<{ value: string }>`SELECT value FROM installation WHERE name = 'receipt_key'`
  return Buffer.from(row?.value ?? "", "base64")
})

interface ReceiptRow {
  readonly status: string
  /** Whether it is of money that moved. */
  readonly moved: boolean
  readonly amount: bigint
  readonly at: Date | null
  readonly payer: StoredParty | null
  readonly payee: StoredParty | null
  readonly end_to_end_id: string | null
  readonly return_id: string | null
  readonly description: string | null
  readonly issuer: string
}

interface StoredParty {
  readonly name: string | null
  readonly document: string | null
  readonly institution?: string | null
}

const receiptOf = ({ id, kind }: ReceiptOf, row: ReceiptRow, code: string): Receipt => {
  // The sender's institution is in the end-to-end id.
  const ispb = kind === "refund" ? null : (/^E([0-9A-Z]{8})/.exec(row.end_to_end_id ?? "")?.[1] ?? null)
  const party = (stored: StoredParty | null, institution: string | null): ReceiptParty => ({
    name: stored?.name ?? null,
    document: stored?.document ?? null,
    institution: stored?.institution ?? institution
  })
  return {
    kind,
    id,
    amount: Number(row.amount),
    atMs: row.at!.getTime(),
    payer: party(row.payer, ispb === null ? null : `ISPB ${ispb}`),
    payee: party(row.payee, null),
    endToEndId: row.end_to_end_id,
    returnId: row.return_id,
    description: row.description,
    issuer: row.issuer,
    code
  }
}

/** Who paid, as the provider said; else the customer. */
const payerOfCharge = `coalesce(c.payer, json_build_object('name', c.customer_name, 'document', c.customer_document))`

const receiverOfCharge = `json_build_object('name', coalesce(r.receiver->>'name', a.legal_name),
  'document', coalesce(r.receiver->>'document', a.document), 'institution', r.receiver->>'institution_name')`

const account = `json_build_object('name', a.legal_name, 'document', a.document)`

/** The bank did not say later that the money never moved. */
const isTrueOf = (id: string) => `${contradictionOf(id)} IS DISTINCT FROM 'failed'`

/** When the books have a payout as completed, as its statement shows it; `processed_at` is when it was handed to the bank. */
const completedAt = `(SELECT t.created_at FROM ledger_transfers t
    WHERE t.resource_id = p.id AND t.reason = 'payout.completed' AND t.credit = 'acquirer' LIMIT 1)`

const findCharge = statement(
  { id: value("uuid") },
  ({ id }) => `
  SELECT c.status, c.paid_at IS NOT NULL AS moved, c.amount, c.paid_at AS at, ${payerOfCharge} AS payer, ${receiverOfCharge} AS payee,
    c.end_to_end_id, NULL AS return_id, c.description, a.legal_name AS issuer
  FROM charges c JOIN accounts a ON a.id = c.account_id LEFT JOIN receivers r ON r.id = c.receiver_id
  WHERE c.id = ${id}`
)

const findPayout = statement(
  { id: value("uuid") },
  ({ id }) => `
  SELECT p.status, p.status = 'completed' AND ${isTrueOf("p.id")} AS moved, p.amount, coalesce(${completedAt}, p.processed_at) AS at,
    ${account} AS payer,
    json_build_object('name', p.recipient_name, 'document', p.recipient_document, 'institution', p.bank_account->>'bank') AS payee,
    p.end_to_end_id, NULL AS return_id, p.description, a.legal_name AS issuer
  FROM payouts p JOIN accounts a ON a.id = p.account_id
  WHERE p.id = ${id}`
)

const findRefund = statement(
  { id: value("uuid") },
  ({ id }) => `
  SELECT f.status, f.status = 'completed' AND ${isTrueOf("f.id")} AS moved, f.amount, f.completed_at AS at, ${receiverOfCharge} AS payer, ${payerOfCharge} AS payee,
    c.end_to_end_id, f.provider_id AS return_id, f.description, a.legal_name AS issuer
  FROM refunds f JOIN charges c ON c.id = f.charge_id JOIN accounts a ON a.id = f.account_id
    LEFT JOIN receivers r ON r.id = c.receiver_id
  WHERE f.id = ${id}`
)

const finds: Readonly<Record<ReceiptKind, typeof findCharge>> = {
  charge: findCharge,
  payout: findPayout,
  refund: findRefund
}
