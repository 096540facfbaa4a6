/**
 * Who calls, remembered between requests and confirmed in the statement that acts on it.
 *
 * Guarantees: nothing is done, shown or answered on what is remembered alone. A statement made for this request, the one
 * that writes, that reads what a payout is decided on, or one beside a read, finds the key, its application and its
 * account as remembered; where it does not, the request is begun anew with the caller as it is now. So a revocation
 * holds from the next request on, in every process.
 *
 * Why: it saves a creation and a read one round trip to the database of the two or three that they take.
 */
import type { Caller } from "@pix-payments/api/Security"
import * as Data from "effect/Data"
import { integer, text, uuid } from "../sql/Column.ts"
import { part, rows, statement } from "../sql/Statement.ts"

/** What was remembered of the caller could not be confirmed; nothing was done. */
export class StaleCaller extends Data.TaggedError("StaleCaller")<{}> {}

/** The last callers by the hash of their key, no more than `most`. */
export const makeCallerCache = (most: number) => {
  const byHash = new Map<string, Caller>()
  return {
    recall: (hash: string): Caller | undefined => byHash.get(hash),
    /** Keeps what is now known of a key; `undefined` is a key that is not accepted. */
    keep: (hash: string, caller: Caller | undefined): void => {
      if (caller === undefined) {
        byHash.delete(hash)
        return
      }
      byHash.set(hash, caller)
      if (byHash.size > most) for (const oldest of byHash.keys()) return void byHash.delete(oldest)
    }
  }
}

/** A key `k` of an application `p` of an account `a`. */
export const keysAndOwners = `api_keys k JOIN applications p ON p.id = k.application_id
  JOIN accounts a ON a.id = p.account_id`

/** Whether that key is accepted now. */
export const isAccepted = "k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AND p.active"

/** The callers of a batch, each once, and the number that each has among them. */
export const callersOf = <A>(members: ReadonlyArray<A>, callerOf: (member: A) => Caller | undefined) => {
  const numbers = new Map<Caller, number>()
  for (const member of members) {
    const caller = callerOf(member)
    if (caller !== undefined && !numbers.has(caller)) numbers.set(caller, numbers.size)
  }
  const callers = [...numbers.keys()]
  return {
    callers,
    numberOf: (member: A): number | undefined => {
      const caller = callerOf(member)
      return caller === undefined ? undefined : numbers.get(caller)
    },
    /** For statements that still number their parameters by hand. */
    get parameters() {
      return currentCallers.parameters(callers)
    }
  }
}

/** The part of a statement that finds which callers are as cached: a CTE `live` with the number `n` of each of them. */
export const currentCallers = part(
  {
    callers: rows({
      n: integer(),
      key_id: uuid(),
      application_id: uuid(),
      account_id: uuid(),
      scopes: text(),
      name: text(),
      document: text(),
      status: text(),
      onboarding_status: text(),
      default_expires_in: integer(),
      charges_paused: integer()
    })
  },
  ({ callers }) => `
  live AS MATERIALIZED (
    SELECT r.n FROM ${callers} AS r
    JOIN (${keysAndOwners}) ON k.id = r.key_id
    WHERE ${isAccepted} AND p.id = r.application_id AND a.id = r.account_id
      AND array_to_string(k.scopes, ' ') = r.scopes AND a.name = r.name AND a.document = r.document
      AND a.status = r.status AND a.onboarding_status = r.onboarding_status
      AND a.default_expires_in = r.default_expires_in AND a.charges_paused::integer = r.charges_paused
  )`,
  (callers: ReadonlyArray<Caller>) => ({
    callers: callers.map(({ account, applicationId, keyId, scopes }, n) => ({
      n,
      key_id: keyId,
      application_id: applicationId,
      account_id: account.id,
      scopes: scopes.join(" "),
      name: account.name,
      document: account.document,
      status: account.status,
      onboarding_status: account.onboardingStatus,
      default_expires_in: account.defaultExpiresInSeconds,
      charges_paused: Number(account.chargesPaused)
    }))
  })
)

/** For statements that still number their parameters by hand. */
export const currentCallersCte = (first: number): string => currentCallers.sql((index) => `$${first + index}`)

/** Finds those of them. */
export const findCurrentCallers = statement(
  { callers: currentCallers },
  ({ callers }) => `WITH ${callers} SELECT n FROM live`
)
