/**
 * The main job, start to end, against a running service (`npm start`): a charge is created, shown, paid and
 * told of by signed webhooks.
 *
 * Reads the demo's credentials from `.data/demo.json`, or from `PAYMENTS_API_KEY` and `OPERATOR_TOKEN`;
 * `PAYMENTS_URL` and `OPERATOR_URL` name other addresses.
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
import { renderUnicodeCompact } from "uqr"
import { startNodeHttpReceiver } from "./receivers/NodeHttp.ts"
import { memoryStore } from "./receivers/stores/MemoryStore.ts"

const say = (line = "") => Effect.sync(() => process.stdout.write(`${line}\n`))

const step = (title: string) => say(`\n${title}`)

const credentials = Effect.promise(async () => {
  const kept = JSON.parse(
    await readFile(process.env["DEMO_CREDENTIALS"] ?? ".data/demo.json", "utf8").catch(() => "{}")
  )
  return {
    baseUrl: process.env["PAYMENTS_URL"] ?? "http://127.0.0.1:3000",
    operatorUrl: process.env["OPERATOR_URL"] ?? "http://127.0.0.1:3001",
    apiKey: String(process.env["PAYMENTS_API_KEY"] ?? kept.api_key ?? ""),
    operatorToken: String(process.env["OPERATOR_TOKEN"] ?? kept.operator_token ?? "")
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

/** The next event of this name; what comes before it is told too. */
const awaitEvent = (events: Queue.Dequeue<WebhookEvent>, name: string) =>
  Effect.gen(function* () {
    while (true) {
      const event = yield* Queue.take(events)
      yield* say(`  ${event.event}  signature verified  delivery ${event.id}`)
      if (event.event === name) return event
    }
  }).pipe(
    Effect.timeoutOrElse({
      duration: "15 seconds",
      orElse: () => Effect.die(new Error(`No ${name} arrived within 15 seconds.`))
    })
  )

const demo = Effect.gen(function* () {
  const { apiKey, baseUrl, operatorToken, operatorUrl } = yield* credentials
  const events = yield* Queue.unbounded<WebhookEvent>()
  const secret = "a secret of the demo"
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
  yield* step("1. A receiver for webhooks listens")
  yield* say(`  ${receiver.url}`)

  const program = Effect.gen(function* () {
    const payments = yield* PaymentsClient
    yield* step("2. A charge of R$ 19,90 is created")
    const charge = yield* payments.charges.create({
      amount: 1990,
      customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" },
      description: "Pedido 1001",
      reference: "pedido-1001",
      webhook_url: receiver.url,
      webhook_secret: secret
    })
    yield* say(`  ${charge.id}  ${charge.status}`)
    const brCode = charge.pix.br_code ?? ""

    yield* step("3. The payer copies and pastes, or scans")
    yield* say(`  ${brCode}`)
    yield* say()
    yield* say(renderUnicodeCompact(brCode))

    yield* step("4. The service tells that the Pix is out")
    yield* awaitEvent(events, "charge.pix.emitted")

    yield* step("5. The simulated payer pays")
    const operator = yield* operatorClient(operatorUrl, operatorToken)
    yield* operator.simulatorCharges.pay({ params: { id: charge.id }, payload: {} })

    yield* step("6. The service tells that the money arrived")
    yield* awaitEvent(events, "charge.pix.paid")

    const paid = yield* payments.charges.retrieve(charge.id)
    yield* step("7. The charge, read again")
    yield* say(`  ${paid.id}  ${paid.status}  paid_at ${paid.paid_at}  end_to_end_id ${paid.pix.end_to_end_id}`)
    yield* say()
  })

  yield* program.pipe(
    // @effect-diagnostics-next-line strictEffectProvide:off
    Effect.provide(PaymentsClient.layer({ baseUrl, apiKey: Redacted.make(apiKey) })),
    Effect.catch((error) =>
      Effect.andThen(
        say(`\nThe demo could not go on: ${String(error)}\nIs the service running? Start it with: npm start`),
        Effect.sync(() => {
          process.exitCode = 1
        })
      )
    )
  )
})

NodeRuntime.runMain(Effect.scoped(demo))
