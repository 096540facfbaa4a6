/** Disputes as operators see them, and how they are opened. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertRefused, retrieve } from "./ChargeRequests.ts"
import { operated, simulated } from "./Money.ts"
import { type Fields, TestService } from "./TestService.ts"
import type { Charge } from "@pix-payments/domain/Charge"

export const DAY_MS = 24 * 60 * 60 * 1000

export interface Dispute {
  readonly object: string
  readonly id: string
  readonly charge_id: string | null
  readonly exception_id: string | null
  readonly account_id: string
  readonly status: string
  readonly amount: number
  readonly currency: string
  readonly reason: string | null
  readonly reference: string | null
  readonly opened_at: string
  readonly defense_deadline_at: string | null
  readonly resolved_at: string | null
  readonly arrived_resolved: boolean
  readonly sequence: number
  readonly messages: ReadonlyArray<{ author: string; text: string; at: string }>
  readonly defense_in_progress: boolean
}

/** A MED against a paid charge. */
export const med = (chargeId: string, fields: Fields = {}) =>
  simulated<Dispute>(`/charges/${chargeId}/infraction`, { reason: "fraude", ...fields }, 201)

export const statusOf = (key: string, chargeId: string) =>
  Effect.map(retrieve(key, chargeId), ({ body }) => body.status)

export const disputesOf = (chargeId: string) =>
  Effect.map(operated<{ data: ReadonlyArray<Dispute> }>("GET", `/disputes?charge_id=${chargeId}`), ({ data }) => data)

export const disputeOf = (id: string) => operated<Dispute>("GET", `/disputes/${id}`)

export const refusesAll = (disputeId: string, actions: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { operate } = yield* TestService
    for (const action of actions) {
      const path = action === "defense" || action === "messages" ? `/disputes` : "/simulator/disputes"
      const body = action === "win" || action === "lose" ? undefined : { text: "x" }
      assertRefused(yield* operate("POST", `/operator/v1${path}/${disputeId}/${action}`, { body }), "INVALID_STATE")
    }
  })

/** `data` of a dispute event: the operator's view without its own fields. */
export const shown = ({
  account_id,
  defense_in_progress,
  exception_id,
  messages,
  ...dispute
}: Dispute): Omit<Dispute, "account_id" | "exception_id" | "messages" | "defense_in_progress"> => {
  assert.isNull(exception_id)
  assert.isFalse(defense_in_progress)
  assert.isString(account_id)
  assert.isArray(messages)
  return dispute
}

export const paidEvents = ["charge.pix.created pending", "charge.pix.emitted pending", "charge.pix.paid paid"]

/** The simulator answers with the operator's view of a charge: `/v1` shows less. */
export const withoutOperatorFields = (charge: Charge): Charge => {
  const shownFields: Record<string, unknown> = { ...charge }
  for (const field of ["account_id", "application_id", "origin", "refunds"]) delete shownFields[field]
  return shownFields as unknown as Charge
}
