import { assert, describe, it } from "vitest"
import { ConnectionError, isCode } from "../src/index.ts"
import { chargeOf } from "./support/Samples.ts"
import { json, startStub } from "./support/Stub.ts"
import { clientOf } from "./support/TestClient.ts"

/** A service with this many charges. */
const startServiceWith = (count: number) =>
  startStub((response, { path }) => {
    const { searchParams } = new URL(path, "http://x")
    const from = Number(searchParams.get("starting_after") ?? count)
    const limit = Number(searchParams.get("limit") ?? 20)
    const data = Array.from({ length: Math.min(limit, from) }, (_, index) => chargeOf({ id: `${from - index - 1}` }))
    json(response, 200, { object: "list", data, has_more: from > limit })
  })

describe("a list", () => {
  it("is iterated in pages of 100, from the start each time", async () => {
    await using stub = await startServiceWith(150)
    const list = clientOf(stub.url).charges.list({ status: "paid" })
    for (let round = 1; round <= 2; round++) {
      let count = 0
      for await (const { id } of list) assert.strictEqual(id, `${150 - ++count}`)
      assert.strictEqual(count, 150)
      assert.strictEqual(stub.requests.length, 2 * round)
    }
    assert.include(stub.requests[0]?.path, "limit=100")
    assert.include(stub.requests[1]?.path, "starting_after=50")
    // `await` requests the query's page, once.
    assert.strictEqual((await list).data.length, 20)
    assert.strictEqual((await list).data.length, 20)
    assert.strictEqual(stub.requests.length, 5)
  })

  it("leads from page to page, up to the last one", async () => {
    await using stub = await startServiceWith(5)
    const sizes: Array<number> = []
    let page = await clientOf(stub.url).charges.list({ limit: 2 })
    while (true) {
      sizes.push(page.data.length)
      const next = page.getNextPage()
      if (next === undefined) break
      page = await next
    }
    assert.deepStrictEqual(sizes, [2, 2, 1])
    assert.deepStrictEqual(Object.keys(page), ["object", "data", "has_more"])
    // A service that ignores the cursor does not cause an endless loop.
    const same = { object: "list", data: [chargeOf({ id: "1" })], has_more: true }
    await using stuck = await startStub((response) => json(response, 200, same))
    const first = await clientOf(stuck.url).charges.list()
    const second = await first.getNextPage()
    assert.isUndefined(second?.getNextPage())
  })

  it("that the service answers malformed is a ConnectionError", async () => {
    for (const body of [{ data: null }, { object: "list" }, null, 7, []]) {
      await using stub = await startStub((response) => json(response, 200, body))
      const payments = clientOf(stub.url, { maxRetries: 0 })
      for (const use of [
        () => payments.charges.list().then(),
        () => payments.charges.list().toArray({ limit: 1 }),
        () => payments.webhooks.events().then()
      ]) {
        const error: unknown = await use().catch((caught: unknown) => caught)
        assert.instanceOf(error, ConnectionError, JSON.stringify(body))
        assert.strictEqual(error.reason, "malformed")
      }
    }
  })
})

describe("pages", () => {
  it("end at a page without new items, whatever has_more says", async () => {
    const page = { object: "list", data: [chargeOf()], has_more: true }
    await using same = await startStub((response) => json(response, 200, page))
    assert.strictEqual((await clientOf(same.url).charges.list().toArray({ limit: 10 })).length, 1)
    await using empty = await startStub((response) => json(response, 200, { ...page, data: [] }))
    assert.deepStrictEqual(await clientOf(empty.url).charges.list().toArray({ limit: 10 }), [])
    assert.strictEqual(empty.requests.length, 1)
  })

  it("end if cursors repeat: each page is returned once", async () => {
    const page = (id: string) => ({ object: "list", data: [chargeOf({ id })], has_more: true })
    await using stub = await startStub((response, _, count) => json(response, 200, page("abc"[(count - 1) % 3]!)))
    const items = await clientOf(stub.url).charges.list().toArray({ limit: 100 })
    assert.deepStrictEqual(
      items.map(({ id }) => id),
      ["a", "b", "c"]
    )
    assert.strictEqual(stub.requests.length, 4)
  })

  it("toArray requests no more items than it returns", async () => {
    await using stub = await startStub((response) => json(response, 200, { object: "list", data: [], has_more: false }))
    const payments = clientOf(stub.url)
    await payments.charges.list().toArray({ limit: 3 })
    await payments.charges.list().toArray({ limit: 300 })
    await payments.charges.list({ limit: 7 }).toArray({ limit: 300 })
    assert.deepStrictEqual(
      stub.requests.map(({ path }) => path),
      ["/v1/charges?limit=3", "/v1/charges?limit=100", "/v1/charges?limit=7"]
    )
  })

  it("a page that fails ends the iteration with its error", async () => {
    await using stub = await startStub((response, _, count) =>
      count === 1
        ? json(response, 200, { object: "list", data: [chargeOf()], has_more: true })
        : json(response, 400, { code: "VALIDATION_ERROR", message: "no", details: ["starting_after"] })
    )
    const seen: Array<string> = []
    const walk = async () => {
      for await (const { id } of clientOf(stub.url).charges.list()) seen.push(id)
    }
    assert.isTrue(isCode(await walk().catch((error: unknown) => error), "VALIDATION_ERROR"))
    assert.strictEqual(seen.length, 1)
  })
})
