/** The program that projects with the installed client run in tests. */

/** Creates, lists and reads charges, and verifies a webhook. `run` prints the results as JSON. */
export const program = `
const payments = new Payments({ baseUrl: process.env.PAYMENTS_URL ?? "", apiKey: process.env.PAYMENTS_API_KEY ?? "" })
const run = async () => {
  const charge = await payments.charges.create({
    amount: 1990,
    customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
  })
  const all = await payments.charges.list().toArray({ limit: 10 })
  const missing = await payments.charges.retrieve("none").catch((error) => isCode(error, "CHARGE_NOT_FOUND"))
  const delivery = await signForTest({
    event: { id: "1", object: "event", event: "charge.pix.paid", resource: "charge", data: charge },
    secret: "a secret"
  })
  const event = await unwrap({ ...delivery, secrets: ["another", "a secret"], toleranceMs: 300_000 })
  const refused = await unwrap({ ...delivery, secrets: "another" }).catch((error) => error.reason)
  const seen = new Set()
  const receive = webhookReceiver({
    secrets: ["another", "a secret"],
    store: { claim: ({ id }) => (seen.has(id) ? "done" : "new"), release: ({ id }) => void seen.add(id) },
    on: { "charge.pix.paid": ({ data }) => void seen.add(data.object) }
  })
  const post = () => receive(new Request("http://127.0.0.1/", { method: "POST", ...delivery }))
  const received = [(await post()).status, (await post()).status, ...seen]
  let retries = 0
  const hooks = { onRetry: () => void retries++ }
  const nobody = new Payments({ baseUrl: "http://127.0.0.1:1", apiKey: "pix_", maxRetries: 1, hooks })
  async function checkOut() {
    await nobody.balance.retrieve()
  }
  const failure = await checkOut().then(() => undefined, (error) => error)
  const unreachable = String(failure).split(":", 1)[0]
  const stack = /checkOut/.test(failure.stack)
  console.log(JSON.stringify({ status: charge.status, found: all.some(({ id }) => id === charge.id), missing, event: event.event, refused, received, unreachable, stack, retries }))
}
`
/** The program, which runs itself. */
export const selfRunningProgram = `${program}void run()
`

/** The output of the program. */
export const expected = {
  status: "pending",
  found: true,
  missing: true,
  event: "charge.pix.paid",
  refused: "mismatch",
  received: [204, 204, "charge", "1"],
  unreachable: "ConnectionError",
  stack: true,
  retries: 1
}

export const imports = `import { isCode, Payments } from "@pix-payments/client"
import { webhookReceiver } from "@pix-payments/client/receiver"
import { signForTest } from "@pix-payments/client/testing"
import { unwrap } from "@pix-payments/client/webhooks"
`
export const requires = `const { isCode, Payments } = require("@pix-payments/client")
const { webhookReceiver } = require("@pix-payments/client/receiver")
const { signForTest } = require("@pix-payments/client/testing")
const { unwrap } = require("@pix-payments/client/webhooks")
`
export const declaredProcess = `declare const process: { readonly env: Readonly<Record<string, string | undefined>> }
`
