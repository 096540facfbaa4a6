import { assert, describe, it } from "@effect/vitest"
import { deliveryBody } from "../src/Event.ts"
import { eventCatalog, eventNames, findEvent } from "../src/EventCatalog.ts"

describe("the catalog", () => {
  const actionsOf = (kind: string) =>
    eventCatalog
      .filter(({ method, resource }) => `${resource}.${method}` === kind)
      .map(({ action, dispatched }) => (dispatched ? action : `${action}†`))
      .join(" ")

  it("EVT-13: has the 37 events of the contract, four kinds of which are not dispatched yet", () => {
    const kinds = [...new Set(eventCatalog.map(({ method, resource }) => `${resource}.${method}`))]
    assert.deepStrictEqual(Object.fromEntries(kinds.map((kind) => [kind, actionsOf(kind)])), {
      "charge.pix": "created emitted paid expired† failed canceled refunded infraction charged_back",
      "charge.boleto": "created emitted paid expired† failed canceled refunded",
      "charge.card": "created authorized† paid failed canceled refunded charged_back",
      "payment.pix": "created processing completed† failed canceled",
      "payment.ted": "created processing completed† failed canceled",
      "dispute.pix": "opened message won lost"
    })
    assert.lengthOf(eventNames, 37)
  })

  it("EVT-1: a name is its resource, its method and its action", () => {
    for (const { action, event, method, resource } of eventCatalog) {
      assert.strictEqual(event, `${resource}.${method}.${action}`)
      assert.include(["charge", "payment", "dispute"], resource)
    }
    for (const unknown of ["charge.paid", "charge.card.emitted", "charge.ted.created", "payout.pix.created"]) {
      assert.isUndefined(findEvent(unknown), unknown)
    }
  })
})

it("EVT-4: a body is the envelope with its eight fields and `sequence`", () => {
  const delivery = {
    deliveryId: "01a1fd37-d21e-717f-8451-d23f26a8797f",
    name: "charge.pix.paid",
    createdAt: "2026-11-21T12:00:00.000Z",
    sequence: 3,
    dataJson: '{"object":"charge"}'
  }
  assert.deepStrictEqual(JSON.parse(deliveryBody(delivery)), {
    id: delivery.deliveryId,
    object: "event",
    event: "charge.pix.paid",
    resource: "charge",
    method: "pix",
    action: "paid",
    created_at: delivery.createdAt,
    sequence: 3,
    data: { object: "charge" }
  })
})
