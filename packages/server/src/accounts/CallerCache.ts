/**
 * The callers of this process, cached by the hash of their key, and the SQL that re-checks them.
 *
 * Guarantees:
 * - nothing is stored, answered or refused on cached data alone. A statement of the request (the write itself, or one
 *   beside a read) re-checks key, application, account and brakes. If any changed, it does nothing and the request starts again
 *   with a fresh lookup;
 * - so a revocation takes effect with the next request, in every process (KEY-4).
 *
 * Why: the cache saves one of the two or three round trips of a creation or a read.
 */
import type { Caller } from "@pix-payments/api/Security"
import * as Data from "effect/Data"
import { integer, nullable, text, uuid } from "../database/statements/Column.ts"
import { connectionOfAccount } from "./AccountConnection.ts"
import { chargesStoppedThrough } from "./Brakes.ts"
import { part, rows } from "../database/statements/Statement.ts"

/** The cached caller has changed, or no statement re-checks it beside what it asks for; nothing was done. */
export class StaleCaller extends Data.TaggedError("StaleCaller")<{}> {}

/** The latest callers by the hash of their key, at most `most`. */
export const makeCallerCache = (most: number) => {
  const byHash = new Map<string, Caller>()
  return {
    get: (hash: string): Caller | undefined => byHash.get(hash),
    /** Stores the caller of a key; `undefined` removes a key that is not accepted. */
    set: (hash: string, caller: Caller | undefined): void => {
      if (caller === undefined) {
        byHash.delete(hash)
        return
      }
      byHash.set(hash, caller)
      if (byHash.size > most) for (const oldest of byHash.keys()) return void byHash.delete(oldest)
    }
  }
}

/** Keys `k` with their application `p` and account `a`. */
export const keysAndOwners = `api_keys k JOIN applications p ON p.id = k.application_id
  JOIN accounts a ON a.id = p.account_id`

/** Whether a key is accepted now (KEY-2). */
export const isAccepted = "k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AND p.active"

/** The distinct callers of a batch, and the number of each among them. */
export const callersOf = <A>(members: ReadonlyArray<A>, callerOf: (member: A) => Caller | undefined) => {
  const numbers = new Map<Caller, number>()
  for (const member of members) {
    const caller = callerOf(member)
    if (caller !== undefined && !numbers.has(caller)) numbers.set(caller, numbers.size)
  }
  return {
    callers: [...numbers.keys()],
    numberOf: (member: A): number | undefined => {
      const caller = callerOf(member)
      return caller === undefined ? undefined : numbers.get(caller)
    }
  }
}

/** The part of a statement that re-checks callers: a CTE `live` with the number `n` of each caller that is as cached. */
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
      charges_paused: integer(),
      connection_id: nullable(uuid()),
      used_connection_id: nullable(uuid())
    })
  },
  ({ callers }) => `
  live AS MATERIALIZED (
    SELECT r.n FROM ${callers} AS r
    JOIN (${keysAndOwners}) ON k.id = r.key_id
    WHERE ${isAccepted} AND p.id = r.application_id AND a.id = r.account_id
      AND array_to_string(k.scopes, ' ') = r.scopes AND a.name = r.name AND a.document = r.document
      AND a.status = r.status AND a.onboarding_status = r.onboarding_status
      AND a.default_expires_in = r.default_expires_in AND ${chargesStoppedThrough("r.used_connection_id")}::integer = r.charges_paused
      AND ${connectionOfAccount} IS NOT DISTINCT FROM r.connection_id
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
      charges_paused: Number(account.chargesPaused),
      connection_id: account.storedConnectionId,
      used_connection_id: account.connectionId ?? null
    }))
  })
)
