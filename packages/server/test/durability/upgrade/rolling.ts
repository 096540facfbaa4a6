/**
 * `pnpm run rolling <commit> [ms of each phase] [rows]`: two releases against one database, as a rolling restart has them.
 *
 * The earlier release is taken from the history (`git archive`), with today's dependencies; the later one is this work
 * tree. Two servers of the earlier one run under load; with `rows`, each table that grows gets so many finished ones; the
 * schema is migrated under the load; the servers are replaced one by one.
 * Callers repeat with their key what is not answered, at another server. Afterwards: one resource for each key, every
 * charge paid and every payout completed, every delivery at least once under one id with one body, a consistent ledger, and no
 * unexpected failure in any log. It fails when one of these does not hold.
 */
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { execFile, execFileSync, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { chmod, cp, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { fill } from "./Fill.ts"

const commit = process.argv[2]
const root = join(import.meta.dirname, "../../../../..")
const TOKEN = "the-token-of-this-operator"
const PHASE_MS = Number(process.argv[3] ?? 3000)
const ROWS = Number(process.argv[4] ?? 0)

interface Server {
  readonly name: string
  readonly publicUrl: string
  readonly operatorUrl: string
  readonly written: () => string
  readonly stop: () => Promise<unknown>
}

const environment = (databaseUrl: string, folder: string) => ({
  PATH: process.env["PATH"],
  PORT: "0",
  OPERATOR_PORT: "0",
  // Callers leave a server before its SIGTERM.
  SHUTDOWN_DELAY_MS: "0",
  DATABASE_URL: databaseUrl,
  DATA_DIR: folder,
  OPERATOR_TOKEN: TOKEN,
  SECRETS_KEYS: Buffer.alloc(32, 9).toString("base64"),
  SIMULATOR_SETTLE_MS: "100",
  WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
  LOG_FORMAT: "json"
})

const start = (name: string, tree: string, databaseUrl: string, folder: string): Promise<Server> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(tree, "packages/server/src/main.ts")], {
      env: environment(databaseUrl, folder),
      stdio: ["ignore", "pipe", "pipe"]
    })
    let text = ""
    const ended = once(child, "exit")
    const keep = (chunk: Buffer) => {
      text += chunk.toString()
      const [, publicUrl] = /"public":"([^"]+)"/.exec(text) ?? []
      const [, operatorUrl] = /"operator":"([^"]+)"/.exec(text) ?? []
      if (publicUrl === undefined || operatorUrl === undefined) return
      const stop = () => (child.kill("SIGTERM"), ended)
      resolve({ name, publicUrl, operatorUrl, written: () => text, stop })
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    void ended.then(() => reject(new Error(`${name} ended: ${text}`)))
  })

/** The earlier release as it was, with the dependencies that are here. */
const takeOut = async (folder: string, of: string): Promise<string> => {
  const tree = join(folder, "earlier")
  await mkdir(tree)
  const archive = execFileSync("git", ["-C", root, "archive", of], { maxBuffer: 2 ** 30 })
  execFileSync("tar", ["-x", "-C", tree], { input: archive })
  await symlink(join(root, "node_modules"), join(tree, "node_modules"))
  const packages = await readdir(join(tree, "packages"))
  for (const modules of packages.map((name) => `packages/${name}/node_modules`)) {
    if (!existsSync(join(root, modules))) continue
    // Links to packages of the workspace lead into the earlier tree.
    await cp(join(root, modules), join(tree, modules), { recursive: true, verbatimSymlinks: true })
  }
  return tree
}

type Json = Readonly<Record<string, unknown>>

const ask = async (url: string, method: string, path: string, headers: Record<string, string>, body?: Json) => {
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return { status: response.status, body: (await response.json()) as Json }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const main = async (databaseUrl: string, folder: string): Promise<ReadonlyArray<string>> => {
  const wrong: Array<string> = []
  const earlier = await takeOut(folder, commit ?? "HEAD")
  const bodies = new Map<string, string>()
  const receivedEvents = new Set<string>()
  const receiver = Http.createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString()
      const { data, event, id } = JSON.parse(body) as { id: string; event: string; data: { id: string } }
      const known = bodies.get(id)
      if (known !== undefined && known !== body) wrong.push(`delivery ${id} came with two bodies`)
      bodies.set(id, body)
      receivedEvents.add(`${data.id} ${event}`)
      response.end()
    })
  })
  receiver.listen(0, "127.0.0.1")
  await once(receiver, "listening")
  const address = receiver.address()
  const hook = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`

  const all: Array<Server> = []
  const balanced: Array<Server> = []
  const add = async (name: string, tree: string) => {
    const server = await start(name, tree, databaseUrl, folder)
    all.push(server)
    balanced.push(server)
    return server
  }
  const remove = async (server: Server) => {
    balanced.splice(balanced.indexOf(server), 1)
    await server.stop()
  }
  const a = await add("earlier 1", earlier)
  const b = await add("earlier 2", earlier)

  const operate = (method: string, path: string, body?: Json) =>
    ask(balanced[0]!.operatorUrl, method, `/operator/v1${path}`, { "x-operator-token": TOKEN }, body)
  const account = await operate("POST", "/accounts", {
    name: "R",
    legal_name: "R",
    document: "11222333000181",
    phone: "+5511999998888"
  })
  const application = await operate("POST", `/accounts/${String(account.body["id"])}/applications`, { name: "R" })
  const made = await operate("POST", `/applications/${String(application.body["id"])}/keys`, {
    name: "R",
    scopes: ["charge:read", "charge:write", "payout:read", "payout:write", "balance:read"]
  })
  const key = String(made.body["key"])

  let count = 0
  let repeated = 0
  const answers = { lastAt: performance.now(), longestGapMs: 0 }
  /** Calls as a client does: a call without an answer is repeated with its key, at any server. */
  const insist = async (method: string, path: string, headers: Record<string, string>, body?: Json) => {
    for (;;) {
      const server = balanced[count++ % balanced.length]!
      const answer = await ask(server.publicUrl, method, path, { "x-api-key": key, ...headers }, body).catch(
        () => undefined
      )
      if (answer !== undefined && answer.status < 500) {
        const now = performance.now()
        answers.longestGapMs = Math.max(answers.longestGapMs, now - answers.lastAt)
        answers.lastAt = now
        return { ...answer, server: server.name }
      }
      if (answer?.status === 500) wrong.push(`500 from ${server.name} to ${method} ${path}`)
      repeated++
      await pause(20)
    }
  }
  const resources = new Map<string, string>()
  const load = { goes: true }
  const emails = ["pay@simulator.test", "pay@simulator.test", "timeout@simulator.test", "slow@simulator.test"]
  const client = async (index: number) => {
    for (let i = 0; load.goes; i++) {
      const idempotencyKey = randomUUID()
      const isCharge = i % 3 !== 2
      const path = isCharge ? "/v1/charges" : "/v1/payouts"
      const body: Json = isCharge
        ? {
            amount: 10_000,
            customer: { name: "C", email: emails[(index + i) % emails.length], document: "52998224725" },
            webhook_url: hook
          }
        : { amount: 500, pix_key_type: "email", pix_key: "ana@example.com", webhook_url: hook }
      const first = await insist("POST", path, { "idempotency-key": idempotencyKey }, body)
      if (!isCharge && first.body["code"] === "INSUFFICIENT_BALANCE") continue
      if (first.status !== 201) wrong.push(`${first.status} from ${first.server}: ${JSON.stringify(first.body)}`)
      const id = String(first.body["id"])
      resources.set(id, path)
      const again = await insist("POST", path, { "idempotency-key": idempotencyKey }, body)
      if (again.body["id"] !== id) wrong.push(`one key, two resources: ${id} and ${String(again.body["id"])}`)
      const read = await insist("GET", `${path}/${id}`, {})
      if (read.status !== 200) wrong.push(`${read.status} from ${read.server} for ${path}/${id}`)
      for (const { body: shown, server } of [first, again, read]) {
        const pix = shown["pix"] as { readonly br_code: string | null } | undefined
        if (isCharge && shown["status"] === "pending" && pix?.br_code === null) {
          wrong.push(`${server} shows a charge as pending that no acquirer has emitted`)
        }
      }
    }
  }
  const clients = Array.from({ length: 8 }, (_, index) => client(index))
  await pause(PHASE_MS)
  if (ROWS > 0) await Effect.runPromise(fill(Redacted.make(databaseUrl), ROWS))
  answers.longestGapMs = 0
  const startedAt = performance.now()
  const migrated = await promisify(execFile)(process.execPath, [join(root, "packages/server/src/migrate.ts")], {
    env: { ...environment(databaseUrl, folder), MIGRATIONS_DATABASE_URL: databaseUrl }
  })
  process.stdout.write(
    `${migrated.stdout}migrated beside ${ROWS} rows of each table in ${Math.round(performance.now() - startedAt)} ms, ` +
      `${Math.round(Math.max(answers.longestGapMs, performance.now() - answers.lastAt))} ms without an answer.\n`
  )
  await pause(PHASE_MS)
  const c = await add("later 1", root)
  await pause(PHASE_MS)
  await remove(a)
  await pause(PHASE_MS)
  const d = await add("later 2", root)
  await pause(PHASE_MS)
  await remove(b)
  await pause(PHASE_MS)
  load.goes = false
  await Promise.all(clients)

  // Everything finishes: unpaid charges are paid now.
  const settled = async () => {
    let open = 0
    for (const [id, path] of resources) {
      const { body } = await insist("GET", `${path}/${id}`, {})
      if (path === "/v1/charges" && body["status"] === "pending") await operate("POST", `/simulator/charges/${id}/pay`)
      if (body["status"] !== "paid" && body["status"] !== "completed") open++
    }
    return open
  }
  let open = await settled()
  for (const end = performance.now() + 60_000; open > 0 && performance.now() < end; open = await settled())
    await pause(300)
  if (open > 0) wrong.push(`${open} resources never came to their end`)
  const missing = () =>
    [...resources].filter(([id, path]) => {
      const events = path === "/v1/charges" ? ["charge.pix.created", "charge.pix.paid"] : ["payment.pix.processing"]
      return !events.every((event) => receivedEvents.has(`${id} ${event}`))
    }).length
  for (const end = performance.now() + 90_000; missing() > 0 && performance.now() < end;) await pause(200)
  if (missing() > 0) wrong.push(`${missing()} resources with missing events`)
  const ledger = await operate("GET", "/ledger/verify")
  if (ledger.body["consistent"] !== true) wrong.push("the books are not whole")
  for (const server of all) {
    if (server.written().includes("failed unexpectedly"))
      wrong.push(`an unexpected failure: ${server.written().slice(-2000)}`)
  }
  for (const server of [c, d]) await server.stop()
  receiver.closeAllConnections()
  receiver.close()
  process.stdout.write(
    `${resources.size} charges and payouts, ${repeated} calls repeated, ${bodies.size} deliveries, ` +
      `${6 * PHASE_MS} ms under load.\n`
  )
  return wrong
}

const program = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const made = await mkdtemp(join(tmpdir(), "pix-payments-rolling-"))
      await chmod(made, 0o755)
      return made
    }),
    (made) => Effect.promise(() => rm(made, { recursive: true, force: true, maxRetries: 3 }))
  )
  const { url } = yield* EmbeddedPostgres.start({ dataDir: join(folder, "postgres") })
  return yield* Effect.promise(() => main(Redacted.value(url), folder))
})

if (commit === undefined) {
  process.stderr.write("pnpm run rolling <commit of the earlier release> [ms of each phase] [rows]\n")
  process.exitCode = 2
} else {
  const wrong = await Effect.runPromise(Effect.scoped(program))
  const counted = new Map<string, number>()
  for (const sentence of wrong) counted.set(sentence, (counted.get(sentence) ?? 0) + 1)
  for (const [sentence, times] of [...counted].slice(0, 20))
    process.stdout.write(`WRONG (${times} times): ${sentence}\n`)
  process.stdout.write(wrong.length === 0 ? "Nothing was lost, doubled or refused.\n" : "")
  process.exitCode = wrong.length === 0 ? 0 : 1
}
