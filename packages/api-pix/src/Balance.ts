/**
 * The balance of the bank account, at providers that have it in their API.
 *
 * Guarantees
 * - It is in cents, with what is blocked, and below zero where the account is. A part that cannot be read makes it `Unclear`.
 * - It is asked with a token of its own, so that a merchant may do without its scope.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { ask } from "./Ask.ts"
import { type ConnectionOptions, makeConnection, type MissingSetting } from "./Connection.ts"
import { type Decode, optional, required, signedAmount } from "./Decoding.ts"
import { repeated } from "./Lookup.ts"
import type { Failure } from "./Outcome.ts"
import type { BalanceCall } from "./Profile.ts"

export type Balance = Effect.Effect<number, Failure>

/** Undefined if the provider has none in its API. */
export const makeBalance = (
  options: ConnectionOptions
): Effect.Effect<Balance | undefined, MissingSetting, Scope.Scope> =>
  Effect.gen(function* () {
    const { balance } = options.profile
    if (balance === null) return undefined
    const { path, query, scope } = balance
    const connection = yield* makeConnection({ ...options, profile: { ...options.profile, scopes: [scope] } })
    const call = { method: "GET", below: "origin", path, query } as const
    const operation = { name: "balance", scope, refusals: [], notFound: [] }
    return repeated(connection.limits, ask(connection, operation, call, decodeBalance(balance)))
  })

const decodeBalance =
  ({ available, blocked }: BalanceCall): Decode<number> =>
  (message) =>
    Result.gen(function* () {
      let cents = yield* required(message, available, signedAmount)
      for (const part of blocked) cents += (yield* optional(message, part, signedAmount)) ?? 0
      return cents
    })
