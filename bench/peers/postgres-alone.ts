/**
 * The limit of what PostgreSQL does for us: the same rows in batches of 50, made inside PostgreSQL, with as many commits
 * as a batch of the service has; and the one prepared query of a page. Over a few connections, with no HTTP, no rules
 * and nothing decoded: what `pgbench` would do, which is no part of the embedded PostgreSQL.
 *
 * Told what to do as the load generator is, and answers as it does. Environment: DATABASE_URL.
 */
// This is no Effect program.
import { createHash } from "node:crypto"
import { Client } from "pg"
import { makeHistogram, record } from "../load/Histogram.ts"
import { chargeIdOf } from "../load/Seeds.ts"
import type { LoadOrder, LoadResult } from "../load/closedLoop.ts"
import { chargeData } from "../load/SampleCharge.ts"

const BATCH = 50

const CONNECTIONS = 4

/** What one of the connections does again and again: how many things one time is. */
type Work = (database: Client, number: number) => Promise<number>

const createCharges =
  ({ run }: LoadOrder): Work =>
  async (database, number) => {
    const { rows } = await database.query<{ readonly ids: ReadonlyArray<string> }>({
      ...insertCharges,
      values: [`${run}-${number}-`]
    })
    await database.query({ ...settleCharges, values: [rows[0]?.ids, chargeData] })
    return BATCH
  }

const createPayouts =
  (accounts: ReadonlyArray<string>, { run }: LoadOrder): Work =>
  async (database, number) => {
    await database.query("BEGIN")
    await database.query({ ...lockBalances, values: [accounts] })
    await database.query({ ...insertPayouts, values: [accounts, `${run}-${number}-`, chargeData] })
    await database.query("COMMIT")
    return BATCH
  }

const listCharges = (account: string, before: string | undefined): Work => {
  const query = {
    name: "list",
    text: `SELECT ${listed} FROM charges
      WHERE account_id = $1 AND origin = 'api' ${before === undefined ? "" : "AND id < $2"}
      ORDER BY id DESC LIMIT 21`,
    values: before === undefined ? [account] : [account, before],
    rowMode: "array" as const,
    // As it came.
    types: { getTypeParser: () => (value: unknown) => value }
  }
  return async (database) => {
    const { rows } = await database.query(query)
    if (rows.length < 20) throw new Error(`${rows.length} charges on a page`)
    return 1
  }
}

const workOf = async (order: LoadOrder, database: Client): Promise<Work> => {
  if (order.job === "create-charge") return createCharges(order)
  const isList = order.job.startsWith("list-")
  const keys = isList ? order.prepared.slice(0, 1) : order.prepared
  const { rows } = await database.query<{ readonly account_id: string }>(
    "SELECT p.account_id FROM api_keys k JOIN applications p ON p.id = k.application_id WHERE k.hash = ANY ($1)",
    [keys.map((key) => createHash("sha256").update(key).digest("hex"))]
  )
  const accounts = rows.map(({ account_id }) => account_id)
  if (!isList) return createPayouts(accounts, order)
  const page = Number(order.job.slice("list-".length)) || 1
  return listCharges(accounts[0]!, page === 1 ? undefined : chargeIdOf(Number(order.prepared[1]) - 20 * (page - 1) + 1))
}

const open = async () => {
  const database = new Client({
    connectionString: process.env["DATABASE_URL"],
    options: "-c timezone=UTC -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
  })
  await database.connect()
  return database
}

let connections: ReadonlyArray<Client> | undefined

const generate = async (order: LoadOrder): Promise<LoadResult> => {
  connections ??= await Promise.all(Array.from({ length: CONNECTIONS }, open))
  const work = await workOf(order, connections[0]!)
  const latencies = makeHistogram()
  const complaints: Array<string> = []
  const count = { answered: 0, inTime: 0, errors: 0 }
  let number = 0
  const cpu = process.cpuUsage()
  const end = performance.now() + order.seconds * 1000
  const drive = async (database: Client) => {
    for (let now = performance.now(); now < end;) {
      const startedAt = now
      const done = await work(database, number++)
      now = performance.now()
      for (let i = 0; i < done; i++) record(latencies, (now - startedAt) * 1000)
      count.answered += done
      if (now <= end) count.inTime += done
    }
  }
  await Promise.all(
    connections.map((database) =>
      drive(database).catch((error: unknown) => {
        count.errors++
        complaints.push(String(error))
      })
    )
  )
  const { system, user } = process.cpuUsage(cpu)
  return { ...count, complaints, seconds: order.seconds, latencies, cpuMicros: system + user }
}

process.on("message", (order: LoadOrder) => {
  void generate(order).then((result) => process.send?.(result))
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})

// ---- statements ----

const NOBODY = "0199a0f0-5f3c-7c3e-9d0b-5a4b1c2d3e4f"

const insertCharges = {
  name: "insert_charges",
  text: `WITH stored AS (
      INSERT INTO charges (id, account_id, application_id, origin, idempotency_key, status, method, amount, description,
        reference, customer_name, customer_email, customer_document, customer_phone, expires_at, created_at, sequence,
        recover_at)
      SELECT uuidv7(), '${NOBODY}', '${NOBODY}', 'api', $1 || n, 'processing', 'pix', 1990 + n * 137,
        'Pedido ' || n || ' na loja', 'pedido-' || n, 'Maria Oliveira da Silva', 'cliente@example.com.br', '52998224725',
        '+5511987654321', now() + interval '1 hour', now(), 1, now() + interval '6 seconds'
      FROM generate_series(1, ${BATCH}) AS s(n)
      ON CONFLICT (application_id, origin, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
      RETURNING id
    )
    SELECT array_agg(id) AS ids FROM stored`
}

const settleCharges = {
  name: "settle_charges",
  text: `WITH changed AS (
      UPDATE charges SET status = 'pending', sequence = 2, recover_at = NULL,
        br_code = '00020101021226720014br.gov.bcb.pix2550pix.simulator.test/qr/v2/' || md5(id::text)
          || '520400005303986540519.905802BR5913Loja do Bench6009SAO PAULO62070503***6304ABCD',
        receiver = '{"name":"Loja do Bench","document":"11222333000181","pix_key":"11222333000181",'
          '"pix_key_type":"cnpj","institution_name":"Simulated Acquirer","institution_ispb":"00000000",'
          '"branch":"0001","account":"1","account_type":"payment"}'
      WHERE id = ANY ($1::uuid[]) AND status || '' = 'processing'
      RETURNING id
    )
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT uuidv7(), id, '${NOBODY}', '${NOBODY}', 'charge.pix', '{created,emitted}', 'pending', 2, $2, now()
    FROM changed`
}

const lockBalances = {
  name: "lock_balances",
  text: `SELECT balance FROM ledger_accounts
    WHERE owner_id = ANY ($1::uuid[]) AND kind IN ('available', 'payouts_in_transit')
    ORDER BY owner_id, kind FOR NO KEY UPDATE`
}

const insertPayouts = {
  name: "insert_payouts",
  text: `WITH changed AS (
      INSERT INTO payouts (id, account_id, application_id, origin, idempotency_key, status, method, amount, fee,
        description, reference, recipient_name, pix_key_type, pix_key, created_at, sequence)
      SELECT uuidv7(), ($1::uuid[])[1 + n % cardinality($1::uuid[])], NULL, 'api', $2 || n, 'pending', 'pix', 500, 50,
        'Saque', 'saque-1', 'Maria Oliveira da Silva', 'email', 'someone@example.com', now(), 1
      FROM generate_series(1, ${BATCH}) AS s(n)
      RETURNING id, account_id, amount + fee AS total
    ),
    told AS (
      INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
      SELECT uuidv7(), id, account_id, 'payment.pix', '{created}', 'pending', 1, $3, now() FROM changed
    ),
    moved AS (
      INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at,
        posted)
      SELECT uuidv7(), account_id, 'available', 'payouts_in_transit', total, id, 'payout.created', now(), true FROM changed
    ),
    sums AS MATERIALIZED (SELECT account_id, sum(total)::bigint AS amount FROM changed GROUP BY account_id)
    UPDATE ledger_accounts l SET balance = l.balance + CASE WHEN l.kind = 'available' THEN -s.amount ELSE s.amount END
    FROM sums s WHERE l.owner_id = s.account_id AND l.kind IN ('available', 'payouts_in_transit')`
}

const listed = `id, account_id, application_id, origin, idempotency_key, status, method, amount, description, reference,
  customer_name, customer_email, customer_document, customer_phone, webhook_url, webhook_secret, br_code, end_to_end_id,
  receiver, expires_at, paid_at, failure_reason, created_at, sequence`
