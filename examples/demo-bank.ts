/**
 * The demo of a bank (`pnpm run demo:bank`): starts a double of Efí and the service, connects them over mutual TLS, and shows a
 * charge, its payment, a partial return, a payout and a MED, each at the service and at the bank. It ends by itself.
 */
import type { OperatorCharge } from "@pix-payments/api/operator/Charges"
import { Payments } from "@pix-payments/client"
import type { Dispute } from "@pix-payments/domain/Dispute"
import { allScopes } from "@pix-payments/domain/Scope"
import { txidFromId } from "@pix-payments/domain/Txid"
import { type PspDouble, startPspDouble } from "@pix-payments/psp-double/PspDouble"
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

const root = join(import.meta.dirname, "..")

const print = (line = "") => void process.stdout.write(`${line}\n`)
const printStep = (title: string) => print(`\n${title}`)
const reais = (cents: number) => `R$ ${(cents / 100).toFixed(2).replace(".", ",")}`

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, "close")
  return port
}

/** Starts the service with its own data; `addresses` are those that it logs once it is ready. */
const startService = async (double: PspDouble, folder: string, operatorToken: string) => {
  const callbackPort = await freePort()
  const { ca, cert, key } = await double.authority.issue({ name: "callbacks", usage: "server" })
  for (const [name, text] of Object.entries({ ca, cert, key }))
    await writeFile(join(folder, name), text, { mode: 0o600 })
  const child = spawn(process.execPath, [join(root, "packages/server/src/main.ts")], {
    env: {
      ...process.env,
      DATA_DIR: join(folder, "data"),
      PORT: "0",
      OPERATOR_PORT: "0",
      OPERATOR_TOKEN: operatorToken,
      ACQUIRER: "connections",
      ACQUIRER_PORT: String(callbackPort),
      ACQUIRER_TLS_CA: join(folder, "ca"),
      ACQUIRER_TLS_CERT: join(folder, "cert"),
      ACQUIRER_TLS_KEY: join(folder, "key"),
      SHUTDOWN_DELAY_MS: "0",
      LOG_FORMAT: "json"
    },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const addresses = await readyOf(child)
  return { child, callbackUrl: `https://127.0.0.1:${callbackPort}`, ...addresses }
}

const readyOf = async (child: ChildProcess): Promise<{ readonly public: string; readonly operator: string }> => {
  let text = ""
  child.stdout!.on("data", (chunk: Buffer) => (text += chunk.toString()))
  while (child.exitCode === null) {
    const ready = text.split("\n").find((line) => line.includes("the service is ready") && line.endsWith("}"))
    if (ready !== undefined) return JSON.parse(ready).annotations
    await sleep(50)
  }
  throw new Error(`The service did not start: ${text}`)
}

const stop = async (child: ChildProcess) => {
  if (child.exitCode !== null) return
  child.kill("SIGTERM")
  await once(child, "exit")
}

interface Created {
  readonly id: string
}

interface Check {
  readonly ok: boolean
  readonly steps: ReadonlyArray<{ readonly ok: boolean; readonly step: string; readonly detail: string }>
}

const operatorOf =
  (url: string, token: string) =>
  async <A = Created>(method: string, path: string, body?: unknown): Promise<A> => {
    const answer = await fetch(`${url}/operator/v1${path}`, {
      method,
      headers: { "x-operator-token": token, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} answers ${answer.status}: ${text}`)
    return JSON.parse(text) as A
  }

/** Reads until it is as expected, for two sweeps at most. */
const until = async <A>(what: string, read: () => Promise<A>, isDone: (value: A) => boolean): Promise<A> => {
  const latest = performance.now() + 150_000
  while (performance.now() < latest) {
    const value = await read()
    if (isDone(value)) return value
    await sleep(200)
  }
  throw new Error(`${what} did not happen within 150 seconds`)
}

const show = async (double: PspDouble, operatorToken: string, service: Awaited<ReturnType<typeof startService>>) => {
  const operator = operatorOf(service.operator, operatorToken)

  printStep("1. Connect the service to the bank, over mutual TLS")
  const connection = await operator("POST", "/connections", {
    name: "Efí (double)",
    kind: "api-pix",
    profile: "efi",
    settings: { base_url: double.baseUrl, token_url: double.tokenUrl },
    credentials: {
      client_id: double.clientId,
      client_secret: double.clientSecret,
      pkcs12: double.client.pkcs12("demo").toString("base64"),
      passphrase: "demo",
      ca: double.client.ca
    },
    pix_key: double.key,
    is_default: true
  })
  await operator<Check>("POST", `/connections/${connection.id}/register-webhook`, { url: service.callbackUrl })
  const check = await operator<Check>("POST", `/connections/${connection.id}/check`)
  for (const { detail, ok, step } of check.steps) print(`  ${ok ? "ok " : "NOT"} ${step}: ${detail}`)

  const account = await operator("POST", "/accounts", {
    name: "Padaria do Zé",
    legal_name: "Padaria do Zé Ltda",
    document: "11222333000181",
    phone: "+5511999998888",
    auto_payout_enabled: true
  })
  const application = await operator("POST", `/accounts/${account.id}/applications`, { name: "Loja" })
  const { key: apiKey } = await operator<{ readonly key: string }>("POST", `/applications/${application.id}/keys`, {
    name: "demo",
    scopes: allScopes
  })
  const payments = new Payments({ apiKey, baseUrl: service.public })
  const books = async () => {
    const { available } = await payments.balance.retrieve()
    print(`  balance ${reais(available)}; at the bank ${reais(double.provider.balanceCents())}`)
  }

  printStep("2. Create a charge of R$ 50,00: the bank emits it")
  const charge = await payments.charges.create({
    amount: 5000,
    description: "Pedido 1001",
    customer: { name: "Ana Souza", email: "ana@example.com", document: "52998224725" }
  })
  const emitted = await until(
    "The emission",
    () => payments.charges.retrieve(charge.id),
    ({ status }) => status === "pending"
  )
  print(`  ${emitted.id}  ${emitted.status}`)
  print(`  ${emitted.pix.br_code}`)

  printStep("3. The payer pays at the bank; its callback, over mutual TLS, makes the service ask and credit")
  double.provider.receipts.payCob(txidFromId(charge.id))
  await double.settle()
  const readCharge = () => operator<OperatorCharge>("GET", `/charges/${charge.id}`)
  const paid = await until("The payment", readCharge, ({ status }) => status === "paid")
  print(`  ${paid.status}  end_to_end_id ${paid.pix.end_to_end_id}`)
  await books()

  printStep("4. Return R$ 12,00 of it to the payer")
  await operator("POST", `/charges/${charge.id}/refund`, { amount: 1200, description: "Um pão a menos" })
  await double.settle()
  const returned = await until("The return", readCharge, ({ refunded_amount }) => refunded_amount === 1200)
  print(`  ${returned.status}, ${reais(returned.refunded_amount)} returned, ${returned.refunds[0]?.status}`)
  await books()

  printStep("5. Pay out R$ 10,00 to ana@example.com")
  const payout = await payments.payouts.create({ amount: 1000, pix_key_type: "email", pix_key: "ana@example.com" })
  const sent = await until(
    "The payout",
    async () => {
      // The bank settles what has arrived.
      await double.settle()
      return payments.payouts.retrieve(payout.id)
    },
    ({ status }) => status === "completed"
  )
  print(`  ${sent.status}  end_to_end_id ${sent.end_to_end_id}`)
  await books()

  printStep("6. The payer disputes the rest (MED). No callback reports it: the next sweep does, within a minute")
  const opened = double.provider.infractions.open(paid.pix.end_to_end_id!, { cents: 3800 })
  if (opened._tag === "Failure") throw new Error("the bank opens no dispute")
  const readDisputes = async () => (await operator<{ readonly data: ReadonlyArray<Dispute> }>("GET", "/disputes")).data
  const [dispute] = await until("The dispute", readDisputes, ({ length }) => length > 0)
  print(`  ${dispute!.status}  ${reais(dispute!.amount)}, to be defended until ${dispute!.defense_deadline_at}`)
  await books()
  await operator("POST", `/disputes/${dispute!.id}/defense`, { text: "The order was delivered." })
  await until(
    "The defence",
    async () => double.provider.infractions.get(opened.success.id),
    (found) => found._tag === "Success" && found.success.defense !== undefined
  )
  print("  the bank has the defence")
  double.provider.infractions.close(opened.success.id, "REJEITADA")
  const [decided] = await until("The decision", readDisputes, ([found]) => found?.status === "won")
  print(`  ${decided!.status}`)
  await books()

  printStep("7. Verify the ledger")
  const { consistent } = await operator<{ readonly consistent: boolean }>("GET", "/ledger/verify")
  print(`  ${consistent ? "consistent" : "NOT CONSISTENT"}`)
  if (!consistent || double.violations.length > 0) throw new Error("the demo left something wrong")
}

const folder = await mkdtemp(join(tmpdir(), "pix-demo-bank-"))
const operatorToken = randomBytes(32).toString("base64url")
const double = await startPspDouble({ profile: "efi" })
print(`A double of Efí listens on ${double.origin}, with certificates made now. Starting the service…`)
let service: Awaited<ReturnType<typeof startService>> | undefined
try {
  service = await startService(double, folder, operatorToken)
  await show(double, operatorToken, service)
  print()
} catch (error) {
  print(`\nThe demo failed: ${String(error)}`)
  process.exitCode = 1
} finally {
  if (service !== undefined) await stop(service.child)
  await double.close()
  await rm(folder, { recursive: true, force: true })
}
