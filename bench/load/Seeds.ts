/**
 * Template databases with many charges, copied for each contender.
 *
 * Up to a million charges belong to one account, the others to accounts in turn between them. All are `pending`, are
 * 2.5 seconds apart (ten million are ten months) and have every column that the API stores. An id is computed from a charge's
 * number, so that the load generator needs no list of ids.
 */
import type { Client } from "pg"
import { insertAccount } from "./Accounts.ts"

export interface Seeded {
  /** The name of the template database. */
  readonly template: string
  /** Of the account that owns charges. */
  readonly apiKey: string
  readonly charges: number
  /** The account owns each charge whose number is a multiple of this. */
  readonly every: number
}

/** 2026-01-01: no seeded charge is older. */
export const EPOCH_MS = 1_767_225_600_000

/** Fills a migrated, empty database. */
export const seed = async (database: Client, template: string, charges: number): Promise<Seeded> => {
  const owner = await insertAccount(database)
  const every = Math.ceil(charges / OWN_CHARGES)
  const others: Array<typeof owner> = []
  for (let count = 0; count < (every > 1 ? OTHER_ACCOUNTS : 0); count++) others.push(await insertAccount(database))
  await database.query(insertReceiver)
  for (let first = 1; first <= charges; first += CHUNK) {
    await database.query(insertCharges, [
      [owner, ...others].map(({ accountId }) => accountId),
      [owner, ...others].map(({ applicationId }) => applicationId),
      first,
      Math.min(first + CHUNK - 1, charges),
      every
    ])
  }
  await database.query("VACUUM (ANALYZE)")
  await database.query("CHECKPOINT")
  return { template, apiKey: owner.apiKey, charges, every }
}

/** The id of the charge with this number, counted from 1; the newest charge has the highest. */
export const chargeIdOf = (number: number): string => {
  const time = (EPOCH_MS + number * STEP_MS).toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, "0")}`
}

const CHUNK = 100_000
const OWN_CHARGES = 1_000_000
const OTHER_ACCOUNTS = 100

const STEP_MS = 2500

const RECEIVER_ID = "00000000-0000-7000-8000-000000000001"

const insertReceiver = `
  INSERT INTO receivers (id, receiver) VALUES ('${RECEIVER_ID}',
    '{"name":"Loja do Bench","document":"11222333000181","pix_key":"11222333000181","pix_key_type":"cnpj",'
      '"institution_name":"Simulated Acquirer","institution_ispb":"00000000","branch":"0001","account":"1",'
      '"account_type":"payment"}')`

const insertCharges = `
  INSERT INTO charges (id, account_id, application_id, origin, idempotency_key, status, method, amount, description,
    reference, customer_name, customer_email, customer_document, customer_phone, br_code, receiver_id, expires_at,
    created_at, sequence)
  SELECT (lpad(to_hex(${EPOCH_MS} + n * ${STEP_MS}), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
    ($1::uuid[])[owner], ($2::uuid[])[owner], 'api', md5(n::text), 'pending', 'pix', 1990 + n % 64 * 137, 'Pedido ' || n || ' na loja', 'pedido-' || n,
    'Maria Oliveira da Silva', 'cliente.' || n || '@example.com.br', '52998224725', '+5511987654321',
    '00020101021226720014br.gov.bcb.pix2550pix.simulator.test/qr/v2/' || md5(n::text)
      || '52040000530398654041990.905802BR5913Loja do Bench6009SAO PAULO62070503***6304ABCD',
    '${RECEIVER_ID}',
    '2036-01-01T00:00:00Z', to_timestamp((${EPOCH_MS} + n * ${STEP_MS}) / 1000.0), 2
  FROM generate_series($3::bigint, $4::bigint) AS s(n)
    CROSS JOIN LATERAL (SELECT CASE WHEN n % $5 = 0 THEN 1 ELSE 2 + n % ${OTHER_ACCOUNTS} END AS owner) of`
