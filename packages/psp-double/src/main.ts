/** The double by itself: `node src/main.ts [bacen|efi] [--port 8443] [--seed 1] [--fault html=0.1]…`. */
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"
import { HOOK_FAULTS, WRONG_ANSWERS, type Rates, REQUEST_FAULTS } from "./Faults.ts"
import { type PspDouble, startPspDouble } from "./PspDouble.ts"

const say = (text: string) => process.stdout.write(`${text}\n`)

const ratesOf = (faults: ReadonlyArray<string>): Rates => {
  const known: ReadonlyArray<string> = [...REQUEST_FAULTS, ...WRONG_ANSWERS, ...HOOK_FAULTS]
  return Object.fromEntries(
    faults.map((text) => {
      const [name = "", chance = "0.1"] = text.split("=")
      if (!known.includes(name)) throw new Error(`no fault is called ${name}: ${known.join(", ")}`)
      return [name, Number(chance)]
    })
  )
}

/** What can be typed while it runs. */
const COMMANDS: Record<string, (double: PspDouble, ...words: Array<string>) => unknown> = {
  pay: ({ provider }, txid = "", cents) =>
    provider.receipts.payCob(txid, cents === undefined ? {} : { cents: Number(cents) }),
  receive: ({ provider, key }, cents = "100") => provider.receipts.receive({ key, cents: Number(cents) }),
  med: ({ provider }, endToEndId = "") => provider.infractions.open(endToEndId),
  close: ({ provider }, id = "", how = "ACEITA") =>
    provider.infractions.close(id, how === "ACEITA" ? "ACEITA" : "REJEITADA"),
  webhook: ({ provider, key }, url) => (url === undefined ? provider.webhookUrl(key) : provider.webhooks.put(key, url)),
  latency: (double, ms = "300") => double.setLatency(Number(ms)),
  advance: (double, seconds = "60") => double.advance(Number(seconds) * 1000),
  state: ({ provider, violations, defects, hooks }) => ({
    balance: provider.balanceCents(),
    blocked: provider.blockedCents(),
    hooks: hooks.length,
    violations,
    defects
  })
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: "string", default: "0" },
    seed: { type: "string", default: "1" },
    fault: { type: "string", multiple: true, default: [] }
  }
})
const profile = positionals[0] === "efi" ? "efi" : "bacen"
const double = await startPspDouble({
  profile,
  port: Number(values.port),
  seed: Number(values.seed),
  faults: ratesOf(values.fault),
  settings: { openingCents: 100_000, acceptsHttpWebhooks: true }
})

const folder = mkdtempSync(join(tmpdir(), "psp-double-"))
const write = (name: string, content: string | Buffer) => writeFileSync(join(folder, name), content, { mode: 0o600 })
write("ca.pem", double.client.ca)
write("client.pem", double.client.cert)
write("client.key", double.client.key)
write("client.p12", double.client.pkcs12("psp-double"))

const isJson = double.profile.tokenAuth === "basic-json"
const grant = isJson
  ? `-H 'content-type: application/json' -d '{"grant_type":"client_credentials"}'`
  : "-d grant_type=client_credentials"
say(`A double of a Pix provider (${profile}) listens on ${double.origin}. Its state is in memory.

  client id        ${double.clientId}
  client secret    ${double.clientSecret}
  receiving key    ${double.key}
  certificates     ${folder} (ca.pem, client.pem, client.key, client.p12 with passphrase psp-double)

  cd ${folder}
  mtls="--cacert ca.pem --cert client.pem --key client.key"
  token=$(curl -s $mtls -u ${double.clientId}:${double.clientSecret} ${grant} ${double.tokenUrl} | grep -o '"access_token":"[^"]*' | cut -d'"' -f4)
  curl $mtls -H "authorization: Bearer $token" -H 'content-type: application/json' -X PUT \\
    -d '{"calendario":{"expiracao":3600},"valor":{"original":"10.00"},"chave":"${double.key}"}' \\
    ${double.baseUrl}/cob/demo0000000000000000000001

Type: pay TXID [CENTS] · receive CENTS · med E2EID · close ID ACEITA|REJEITADA · webhook [URL] · latency MS · advance SECONDS · state`)

const lines = createInterface({ input: process.stdin })
lines.on("line", (line) => {
  const [name = "", ...words] = line.trim().split(/\s+/)
  const command = COMMANDS[name]
  if (command === undefined) {
    say(`known: ${Object.keys(COMMANDS).join(", ")}`)
    return
  }
  Promise.resolve(command(double, ...words)).then(
    (done) => say(JSON.stringify(done, null, 2) ?? "done"),
    (cause: unknown) => say(String(cause))
  )
})

const stop = () => {
  lines.close()
  void double.close()
}
process.once("SIGINT", stop)
process.once("SIGTERM", stop)
