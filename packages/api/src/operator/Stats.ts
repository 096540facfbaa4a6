/** Figures of an account, or of all. */
import { Instant } from "@pix-payments/domain/Instant"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Count, DayInput, idFilter } from "./Fields.ts"

const counts = Schema.Record(Schema.String, Count)
const byState = counts.annotate({ description: "The number in each state." })

const money = {
  charges_paid: Count,
  received: Count.annotate({ description: "Cents of the charges that were paid." }),
  refunds_completed: Count,
  returned: Count.annotate({ description: "Cents of the returns that were completed." }),
  payouts_completed: Count,
  sent: Count.annotate({ description: "Cents of the payouts that were completed, without fees." }),
  net: Schema.Int.annotate({ description: "Received, less returned and sent." })
}

/** An hour or a day. */
const StatsPeriod = Schema.Struct({
  start: Instant,
  ...money,
  failed: Schema.Array(
    Schema.Struct({ resource: Schema.Literals(["charge", "payout"]), reason: Schema.String, count: Count })
  ).annotate({ description: "What failed, by its reason." })
})
export type StatsPeriod = typeof StatsPeriod.Type

/** Figures of one account, or of all. */
export const Stats = Schema.Struct({
  object: Schema.Literal("stats"),
  timezone: Schema.String.annotate({ description: "The time zone of days." }),
  charges: byState,
  payouts: byState,
  disputes: byState,
  deliveries: counts.annotate({
    description: "The number in each state. Delivered: all successful attempts, also of deliveries that are not kept."
  }),
  volume_per_day: Schema.Array(
    Schema.Struct({
      date: Schema.String.annotate({ format: "date", description: "A day in `timezone`." }),
      ...money
    })
  ),
  periods: Schema.Array(StatsPeriod).annotate({
    description: "The hours or days of the range that was asked for, oldest first; those without anything are left out."
  }),
  deliveries_due: Count,
  oldest_due_at: Schema.NullOr(Instant),
  success_rate: Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))).annotateKey({
    description: "Successful attempts divided by all attempts of today and the six days before. Null without attempts."
  })
}).annotate({ identifier: "Stats" })
export type Stats = typeof Stats.Type

export const statsQuery = {
  account_id: idFilter,
  from: Schema.optionalKey(DayInput.annotate({ description: "The first day of `periods`, in `timezone`." })),
  to: Schema.optionalKey(DayInput.annotate({ description: "The last day; by default the first." })),
  interval: Schema.optionalKey(Schema.Literals(["hour", "day"])).annotateKey({
    description: "Of at most 8 days by the hour, 92 by the day; `day` when absent."
  })
}

export class StatsGroup extends HttpApiGroup.make("stats")
  .add(
    HttpApiEndpoint.get("retrieve", "/", { query: statsQuery, success: Stats, error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "Get counts by state, volume per day and the backlog of deliveries")
  )
  .prefix("/operator/v1/stats")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
