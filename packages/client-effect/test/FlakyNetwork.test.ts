import { assert, layer } from "@effect/vitest"
import { Payments } from "@pix-payments/client"
import { startFlakyProxy } from "@pix-payments/client/test/FlakyProxy"
import { someCharge } from "@pix-payments/client/test/Samples"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { PaymentsClient } from "../src/index.ts"

layer(TestService.layer(), { excludeTestServices: true })("over an unreliable network", (it) => {
  it.effect("IDEM-9: 200 creations of the Effect client make exactly 200 charges", () =>
    Effect.gen(function* () {
      const { makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const proxy = yield* Effect.acquireDisposable(Effect.promise(() => startFlakyProxy(publicUrl, 4)))
      const through = yield* Layer.build(
        PaymentsClient.layer({ baseUrl: proxy.url, apiKey: Redacted.make(key), timeoutMs: 2000, maxRetries: 30 })
      )
      const made = yield* Effect.flatMap(PaymentsClient, ({ charges }) =>
        Effect.forEach(Array.from({ length: 200 }), () => charges.create(someCharge), { concurrency: 25 })
      ).pipe(Effect.provide(through))
      const direct = new Payments({ baseUrl: publicUrl, apiKey: key })
      const charges = yield* Effect.promise(() => direct.charges.list().toArray({ limit: 5000 }))
      assert.deepStrictEqual(charges.map(({ id }) => id).toSorted(), made.map(({ id }) => id).toSorted())
      assert.strictEqual(new Set(made.map(({ id }) => id)).size, 200)
    })
  )
})
