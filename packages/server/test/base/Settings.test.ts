/** Defaults of the settings that the contract names. */
import { assert, layer } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Settings } from "../../src/base/Settings.ts"

const unset = Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} }))))

layer(unset)("Settings", (it) => {
  it.effect("CHG-4, DLV-2, DLV-3, END-7, ERR-10, URL-2: have the contract's values by default", () =>
    Effect.gen(function* () {
      const settings = yield* Settings
      assert.strictEqual(settings.acquirerTimeoutMs, 5000)
      assert.strictEqual(settings.webhookTimeoutMs, 10_000)
      const minutes = settings.webhookRetryDelaysMs.map((delay) => delay / 60_000)
      assert.deepStrictEqual(minutes, [1, 5, 15, 60, 180, 360, 720])
      assert.strictEqual(settings.webhookEndpointsPerApplication, 100)
      assert.deepStrictEqual(settings.rateLimitPerMinute, Option.none())
      assert.deepStrictEqual(settings.webhookAllowedNetworks, [])
    })
  )
})
