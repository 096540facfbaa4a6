/**
 * What is asked over HTTP. A job says how a database is prepared, what is asked, and what must be true afterwards.
 *
 * `requests` runs in the process of the load generator: what it needs comes through `Target` and `prepared`.
 * To add a job, write it here and name it in `loadJobs`. What no request starts is a job with a measure of its own:
 * see `MeasureDeliveries.ts`.
 */
import type { Client } from "pg"
import { insertAccount } from "./Accounts.ts"
import { chargeIdOf, type Seeded } from "./Seeds.ts"

/** Where a contender listens, and the key that it takes. */
export interface Target {
  readonly port: number
  readonly apiKey: string
}

export interface LoadJob {
  readonly name: string
  /** What is counted, as the table's heading says it. */
  readonly title: string
  /** The status of a right answer. */
  readonly status: number
  /** How many connections ask at once, in turn; with `--quick`. */
  readonly connections: ReadonlyArray<number>
  readonly quickConnections: ReadonlyArray<number>
  /** How many charges there are beforehand, each number in a database of its own: what is varied, where it is given. */
  readonly charges?: { readonly full: ReadonlyArray<number>; readonly quick: ReadonlyArray<number> }
  /** Done once for each contender before it is warmed up; the answer (ids, say) is handed to `requests`. */
  readonly prepare: (target: Target, database: Client, seeded: Seeded | undefined) => Promise<ReadonlyArray<string>>
  /** Makes the maker of requests: each call is one complete HTTP/1.1 request. `run` is unique to each round. */
  readonly requests: (target: Target, prepared: ReadonlyArray<string>, run: string) => () => string
  /** Whether an answer with the right status is the answer to its request. */
  readonly isRight?: (prepared: ReadonlyArray<string>) => (request: string, answer: string) => boolean
  /** Whether the work that requests leave behind is done: a part of their cost, and nothing for the next turn to bear. */
  readonly settled?: (database: Client) => Promise<boolean>
  /** What is wrong in the database, after so many right answers: a sentence each. `logged`: requests have lines. */
  readonly check: (
    database: Client,
    answered: number,
    logged: boolean,
    prepared: ReadonlyArray<string>
  ) => Promise<ReadonlyArray<string>>
}

const createCharge: LoadJob = {
  name: "create-charge",
  title: "Create charge: `POST /v1/charges`, each with a fresh Idempotency-Key, durable",
  status: 201,
  connections: [1, 64, 256],
  quickConnections: [8],
  prepare: async () => [],
  requests: ({ apiKey, port }, _prepared, run) => {
    const heads = Array.from({ length: 64 }, (_, index) => {
      const body = chargeBody(index)
      return {
        head:
          `POST /v1/charges HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-api-key: ${apiKey}\r\n` +
          `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nidempotency-key: ${run}-`,
        tail: `\r\n\r\n${body}`
      }
    })
    let count = 0
    return () => {
      const { head, tail } = heads[count % heads.length]!
      return `${head}${count++}${tail}`
    }
  },
  check: async (database, answered, logged) => {
    const { rows } = await database.query<Record<string, string>>(`
      SELECT count(*) AS charges, count(*) FILTER (WHERE status = 'processing' OR NOT acquirer_answered) AS processing,
        count(*) FILTER (WHERE status = 'pending' AND br_code IS NOT NULL) AS pending,
        (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM requests) AS requests
      FROM charges`)
    const found = (name: string) => Number(rows[0]?.[name])
    return [
      differs("charges stored", found("charges"), "answered 201", answered),
      differs("charges pending with a BR code", found("pending"), "answered 201", answered),
      differs("charges left in processing", found("processing"), "allowed", 0),
      differs("events", found("events"), "twice the charges", 2 * answered),
      differs("lines in the request log", found("requests"), "answered", logged ? answered : 0)
    ].filter((sentence) => sentence !== undefined)
  }
}

/** What becomes of a payout: it waits for an operator, or it is handed over and completed behind the requests. */
type Life = "waits" | "completes"

const createPayout = (name: string, accounts: number, life: Life): LoadJob => ({
  name,
  title:
    `Create payout, ${accounts === 1 ? "one account" : `${accounts} accounts in turn`}: \`POST /v1/payouts\`, ` +
    "each with a fresh Idempotency-Key, durable; " +
    (life === "waits"
      ? "each waits for an operator"
      : "handed over and completed behind the requests (CPU: until all are completed)"),
  status: 201,
  connections: [64],
  quickConnections: [8],
  prepare: async (_target, database) => {
    const keys: Array<string> = []
    while (keys.length < accounts) {
      const { apiKey } = await insertAccount(database, {
        available: FUNDS,
        payoutFee: 50,
        autoPayout: life === "completes"
      })
      keys.push(apiKey)
    }
    return keys
  },
  requests: ({ port }, keys, run) => {
    const heads = keys.map(
      (key) =>
        `POST /v1/payouts HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-api-key: ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(payoutBody)}\r\nidempotency-key: ${run}-`
    )
    let count = 0
    return () => `${heads[count % heads.length]}${count++}\r\n\r\n${payoutBody}`
  },
  settled: async (database) => {
    const { rowCount } = await database.query("SELECT 1 FROM payouts WHERE status = 'processing' LIMIT 1")
    return rowCount === 0
  },
  check: async (database, answered, logged) => {
    const { rows } = await database.query<Record<string, string>>(
      `WITH ends AS (
        SELECT account_id, credit AS kind, amount FROM ledger_transfers
        UNION ALL
        SELECT account_id, debit, -amount FROM ledger_transfers
      ),
      sums AS (
        SELECT CASE WHEN kind NOT IN ('acquirer', 'fees') THEN account_id END AS owner_id, kind, sum(amount) AS amount
        FROM ends GROUP BY 1, 2
      ),
      -- Whose the acquirer's side and the fees are depends on the contender's age.
      kept AS (
        SELECT CASE WHEN kind NOT IN ('acquirer', 'fees') THEN owner_id END AS owner_id, kind, sum(balance) AS balance
        FROM ledger_accounts GROUP BY 1, 2
      )
      SELECT (SELECT count(*) FROM payouts) AS payouts,
        (SELECT count(*) FROM payouts WHERE status = 'pending') AS waiting,
        (SELECT count(*) FROM payouts WHERE status = 'completed' AND end_to_end_id IS NOT NULL) AS completed,
        (SELECT coalesce(sum(amount + fee), 0) FROM payouts) AS spent,
        (SELECT count(*) FROM changes WHERE kind = 'payment.pix') AS changes,
        (SELECT coalesce(sum(balance), 0) FROM ledger_accounts WHERE kind = 'available') AS available,
        (SELECT coalesce(sum(balance), 0) FROM ledger_accounts WHERE kind = 'payouts_in_transit') AS in_transit,
        (SELECT count(*) FROM ledger_accounts WHERE balance < 0 AND kind <> 'acquirer') AS negative,
        (SELECT sum(balance) FROM ledger_accounts) AS sum,
        (SELECT count(*) FROM kept l LEFT JOIN sums s ON s.owner_id IS NOT DISTINCT FROM l.owner_id AND s.kind = l.kind
          WHERE l.balance <> coalesce(s.amount, 0)) AS unexplained,
        (SELECT count(*) FROM requests) AS requests`
    )
    const found = (column: string) => Number(rows[0]?.[column])
    return [
      differs("payouts stored", found("payouts"), "answered 201", answered),
      differs("payouts waiting", found("waiting"), "expected", life === "waits" ? answered : 0),
      differs("payouts completed", found("completed"), "expected", life === "completes" ? answered : 0),
      differs("changes", found("changes"), "expected", life === "waits" ? answered : 2 * answered),
      differs("available", found("available"), "funds less what the payouts cost", accounts * FUNDS - found("spent")),
      differs("in transit", found("in_transit"), "expected", life === "waits" ? found("spent") : 0),
      differs("balances below zero", found("negative"), "allowed", 0),
      differs("sum of all ledger accounts", found("sum"), "double entry", 0),
      differs("balances that no transfers explain", found("unexplained"), "allowed", 0),
      differs("lines in the request log", found("requests"), "answered", logged ? answered : 0)
    ].filter((sentence) => sentence !== undefined)
  }
})

const getRequest = (path: string, { port }: Target, apiKey: string | undefined): string =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-api-key: ${apiKey}\r\n\r\n`

/** A job that reads charges of an account that has many. */
const readCharges = (job: Pick<LoadJob, "name" | "title" | "requests" | "isRight">): LoadJob => ({
  ...job,
  status: 200,
  connections: [64],
  quickConnections: [8],
  charges: { full: [10_000, 1_000_000], quick: [10_000] },
  prepare: async (_target, _database, seeded) => {
    if (seeded === undefined) throw new Error(`${job.name} is about charges that are there`)
    return [seeded.apiKey, String(seeded.charges)]
  },
  check: async (database, answered, logged, prepared) => {
    const { rows } = await database.query<Record<string, string>>(`
      SELECT count(*) AS charges, (SELECT count(*) FROM requests) AS requests,
        (SELECT count(*) FROM requests WHERE status <> 200) AS refused
      FROM charges`)
    const found = (name: string) => Number(rows[0]?.[name])
    return [
      differs("charges", found("charges"), "as many as before", Number(prepared[1])),
      differs("lines in the request log", found("requests"), "answered", logged ? answered : 0),
      differs("lines of refusals", found("refused"), "answered", 0)
    ].filter((sentence) => sentence !== undefined)
  }
})

const getCharge = readCharges({
  name: "get-charge",
  title: "Get charge: `GET /v1/charges/{id}`, ids at random",
  requests:
    (target, [apiKey, count]) =>
    () =>
      getRequest(`/v1/charges/${chargeIdOf(1 + Math.floor(Math.random() * Number(count)))}`, target, apiKey),
  isRight: () => (request, answer) => answer.includes(request.slice(GET_CHARGE.length, GET_CHARGE.length + 36))
})

const GET_CHARGE = "GET /v1/charges/"

const listCharges = (name: string, page: number): LoadJob =>
  readCharges({
    name,
    title: `List 20 charges, ${page === 1 ? "first page" : `page ${page} by its cursor`}: \`GET /v1/charges\``,
    requests: (target, [apiKey, count]) => {
      const cursor = page === 1 ? "" : `?starting_after=${chargeIdOf(newestOf(page, Number(count)) + 1)}`
      const request = getRequest(`/v1/charges${cursor}`, target, apiKey)
      return () => request
    },
    isRight: ([_apiKey, count]) => {
      const newest = newestOf(page, Number(count))
      const [first, last, next] = [newest, newest - 19, newest - 20].map((number) => `"id":"${chargeIdOf(number)}"`)
      return (_request, answer) =>
        answer.includes(first!) &&
        answer.includes(last!) &&
        !answer.includes(next!) &&
        answer.endsWith(`"has_more":${newest > 20}}`)
    }
  })

/** The number of the first charge of a page of 20, of `count` charges. */
const newestOf = (page: number, count: number): number => count - 20 * (page - 1)

export const loadJobs: ReadonlyArray<LoadJob> = [
  createCharge,
  getCharge,
  listCharges("list-first", 1),
  listCharges("list-500", 500),
  createPayout("create-payout-hot", 1, "waits"),
  createPayout("create-payout-16", 16, "waits"),
  createPayout("complete-payout-hot", 1, "completes"),
  createPayout("complete-payout-16", 16, "completes")
]

/** What each account of a payout job has at first, in cents. */
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

export const differs = (what: string, found: number, than: string, expected: number): string | undefined =>
  found === expected ? undefined : `${what}: ${found}, ${than}: ${expected}`

/** As an online shop would send it. No `webhook_url`: deliveries are a job of their own. */
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
