/**
 * Copies of template rows, spread over the months before now and over accounts.
 *
 * Guarantees:
 * - A copy has the bytes of its template, but for ids, keys and times. Its ids refer to each other as those of the
 *   template do.
 * - Rows are inserted in the order of time, so that indexes grow as they do in service. Charges are inserted as they are
 *   created, in batches, and updated by the acquirer's answer and later by their payment, so that their pages are as full.
 */
import type { Client } from "pg"
import { withDatabase } from "../measure/Database.ts"

export interface Growth {
  /** How often each row of the template is copied. */
  readonly copies: number
  readonly months: number
  readonly accounts: number
  /** What is copied; by default everything that a paid charge stores. With `charges` among them these are inserted as they end. */
  readonly tables?: ReadonlyArray<string> | undefined
}

/** The tables of a paid charge with one endpoint. Those of the simulator and its calls have no rows with a real bank. */
const allTables = [
  "idempotency_keys",
  "charge_settlements",
  "ledger_transfers",
  "notifications",
  "changes",
  "deliveries",
  "delivery_attempts",
  "requests"
]

/** Rows of an account, copied for each further account. */
const ownerTables = [
  "accounts",
  "applications",
  "api_keys",
  "ledger_accounts",
  "webhook_endpoints",
  "webhook_endpoint_counters",
  "webhook_endpoint_health",
  "webhook_endpoint_versions"
]

const owners = new Set(["account_id", "application_id", "endpoint_id", "key_id", "owner_id"])
/** Ids of rows that copies have in common. */
const shared = new Set(["connection_id", "receiver_id"])
/** Texts that are unique for each charge. */
const keys = new Set(["idempotency_key", "end_to_end_id", "key", "request_id", "reference"])

export const functions = [
  // A UUIDv7 of another time.
  `CREATE FUNCTION growth_id(id uuid, n integer, later bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN (lpad(to_hex(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint + later), 12, '0')
      || '7' || substr(md5(id::text || n), 1, 3) || '8' || substr(md5(id::text || n), 4, 15))::uuid`,
  `CREATE FUNCTION growth_owner(id uuid, n integer) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN n = 0 OR id = '00000000-0000-0000-0000-000000000000' THEN id ELSE growth_id(id, n, 0) END`,
  `CREATE FUNCTION growth_key(key text, n integer) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN left(key, greatest(length(key) - 12, 0)) || substr(md5(key || n), 1, least(length(key), 12))`
]

/** The SQL of a column of copy `n`, which is `later` milliseconds after its template and belongs to account `owner`. */
export const copied = (name: string, type: string): string => {
  if (owners.has(name)) return `growth_owner(${name}, owner)`
  if (name === "digest") return "md5(digest::text || n)::uuid"
  if (type === "uuid" && !name.endsWith("_hash") && !shared.has(name)) return `growth_id(${name}, n, later)`
  if (type === "timestamptz") return `${name} + later * interval '1 millisecond'`
  // Positions and days of one owner grow together.
  if (name === "position") return `position + n::bigint * 1000000`
  if (name === "day") return "(day + later * interval '1 millisecond')::date"
  return keys.has(name) ? `growth_key(${name}, n)` : name
}

export const columnsOf = async (database: Client, table: string) => {
  const { rows } = await database.query<{ name: string; type: string }>(
    `SELECT column_name AS name, udt_name AS type FROM information_schema.columns
     WHERE table_name = $1 AND table_schema = current_schema() AND is_generated = 'NEVER' ORDER BY ordinal_position`,
    [table]
  )
  return rows
}

/** Copies the rows of every table. The rows of now are the template, and stay. */
export const grow = (databaseUrl: string, growth: Growth, onProgress: (copies: number) => void) =>
  withDatabase(databaseUrl, async (database) => {
    const stepMs = Math.floor((growth.months * MONTH_MS) / growth.copies)
    await database.query("SET session_replication_role = replica")
    await database.query("SET synchronous_commit = off")
    for (const statement of functions) await database.query(statement)
    for (const table of ownerTables) await copyOwners(database, table, growth.accounts)
    const inserts: Array<string> = []
    const tables = growth.tables ?? allTables
    const charges = tables.includes("charges") ? undefined : await makeCharges(database, growth, stepMs)
    for (const table of tables) {
      await database.query(`CREATE TEMPORARY TABLE template_${table} AS SELECT * FROM ${table}`)
      const columns = await columnsOf(database, table)
      inserts.push(
        `INSERT INTO ${table} (${columns.map(({ name }) => name).join(", ")})
         SELECT ${columns.map(({ name, type }) => copied(name, type)).join(", ")}
         FROM ${copiesOf(growth, stepMs)} CROSS JOIN template_${table}
         ORDER BY n`
      )
    }
    for (let first = 1; first <= growth.copies; first += CHUNK) {
      const last = Math.min(first + CHUNK - 1, growth.copies)
      for (let copy = first; copy <= last; copy++) await charges?.(copy)
      for (const insert of inserts) await database.query(insert, [first, last])
      onProgress(last)
    }
    await database.query(
      `UPDATE ledger_accounts SET position = position + ${growth.copies + 1}::bigint * 1000000, balance = balance * CASE owner_id WHEN '${INSTALLATION}' THEN ${growth.copies + 1}
        ELSE ${Math.round(growth.copies / growth.accounts)} END`
    )
    // Every change is counted again, by the service's own loop.
    await database.query("TRUNCATE status_counts, daily_volumes")
    await database.query("UPDATE status_counts_position SET transaction_id = '0', change_id = $1", [INSTALLATION])
    await database.query("RESET session_replication_role")
    await database.query("VACUUM (ANALYZE)")
    await database.query("CHECKPOINT")
  })

const copiesOf = ({ accounts, copies }: Growth, stepMs: number) => `(
    SELECT n, n % ${accounts} AS owner, (n - ${copies + 1})::bigint * ${stepMs} AS later
    FROM generate_series($1::integer, $2::integer) AS n
  ) copies`

/** The columns of a charge that change, with their first values. */
const ofAnswer = { br_code: "NULL", receiver_id: "NULL", status: "'processing'" }
const ofPayment = { status: "'pending'", end_to_end_id: "NULL", paid_at: "NULL", payer: "NULL" }

/** Makes one copy of all charges, and pays those of the copy before it. */
const makeCharges = async (database: Client, growth: Growth, stepMs: number) => {
  await database.query(
    "CREATE TEMPORARY TABLE template_charges AS SELECT *, row_number() OVER (ORDER BY id) AS place FROM charges"
  )
  const { rows } = await database.query<{ count: number }>("SELECT count(*)::integer AS count FROM template_charges")
  const columns = await columnsOf(database, "charges")
  const first: Readonly<Record<string, string>> = { ...ofAnswer, ...ofPayment, sequence: "1" }
  const some = `(SELECT * FROM ${copiesOf(growth, stepMs)} CROSS JOIN template_charges WHERE place BETWEEN $3 AND $4) t`
  const insert = `INSERT INTO charges (${columns.map(({ name }) => name).join(", ")})
    SELECT ${columns.map(({ name, type }) => first[name] ?? copied(name, type)).join(", ")} FROM ${some} ORDER BY place`
  const update = (changed: object, sequence: number) => {
    const values = columns.flatMap(({ name, type }) => (name in changed ? [`${copied(name, type)} AS ${name}`] : []))
    const names = Object.keys(changed)
    return `UPDATE charges c SET sequence = ${sequence}, ${names.map((name) => `${name} = i.${name}`).join(", ")}
      FROM (SELECT growth_id(id, n, later) AS id, ${values.join(", ")} FROM ${some}) i WHERE c.id = i.id`
  }
  const [answer, payment] = [update(ofAnswer, 2), update(ofPayment, 3)]
  // Each row is found by its id, and nothing is planned twice.
  for (const way of ["hashjoin", "mergejoin", "seqscan"]) await database.query(`SET enable_${way} = off`)
  await database.query("SET plan_cache_mode = force_generic_plan")
  await database.query("CREATE INDEX ON template_charges (place)")
  const statements = { insert, answer, payment }
  const run = (name: keyof typeof statements, copy: number, place: number) =>
    database.query({ name, text: statements[name], values: [copy, copy, place, place + BATCH - 1] })
  let unvacuumed = 0
  return async (copy: number) => {
    // As autovacuum does.
    unvacuumed += rows[0]!.count
    if (unvacuumed >= 50_000) {
      await database.query("VACUUM charges")
      unvacuumed = 0
    }
    for (let place = 1; place <= rows[0]!.count; place += BATCH) {
      await run("insert", copy, place)
      await run("answer", copy, place)
      if (copy > 1) await run("payment", copy - 1, place)
    }
    for (let place = 1; copy === growth.copies && place <= rows[0]!.count; place += BATCH) {
      await run("payment", copy, place)
    }
  }
}

const copyOwners = async (database: Client, table: string, accounts: number) => {
  const columns = await columnsOf(database, table)
  const value = ({ name, type }: { readonly name: string; readonly type: string }) => {
    if (name === "hash") return "encode(sha256((hash || n)::bytea), 'hex')"
    return type === "uuid" && !shared.has(name) ? `growth_owner(${name}, n)` : name
  }
  await database.query(
    `INSERT INTO ${table} (${columns.map(({ name }) => name).join(", ")})
     SELECT ${columns.map(value).join(", ")} FROM (SELECT * FROM ${table}) t CROSS JOIN generate_series(1, $1::integer - 1) AS n
     ON CONFLICT DO NOTHING`,
    [accounts]
  )
}

/** Charges that are created, answered or paid in one statement. */
const BATCH = 8
/** Copies of each template row in one statement. */
const CHUNK = 500
const MONTH_MS = 30 * 86_400_000
const INSTALLATION = "00000000-0000-0000-0000-000000000000"
