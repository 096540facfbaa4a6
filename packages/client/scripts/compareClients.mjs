/**
 * Measures the table "Compared with other clients" of the README, by running each client against a server on loopback.
 *
 * In an empty folder: `npm init -y; npm install stripe openai svix resend rolldown <our tarball>`. Then
 * `node compareClients.mjs <that folder> [<a Node 20, for require>]`. It downloads nothing.
 */
import { execFileSync } from "node:child_process"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"

const [, , folder = ".", oldNode = process.execPath] = process.argv
const require = createRequire(join(folder, "package.json"))
const load = (name, how = "import") => (how === "import" ? import(pathToFileURL(resolveEsm(name)).href) : require(name))
const resolveEsm = (name) =>
  execFileSync(
    process.execPath,
    ["--input-type=module", "-e", `console.log(import.meta.resolve(${JSON.stringify(name)}))`],
    {
      cwd: folder
    }
  )
    .toString()
    .trim()
    .replace("file://", "")

const { rolldown } = await load("rolldown")

/** A server that answers as each check decides. */
let answer = (_request, response) => response.end("{}")
let requestCount = 0
const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    requestCount += 1
    answer(request, response, requestCount)
  })
})
server.listen(0, "127.0.0.1")
await once(server, "listening")
const { port } = server.address()
const url = `http://127.0.0.1:${port}`
const json = (response, status, body) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

const event = {
  id: "evt_1",
  object: "event",
  event: "charge.pix.paid",
  type: "x",
  resource: "charge",
  sequence: 1,
  data: { object: {}, id: "1" }
}
const body = JSON.stringify(event)
const seconds = `${Math.floor(Date.now() / 1000)}`
const whsec = (text) => `whsec_${Buffer.from(text.padEnd(24, "x")).toString("base64")}`
const standard = (secret) => ({
  "webhook-id": "evt_1",
  "webhook-timestamp": seconds,
  "webhook-signature": `v1,${createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(`evt_1.${seconds}.${body}`)
    .digest("base64")}`
})
const [oldSecret, newSecret] = [whsec("old"), whsec("new")]

/** Each client's way to create, abort, verify with several secrets, and receive. */
const clients = {
  "@pix-payments/client": async () => {
    const { Payments } = await load("@pix-payments/client")
    const { unwrap } = await load("@pix-payments/client/webhooks")
    const { signForTest } = await load("@pix-payments/client/testing")
    const { webhookReceiver } = await load("@pix-payments/client/receiver")
    const payments = new Payments({ baseUrl: url, apiKey: "pix_" })
    const params = { amount: 500, pix_key_type: "email", pix_key: "a@b.co" }
    const signed = await signForTest({ event, secret: newSecret })
    return {
      create: () => payments.payouts.create(params),
      abort: (signal) => payments.payouts.create(params, { signal }),
      verify: (secrets) => unwrap({ ...signed, secrets }),
      receiver: async () => {
        const done = new Set()
        const store = {
          claim: ({ id }) => (done.has(id) ? "done" : "new"),
          release: ({ id }) => void done.add(id)
        }
        let count = 0
        const receive = webhookReceiver({ secrets: newSecret, store, on: { "*": () => void count++ } })
        const request = () => new Request(url, { method: "POST", ...signed })
        const statuses = [(await receive(request())).status, (await receive(request())).status]
        return count === 1 && statuses.every((status) => status === 204)
      }
    }
  },
  stripe: async () => {
    const { default: Stripe } = await load("stripe")
    const stripe = new Stripe("sk_test_1", { host: "127.0.0.1", port, protocol: "http" })
    const signature = `t=${seconds},v1=${createHmac("sha256", newSecret).update(`${seconds}.${body}`).digest("hex")}`
    return {
      create: () => stripe.customers.create({ name: "Ana" }),
      abort: (signal) => stripe.customers.create({ name: "Ana" }, { signal }),
      verify: async (secrets) => stripe.webhooks.constructEvent(body, signature, secrets)
    }
  },
  openai: async () => {
    const { default: OpenAI } = await load("openai")
    const openai = new OpenAI({ apiKey: "sk", baseURL: url })
    return {
      create: () => openai.models.retrieve("1"),
      abort: (signal) => openai.models.retrieve("1", { signal }),
      verify: (secrets) => openai.webhooks.unwrap(body, new Headers(standard(newSecret)), secrets)
    }
  },
  svix: async () => {
    const { Svix, Webhook } = require("svix")
    const svix = new Svix("token", { serverUrl: url })
    return {
      create: () => svix.application.create({ name: "Ana" }),
      abort: (signal) => svix.application.create({ name: "Ana" }, { signal }),
      verify: async (secrets) => new Webhook(secrets).verify(body, standard(newSecret))
    }
  },
  resend: async () => {
    const { Resend } = await load("resend")
    process.env.RESEND_BASE_URL = url
    const resend = new Resend("re_1", { baseUrl: url })
    const throwing = async (call) => {
      const { data, error } = await call
      if (error) throw Object.assign(new Error(error.message), error, { stack: error.stack ?? "" })
      return data
    }
    return {
      create: () => throwing(resend.emails.send({ from: "a@b.co", to: "a@b.co", subject: "x", text: "x" })),
      abort: (signal) =>
        throwing(resend.emails.send({ from: "a@b.co", to: "a@b.co", subject: "x", text: "x" }, { signal })),
      verify: async (secrets) =>
        resend.webhooks.verify({
          payload: body,
          headers: { id: "evt_1", timestamp: seconds, signature: standard(newSecret)["webhook-signature"] },
          webhookSecret: secrets
        })
    }
  }
}

const sizeOf = async (name) => {
  const bundle = await rolldown({ input: resolveEsm(name), platform: "node", logLevel: "silent" })
  const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false })
  await bundle.close()
  return gzipSync(output[0].code, { level: 9 }).length
}

const requires = (name) => {
  try {
    execFileSync(oldNode, ["-e", `require(${JSON.stringify(name)})`], { cwd: folder, stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** A good stack contains this function's name. */
const theCallingFunction = (client) => client.create()

const stackOf = async (client) => {
  answer = (_request, response) =>
    json(response, 400, { code: "BAD", error: { message: "bad" }, message: "bad", name: "bad" })
  const pending = theCallingFunction(client)
  await new Promise((resolve) => setImmediate(resolve))
  return Promise.resolve(pending).then(
    () => "no error",
    (error) => `${error.stack}`.includes("theCallingFunction")
  )
}

const failures = {
  429: (response) => json(response, 429, { code: "RATE_LIMITED", error: { message: "slow down" } }),
  408: (response) => json(response, 408, {}),
  500: (response) => json(response, 500, {}),
  502: (response) => response.writeHead(502).end("<html>"),
  520: (response) => response.writeHead(520).end("<html>"),
  "cut off": (response) => response.destroy()
}

const retriesOf = async (client) => {
  const retried = []
  for (const [name, fail] of Object.entries(failures)) {
    requestCount = 0
    answer = (_request, response, count) =>
      count === 1 ? fail(response) : json(response, 200, { id: "1", object: "x" })
    await client.create().catch(() => {})
    if (requestCount > 1) retried.push(name)
  }
  return retried.join(", ") || "nothing"
}

const abortOf = async (client) => {
  answer = () => {}
  const controller = new AbortController()
  const startedMs = performance.now()
  setTimeout(() => controller.abort(), 50)
  const ended = Promise.resolve(client.abort(controller.signal)).then(
    () => false,
    () => performance.now() - startedMs < 1000
  )
  return Promise.race([ended, new Promise((resolve) => setTimeout(() => resolve(false), 2000))])
}

const secretsOf = async (client) => {
  const isVerified = (secrets) =>
    Promise.resolve()
      .then(() => client.verify(secrets))
      .then(
        () => true,
        () => false
      )
  if (!(await isVerified(newSecret))) return "verification fails with one secret: fix this script"
  return isVerified([oldSecret, newSecret])
}

const rows = []
for (const [name, make] of Object.entries(clients)) {
  const manifest = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"))
  const client = await make()
  const row = {
    client: `${name} ${manifest.version}`,
    dependencies: Object.keys(manifest.dependencies ?? {}).length,
    "main entry, minified, gzipped": `${((await sizeOf(name)) / 1000).toFixed(1)} kB`,
    "require on Node 20": requires(name),
    "an error's stack includes the call": await stackOf(client),
    "retried by default": await retriesOf(client),
    AbortSignal: await abortOf(client),
    "verifies webhooks with several secrets": await secretsOf(client),
    receiver: client.receiver ? await client.receiver() : false
  }
  rows.push(row)
  process.stderr.write(`${JSON.stringify(row)}\n`)
}
const cell = (value) => (value === true ? "yes" : value === false ? "no" : String(value))
const names = Object.keys(rows[0])
process.stdout.write(
  [names, names.map(() => "---"), ...rows.map((row) => names.map((name) => cell(row[name])))]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n") + "\n"
)
server.closeAllConnections()
server.close()
process.exit()
