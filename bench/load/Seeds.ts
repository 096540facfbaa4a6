/**
 * Template databases with many charges, copied for each contender.
 *
 * All charges belong to one account, are `pending`, are a millisecond apart and have every column that the API stores.
 * An id is computed from a charge's number, so that the load generator needs no list of ids.
 */
import type { Client } from "pg"
import { insertAccount } from "./Accounts.ts"

export interface Seeded {
  /** The name of the template database. */
  readonly template: string
  /** Of the account that owns the charges. */
  readonly apiKey: string
  readonly charges: number
}

/** Fills a migrated, empty database. */
export const seed = async (database: Client, template: string, charges: number): Promise<Seeded> => {
  const owner = await insertAccount(database)
  await database.query(insertReceiver)
  for (let first = 1; first <= charges; first += CHUNK) {
    await database.query(insertCharges, [
      owner.accountId,
      owner.applicationId,
      first,
      Math.min(first + CHUNK - 1, charges)
    ])
  }
  await database.query("VACUUM (ANALYZE)")
  await database.query("CHECKPOINT")
  return { template, apiKey: owner.apiKey, charges }
}

/** The id of the charge with this number, counted from 1; the newest charge has the highest. */
export const chargeIdOf = (number: number): string => {
  const time = (EPOCH_MS + number).toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, "0")}`
}

const CHUNK = 100_000

// 2026-01-01: a million charges, a millisecond apart, are all in the past.
const EPOCH_MS = 1_767_225_600_000

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
  SELECT (lpad(to_hex(${EPOCH_MS} + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
    $1, $2, 'api', md5(n::text), 'pending', 'pix', 1990 + n % 64 * 137, 'Pedido ' || n || ' na loja', 'pedido-' || n,
    'Maria Oliveira da Silva', 'cliente.' || n || '@example.com.br', '52998224725', '+5511987654321',
    '00020101021226720014br.gov.bcb.pix2550pix.simulator.test/qr/v2/' || md5(n::text)
      || '52040000530398654041990.905802BR5913Loja do Bench6009SAO PAULO62070503***6304ABCD',
    '${RECEIVER_ID}',
    '2036-01-01T00:00:00Z', to_timestamp((${EPOCH_MS} + n) / 1000.0), 2
  FROM generate_series($3::bigint, $4::bigint) AS s(n)`
