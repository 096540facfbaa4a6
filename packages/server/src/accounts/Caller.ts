/**
 * The caller of a request, and the proof that comes with it.
 *
 * Guarantees:
 * - A `Confirmed` caller was looked up for this request. A `Cached` one comes from an earlier lookup: a statement acts for it only
 *   where `isProven`, or gives `PROOF` beside what it reads. So nothing is stored, answered or refused on cached data alone.
 * - Where the proof fails, nothing was done. `staleCaller` says so, and the request starts again with a confirmed caller
 *   (`http/public/KeyGuard.ts`). So a revocation takes effect with the next request, in every process (KEY-4).
 *
 * The proof is the row of `caller_generation`. Each change of keys, applications, accounts, limits, connections and settings replaces its
 * value in its own commit, by triggers. While the value is the same, all that was read with it is as it was, except a key's
 * expiry, which the proof compares with PostgreSQL's clock.
 *
 * Why: docs/decisions/0009-confirmed-cache.md.
 */
import type { AccountStatus, OnboardingStatus } from "@pix-payments/domain/Account"
import type { Scope } from "@pix-payments/domain/Scope"
import * as Effect from "effect/Effect"
import { instant, nullable, uuid } from "../database/statements/Column.ts"
import { Unavailable } from "../database/Unavailable.ts"

/** The accepted key of a request, its application and its account. */
interface Identity {
  readonly keyId: string
  readonly scopes: ReadonlyArray<Scope>
  readonly applicationId: string
  /** The most requests a minute; null: no limit. */
  readonly requestsPerMinute: { readonly ofKey: number | null; readonly ofAccount: number | null }
  /** Whether a limit of the key concerns payouts. */
  readonly isPayoutLimited: boolean
  readonly account: {
    readonly id: string
    readonly name: string
    readonly document: string
    readonly status: AccountStatus
    readonly onboardingStatus: OnboardingStatus
    readonly defaultExpiresInSeconds: number
    readonly chargesPaused: boolean
    /** It moves to another cell, or lives there. */
    readonly isMoved: boolean
    /** The connection of its charges: null is the simulator's, undefined that it has none. */
    readonly connectionId: string | null | undefined
  }
}

export interface Confirmed extends Identity {
  readonly _tag: "Confirmed"
}

export interface Cached extends Identity {
  readonly _tag: "Cached"
  /** The generation that it was read with. */
  readonly generation: string
  readonly keyExpiresAtMs: number | null
}

export type Caller = Confirmed | Cached

/** The cached caller has changed, or no statement proves it beside what is asked. Nothing was done. */
export const staleCaller = Effect.fail(new Unavailable({ reason: "stale-caller" }))

export const isStaleCaller = (error: object): error is Unavailable =>
  error instanceof Unavailable && error.reason === "stale-caller"

/** Refuses a request. That of a cached caller starts again instead. */
export const refused = <E>(caller: Caller | undefined, error: E): Effect.Effect<never, E | Unavailable> =>
  caller?._tag === "Cached" ? staleCaller : Effect.fail(error)

/** The generation when the statement begins. */
export const GENERATION = "(SELECT g.generation FROM caller_generation g WHERE g.id)"

/** The columns of a select list that prove callers to `isCurrent`, and their names. */
export const PROOF = `${GENERATION} AS generation, extract(epoch FROM now())::float8 * 1000 AS now_ms`
export const proofColumns = ["generation", "now_ms"] as const
export const NO_PROOF = "NULL::uuid AS generation, NULL::float8 AS now_ms"

export interface Proof {
  readonly generation: string
  readonly now_ms: number
}

/** Whether the caller is confirmed, or as it was cached. */
export const isCurrent = (caller: Caller, proof: Proof | undefined): boolean =>
  caller._tag === "Confirmed" ||
  (proof !== undefined &&
    caller.generation === proof.generation &&
    (caller.keyExpiresAtMs === null || caller.keyExpiresAtMs > proof.now_ms))

/** Columns of the rows that a statement stores for callers. */
export const claimed = { generation: nullable(uuid()), keyExpiresAtMs: nullable(instant("key_expires_at")) }

/** The values of these columns: null unless the caller is cached. */
export const claimOf = (caller: Caller | undefined) =>
  caller?._tag === "Cached"
    ? { generation: caller.generation, keyExpiresAtMs: caller.keyExpiresAtMs }
    : { generation: null, keyExpiresAtMs: null }

/** The same as `isCurrent`, of a row with these columns, in SQL. */
export const isProven = (row: string): string =>
  `(${row}.generation IS NULL OR ${row}.generation = ${GENERATION}) AND (${row}.key_expires_at IS NULL OR ${row}.key_expires_at > now())`
