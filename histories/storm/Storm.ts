/**
 * One history of real processes: servers, PostgreSQL, the bank, receivers, callers and a nemesis, by seed.
 *
 * The seed decides the processes, the faults, and what each caller does. What the operating system makes of them it does not decide.
 */
import { rmSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Fields, type History, rowsOf, textOf } from "../judge/History.ts"
import { type Bank, startBank } from "./Bank.ts"
import { makeAccepter, makeCaller, type Owned, pause, readEvents } from "./Callers.ts"
import { type Account, operator, OPERATOR_TOKEN, setUp } from "./Installation.ts"
import { unleash } from "./Nemesis.ts"
import { type Database, startDatabase } from "./Postgres.ts"
import { randomOf } from "./Random.ts"
import { startReceivers } from "./Receivers.ts"
import { newRecord, type Record_, recorded } from "./Record.ts"
import { makeServer, type Server } from "./Servers.ts"
import { freePorts, makeWire, type Wire } from "./Wire.ts"

export interface StormOptions {
  readonly seed: number
  readonly seconds: number
  /** The built program of the server. */
  readonly program: string
  /** How long everything may take to come to rest. */
  readonly restSeconds: number
  readonly say: (text: string) => void
  /** False: nothing goes wrong. */
  readonly hasFaults?: boolean
  /** Else by seed. */
  readonly shape?: {
    readonly servers: number
    readonly postgres: "standby" | "small disk" | "plain"
    readonly shiftsClocks: boolean
  }
}

export const storm = async (options: StormOptions): Promise<History> => {
  const stack = new AsyncDisposableStack()
  try {
    return await run(options, stack)
  } finally {
    await stack.disposeAsync()
  }
}

const run = async (
  { hasFaults = true, program, restSeconds, say, seconds, seed, shape }: StormOptions,
  stack: AsyncDisposableStack
): Promise<History> => {
  const random = randomOf(seed)
  const folder = await mkdtemp(join(tmpdir(), `histories-${seed}-`))
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  // A run that is interrupted closes nothing. A PostgreSQL whose files are gone ends within a minute.
  const interrupted = () => rmSync(folder, { recursive: true, force: true })
  process.once("exit", interrupted)
  stack.defer(() => void process.off("exit", interrupted))
  const record = newRecord()
  const count = shape?.servers ?? random.between(1, 3)
  const kind = shape?.postgres ?? random.oneOf(["standby", "small disk", "plain", "standby"] as const)
  const shiftsClocks = shape?.shiftsClocks ?? (hasFaults && random.chance(0.5))
  say(`seed ${seed}: ${count} servers, PostgreSQL ${kind}, clocks ${shiftsClocks ? "shifted" : "true"}, ${seconds} s`)

  const bank = stack.use(await startBank(record, random.of("bank"), seed))
  if (!hasFaults) bank.calm()
  const receivers = stack.use(await startReceivers(record, random.of("receivers")))
  if (!hasFaults) receivers.calm()
  const database = stack.use(await startDatabase(folder, kind, random.of("wires")))
  const wires: Array<Wire> = []
  for (let index = 0; index < count; index++) {
    const wire = stack.use(await makeWire(random.of(`wire ${index}`)))
    wire.moveTo(database.port())
    wires.push(wire)
  }
  const env = await environment(folder, bank, random.of("clocks"), shiftsClocks)
  const servers = await makeServers(database, wires, env, program, folder)
  stack.defer(async () => {
    for (const server of servers) await server.end("SIGKILL")
  })
  // One migrates, then the others start.
  for (const server of servers) await server.start()
  // The bank's callbacks go to any server.
  const callbacks = stack.use(await makeWire(random.of("callbacks")))
  callbacks.leadTo(servers[0]!.callbackPort)
  const { accounts, endpoints } = await setUp(
    { ...servers[0]!, callbackPort: callbacks.port, receivers: receivers.url },
    bank,
    random.of("setup")
  )
  say(`set up after ${Math.round(performance.now() / 1000)} s of the process`)

  let endsAt = Infinity
  const isOver = () => performance.now() > endsAt
  let isRead = false
  const everybody: Array<Owned> = []
  const about = (name: string) => ({ record, random: random.of(name), servers, name })
  const readers = ["reader one", "reader two"].map((name) => readEvents(about(name), () => isRead))
  const callers = accounts.flatMap((account, index) =>
    [0, 1, 2].map((nth) => makeCaller({ ...about(`caller ${index}.${nth}`), bank, account, everybody }))
  )
  const accept = makeAccepter(about("operator"))
  const accepting = (async () => {
    while (!isOver()) {
      await accept()
      await pause(1000)
    }
  })()
  const routing = (async () => {
    const choice = random.of("routes")
    while (!isOver()) {
      await pause(choice.between(300, 4000))
      callbacks.leadTo(choice.oneOf(servers).callbackPort)
    }
  })()
  await Promise.all(callers.map((caller) => caller.fund()))
  endsAt = performance.now() + seconds * 1000
  const nemesis = hasFaults
    ? unleash({ record, random: random.of("nemesis"), servers, wires, database }, isOver)
    : undefined
  const calling = callers.map((caller) => caller.run(isOver))
  await nemesis
  bank.calm()
  receivers.calm()
  callbacks.leadTo(servers[0]!.callbackPort)
  await Promise.all([...calling, accepting, routing])
  say(`the storm is over: ${record.calls.length} calls, ${record.faults.length} marks of faults`)

  const lateAt = performance.now() + restSeconds * 1000
  const isLate = () => performance.now() > lateAt
  await Promise.all(callers.map((caller) => caller.finish(isLate)))
  let open: string | undefined = "MEDs"
  while (!isLate()) {
    const unanswered = await accept()
    const still = unanswered > 0 ? "an acceptance is not answered" : await openWork(record, accounts, servers[0]!)
    if (still !== open && still !== undefined) say(`waiting: ${still}`)
    open = still
    if (open === undefined) break
    await pause(1000)
  }
  const restedAt = open === undefined ? performance.now() : undefined
  say(
    open === undefined ? `at rest after ${Math.round((performance.now() - endsAt) / 1000)} s` : `not at rest: ${open}`
  )
  isRead = true
  await Promise.all(readers)
  for (const [index, account] of accounts.entries()) {
    const last = makeCaller({ ...about(`last caller ${index}`), bank, account, everybody })
    await last.walk("charge", 100)
    await last.walk("payout", 100)
    await last.balance()
  }
  const verify = { op: "ledger.verify", caller: "operator", account: "", server: 0 } as const
  await recorded(record, verify, `${servers[0]!.operatorUrl}/operator/v1/ledger/verify?full=true`, "GET", operator)
  return {
    setup: {
      seed,
      accounts: accounts.map(({ feeBasisPoints, feeFixed, id, releaseDelayMs }) => ({
        id,
        feeFixed,
        feeBasisPoints,
        releaseDelayMs
      })),
      endpoints,
      clocksShifted: shiftsClocks,
      restedAt,
      ...(open !== undefined && { openAtEnd: open })
    },
    ...record
  }
}

const environment = async (folder: string, bank: Bank, random: ReturnType<typeof randomOf>, shiftsClocks: boolean) => {
  const { authority } = bank.double
  const { ca, cert, key } = await authority.issue({ name: "callbacks", usage: "server" })
  for (const [name, text] of Object.entries({ "cert.pem": cert, "key.pem": key, "ca.pem": ca }))
    await writeFile(join(folder, name), text)
  const hour = 3_600_000
  const steps = Array.from({ length: 200 }, () => (random.chance(0.4) ? 0 : random.between(-5 * hour, 5 * hour)))
  return {
    DATA_DIR: join(folder, "data"),
    OPERATOR_TOKEN,
    SECRETS_KEYS: Buffer.alloc(32, "the key of the histories").toString("base64"),
    ACQUIRER: "connections",
    ACQUIRER_TIMEOUT_MS: "1000",
    ACQUIRER_TLS_CERT: join(folder, "cert.pem"),
    ACQUIRER_TLS_KEY: join(folder, "key.pem"),
    ACQUIRER_TLS_CA: join(folder, "ca.pem"),
    ACQUIRER_NETWORKS: "127.0.0.0/8",
    SHUTDOWN_DELAY_MS: "0",
    WEBHOOK_TIMEOUT_MS: "2000",
    WEBHOOK_RETRY_DELAYS: "200ms,500ms,1s,2s,4s,8s,15s",
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
    DATABASE_CONNECTIONS: "8",
    HISTORIES_CLOCK_STEPS_MS: shiftsClocks ? steps.join(",") : ""
  }
}

const makeServers = async (
  database: Database,
  wires: ReadonlyArray<Wire>,
  env: Readonly<Record<string, string>>,
  program: string,
  folder: string
) => {
  const ports = await freePorts(wires.length * 3)
  await mkdir(env["DATA_DIR"]!, { recursive: true })
  return wires.map((wire, index) => {
    const { owner, service } = database.urls(wire.port)
    return makeServer({
      index,
      program,
      ports: [ports[index * 3]!, ports[index * 3 + 1]!, ports[index * 3 + 2]!],
      env: { ...env, DATABASE_URL: service, MIGRATIONS_DATABASE_URL: owner },
      logFolder: folder
    })
  })
}

/** What is not at rest yet, by what anybody can see. */
const openWork = async (
  { deliveries, facts }: Record_,
  accounts: ReadonlyArray<Account>,
  server: Server
): Promise<string | undefined> => {
  const get = (url: string, headers: Readonly<Record<string, string>>) =>
    fetch(url, { headers, signal: AbortSignal.timeout(30_000) })
      .then(async (response) => (response.ok ? ((await response.json()) as Fields) : undefined))
      .catch(() => undefined)
  const paid = new Map(facts.filter(({ what }) => what === "paid").map(({ account, subject }) => [subject, account]))
  for (const account of accounts) {
    for (const kind of ["charges", "payouts"]) {
      const open = await get(`${server.publicUrl}/v1/${kind}?limit=100&status=processing`, {
        "x-api-key": account.apiKey
      })
      if (open === undefined) return "the service does not answer"
      if (rowsOf(open).length > 0)
        return `${kind} are processing: ${rowsOf(open).length}, ${textOf(rowsOf(open)[0], "id")}`
    }
    for (const status of ["pending", "expired", "infraction"]) {
      for (let after = ""; ;) {
        const page = await get(`${server.publicUrl}/v1/charges?limit=100&status=${status}${after}`, {
          "x-api-key": account.apiKey
        })
        if (page === undefined) return "the service does not answer"
        const open = rowsOf(page).find((row) => (status === "infraction" ? true : paid.has(textOf(row, "id"))))
        if (open !== undefined)
          return `the charge ${textOf(open, "id")} is ${status}, and the bank has its payment or decision`
        if (page["has_more"] !== true) break
        after = `&starting_after=${textOf(rowsOf(page).at(-1), "id")}`
      }
    }
    const balance = await get(`${server.publicUrl}/v1/balance`, { "x-api-key": account.apiKey })
    if (balance?.["pending"] !== 0) return "money is pending"
  }
  const refunds = await get(`${server.operatorUrl}/operator/v1/refunds?status=processing`, operator)
  if (refunds === undefined || rowsOf(refunds).length > 0) return "refunds are processing"
  const exceptions = await get(`${server.operatorUrl}/operator/v1/exceptions?status=open`, operator)
  if (exceptions === undefined || rowsOf(exceptions).length > 0)
    return `exceptions are open: ${textOf(rowsOf(exceptions)[0], "kind")}`
  const stats = await get(`${server.operatorUrl}/operator/v1/stats`, operator)
  const counts = JSON.stringify(stats?.["deliveries"] ?? {})
  if (/"(scheduled|delivering|paused)":[1-9]/.test(counts)) return "deliveries are open"
  return deliveries.length >= 0 ? undefined : ""
}
