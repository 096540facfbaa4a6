/**
 * The demo (`npm run demo`), against a running service (`npm start`): creates a charge, shows its QR code, lets the simulated
 * payer pay it, and receives its signed webhooks.
 *
 * Reads credentials and addresses from `demo.json` in `DATA_DIR` (`.data`), as `pix login` does, or from `PAYMENTS_API_KEY`,
 * `OPERATOR_TOKEN`, `PAYMENTS_URL` and `OPERATOR_URL`.
 */
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { OperatorAuthentication } from "@pix-payments/api/Security"
import { PaymentsClient } from "@pix-payments/client-effect"
import type { WebhookEvent } from "@pix-payments/client/webhooks"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { renderUnicodeCompact } from "uqr"
import { startNodeHttpReceiver } from "./receivers/NodeHttp.ts"
import { memoryStore } from "./receivers/stores/MemoryStore.ts"

const print = (line = "") => Effect.sync(() => process.stdout.write(`${line}\n`))

const printStep = (title: string) => print(`\n${title}`)

const credentials = Effect.promise(async () => {
  const stored = JSON.parse(
    await readFile(join(process.env["DATA_DIR"] ?? ".data", "demo.json"), "utf8").catch(() => "{}")
  )
  return {
    baseUrl: String(process.env["PAYMENTS_URL"] ?? stored.api_url ?? "http://127.0.0.1:3000"),
    operatorUrl: String(process.env["OPERATOR_URL"] ?? stored.operator_url ?? "http://127.0.0.1:3001"),
    apiKey: String(process.env["PAYMENTS_API_KEY"] ?? stored.api_key ?? ""),
    operatorToken: String(process.env["OPERATOR_TOKEN"] ?? stored.operator_token ?? "")
  }
})

const operatorClient = (operatorUrl: string, token: string) =>
  HttpApiClient.make(OperatorApi, { baseUrl: operatorUrl }).pipe(
    Effect.provide([
      HttpApiMiddleware.layerClient(OperatorAuthentication, ({ next, request }) =>
        next(HttpClientRequest.setHeader(request, "x-operator-token", token))
      ),
      FetchHttpClient.layer
    ])
  )

/** Waits for the event with this name, and prints every event. */
const awaitEvent = (events: Queue.Dequeue<WebhookEvent>, name: string) =>
  Effect.gen(function* () {
    while (true) {
      const event = yield* Queue.take(events)
      yield* print(`  ${event.event}  signature verified  delivery ${event.id}`)
      if (event.event === name) return event
    }
  }).pipe(
    Effect.timeoutOrElse({
      duration: "15 seconds",
      orElse: () =>
        Effect.die(new Error(`No ${name} arrived within 15 seconds. Can the service reach this machine on 127.0.0.1?`))
    })
  )

const demo = Effect.gen(function* () {
  const { apiKey, baseUrl, operatorToken, operatorUrl } = yield* credentials
  const events = yield* Queue.unbounded<WebhookEvent>()
  const secret = "the secret of the demo"
  const receiver = yield* Effect.acquireRelease(
    Effect.promise(() =>
      startNodeHttpReceiver({
        store: memoryStore(),
        secrets: secret,
        onEvent: (event) => Queue.offerUnsafe(events, event)
      })
    ),
    ({ close }) => Effect.promise(close)
  )
  yield* printStep("1. Start a webhook receiver")
  yield* print(`  ${receiver.url}`)

  const program = Effect.gen(function* () {
    const payments = yield* PaymentsClient
    yield* printStep("2. Create a charge of R$ 19,90")
    const charge = yield* payments.charges.create({
      amount: 1990,
      customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" },
      description: "Pedido 1001",
      reference: "pedido-1001",
      webhook_url: receiver.url,
      webhook_secret: secret
    })
    yield* print(`  ${charge.id}  ${charge.status}`)
    const brCode = charge.pix.br_code ?? ""

    yield* printStep("3. The payer copies this text, or scans the code")
    yield* print(`  ${brCode}`)
    yield* print()
    yield* print(renderUnicodeCompact(brCode))

    yield* printStep("4. Wait for the webhook charge.pix.emitted")
    yield* awaitEvent(events, "charge.pix.emitted")

    yield* printStep("5. The simulated payer pays")
    const operator = yield* operatorClient(operatorUrl, operatorToken)
    yield* operator.simulatorCharges.pay({ params: { id: charge.id }, payload: {} })

    yield* printStep("6. Wait for the webhook charge.pix.paid")
    yield* awaitEvent(events, "charge.pix.paid")

    const paid = yield* payments.charges.retrieve(charge.id)
    yield* printStep("7. Read the charge again")
    yield* print(`  ${paid.id}  ${paid.status}  paid_at ${paid.paid_at}  end_to_end_id ${paid.pix.end_to_end_id}`)
    yield* print()
  })

  yield* program.pipe(
    // @effect-diagnostics-next-line strictEffectProvide:off
    Effect.provide(PaymentsClient.layer({ baseUrl, apiKey: Redacted.make(apiKey) })),
    Effect.catch((error) =>
      Effect.andThen(
        print(`\nThe demo failed: ${String(error)}\nIs the service running? Start it with: npm start`),
        Effect.sync(() => {
          process.exitCode = 1
        })
      )
    )
  )
})

NodeRuntime.runMain(Effect.scoped(demo))
