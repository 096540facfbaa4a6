/** The order in which a request is checked. */
import { assert, describe, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import type { ErrorCode } from "@pix-payments/domain/ErrorCode"
import * as Effect from "effect/Effect"
import { assertRefused, created, type ErrorBody, someCharge } from "../../support/ChargeRequests.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"

const LIMIT = 256 * 1024

layer(TestService.layer({}), { excludeTestServices: true })("Order of checks", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  describe("ERR-2: order of checks", () => {
    /** A valid creation, to which the faults below are applied. */
    interface Attempt {
      readonly account: "active" | "inactive"
      readonly scopes: "all" | "reading"
      readonly isKey: boolean
      readonly idempotencyKey: "new" | "known" | "missing"
      readonly isLarge: boolean
      readonly body: Fields
    }

    interface Fault {
      readonly name: string
      readonly code: ErrorCode | "replay"
      readonly details?: ReadonlyArray<string>
      readonly does: (attempt: Attempt) => Attempt
    }

    const inBody =
      (change: (body: Fields) => Fields) =>
      (attempt: Attempt): Attempt => ({
        ...attempt,
        body: change(attempt.body)
      })

    const inCustomer = (fields: Fields) =>
      inBody((body) => ({ ...body, customer: { ...(body["customer"] as Fields), ...fields } }))

    const faults: ReadonlyArray<Fault> = [
      { name: "key", code: "UNAUTHORIZED", does: (attempt) => ({ ...attempt, isKey: false }) },
      { name: "size", code: "PAYLOAD_TOO_LARGE", does: (attempt) => ({ ...attempt, isLarge: true }) },
      {
        name: "scope",
        code: "INSUFFICIENT_SCOPE",
        details: ["charge:write"],
        does: (attempt) => ({ ...attempt, scopes: "reading" })
      },
      {
        name: "no Idempotency-Key",
        code: "IDEMPOTENCY_KEY_REQUIRED",
        does: (attempt) => ({ ...attempt, idempotencyKey: "missing" })
      },
      {
        name: "known key",
        code: "replay",
        does: (attempt) => ({
          ...attempt,
          idempotencyKey: attempt.idempotencyKey === "missing" ? "missing" : "known"
        })
      },
      {
        name: "description",
        code: "VALIDATION_ERROR",
        details: ["description"],
        does: inBody((body) => ({ ...body, description: "x".repeat(141) }))
      },
      {
        name: "method",
        code: "METHOD_NOT_SUPPORTED",
        details: ["method"],
        does: inBody((body) => ({ ...body, method: "boleto" }))
      },
      {
        name: "amount",
        code: "AMOUNT_BELOW_MINIMUM",
        details: ["amount"],
        does: inBody((body) => ({ ...body, amount: 99 }))
      },
      {
        name: "document",
        code: "INVALID_DOCUMENT",
        details: ["customer.document"],
        does: inCustomer({ document: "111.111.111-11" })
      },
      {
        name: "private webhook_url",
        code: "INVALID_WEBHOOK_URL",
        details: ["webhook_url"],
        does: inBody((body) => ({ ...body, webhook_url: "http://10.0.0.1/" }))
      },
      {
        name: "webhook_url that is none",
        code: "INVALID_WEBHOOK_URL",
        details: ["webhook_url"],
        does: inBody((body) => ({ ...body, webhook_url: "x" }))
      },
      { name: "account", code: "ACCOUNT_INACTIVE", does: (attempt) => ({ ...attempt, account: "inactive" }) },
      { name: "acquirer", code: "ACQUIRER_REJECTED", does: inCustomer({ email: "refuse@simulator.test" }) }
    ]

    const flawless: Attempt = {
      account: "active",
      scopes: "all",
      isKey: true,
      idempotencyKey: "new",
      isLarge: false,
      body: someCharge
    }

    /** Later faults first, so that the earlier one wins where both change the same field. */
    const attemptWith = (some: ReadonlyArray<Fault>): Attempt =>
      [...some].toReversed().reduce((attempt, fault) => fault.does(attempt), flawless)

    const answerTo = Effect.fn(function* (attempt: Attempt) {
      const { call, makeKey, operate } = yield* TestService
      const { accountId, applicationId, key } = yield* caller
      const reader = yield* makeKey(applicationId, { scopes: ["charge:read"] })
      const known = newKey()
      const charge = yield* created(key, {}, known)
      if (attempt.account === "inactive") {
        yield* operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { status: "inactive" } })
      }
      const text = JSON.stringify(attempt.body)
      const answer = yield* call<Charge & ErrorBody>("POST", "/v1/charges", {
        key: attempt.isKey ? (attempt.scopes === "all" ? key : reader.key) : `${key}x`,
        idempotencyKey: { new: newKey(), known, missing: undefined }[attempt.idempotencyKey],
        body: attempt.isLarge ? text.padEnd(LIMIT + 1) : text
      })
      return { answer, charge }
    })

    const assertFirst = Effect.fn(function* (some: ReadonlyArray<Fault>) {
      const [first] = some
      const { answer, charge } = yield* answerTo(attemptWith(some))
      if (first?.code === "replay") {
        assert.deepStrictEqual(
          [answer.status, answer.headers["idempotent-replayed"], answer.body.id],
          [201, "true", charge.id]
        )
      } else if (first !== undefined) {
        assertRefused(answer, first.code, first.details)
      }
    })

    faults.forEach((first, index) => {
      const after = faults.slice(index + 1).filter(({ code }) => code !== first.code)
      for (const second of after) {
        it.effect(`${first.code} (${first.name}) comes before ${second.code} (${second.name})`, () =>
          assertFirst([first, second])
        )
      }
      it.effect(`${first.code} (${first.name}) comes before all that follow together`, () =>
        assertFirst([first, ...after])
      )
    })

    it.effect(
      "IDEM-2, ERR-2: a malformed `Idempotency-Key` comes after the scope and before what is wrong with the body",
      () =>
        Effect.gen(function* () {
          const { call, makeKey } = yield* TestService
          const { applicationId, key } = yield* caller
          const reader = yield* makeKey(applicationId, { scopes: ["charge:read"] })
          const ask = (key: string, body: unknown) =>
            call("POST", "/v1/charges", { key, idempotencyKey: "short", body })
          assertRefused(yield* ask(reader.key, someCharge), "INSUFFICIENT_SCOPE", ["charge:write"])
          assertRefused(yield* ask(key, { ...someCharge, method: "card" }), "VALIDATION_ERROR", ["Idempotency-Key"])
          assertRefused(yield* ask(key, "{"), "VALIDATION_ERROR", ["Idempotency-Key"])
        })
    )
  })
})
