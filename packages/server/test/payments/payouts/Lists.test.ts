/** `GET /v1/payouts/{id}` and `GET /v1/payouts`. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertRefused, created } from "../../support/ChargeRequests.ts"
import {
  failing,
  funded,
  holding,
  listedPayouts,
  operated,
  paidOut,
  payoutReaching,
  retrievePayout,
  submittedPayout
} from "../../support/Money.ts"
import { loopback } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })(
  "GET /v1/payouts, /v1/balance, /v1/account",
  (it) => {
    it.effect("API-9, PAY-19: Unknown id or id of another account gives 404 `PAYOUT_NOT_FOUND`", () =>
      Effect.gen(function* () {
        const { makeApplication, makeCaller, makeKey } = yield* TestService
        const { accountId, key } = yield* funded(5000)
        const { key: sameAccount } = yield* makeKey(yield* makeApplication(accountId))
        const { key: stranger } = yield* makeCaller()
        const { id } = yield* paidOut(key, holding)
        assert.strictEqual((yield* retrievePayout(sameAccount, id)).body.id, id)
        assert.strictEqual((yield* retrievePayout(key, id.toUpperCase())).body.id, id)
        assertRefused(yield* retrievePayout(stranger, id), "PAYOUT_NOT_FOUND")
        assertRefused(yield* retrievePayout(key, "0198c0de-0000-7000-8000-000000000000"), "PAYOUT_NOT_FOUND")
        const charge = yield* created(key)
        assertRefused(yield* retrievePayout(key, charge.id), "PAYOUT_NOT_FOUND")
        for (const odd of ["x", "%00", "..%2f", "%f0%9f%98%80"]) {
          assertRefused(yield* retrievePayout(key, odd), "PAYOUT_NOT_FOUND")
        }
      })
    )

    it.effect(
      "LIST-1, LIST-2, PAY-15: a list envelope of payouts, newest first; the cursor is the id of the last item of the previous page",
      () =>
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const { key } = yield* funded(50_000)
          const { key: stranger } = yield* makeCaller()
          assert.deepStrictEqual<unknown>(yield* listedPayouts(stranger), { object: "list", data: [], has_more: false })
          const made = yield* Effect.forEach(Array.from({ length: 25 }), () => paidOut(key, holding), {
            concurrency: 5
          })
          const expected = made
            .map(({ id }) => id)
            .toSorted()
            .toReversed()
          const first = yield* listedPayouts(key)
          assert.strictEqual(first.data.length, 20)
          assert.isTrue(first.has_more)
          assert.deepStrictEqual(Object.keys(first).toSorted(), ["data", "has_more", "object"])
          for (const limit of [1, 7, 25, 100]) {
            const seen: Array<string> = []
            let cursor = ""
            while (true) {
              const page = yield* listedPayouts(key, `?limit=${limit}${cursor}`)
              seen.push(...page.data.map(({ id }) => id))
              if (!page.has_more) break
              assert.strictEqual(page.data.length, limit)
              cursor = `&starting_after=${seen.at(-1)!}`
            }
            assert.deepStrictEqual(seen, expected)
          }
          const times = (yield* listedPayouts(key, "?limit=100")).data.map(({ created_at }) => created_at)
          assert.deepStrictEqual(times, times.toSorted().toReversed())
          // A list item is the whole object. The newest one's does not change any more once it is submitted.
          yield* submittedPayout(key, expected[0]!)
          const { data } = yield* listedPayouts(key, "?limit=1")
          assert.deepStrictEqual(data[0], (yield* retrievePayout(key, data[0]!.id)).body)
        })
    )

    it.effect("LIST-1, LIST-4, PAY-15: pages of several accounts at once: each gets its own", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const accounts = yield* Effect.forEach([0, 1, 4], (count) =>
          Effect.gen(function* () {
            const { key } = yield* funded(50_000)
            const made = yield* Effect.forEach(Array.from({ length: count }), () => paidOut(key, holding))
            // The first list of a key is a lookup; later ones share statements.
            yield* listedPayouts(key)
            return { key, ids: made.map(({ id }) => id).toReversed() }
          })
        )
        const asked = accounts.flatMap(({ ids, key }) => [
          { key, query: "", expected: ids },
          { key, query: "?limit=2", expected: ids.slice(0, 2) },
          ...ids.map((id, at) => ({ key, query: `?starting_after=${id}`, expected: ids.slice(at + 1) })),
          ...accounts
            .filter((other) => other.key !== key)
            .flatMap((other) => other.ids.map((id) => ({ key, query: `?starting_after=${id}`, expected: undefined })))
        ])
        const answers = yield* Effect.forEach(
          asked,
          ({ key, query }) =>
            call<{ readonly data: ReadonlyArray<{ readonly id: string }> }>("GET", `/v1/payouts${query}`, { key }),
          { concurrency: "unbounded" }
        )
        for (const [index, { expected, query }] of asked.entries()) {
          const answer = answers[index]!
          if (expected === undefined) assert.strictEqual(answer.status, 400, query)
          else
            assert.deepStrictEqual(
              answer.body.data.map(({ id }) => id),
              expected,
              query
            )
        }
      })
    )

    it.effect(
      "LIST-4, LIST-6, PAY-15: filters: status, method, created_after, created_before; the cursor's scope is the list, filters aside",
      () =>
        Effect.gen(function* () {
          const { key } = yield* funded(50_000, { auto_payout_enabled: false })
          const [pending, canceled, processing, failed, completed] = yield* Effect.forEach(
            [holding, holding, holding, failing, {}],
            (fields) => Effect.andThen(Effect.sleep("2 millis"), paidOut(key, fields))
          )
          yield* operated("POST", `/payouts/${canceled!.id}/cancel`)
          for (const { id } of [processing!, failed!, completed!]) yield* operated("POST", `/payouts/${id}/approve`)
          yield* payoutReaching(key, failed!.id, "failed")
          yield* payoutReaching(key, completed!.id, "completed")
          const idsOf = (query: string) => Effect.map(listedPayouts(key, query), ({ data }) => data.map(({ id }) => id))
          for (const [status, payout] of Object.entries({ pending, canceled, processing, failed, completed })) {
            assert.deepStrictEqual(yield* idsOf(`?status=${status}`), [payout!.id])
          }
          assert.deepStrictEqual(yield* idsOf(`?created_after=${processing!.created_at}`), [completed!.id, failed!.id])
          assert.deepStrictEqual(yield* idsOf(`?created_before=${processing!.created_at}`), [canceled!.id, pending!.id])
          assert.deepStrictEqual(yield* idsOf(`?status=pending&starting_after=${completed!.id}`), [pending!.id])
          assert.deepStrictEqual(yield* idsOf(`?status=completed&starting_after=${completed!.id}`), [])
          assert.deepStrictEqual(yield* idsOf("?method=ted"), [])
        })
    )

    it.effect(
      "LIST-7: malformed query values, an unknown `status` or `method` filter, a cursor of another list: VALIDATION_ERROR",
      () =>
        Effect.gen(function* () {
          const { call } = yield* TestService
          const { key } = yield* funded(5000)
          const { key: stranger } = yield* funded(5000)
          const foreign = yield* paidOut(stranger, holding)
          const charge = yield* created(key)
          for (const query of [
            "limit=0",
            "limit=101",
            "limit=x",
            "status=expired",
            "status=",
            "method=boleto",
            "method=card",
            "created_after=yesterday",
            "created_before=2026-01-01",
            `starting_after=${foreign.id}`,
            `starting_after=${charge.id}`,
            "starting_after=x"
          ]) {
            assertRefused(yield* call("GET", `/v1/payouts?${query}`, { key }), "VALIDATION_ERROR", [
              query.split("=")[0]!
            ])
          }
          assert.strictEqual((yield* call("GET", "/v1/payouts?unknown=1", { key })).status, 200)
        })
    )
  }
)
