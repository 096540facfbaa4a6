/** What histories of the books share: their seeds, and the orders of operators in them. */
import type { Random } from "@pix-payments/psp-double/Random"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { chosen } from "./BookFacts.ts"
import { type Fields, newKey, TestService } from "./TestService.ts"

export const DAYS = 30

/** `X_SEEDS` seeds, by default `share`, from `X_FIRST` on; or `X_SEED` alone. The seeds of the tests are always the same. */
export const seedsOf = (name: "BOOK" | "BANK", share: number): ReadonlyArray<number> => {
  const {
    [`${name}_FIRST`]: first = "1",
    [`${name}_SEED`]: one,
    [`${name}_SEEDS`]: count = String(share)
  } = process.env
  return one === undefined ? Array.from({ length: Number(count) }, (_, index) => index + Number(first)) : [Number(one)]
}

export interface Resource extends Fields {
  readonly id: string
}

export const order = (path: string, body: Fields = {}) =>
  Effect.flatMap(TestService, ({ operate }) =>
    operate<Resource>("POST", `/operator/v1${path}`, { body, idempotencyKey: newKey() })
  )

/** Returns the money of an exception, or accepts it for the account. */
export const resolveOne = Effect.fnUntraced(function* (random: Random, accountId: string) {
  const { operate } = yield* TestService
  const { body } = yield* operate<{ data: ReadonlyArray<Resource> }>("GET", "/operator/v1/exceptions?status=open")
  const action = random() < 0.5 ? { action: "return" } : { action: "accept", account_id: accountId }
  const exception = chosen(random, body.data)
  if (exception !== undefined) yield* order(`/exceptions/${exception.id}/resolve`, action)
})

/** What is under way at the institution. */
export const underWay = Effect.flatMap(
  SqlClient,
  (sql) => sql`SELECT 'payout', id FROM payouts WHERE status IN ('pending', 'processing')
    UNION ALL SELECT 'refund', id FROM refunds WHERE status = 'processing'
    UNION ALL SELECT kind, id FROM acquirer_orders WHERE state = 'ordered'`
)
