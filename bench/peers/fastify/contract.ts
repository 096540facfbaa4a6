/**
 * Types that the application shares with its routes: the authenticated caller and the request guard.
 */
import type { FastifyReply, FastifyRequest } from "fastify"

/** The payout settings of the caller's account. */
interface PayoutSettings {
  readonly onboarding_status: string
  readonly auto_payout_enabled: boolean
  readonly payout_fee_fixed: string
  readonly payout_fee_basis_points: number
  readonly payout_duplicate_window: number
}

/** An accepted API key with its application and account. */
export interface Caller extends PayoutSettings {
  readonly key_id: string
  readonly scopes: ReadonlyArray<string>
  readonly application_id: string
  readonly account_id: string
  readonly name: string
  readonly document: string
  readonly status: string
  readonly default_expires_in: number
}

/** Runs before a handler; a reply ends the request. */
type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>

export interface Guard {
  readonly authenticate: (scope: string) => Hook
  readonly requireIdempotencyKey: Hook
  readonly callerOf: (request: FastifyRequest) => Caller
}
