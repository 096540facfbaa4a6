/** An open connection whose provider is slow, hangs or grants less. */
import { assert, describe, it } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import type { PspDouble, PspDoubleOptions } from "@pix-payments/psp-double/PspDouble"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { openConnection } from "../../../src/providers/connections/OpenConnection.ts"
import { startDouble } from "../../support/Bank.ts"
import { operatorCredentials } from "../../support/Connections.ts"

const opened = Effect.fnUntraced(function* (options: PspDoubleOptions, timeoutMs: number) {
  const double = yield* startDouble(options)
  return { double, ...(yield* openConnection(termsOf(double), timeoutMs)) }
})

const termsOf = (double: PspDouble) => ({
  profile: double.profile.name,
  pix_key: double.key,
  settings: { base_url: double.baseUrl, token_url: double.tokenUrl },
  credentials: operatorCredentials(double)
})

const emission = Effect.map(Clock.currentTimeMillis, (now) => ({
  method: "pix" as const,
  txid: txidFromId(randomUUID()),
  amount: 1990,
  expiresAtMs: now + 3_600_000,
  payer: { name: "Ana Souza", email: "ana@example.com", document: "52998224725" },
  merchant: { name: "Loja", document: "11222333000181" },
  description: null,
  isRepeated: false
}))

const lastHour = Effect.map(Clock.currentTimeMillis, (now) => ({ fromMs: now - 3_600_000, toMs: now, page: 0 }))

describe("An open connection", () => {
  it.live("CHG-4: calls that hang open its circuit, and the next one is not sent", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { client, double, provider } = yield* opened({}, 3000)
        yield* client.connection.authenticate
        double.faults.always("hang", { path: /\/cob\// })
        const emit = Effect.flatMap(emission, (order) => Effect.flip(provider.emit(order)))
        yield* Effect.all(
          Array.from({ length: 6 }, () => emit),
          { concurrency: 6 }
        )
        assert.strictEqual((yield* client.connection.status).circuit._tag, "Open")
        const sent = double.exchanges.length
        assert.strictEqual((yield* emit)._tag, "AcquirerUnclear")
        assert.strictEqual(double.exchanges.length, sent)
      })
    )
  )

  it.live("OPR-95: a page may take longer than a call, and does not open the circuit", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { client, double, provider } = yield* opened({ profile: "efi", slowMs: 3500 }, 3000)
        yield* client.connection.authenticate
        double.faults.always("slow", { method: "GET", path: /\/(pix|enviados|infracoes)$/ })
        const range = yield* lastHour
        for (const list of [provider.received!.list, provider.payouts!.list!, provider.disputes!.list!]) {
          assert.deepStrictEqual(yield* list(range), { items: [], unreadable: [], hasMore: false, number: 0, total: 0 })
        }
        assert.deepStrictEqual((yield* client.connection.status).circuit, { _tag: "Closed", failures: 0 })
      })
    )
  )

  it.live("OPR-95: a merchant without the scope of disputes has none", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { double, provider } = yield* opened(
          { profile: "efi", scopes: ["pix.read", "gn.pix.send.read", "cob.write", "cob.read"] },
          240_000
        )
        const range = yield* lastHour
        assert.deepStrictEqual(yield* provider.disputes!.list!(range), {
          items: [],
          unreadable: [],
          hasMore: false,
          number: 0,
          total: 0
        })
        // Any other failure is no empty list.
        double.faults.always("error-after", { path: /enviados$/ })
        assert.strictEqual((yield* Effect.flip(provider.payouts!.list!(range)))._tag, "AcquirerUnclear")
      })
    )
  )
})
