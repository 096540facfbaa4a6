/** Lists and details for operators, and the simulator that they drive. */
import type { Charge } from "@pix-payments/domain/Charge"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { create, settled } from "../../support/ChargeDeliveries.ts"
import { assertRefused, type ErrorBody, instant } from "../../support/ChargeRequests.ts"
import { loopback, receiver } from "../../support/Receiver.ts"
import { type Fields, TestService } from "../../support/TestService.ts"
import { type List } from "../../support/Operator.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [20], acquirerTimeoutMs: 300 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Lists and details", (it) => {
  it.effect("OPR-9: pages and filters its lists", () =>
    Effect.gen(function* () {
      const { makeCaller, makeKey, operate } = yield* TestService
      const { received, url } = yield* receiver()
      const { accountId, applicationId, key, keyId } = yield* makeCaller()
      const stranger = yield* makeCaller()
      for (let i = 0; i < 4; i++) yield* makeKey(applicationId)
      const charges: Array<string> = []
      for (let i = 0; i < 5; i++) {
        const { body } = yield* create({ key, reference: `ref-${i % 2}`, webhook_url: i === 0 ? url : null })
        charges.unshift(body.id)
      }
      yield* create({ key: stranger.key, reference: "ref-0" })
      const paged = (path: string) =>
        Effect.gen(function* () {
          const separator = path.includes("?") ? "&" : "?"
          const ids: Array<string> = []
          let after = ""
          while (true) {
            const page = yield* operate<List<{ id: string }>>("GET", `/operator/v1/${path}${separator}limit=2${after}`)
            assert.strictEqual(page.status, 200, page.text)
            assert.strictEqual(page.body.object, "list")
            assert.isAtMost(page.body.data.length, 2)
            ids.push(...page.body.data.map(({ id }) => id))
            if (!page.body.has_more) return ids
            after = `&starting_after=${ids.at(-1)}`
          }
        })
      assert.deepStrictEqual(yield* paged(`charges?account_id=${accountId}`), charges)
      assert.deepStrictEqual(yield* paged(`charges?account_id=${accountId}&reference=ref-1`), [charges[1], charges[3]])
      assert.deepStrictEqual(yield* paged(`charges?account_id=${accountId}&origin=checkout`), [])
      assert.include(yield* paged("charges?reference=ref-0&origin=api"), charges[0])
      const keys = yield* paged(`applications/${applicationId}/keys`)
      assert.strictEqual(keys.length, 5)
      assert.deepStrictEqual(keys, keys.toSorted().toReversed())
      assert.strictEqual(keys.at(-1), keyId)
      assert.deepStrictEqual(yield* paged(`accounts/${accountId}/applications`), [applicationId])
      const accounts = yield* paged("accounts")
      assert.deepStrictEqual(accounts, accounts.toSorted().toReversed())
      assert.includeMembers(accounts, [accountId, stranger.accountId])

      yield* settled(charges.at(-1)!, 2)
      assert.strictEqual(received.length, 2)
      const deliveries = yield* paged(`deliveries?resource_id=${charges.at(-1)}`)
      assert.strictEqual(deliveries.length, 2)
      assert.strictEqual((yield* paged(`deliveries?resource_id=${charges.at(-1)}&event=charge.pix.emitted`)).length, 1)
      assert.strictEqual((yield* paged(`deliveries?resource_id=${charges.at(-1)}&status=delivered`)).length, 2)
      assert.deepStrictEqual(yield* paged(`deliveries?resource_id=${charges.at(-1)}&status=failed`), [])
      assert.deepStrictEqual(yield* paged(`deliveries?endpoint_id=${accountId}`), [])

      for (const [query, detail] of [
        ["charges?limit=0", "limit"],
        ["charges?limit=101", "limit"],
        ["charges?limit=x", "limit"],
        ["charges?starting_after=nonsense", "starting_after"],
        ["charges?starting_after=0198c0de-0000-7000-8000-000000000000", "starting_after"],
        ["charges?account_id=nonsense", "account_id"],
        ["charges?origin=dashboard", "origin"],
        [`charges?account_id=${stranger.accountId}&starting_after=${charges[0]}`, "starting_after"],
        ["deliveries?status=lost", "status"],
        ["deliveries?event=charge.paid", "event"],
        ["deliveries?resource_id=x", "resource_id"],
        ["requests?status=99", "status"],
        ["requests?key_id=x", "key_id"],
        [`accounts?starting_after=${applicationId}`, "starting_after"],
        [`applications/${stranger.applicationId}/keys?starting_after=${keyId}`, "starting_after"],
        [`accounts/${stranger.accountId}/applications?starting_after=${applicationId}`, "starting_after"],
        ["audit?limit=-1", "limit"]
      ] as const) {
        const answer = yield* operate("GET", `/operator/v1/${query}`)
        assert.strictEqual(answer.status, 400, query)
        assertRefused(answer, "VALIDATION_ERROR", [detail])
      }
    })
  )

  it.effect("OPR-19: shows a charge with its history and its deliveries, and a delivery with its attempts", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { received, url } = yield* receiver(({ body }, response) => {
        response.statusCode = body.event.endsWith("paid") ? 500 : 200
        response.end("answer")
      })
      const { accountId, applicationId, key } = yield* makeCaller()
      const { body: created } = yield* create({ key, webhook_url: url, webhook_secret: "s3cr3t-of-this-charge" })
      const end_to_end_id = "E99999010202611210900AbCdEfGhIjK"
      const paid = yield* operate<Charge>("POST", `/operator/v1/simulator/charges/${created.id}/pay`, {
        body: { end_to_end_id }
      })
      assert.strictEqual(paid.status, 200)
      const deliveries = yield* settled(created.id, 3)
      const { body: charge } = yield* call<Charge>("GET", `/v1/charges/${created.id}`, { key })
      assert.strictEqual(charge.pix.end_to_end_id, end_to_end_id)
      const seen = {
        ...charge,
        account_id: accountId,
        application_id: applicationId,
        origin: "api",
        refunds: [],
        refunded_amount: 0
      }
      assert.deepStrictEqual<unknown>(paid.body, seen)
      const shown = yield* operate<
        Fields & { history: ReadonlyArray<{ at: string; status: string; event: string | null }> }
      >("GET", `/operator/v1/charges/${created.id.toUpperCase()}`)
      const { deliveries: attempted, history, ...rest } = shown.body
      assert.deepStrictEqual<unknown>(rest, seen)
      assert.notInclude(shown.text, "s3cr3t")
      assert.deepStrictEqual(
        history.map(({ event, status }) => ({ event, status })),
        [
          { event: null, status: "processing" },
          { event: "charge.pix.created", status: "pending" },
          { event: "charge.pix.emitted", status: "pending" },
          { event: "charge.pix.paid", status: "paid" }
        ]
      )
      assert.strictEqual(history[0]?.at, charge.created_at)
      for (const { at } of history) assert.match(at, instant)
      assert.deepStrictEqual<unknown>(attempted, deliveries.map(withoutAttempts))

      const failed = deliveries.find(({ event }) => event === "charge.pix.paid")
      assert.deepStrictEqual<unknown>(failed, {
        id: received.find(({ body }) => body.event === "charge.pix.paid")?.body.id,
        object: "delivery",
        status: "failed",
        event: "charge.pix.paid",
        resource_id: created.id,
        endpoint_id: null,
        url,
        attempts_made: 2,
        next_attempt_at: null,
        reason: null,
        created_at: received.find(({ body }) => body.event === "charge.pix.paid")?.body.created_at,
        attempts: failed?.attempts.map(({ at, duration_ms }) => ({
          at,
          duration_ms,
          address: "127.0.0.1",
          status_code: 500,
          error: "status 500",
          response_body: "answer"
        }))
      })
      assert.deepStrictEqual(
        (yield* operate<List<{ id: string }>>(
          "GET",
          `/operator/v1/charges?end_to_end_id=${end_to_end_id}`
        )).body.data.map(({ id }) => id),
        [created.id]
      )
    })
  )

  it.effect("OPR-11, OPR-32: lets the simulator pay or fail where the state allows it", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const notify = (id: string, what: string, body?: unknown) =>
        operate<Charge>("POST", `/operator/v1/simulator/charges/${id}/${what}`, { body })
      const paid = (yield* create({ key })).body.id
      assertRefused(yield* notify(paid, "pay", { end_to_end_id: "not one" }), "VALIDATION_ERROR", ["end_to_end_id"])
      assertRefused(yield* notify(paid, "pay", "[]"), "VALIDATION_ERROR")
      assert.strictEqual((yield* notify(paid, "pay", { end_to_end_id: null })).body.status, "paid")
      assert.strictEqual((yield* notify(paid, "pay")).status, 202)
      assertRefused(yield* notify(paid, "fail"), "INVALID_STATE")

      const failed = (yield* create({ key })).body.id
      const failure = yield* notify(failed, "fail")
      assert.deepInclude<unknown>(failure.body, {
        status: "failed",
        failure_reason: "refused by the provider",
        paid_at: null
      })
      assert.strictEqual((yield* notify(failed, "pay")).status, 202)

      const refused = (yield* create({ key, customer: { email: "refuse@simulator.test" } }))
        .body as unknown as ErrorBody
      assert.strictEqual((yield* notify(refused.charge_id!, "pay")).status, 202)
    })
  )
})

/** A delivery as lists show it. */
const withoutAttempts = (delivery: object): Fields =>
  Object.fromEntries(Object.entries(delivery).filter(([name]) => name !== "attempts"))
