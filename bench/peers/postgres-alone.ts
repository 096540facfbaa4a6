/**
 * The limit that PostgreSQL sets: the same rows in batches of 50 generated inside PostgreSQL, with as many commits as a
 * batch of the service, the one prepared query of a page, and one look-up of ten ids for ten gets. Four connections, no HTTP, no rules, no
 * decoding.
 *
 * It takes the commands of the load generator. Environment: DATABASE_URL.
 *
 * Why not `pgbench`: the embedded PostgreSQL does not include it.
 */
// Not an Effect program.
import { createHash } from "node:crypto"
import { Client } from "pg"
import { makeHistogram, record } from "../load/Histogram.ts"
import { chargeIdOf } from "../load/Seeds.ts"
import type { LoadCommand, LoadResult } from "../load/closedLoop.ts"
import { chargeData } from "../load/SampleCharge.ts"

const BATCH = 50

/** As many as a statement of the service has at 64 connections. */
const GETS = 10

const CONNECTIONS = 4

/** One iteration of a connection; returns how many requests it stands for. */
type Iteration = (database: Client, number: number) => Promise<number>

const createCharges =
  ({ keyPrefix }: LoadCommand): Iteration =>
  async (database, number) => {
    const { rows } = await database.query<{ readonly ids: ReadonlyArray<string> }>({
      ...insertCharges,
      values: [`${keyPrefix}-${number}-`]
    })
    await database.query({ ...settleCharges, values: [rows[0]?.ids, chargeData] })
    return BATCH
  }

const createPayouts =
  (accounts: ReadonlyArray<string>, { keyPrefix }: LoadCommand): Iteration =>
  async (database, number) => {
    await database.query("BEGIN")
    await database.query({ ...lockBalances, values: [accounts] })
    await database.query({ ...insertPayouts, values: [accounts, `${keyPrefix}-${number}-`, chargeData] })
    await database.query("COMMIT")
    return BATCH
  }

/** Values stay as the driver received them. */
const undecoded = { rowMode: "array" as const, types: { getTypeParser: () => (value: unknown) => value } }

const getCharges = ({ prepared: [, count, every] }: LoadCommand): Iteration => {
  const randomId = () => chargeIdOf(Number(every) * (1 + Math.floor(Math.random() * (Number(count) / Number(every)))))
  const query = { name: "get", text: `SELECT ${listed} FROM charges WHERE id = ANY ($1::uuid[])`, ...undecoded }
  return async (database) => {
    const ids = new Set(Array.from({ length: GETS }, randomId))
    const { rows } = await database.query({ ...query, values: [[...ids]] })
    if (rows.length !== ids.size) throw new Error(`${rows.length} charges of ${ids.size}`)
    return rows.length
  }
}

const listCharges = (account: string, before: string | undefined): Iteration => {
  const query = {
    name: "list",
    text: `SELECT ${listed} FROM charges
      WHERE account_id = $1 AND origin = 'api' ${before === undefined ? "" : "AND id < $2"}
      ORDER BY id DESC LIMIT 21`,
    values: before === undefined ? [account] : [account, before],
    ...undecoded
  }
  return async (database) => {
    const { rows } = await database.query(query)
    if (rows.length < 20) throw new Error(`${rows.length} charges on a page`)
    return 1
  }
}

const iterationOf = async (command: LoadCommand, database: Client): Promise<Iteration> => {
  if (command.job === "create-charge") return createCharges(command)
  if (command.job === "get-charge") return getCharges(command)
  const isList = command.job.startsWith("list-")
  const keys = isList ? command.prepared.slice(0, 1) : command.prepared
  const { rows } = await database.query<{ readonly account_id: string }>(
    "SELECT p.account_id FROM api_keys k JOIN applications p ON p.id = k.application_id WHERE k.hash = ANY ($1)",
    [keys.map((key) => createHash("sha256").update(key).digest("hex"))]
  )
  const accounts = rows.map(({ account_id }) => account_id)
  if (!isList) return createPayouts(accounts, command)
  const page = Number(command.job.slice("list-".length)) || 1
  return listCharges(
    accounts[0]!,
    page === 1 ? undefined : chargeIdOf(Number(command.prepared[1]) - 20 * (page - 1) + 1)
  )
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

const generate = async (command: LoadCommand): Promise<LoadResult> => {
  connections ??= await Promise.all(Array.from({ length: CONNECTIONS }, open))
  const iterate = await iterationOf(command, connections[0]!)
  const latencies = makeHistogram()
  const errorSamples: Array<string> = []
  const count = { answered: 0, inTime: 0, errors: 0 }
  let number = 0
  const cpu = process.cpuUsage()
  const end = performance.now() + command.seconds * 1000
  const drive = async (database: Client) => {
    for (let now = performance.now(); now < end && count.answered < (command.requests ?? Number.POSITIVE_INFINITY);) {
      const startedAt = now
      const done = await iterate(database, number++)
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
        errorSamples.push(String(error))
      })
    )
  )
  const { system, user } = process.cpuUsage(cpu)
  return { ...count, errorSamples, seconds: command.seconds, latencies, cpuMicros: system + user }
}

process.on("message", (command: LoadCommand) => {
  void generate(command).then((result) => process.send?.(result))
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})

// ---- statements ----

const UNUSED_ID = "0199a0f0-5f3c-7c3e-9d0b-5a4b1c2d3e4f"

const insertCharges = {
  name: "insert_charges",
  text: `WITH inserted AS (
      INSERT INTO charges (id, account_id, application_id, origin, idempotency_key, status, method, amount, description,
        reference, customer_name, customer_email, customer_document, customer_phone, expires_at, created_at, sequence,
        recover_at)
      SELECT uuidv7(), '${UNUSED_ID}', '${UNUSED_ID}', 'api', $1 || n, 'processing', 'pix', 1990 + n * 137,
        'Pedido ' || n || ' na loja', 'pedido-' || n, 'Maria Oliveira da Silva', 'cliente@example.com.br', '52998224725',
        '+5511987654321', now() + interval '1 hour', now(), 1, now() + interval '6 seconds'
      FROM generate_series(1, ${BATCH}) AS s(n)
      ON CONFLICT (application_id, origin, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
      RETURNING id
    )
    SELECT array_agg(id) AS ids FROM inserted`
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
    SELECT uuidv7(), id, '${UNUSED_ID}', '${UNUSED_ID}', 'charge.pix', '{created,emitted}', 'pending', 2, $2, now()
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
    inserted_changes AS (
      INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
      SELECT uuidv7(), id, account_id, 'payment.pix', '{created}', 'pending', 1, $3, now() FROM changed
    ),
    inserted_transfers AS (
      INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at)
      SELECT uuidv7(), account_id, 'available', 'payouts_in_transit', total, id, 'payout.created', now() FROM changed
    ),
    sums AS MATERIALIZED (SELECT account_id, sum(total)::bigint AS amount FROM changed GROUP BY account_id)
    UPDATE ledger_accounts l SET balance = l.balance + CASE WHEN l.kind = 'available' THEN -s.amount ELSE s.amount END
    FROM sums s WHERE l.owner_id = s.account_id AND l.kind IN ('available', 'payouts_in_transit')`
}

const listed = `id, account_id, application_id, origin, idempotency_key, status, method, amount, description, reference,
  customer_name, customer_email, customer_document, customer_phone, webhook_url, webhook_secret, br_code, end_to_end_id,
  receiver, expires_at, paid_at, failure_reason, created_at, sequence`
