/**
 * Accounts that the bench inserts itself, the same for every contender.
 */
import { allScopes } from "@pix-payments/domain/Scope"
import { ofAccount } from "@pix-payments/server/ledger/Ledger"
import { createHash, randomBytes, randomUUID } from "node:crypto"
import type { Client } from "pg"

export const account = {
  name: "Loja do Bench",
  legal_name: "Loja do Bench Ltda",
  document: "11222333000181",
  phone: "+551130000000"
}

/** An account with an application, an API key and an available balance in cents. */
export const insertAccount = async (
  database: Client,
  {
    available = 0,
    payoutFee = 0,
    autoPayout = true
  }: { readonly available?: number; readonly payoutFee?: number; readonly autoPayout?: boolean } = {}
) => {
  const [accountId, applicationId, apiKey] = [
    randomUUID(),
    randomUUID(),
    `pix_${randomBytes(32).toString("base64url")}`
  ] as const
  await database.query(
    `INSERT INTO accounts (id, name, legal_name, document, document_type, phone, status, onboarding_status,
      auto_payout_enabled, payout_fee_fixed, payout_fee_basis_points, default_expires_in, release_delay, created_at)
     VALUES ($1, $2, $3, $4, 'cnpj', $5, 'active', 'completed', $7, $6, 0, 86400, 0, now())`,
    [accountId, account.name, account.legal_name, account.document, account.phone, payoutFee, autoPayout]
  )
  await database.query(
    `INSERT INTO ledger_accounts (owner_id, kind)
     SELECT $1, unnest($2::text[])`,
    [accountId, ofAccount]
  )
  await database.query("INSERT INTO applications VALUES ($1, $2, 'bench', true, now())", [applicationId, accountId])
  await database.query(
    `INSERT INTO api_keys (id, application_id, name, prefix, hash, scopes, created_at)
     VALUES ($1, $2, 'bench', $3, $4, $5, now())`,
    [randomUUID(), applicationId, apiKey.slice(0, 12), createHash("sha256").update(apiKey).digest("hex"), allScopes]
  )
  if (available > 0) await database.query(fund, [accountId, available])
  return { accountId, applicationId, apiKey }
}

/** As a payment: one transfer and both balances. */
const fund = `
  WITH inserted_transfers AS (
    INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position,
      day, credit_after)
    VALUES (uuidv7(), $1, 'acquirer', 'available', $2, uuidv7(), 'charge.paid', now(), 1, now(), $2)
    RETURNING account_id, amount, day
  )
  UPDATE ledger_accounts l SET balance = l.balance + CASE l.kind WHEN 'available' THEN m.amount ELSE -m.amount END,
    position = CASE l.kind WHEN 'available' THEN 1 ELSE 0 END,
    day = CASE l.kind WHEN 'available' THEN m.day END, open_day = CASE l.kind WHEN 'available' THEN m.day END
  FROM inserted_transfers m
  WHERE l.owner_id = m.account_id AND l.kind IN ('available', 'acquirer')`
