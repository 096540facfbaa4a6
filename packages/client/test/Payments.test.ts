import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { parseBrCode } from "@pix-payments/domain/BrCode"
import { loopback } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import { vectors } from "../../domain/test/vectors.ts"
import {
  ApiError,
  AuthenticationError,
  type Fetch,
  isCode,
  NotFoundError,
  Payments,
  PermissionError,
  ReplayMismatchError,
  UsageError
} from "../src/index.ts"
import { chargeOf, someCharge } from "./support/Samples.ts"
import { json, startStub } from "./support/Stub.ts"

/** A client with its own account. */
const clientOf = (
  options: { readonly scopes?: ReadonlyArray<string>; readonly account?: Record<string, unknown> } = {}
) =>
  Effect.gen(function* () {
    const { makeCaller, publicUrl } = yield* TestService
    const caller = yield* makeCaller(options)
    return { ...caller, payments: new Payments({ baseUrl: publicUrl, apiKey: caller.key }) }
  })

const failureOf = async (call: PromiseLike<unknown>): Promise<unknown> => {
  try {
    await call
  } catch (error) {
    return error
  }
  return assert.fail("the call succeeded")
}

const pay = (id: string) =>
  Effect.flatMap(TestService, ({ operate }) =>
    operate("POST", `/operator/v1/simulator/charges/${id}/pay`, { body: {} })
  )

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback } }), { excludeTestServices: true })(
  "the Promise client over a real service",
  (it) => {
    it.effect("creates, retrieves and lists charges", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        yield* Effect.promise(async () => {
          const charge = await payments.charges.create({ ...someCharge, reference: "order-1" })
          assert.strictEqual(charge.object, "charge")
          assert.strictEqual(charge.status, "pending")
          assert.match(charge.pix.br_code ?? "", /^000201/)
          assert.deepStrictEqual(await payments.charges.retrieve(charge.id), charge)
          const page = await payments.charges.list({ status: "pending" })
          assert.deepStrictEqual<unknown>(page, { object: "list", data: [charge], has_more: false })
          assert.deepStrictEqual((await payments.charges.list({ status: "paid" })).data, [])
        })
      })
    )

    it.effect("reads account and balance, sends and lists payouts", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf({ account: { payout_fee: { fixed: 50, basis_points: 0 } } })
        const charge = yield* Effect.promise(() => payments.charges.create({ ...someCharge, amount: 10_000 }))
        yield* pay(charge.id)
        yield* Effect.promise(async () => {
          assert.strictEqual((await payments.balance.retrieve()).available, 10_000)
          assert.strictEqual((await payments.account.retrieve()).document_type, "cnpj")
          const payout = await payments.payouts.create({
            amount: 500,
            pix_key_type: "email",
            pix_key: "ana@example.com"
          })
          assert.strictEqual(payout.status, "processing")
          assert.strictEqual(payout.fee, 50)
          assert.strictEqual((await payments.payouts.retrieve(payout.id)).id, payout.id)
          assert.strictEqual((await payments.payouts.list({ limit: 1 })).data[0]?.id, payout.id)
          assert.strictEqual((await payments.balance.retrieve()).available, 9450)
        })
      })
    )

    it.effect("creates, updates, lists and deletes webhook endpoints, and lists the event catalog", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        yield* Effect.promise(async () => {
          const made = await payments.webhooks.create({ url: "https://1.1.1.1/hooks", events: ["charge.pix.paid"] })
          assert.isTrue(made.active)
          const paused = await payments.webhooks.update(made.id, { active: false })
          assert.isFalse(paused.active)
          assert.deepStrictEqual((await payments.webhooks.list()).data, [paused])
          assert.deepStrictEqual(await payments.webhooks.list().toArray({ limit: 5 }), [paused])
          assert.isUndefined(await payments.webhooks.delete(made.id))
          assert.deepStrictEqual((await payments.webhooks.list()).data, [])
          const events = await payments.webhooks.events().toArray({ limit: 100 })
          assert.strictEqual(events.length, 37)
          assert.instanceOf(await failureOf(payments.webhooks.delete(made.id)), NotFoundError)
        })
      })
    )

    it.effect("IDEM-4: a repeated idempotency key returns the charge in its current state", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        const options = { idempotencyKey: "order-1001" }
        const first = yield* Effect.promise(() => payments.charges.create(someCharge, options).withResponse())
        yield* pay(first.data.id)
        const again = yield* Effect.promise(() => payments.charges.create(someCharge, options).withResponse())
        assert.strictEqual(again.data.id, first.data.id)
        assert.strictEqual(again.data.status, "paid")
        assert.deepStrictEqual([first.response.replayed, again.response.replayed], [false, true])
      })
    )

    it.effect("generates an idempotency key per call, visible before the call settles and in the response", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        yield* Effect.promise(async () => {
          const one = payments.charges.create(someCharge)
          const other = payments.charges.create(someCharge)
          assert.match(one.idempotencyKey ?? "", /^[0-9a-f-]{36}$/)
          assert.notStrictEqual((await one).id, (await other).id)
          const { response } = await one.withResponse()
          assert.strictEqual(response.idempotencyKey, one.idempotencyKey)
          assert.strictEqual(response.status, 201)
          assert.strictEqual(response.attempts, 1)
          assert.strictEqual(response.headers.get("x-request-id"), response.requestId)
          const repeated = await payments.charges.create(someCharge, { idempotencyKey: response.idempotencyKey })
          assert.strictEqual(repeated.id, (await one).id)
          assert.isUndefined(payments.balance.retrieve().idempotencyKey)
        })
      })
    )

    it.effect("LIST-2: iterates over all pages, each item once, newest first", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        yield* Effect.promise(async () => {
          const made: Array<string> = []
          for (let count = 0; count < 7; count++) made.unshift((await payments.charges.create(someCharge)).id)
          const seen: Array<string> = []
          for await (const { id } of payments.charges.list({ limit: 3 })) seen.push(id)
          assert.deepStrictEqual(seen, made)
          const sizes: Array<number> = []
          for await (const { data } of payments.charges.list({ limit: 3 }).pages()) sizes.push(data.length)
          assert.deepStrictEqual(sizes, [3, 3, 1])
          const ids = async (limit: number) =>
            (await payments.charges.list({ limit: 2 }).toArray({ limit })).map(({ id }) => id)
          assert.deepStrictEqual(await ids(5), made.slice(0, 5))
          assert.deepStrictEqual(await ids(100), made)
          const rest = await payments.charges.list({ starting_after: made[4]! }).toArray({ limit: 10 })
          assert.deepStrictEqual(
            rest.map(({ id }) => id),
            made.slice(5)
          )
          for (const limit of [0, -1, 1.5, Infinity]) {
            assert.include(String(await failureOf(payments.charges.list().toArray({ limit }))), "limit must be")
          }
        })
      })
    )

    it.effect("an error response is an ApiError with status, code, details, request id and idempotency key", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        yield* Effect.promise(async () => {
          const call = payments.charges.create({ ...someCharge, description: "a".repeat(141), expires_in: 1 })
          const error = await failureOf(call)
          assert.isTrue(isCode(error, "VALIDATION_ERROR"))
          if (!(error instanceof ApiError)) return assert.fail()
          assert.strictEqual(error.status, 400)
          assert.strictEqual(error.name, "InvalidRequestError")
          assert.sameMembers([...error.details], ["description", "expires_in"])
          assert.strictEqual(error.idempotencyKey, call.idempotencyKey)
          assert.match(error.requestId ?? "", /^[0-9a-f-]{36}$/)
          assert.strictEqual(error.operation, "charges.create")
          assert.strictEqual(error.attempts, 1)
        })
      })
    )

    it.effect("IDEM-6: ACQUIRER_REJECTED has charge_id, and a repeated key returns that charge", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        yield* Effect.promise(async () => {
          const customer = { ...someCharge.customer, email: "refuse@simulator.test" }
          const call = payments.charges.create({ ...someCharge, customer })
          const error = await failureOf(call)
          if (!isCode(error, "ACQUIRER_REJECTED")) return assert.fail(String(error))
          const id: string = error.charge_id
          const failed = await payments.charges.retrieve(id)
          assert.strictEqual(failed.status, "failed")
          assert.isString(failed.failure_reason)
          const again = await payments.charges.create(someCharge, { idempotencyKey: error.idempotencyKey })
          assert.deepStrictEqual(again, failed)
          assert.isFalse(isCode(error, "INSUFFICIENT_BALANCE"))
          assert.isFalse(isCode(new Error("another"), "ACQUIRER_REJECTED"))
        })
      })
    )

    it.effect("a repeated key with other params is an error, or returns the stored payout on request", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        const charge = yield* Effect.promise(() => payments.charges.create({ ...someCharge, amount: 100_000 }))
        yield* pay(charge.id)
        yield* Effect.promise(async () => {
          const params = { pix_key_type: "email", pix_key: "Ana@Example.com", recipient_document: "529.982.247-25" }
          const options = { idempotencyKey: "refund-1001" }
          const payout = await payments.payouts.create({ ...params, amount: 5000 }, options)
          assert.strictEqual((await payments.payouts.create({ ...params, amount: 5000 }, options)).id, payout.id)
          const error = await failureOf(payments.payouts.create({ ...params, amount: 50_000 }, options))
          assert.instanceOf(error, ReplayMismatchError)
          assert.deepStrictEqual([error.fields, error.data.id], [["amount"], payout.id])
          const returned = await payments.payouts.create(
            { ...params, amount: 50_000 },
            { ...options, onReplayMismatch: "return" }
          )
          assert.strictEqual(returned.id, payout.id)
          assert.strictEqual((await payments.payouts.list()).data.length, 1)
        })
      })
    )

    it.effect("CHG-3: a rejected charge is the same error if the first response is lost", () =>
      Effect.gen(function* () {
        const { publicUrl } = yield* TestService
        const { key } = yield* clientOf()
        yield* Effect.promise(async () => {
          const codes: Array<unknown> = []
          for (const lost of [0, 1]) {
            let count = 0
            const flaky: Fetch = async (url, init) => {
              const answer = await fetch(url, init)
              if (count++ < lost) throw new TypeError("fetch failed")
              return answer
            }
            const payments = new Payments({ baseUrl: publicUrl, apiKey: key, fetch: flaky })
            const customer = { ...someCharge.customer, email: "refuse@simulator.test" }
            const error = await failureOf(payments.charges.create({ ...someCharge, customer }))
            if (!isCode(error, "ACQUIRER_REJECTED")) return assert.fail(String(error))
            const failed = await payments.charges.retrieve(error.charge_id)
            codes.push([failed.status, error.attempts - lost, error.message.replace(/request .*/, "")])
          }
          assert.deepStrictEqual(codes[0], codes[1])
        })
      })
    )

    it.effect("each status has its error class", () =>
      Effect.gen(function* () {
        const { publicUrl } = yield* TestService
        const { payments } = yield* clientOf({ scopes: ["charge:read", "payout:write"] })
        yield* Effect.promise(async () => {
          const stranger = new Payments({ baseUrl: publicUrl, apiKey: "pix_unknown" })
          assert.instanceOf(await failureOf(stranger.balance.retrieve()), AuthenticationError)
          const forbidden = await failureOf(payments.balance.retrieve())
          assert.instanceOf(forbidden, PermissionError)
          assert.deepStrictEqual(forbidden.details, ["balance:read"])
          const missing = await failureOf(payments.charges.retrieve("no/such?charge"))
          assert.instanceOf(missing, NotFoundError)
          assert.isTrue(isCode(missing, "CHARGE_NOT_FOUND"))
          const poor = payments.payouts.create({ amount: 500, pix_key_type: "email", pix_key: "ana@example.com" })
          assert.isTrue(isCode(await failureOf(poor), "INSUFFICIENT_BALANCE"))
        })
      })
    )

    it.effect("API-11: the service accepts and rejects the documents of the vectors", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        const chargeTo = (document: string) => ({ ...someCharge, customer: { ...someCharge.customer, document } })
        yield* Effect.promise(async () => {
          for (const { input, value } of vectors.documents.valid) {
            assert.strictEqual((await payments.charges.create(chargeTo(input))).customer?.document, value, input)
          }
          for (const { input, why } of vectors.documents.invalid) {
            assert.instanceOf(await failureOf(payments.charges.create(chargeTo(input))), UsageError, why)
            const error = await failureOf(
              payments.request("POST", "/v1/charges", { body: chargeTo(input), idempotencyKey: crypto.randomUUID() })
            )
            assert.isTrue(isCode(error, "INVALID_DOCUMENT") || isCode(error, "VALIDATION_ERROR"), why)
          }
        })
      })
    )

    it.effect("ERR-3, CHG-10, PAY-8, PAY-11: the client refuses params before it sends, in the service's words", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        const { customer } = someCharge
        const somePayout = { amount: 500, pix_key_type: "email", pix_key: "ana@example.com" }
        const charges: ReadonlyArray<object> = [
          { customer },
          ...[19.9, "1990", null, 0, 19, 99, -1].map((amount) => ({ ...someCharge, amount })),
          { ...someCharge, amount: 19, customer: { ...customer, document: "52998224726" } }
        ]
        const payouts: ReadonlyArray<object> = [
          { ...somePayout, amount: 499 },
          { ...somePayout, recipient_document: "11.222.333/0001-80" },
          { ...somePayout, pix_key_type: "cpf", pix_key: "529.982.247-26" },
          { ...somePayout, pix_key_type: "cnpj", pix_key: "52998224725" },
          ...["email", "phone", "random"].map((pix_key_type) => ({
            ...somePayout,
            pix_key_type,
            pix_key: "11987654321"
          }))
        ]
        const refused = async (group: "charges" | "payouts", body: object) => {
          const error = await failureOf(payments[group].create(body as never))
          assert.instanceOf(error, UsageError, JSON.stringify(body))
          assert.strictEqual(error.attempts, 0)
          const reasons = error.message.replace(`${group}.create: `, "").split("; ")
          const idempotencyKey = crypto.randomUUID()
          const answer = await failureOf(payments.request("POST", `/v1/${group}`, { body, idempotencyKey }))
          assert.instanceOf(answer, ApiError)
          // The service answers the first code; the client says all.
          assert.include(answer.message, reasons[0]!, JSON.stringify(body))
        }
        yield* Effect.promise(async () => {
          for (const body of charges) await refused("charges", body)
          for (const body of payouts) await refused("payouts", body)
          // JSON has neither.
          for (const [amount, shown] of [
            [1990n, "a BigInt"],
            [Number.NaN, "NaN"]
          ]) {
            const error = await failureOf(payments.charges.create({ ...someCharge, amount: amount as never }))
            assert.instanceOf(error, UsageError)
            assert.include(
              error.message,
              `amount must be an integer number of cents, as 1990 for R$ 19,90, got ${shown}`
            )
          }
          // What this release does not know is the service's to judge.
          const unknown = payments.payouts.create({ ...somePayout, pix_key_type: "face" as never })
          assert.isTrue(isCode(await failureOf(unknown), "VALIDATION_ERROR"))
        })
      })
    )

    it.effect("CHG-16: BR codes pass through the client unchanged, and the service's own parses", () =>
      Effect.gen(function* () {
        const { payments } = yield* clientOf()
        const made = yield* Effect.promise(() => payments.charges.create(someCharge))
        const { amount, merchantName, payloadUrl, singleUse } = Result.getOrThrow(parseBrCode(made.pix.br_code ?? ""))
        assert.deepStrictEqual([amount, merchantName.length > 0, singleUse], [someCharge.amount, true, true])
        assert.isString(payloadUrl)
        yield* Effect.promise(async () => {
          for (const { fields, source, text } of vectors.brCodes.valid) {
            await using stub = await startStub((response) =>
              json(response, 200, chargeOf({ pix: { br_code: text, end_to_end_id: null } }))
            )
            const { pix } = await new Payments({ baseUrl: stub.url, apiKey: "pix_key" }).charges.retrieve(made.id)
            assert.strictEqual(pix.br_code, text, source)
            const { tlv: _, ...read } = Result.getOrThrow(parseBrCode(pix.br_code ?? ""))
            assert.deepStrictEqual(read, fields, source)
          }
        })
      })
    )

    it.effect("waitUntil returns a charge with the status, and fails if it can no longer have it", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { payments } = yield* clientOf()
        const paid = yield* Effect.promise(() => payments.charges.create(someCharge))
        yield* pay(paid.id)
        const canceled = yield* Effect.promise(() => payments.charges.create(someCharge))
        yield* operate("POST", `/operator/v1/charges/${canceled.id}/cancel`)
        yield* Effect.promise(async () => {
          assert.strictEqual((await payments.charges.waitUntil(paid.id, "paid")).status, "paid")
          const error = await failureOf(payments.charges.waitUntil(canceled.id, ["paid", "refunded"]))
          assert.include(String(error), `The charge ${canceled.id} is canceled: the wait cannot succeed`)
        })
      })
    )
  }
)
