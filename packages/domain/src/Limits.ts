/**
 * Limits of an account or an API key, which operators set: OPR-330 to OPR-334.
 *
 * Guarantee: `loosenedLimits` is the only rule of which changes give away more.
 */
import * as Schema from "effect/Schema"
import { MAX_CENTS } from "./Cents.ts"
import { personal } from "./PersonalData.ts"
import { normalPixKey } from "./PixKey.ts"
import { arrayUpTo, wholeNumber } from "./Request.ts"

/** At most 1,000 keys of 77 characters. */
const Recipients = arrayUpTo(
  1000,
  Schema.String.check(
    Schema.makeFilter((key) => normalPixKey(key) !== undefined, {
      expected: "a Pix key",
      toJsonSchema: () => ({})
    })
  )
).annotate(personal("pix_key"))

const fields = {
  requests_per_minute: Schema.NullOr(wholeNumber(1, 1_000_000)).annotate({
    description: "Requests a minute, counted in each server process."
  }),
  payouts_per_hour: Schema.NullOr(wholeNumber(0, 1_000_000)).annotate({ description: "Payouts an hour of the clock." }),
  payouts_per_day: Schema.NullOr(wholeNumber(0, 1_000_000)).annotate({
    description: "Payouts a day of the installation's zone."
  }),
  payout_cents_per_day: Schema.NullOr(wholeNumber(0, MAX_CENTS, "cents")).annotate({
    description: "Cents of payouts a day, without fees."
  }),
  recipients: Schema.NullOr(Recipients).annotate({ description: "The Pix keys that payouts may go to." })
}

/** Null: no limit. */
export const Limits = Schema.Struct(fields).annotate({ identifier: "Limits" })
export interface Limits {
  readonly requests_per_minute: number | null
  readonly payouts_per_hour: number | null
  readonly payouts_per_day: number | null
  readonly payout_cents_per_day: number | null
  readonly recipients: ReadonlyArray<string> | null
}

/** A change of limits: a field that is absent stays, null removes its limit. */
export const LimitChanges = Schema.Struct({
  requests_per_minute: Schema.optionalKey(fields.requests_per_minute),
  payouts_per_hour: Schema.optionalKey(fields.payouts_per_hour),
  payouts_per_day: Schema.optionalKey(fields.payouts_per_day),
  payout_cents_per_day: Schema.optionalKey(fields.payout_cents_per_day),
  recipients: Schema.optionalKey(fields.recipients)
}).annotate({ identifier: "LimitChanges" })
export type LimitChanges = typeof LimitChanges.Type

export const noLimits: Limits = {
  requests_per_minute: null,
  payouts_per_hour: null,
  payouts_per_day: null,
  payout_cents_per_day: null,
  recipients: null
}

/** The limits after a change. Recipients have DICT's form, in one order, each once. */
export const withChanges = (before: Limits, changes: LimitChanges): Limits => {
  const after = { ...before, ...changes }
  const keys = after.recipients?.map((key) => normalPixKey(key) ?? key)
  return { ...after, recipients: keys === undefined ? null : [...new Set(keys)].toSorted() }
}

/** The limits that a change raises or removes. */
export const loosenedLimits = (before: Limits, after: Limits): ReadonlyArray<keyof Limits> =>
  (Object.keys(noLimits) as ReadonlyArray<keyof Limits>).filter((name) => {
    if (name === "recipients") {
      const known = before.recipients
      return known !== null && (after.recipients === null || after.recipients.some((key) => !known.includes(key)))
    }
    const limit = before[name]
    const next = after[name]
    return limit !== null && (next === null || next > limit)
  })
