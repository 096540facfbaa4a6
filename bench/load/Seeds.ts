/**
 * Databases with many charges in them, made once and copied for each contender.
 *
 * The charges are of one account, a millisecond apart, emitted, with everything that the API would have stored of them;
 * their ids follow from their numbers, so that whoever asks for them need not be told a million ids.
 */
import type { Client } from "pg"
import { insertAccount } from "./Accounts.ts"

export interface Seeded {
  /** The database to copy. */
  readonly template: string
  /** Of the account whose charges they are. */
  readonly apiKey: string
  readonly charges: number
}

/** Fills a database that has the schema and nothing else. */
export const seed = async (database: Client, template: string, charges: number): Promise<Seeded> => {
  const owner = await insertAccount(database)
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

/** The id of the charge with a number from 1 on; the newest has the highest. */
export const chargeIdOf = (number: number): string => {
  const time = (EPOCH_MS + number).toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, "0")}`
}

const CHUNK = 100_000

// 2026-01-01, so that none of a million is of the future.
const EPOCH_MS = 1_767_225_600_000

const insertCharges = `
  INSERT INTO charges (id, account_id, application_id, origin, idempotency_key, status, method, amount, description,
    reference, customer_name, customer_email, customer_document, customer_phone, br_code, receiver, expires_at,
    created_at, sequence)
  SELECT (lpad(to_hex(${EPOCH_MS} + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
    $1, $2, 'api', md5(n::text), 'pending', 'pix', 1990 + n % 64 * 137, 'Pedido ' || n || ' na loja', 'pedido-' || n,
    'Maria Oliveira da Silva', 'cliente.' || n || '@example.com.br', '52998224725', '+5511987654321',
    '00020101021226720014br.gov.bcb.pix2550pix.simulator.test/qr/v2/' || md5(n::text)
      || '52040000530398654041990.905802BR5913Loja do Bench6009SAO PAULO62070503***6304ABCD',
    '{"name":"Loja do Bench","document":"11222333000181","pix_key":"11222333000181","pix_key_type":"cnpj",'
      '"institution_name":"Simulated Acquirer","institution_ispb":"00000000","branch":"0001","account":"1",'
      '"account_type":"payment"}',
    '2036-01-01T00:00:00Z', to_timestamp((${EPOCH_MS} + n) / 1000.0), 2
  FROM generate_series($3::bigint, $4::bigint) AS s(n)`
