/**
 * The request jobs: how a database is prepared, which requests are sent, and which rows must exist afterwards.
 *
 * To add one, declare it here and list it in `loadJobs`. `makeRequests` runs in the process of the load generator, which
 * gets `Target` and `prepared` in a message. Jobs that are not started by requests are in `measure/`.
 */
import type { Client } from "pg"
import { insertAccount } from "./Accounts.ts"
import { chargeIdOf, type Seeded } from "./Seeds.ts"

/** The port of a contender and an API key. */
export interface Target {
  readonly port: number
  readonly apiKey: string
}

export interface LoadJob {
  readonly name: string
  /** The heading of the table. */
  readonly title: string
  /** The status of a correct answer. */
  readonly status: number
  /** Numbers of concurrent connections, one after the other. */
  readonly connections: ReadonlyArray<number>
  /** The same with `--quick`. */
  readonly quickConnections: ReadonlyArray<number>
  /** Whether the contender has a processor to itself, and PostgreSQL and the load have the others. */
  readonly isPinned?: boolean
  /** Numbers of charges that exist at the start, each in its own database. Where present, this is what is varied. */
  readonly charges?: {
    readonly full: ReadonlyArray<number>
    /** On tables partitioned by quarters. */
    readonly grown: ReadonlyArray<number>
    readonly quick: ReadonlyArray<number>
  }
  /** Runs once for each contender before its warm-up. The result, for example API keys, is passed on as `prepared`. */
  readonly prepare: (target: Target, database: Client, seeded: Seeded | undefined) => Promise<ReadonlyArray<string>>
  /** Each call of the result is one complete HTTP/1.1 request. `keyPrefix` is unique to a turn. */
  readonly makeRequests: (target: Target, prepared: ReadonlyArray<string>, keyPrefix: string) => () => string
  /** Whether an answer with the right status belongs to its request. */
  readonly isCorrect?: (prepared: ReadonlyArray<string>) => (request: string, answer: string) => boolean
  /** Whether background work is done. Its CPU counts for the turn that caused it. */
  readonly isSettled?: (database: Client) => Promise<boolean>
  /** Differences between the rows and `answered` correct answers. `isLogged`: the request log is checked too. */
  readonly check: (
    database: Client,
    answered: number,
    isLogged: boolean,
    prepared: ReadonlyArray<string>
  ) => Promise<ReadonlyArray<string>>
}

/** Unique to a part of this process. A key with it has the eight characters that contenders demand, whatever the process id. */
export const keyPrefixOf = (part: string, pid = process.pid) => `bench-${pid}-${part}`

const createCharge: LoadJob = {
  name: "create-charge",
  title: "Create charge: `POST /v1/charges`, each with a fresh Idempotency-Key, durable",
  status: 201,
  connections: [1, 64, 256],
  quickConnections: [8],
  prepare: async () => [],
  makeRequests: ({ apiKey, port }, _prepared, keyPrefix) => {
    const heads = Array.from({ length: 64 }, (_, index) => {
      const body = chargeBody(index)
      return {
        head:
          `POST /v1/charges HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-api-key: ${apiKey}\r\n` +
          `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nidempotency-key: ${keyPrefix}-`,
        tail: `\r\n\r\n${body}`
      }
    })
    let count = 0
    return () => {
      const { head, tail } = heads[count % heads.length]!
      return `${head}${count++}${tail}`
    }
  },
  check: async (database, answered, isLogged) => {
    const { rows } = await database.query<Record<string, string>>(`
      SELECT count(*) AS charges, count(*) FILTER (WHERE status = 'processing') AS processing,
        count(*) FILTER (WHERE status = 'pending' AND br_code IS NOT NULL) AS pending,
        (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM requests) AS requests
      FROM charges`)
    const found = (name: string) => Number(rows[0]?.[name])
    return [
      mismatch("charges stored", found("charges"), "answered 201", answered),
      mismatch("charges pending with a BR code", found("pending"), "answered 201", answered),
      mismatch("charges left in processing", found("processing"), "allowed", 0),
      mismatch("events", found("events"), "twice the charges", 2 * answered),
      mismatch("rows in the request log", found("requests"), "answered", isLogged ? answered : 0)
    ].filter((sentence) => sentence !== undefined)
  }
}

/** The last status of a payout: it needs an operator's approval, or it is submitted and completed in the background. */
type FinalStatus = "pending" | "completed"

const createPayout = (name: string, accounts: number, finalStatus: FinalStatus): LoadJob => ({
  name,
  title:
    `Create payout, ${accounts === 1 ? "one account" : `${accounts} accounts in turn`}: \`POST /v1/payouts\`, ` +
    "each with a fresh Idempotency-Key, durable; " +
    (finalStatus === "pending"
      ? "each waits for an operator's approval"
      : "submitted and completed in the background (CPU: until all are completed)"),
  status: 201,
  connections: [64],
  quickConnections: [8],
  prepare: async (_target, database) => {
    const keys: Array<string> = []
    while (keys.length < accounts) {
      const { apiKey } = await insertAccount(database, {
        available: FUNDS,
        payoutFee: 50,
        autoPayout: finalStatus === "completed"
      })
      keys.push(apiKey)
    }
    return keys
  },
  makeRequests: ({ port }, keys, keyPrefix) => {
    const heads = keys.map(
      (key) =>
        `POST /v1/payouts HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-api-key: ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(payoutBody)}\r\nidempotency-key: ${keyPrefix}-`
    )
    let count = 0
    return () => `${heads[count % heads.length]}${count++}\r\n\r\n${payoutBody}`
  },
  isSettled: async (database) => {
    const { rowCount } = await database.query("SELECT 1 FROM payouts WHERE status = 'processing' LIMIT 1")
    return rowCount === 0
  },
  check: async (database, answered, isLogged) => {
    const { rows } = await database.query<Record<string, string>>(
      `WITH entries AS (
        SELECT account_id, credit AS kind, amount FROM ledger_transfers
        UNION ALL
        SELECT account_id, debit, -amount FROM ledger_transfers
      ),
      sums AS (
        SELECT CASE WHEN kind NOT IN ('acquirer', 'fees') THEN account_id END AS owner_id, kind, sum(amount) AS amount
        FROM entries GROUP BY 1, 2
      ),
      -- The acquirer's balance and the fees are in one row or in a row for each account, depending on the release.
      balances AS (
        SELECT CASE WHEN kind NOT IN ('acquirer', 'fees') THEN owner_id END AS owner_id, kind, sum(balance) AS balance
        FROM ledger_accounts GROUP BY 1, 2
      )
      SELECT (SELECT count(*) FROM payouts) AS payouts,
        (SELECT count(*) FROM payouts WHERE status = 'pending') AS pending,
        (SELECT count(*) FROM payouts WHERE status = 'completed' AND end_to_end_id IS NOT NULL) AS completed,
        (SELECT coalesce(sum(amount + fee), 0) FROM payouts) AS spent,
        (SELECT count(*) FROM changes WHERE kind = 'payment.pix') AS changes,
        (SELECT coalesce(sum(balance), 0) FROM ledger_accounts WHERE kind = 'available') AS available,
        (SELECT coalesce(sum(balance), 0) FROM ledger_accounts WHERE kind = 'payouts_in_transit') AS in_transit,
        (SELECT count(*) FROM ledger_accounts WHERE balance < 0 AND kind <> 'acquirer') AS negative,
        (SELECT sum(balance) FROM ledger_accounts) AS sum,
        (SELECT count(*) FROM balances l LEFT JOIN sums s ON s.owner_id IS NOT DISTINCT FROM l.owner_id AND s.kind = l.kind
          WHERE l.balance <> coalesce(s.amount, 0)) AS unexplained,
        (SELECT count(*) FROM requests) AS requests`
    )
    const found = (column: string) => Number(rows[0]?.[column])
    return [
      mismatch("payouts stored", found("payouts"), "answered 201", answered),
      mismatch("payouts pending", found("pending"), "expected", finalStatus === "pending" ? answered : 0),
      mismatch("payouts completed", found("completed"), "expected", finalStatus === "completed" ? answered : 0),
      mismatch("changes", found("changes"), "expected", finalStatus === "pending" ? answered : 2 * answered),
      mismatch("available", found("available"), "funds minus payouts and fees", accounts * FUNDS - found("spent")),
      mismatch("in transit", found("in_transit"), "expected", finalStatus === "pending" ? found("spent") : 0),
      mismatch("balances below zero", found("negative"), "allowed", 0),
      mismatch("sum of all ledger accounts", found("sum"), "double entry", 0),
      mismatch("balances that differ from their transfers", found("unexplained"), "allowed", 0),
      mismatch("rows in the request log", found("requests"), "answered", isLogged ? answered : 0)
    ].filter((sentence) => sentence !== undefined)
  }
})

const getRequest = (path: string, { port }: Target, apiKey: string | undefined): string =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-api-key: ${apiKey}\r\n\r\n`

/** A job that reads the charges of one account. */
const readCharges = (job: Pick<LoadJob, "name" | "title" | "makeRequests" | "isCorrect">): LoadJob => ({
  ...job,
  status: 200,
  connections: [64],
  quickConnections: [8],
  charges: { full: [10_000, 1_000_000], grown: [10_000, 10_000_000], quick: [10_000] },
  prepare: async (_target, _database, seeded) => {
    if (seeded === undefined) throw new Error(`${job.name} needs a seeded database`)
    return [seeded.apiKey, String(seeded.charges), String(seeded.every)]
  },
  check: async (database, answered, isLogged, prepared) => {
    const { rows } = await database.query<Record<string, string>>(`
      SELECT count(*) AS charges, (SELECT count(*) FROM requests) AS requests,
        (SELECT count(*) FROM requests WHERE status <> 200) AS errors
      FROM charges`)
    const found = (name: string) => Number(rows[0]?.[name])
    return [
      mismatch("charges", found("charges"), "seeded", Number(prepared[1])),
      mismatch("rows in the request log", found("requests"), "answered", isLogged ? answered : 0),
      mismatch("errors in the request log", found("errors"), "answered", 0)
    ].filter((sentence) => sentence !== undefined)
  }
})

const getCharge = readCharges({
  name: "get-charge",
  title: "Get charge: `GET /v1/charges/{id}`, ids at random",
  makeRequests:
    (target, [apiKey, count, every]) =>
    () => {
      const own = 1 + Math.floor(Math.random() * (Number(count) / Number(every)))
      return getRequest(`/v1/charges/${chargeIdOf(own * Number(every))}`, target, apiKey)
    },
  isCorrect: () => (request, answer) => answer.includes(request.slice(GET_CHARGE.length, GET_CHARGE.length + 36))
})

const GET_CHARGE = "GET /v1/charges/"

const listCharges = (name: string, page: number): LoadJob =>
  readCharges({
    name,
    title: `List 20 charges, ${page === 1 ? "first page" : `page ${page} by its cursor`}: \`GET /v1/charges\``,
    makeRequests: (target, [apiKey, count, every]) => {
      const before = newestOf(page, Number(count), Number(every)) + Number(every)
      const cursor = page === 1 ? "" : `?starting_after=${chargeIdOf(before)}`
      const request = getRequest(`/v1/charges${cursor}`, target, apiKey)
      return () => request
    },
    isCorrect: ([_apiKey, count, every]) => {
      const newest = newestOf(page, Number(count), Number(every))
      const [first, last, next] = [0, 19, 20].map((older) => `"id":"${chargeIdOf(newest - older * Number(every))}"`)
      return (_request, answer) =>
        answer.includes(first!) &&
        answer.includes(last!) &&
        !answer.includes(next!) &&
        answer.endsWith(`"has_more":${newest > 20 * Number(every)}}`)
    }
  })

/** The number of the first charge on a page of 20, out of `count` charges of which the account owns one in `every`. */
const newestOf = (page: number, count: number, every: number): number => count - 20 * (page - 1) * every

export const loadJobs: ReadonlyArray<LoadJob> = [
  createCharge,
  getCharge,
  listCharges("list-first", 1),
  listCharges("list-500", 500),
  createPayout("create-payout-hot", 1, "pending"),
  createPayout("create-payout-16", 16, "pending"),
  createPayout("complete-payout-hot", 1, "completed"),
  createPayout("complete-payout-16", 16, "completed"),
  {
    ...createCharge,
    name: "create-charge-pinned",
    title: `${createCharge.title}; the contender on one processor, PostgreSQL and the load on the others`,
    connections: [64, 256],
    isPinned: true
  }
]

/** The available balance of each account of a payout job, in cents. */
const FUNDS = 1_000_000_000_000

const payoutBody = JSON.stringify({
  amount: 500,
  pix_key_type: "email",
  pix_key: "someone@example.com",
  method: "pix",
  recipient_name: "Maria Oliveira da Silva",
  description: "Saque",
  reference: "saque-1"
})

/** A sentence where two counts differ. */
export const mismatch = (name: string, found: number, expectedName: string, expected: number): string | undefined =>
  found === expected ? undefined : `${name}: ${found}, ${expectedName}: ${expected}`

/** As an online shop sends it. No `webhook_url`: deliveries are another job. */
const chargeBody = (index: number): string =>
  JSON.stringify({
    amount: 1990 + index * 137,
    method: "pix",
    customer: {
      name: `${firstNames[index % firstNames.length]} Oliveira da Silva`,
      email: `cliente.${index}@example.com.br`,
      document: documents[index % documents.length],
      phone: "+5511987654321"
    },
    description: `Pedido ${10_000 + index} na loja`,
    reference: `pedido-${10_000 + index}`,
    expires_in: 3600
  })

const firstNames = ["Maria", "João", "Ana", "José", "Antônia", "Francisco", "Márcia", "Luís"]

const documents = ["529.982.247-25", "11144477735", "12.ABC.345/01DE-35", "11222333000181"]
