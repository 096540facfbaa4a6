/** The events of a stream, from chunks that are cut anywhere. */
import { assert, describe, it } from "@effect/vitest"
import { matchingEvents } from "../src/listen/Listen.ts"
import { EventTooLarge, sseParser } from "../src/listen/SseLines.ts"

const stream = `: heartbeat\nid: a.1\n\nid: b.1\ndata: {"text":"a\u00e7\u00e3o: x"}\n\n: heartbeat\n\nid: b.2\r\ndata: {}\r\n\r\n`

describe("The stream", () => {
  it("CLI-11: gives the same events wherever its chunks are cut, and the positions of heartbeats", () => {
    const whole = sseParser()(stream)
    assert.deepStrictEqual(whole, [
      { id: "a.1", text: undefined },
      { id: "b.1", text: `{"text":"a\u00e7\u00e3o: x"}` },
      { id: "b.2", text: "{}" }
    ])
    for (let cut = 0; cut <= stream.length; cut++) {
      const parse = sseParser()
      assert.deepStrictEqual([...parse(stream.slice(0, cut)), ...parse(stream.slice(cut))], whole, String(cut))
    }
  })

  it("CLI-15: keeps a bounded part of an event that does not end", () => {
    const parse = sseParser()
    const chunk = "x".repeat(1024 * 1024)
    assert.throws(() => {
      for (let count = 0; count < 9; count++) parse(chunk)
    }, EventTooLarge)
  })
})

describe("--events", () => {
  it("CLI-10: takes names and patterns, and refuses what names no event", () => {
    assert.deepStrictEqual(matchingEvents("charge.pix.paid, dispute.*"), [
      "charge.pix.paid",
      "dispute.pix.opened",
      "dispute.pix.message",
      "dispute.pix.won",
      "dispute.pix.lost"
    ])
    for (const wrong of ["charge.pix.payed", "", "charge", "[", "charge.pix.paid,nothing"]) {
      assert.throws(() => matchingEvents(wrong))
    }
  })
})
