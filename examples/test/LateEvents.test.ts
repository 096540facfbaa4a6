/**
 * Shops that follow the documents word for word lose no paid order, whatever happens to deliveries on their way: they skip an `id`
 * that they have handled, act on every other event, and keep a newer state that they have stored.
 */
import { webhookReceiver } from "@pix-payments/client/receiver"
import { signForTest } from "@pix-payments/client/testing"
import { isEvent, unwrap, type WebhookEvent } from "@pix-payments/client/webhooks"
import { assert, describe, it } from "@effect/vitest"
import { memoryStore } from "../receivers/stores/MemoryStore.ts"

const secret = "a secret of the endpoint"

/** The changes of a charge, and its state after each. */
const histories = [
  { created: "processing", emitted: "pending", paid: "paid" },
  { created: "processing", emitted: "pending", paid: "paid", refunded: "refunded" },
  { created: "processing", emitted: "pending", expired: "expired", paid: "paid" }
]

const deliveriesOf = (history: object) =>
  Object.entries(history).map(([action, status], index) => ({
    id: `d${index}`,
    object: "event",
    event: `charge.pix.${action}`,
    resource: "charge",
    method: "pix",
    action,
    created_at: "2026-11-21T12:00:00.000Z",
    sequence: index + 1,
    data: { object: "charge", id: "01890a5d-ac96-774b-bcce-b302099a8057", status }
  }))

const permutationsOf = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length < 2
    ? [items]
    : items.flatMap((item, index) => permutationsOf(items.toSpliced(index, 1)).map((others) => [item, ...others]))

/** First attempts in every order, any of them lost on their way; then all of them once more, in another order. */
const arrivalsOf = <A>(deliveries: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  permutationsOf(deliveries).flatMap((order) =>
    Array.from({ length: 2 ** order.length }, (_, lost) => [
      ...order.filter((_each, index) => (lost & (1 << index)) === 0),
      ...order.toReversed()
    ])
  )

/** A shop: how often it shipped, and the state of the charge that it stored last. */
class Shop {
  shipped = 0
  stored = { sequence: 0, status: "" }

  act(event: WebhookEvent): void {
    if (isEvent(event, "charge.pix.paid")) this.shipped++
    if (event.sequence > this.stored.sequence) {
      this.stored = { sequence: event.sequence, status: String(event.data["status" as never]) }
    }
  }
}

type Receive = (delivery: Awaited<ReturnType<typeof signForTest>>) => Promise<unknown>

const assertShips = async (receiverOf: (shop: Shop) => Receive) => {
  for (const history of histories) {
    const deliveries = deliveriesOf(history)
    const signed = await Promise.all(deliveries.map((event) => signForTest({ event, secret })))
    for (const arrivals of arrivalsOf(signed)) {
      const shop = new Shop()
      const receive = receiverOf(shop)
      for (const attempt of arrivals) await receive(attempt)
      assert.strictEqual(shop.shipped, 1)
      assert.deepStrictEqual(shop.stored, {
        sequence: deliveries.length,
        status: Object.values(history).at(-1)!
      })
    }
  }
}

describe("ADD-1, DLV-6, DLV-10: late, repeated and lost deliveries", () => {
  it("a shop with webhookReceiver ships a paid order once, and keeps the last state", () =>
    assertShips((shop) => {
      const receive = webhookReceiver({
        secrets: secret,
        store: memoryStore(),
        on: { "*": (event) => shop.act(event) }
      })
      return ({ body, headers }) =>
        receive(new Request("http://127.0.0.1/webhooks", { method: "POST", body, headers: { ...headers } }))
    }))

  it("so does one that is written by hand", () =>
    assertShips((shop) => {
      const handled = new Set<string>()
      return async ({ body, headers }) => {
        const event = await unwrap({ body, headers, secrets: secret })
        if (handled.has(event.id)) return
        handled.add(event.id)
        shop.act(event)
      }
    }))
})
