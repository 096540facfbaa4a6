import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestService } from "@pix-payments/server/test/TestService"
import { Payments } from "../src/index.ts"
import { startFlakyProxy } from "./support/FlakyProxy.ts"
import { someCharge } from "./support/Samples.ts"

/** Runs `work` `count` times, `width` at a time. */
const inParallel = async <A>(count: number, width: number, work: (index: number) => Promise<A>): Promise<Array<A>> => {
  const results: Array<A> = []
  let next = 0
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) {
        const index = next++
        results[index] = await work(index)
      }
    })
  )
  return results
}

layer(TestService.layer(), { excludeTestServices: true })("over an unreliable network", (it) => {
  it.effect(
    "IDEM-9: 1,000 creations through dropped connections, 500s, delays and incomplete responses make exactly 1,000 charges",
    () =>
      Effect.gen(function* () {
        const { makeCaller, publicUrl } = yield* TestService
        const { key } = yield* makeCaller()
        yield* Effect.promise(async () => {
          await using proxy = await startFlakyProxy(publicUrl, 20_261_121)
          const through = new Payments({ baseUrl: proxy.url, apiKey: key, timeoutMs: 2000, maxRetries: 30 })
          const made = await inParallel(1000, 25, (index) =>
            through.charges.create({ ...someCharge, reference: `order-${index}` }).withResponse()
          )
          // Every fault occurred, and the client had to retry.
          for (const [fault, times] of proxy.counts) assert.isAbove(times, 20, fault)
          assert.isAbove(made.filter(({ response }) => response.attempts > 1).length, 200)
          assert.isAbove(made.filter(({ response }) => response.replayed).length, 100)

          const direct = new Payments({ baseUrl: publicUrl, apiKey: key })
          const charges = await direct.charges.list().toArray({ limit: 5000 })
          assert.strictEqual(charges.length, 1000)
          assert.deepStrictEqual(charges.map(({ id }) => id).toSorted(), made.map(({ data }) => data.id).toSorted())
          // Each creation has its own charge.
          for (const [index, { data }] of made.entries()) assert.strictEqual(data.reference, `order-${index}`)
        })
      })
  )
})
