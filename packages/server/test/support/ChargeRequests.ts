/**
 * Charges over HTTP: requests that are accepted, and the contract's error body.
 */
import { assert } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import { type ErrorCode, errorCodes } from "@pix-payments/domain/ErrorCode"
import * as Effect from "effect/Effect"
import { type Answer, type Fields, newKey, TestService } from "./TestService.ts"

export const someCustomer = { name: "Maria Silva", email: "maria@example.com", document: "529.982.247-25" }

/** Fields of a creation whose customer differs from `someCustomer` in these. */
export const withCustomer = (fields: Fields): Fields => ({ customer: { ...someCustomer, ...fields } })

/** A creation that is accepted. */
export const someCharge = { amount: 1000, customer: someCustomer }

/** An answer of `GET /v1/charges`. */
export interface ChargeList {
  readonly object: "list"
  readonly data: ReadonlyArray<Charge>
  readonly has_more: boolean
}

export interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly details?: ReadonlyArray<string>
  readonly charge_id?: string
}

/** Requests a charge; its body is `someCharge` with these fields. */
export const create = (key: string, fields: Fields = {}, idempotencyKey = newKey()) =>
  Effect.flatMap(TestService, ({ call }) =>
    call<Charge>("POST", "/v1/charges", { key, idempotencyKey, body: { ...someCharge, ...fields } })
  )

/** Creates a charge. */
export const created = (key: string, fields?: Fields, idempotencyKey?: string) =>
  Effect.map(create(key, fields, idempotencyKey), (answer) => {
    assert.strictEqual(answer.status, 201, answer.text)
    return answer.body
  })

export const retrieve = (key: string, id: string) =>
  Effect.flatMap(TestService, ({ call }) => call<Charge>("GET", `/v1/charges/${id}`, { key }))

/** Reads a page that is there. */
export const listed = (key: string, query = "") =>
  Effect.flatMap(TestService, ({ call }) =>
    Effect.map(call<ChargeList>("GET", `/v1/charges${query}`, { key }), (answer) => {
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body
    })
  )

/** The whole answer is the contract's error body with this code, these details (in any order) and nothing else. */
export const assertRefused = (answer: Answer<unknown>, code: ErrorCode, details?: ReadonlyArray<string>): void => {
  const body = answer.body as ErrorBody
  const sorted = (list: ReadonlyArray<string> | undefined) => (list === undefined ? undefined : [...list].toSorted())
  assert.deepStrictEqual(
    { status: answer.status, code: body?.code, details: sorted(body?.details) },
    { status: errorCodes[code].status, code, details: sorted(details) },
    answer.text
  )
  assert.isString(body.message)
  assert.isNotEmpty(body.message)
  assert.sameMembers(Object.keys(body), [
    "code",
    "message",
    ...(details === undefined ? [] : ["details"]),
    ...(code === "ACQUIRER_REJECTED" ? ["charge_id"] : [])
  ])
  assert.match(String(answer.headers["content-type"]), /^application\/json/)
  assert.isString(answer.headers["x-request-id"])
}

/** Repeats a reading until it is as wanted; the test's own time-out ends it. */
export const until = <A, E, R>(read: Effect.Effect<A, E, R>, isWanted: (value: A) => boolean) =>
  Effect.repeat(Effect.delay(read, "20 millis"), { until: isWanted })

export const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
export const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
