/** What happened to a charge or a payout: OPR-141 to OPR-143. */
import { Cents } from "@pix-payments/domain/Cents"
import { Dispute } from "@pix-payments/domain/Dispute"
import { Instant } from "@pix-payments/domain/Instant"
import { listOf } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { Refund } from "@pix-payments/domain/Refund"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { NotFound } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { DeliveryDetail } from "./Deliveries.ts"
import { byId, Count, Id } from "./Fields.ts"
import { LedgerEntry } from "./Ledger.ts"
import { RequestLogEntry } from "./Logs.ts"

/** The most rows of each kind in a timeline, and the most attempts of each of its deliveries. */
export const timelineLimits = { rows: 50, deliveries: 20, attempts: 10 } as const

/** A change of a resource, and the event that it emits. */
export const TimelineState = Schema.Struct({
  status: Schema.String,
  event: Schema.NullOr(Schema.String).annotateKey({ description: "Null if the change emits no event." }),
  created_at: Instant
}).annotate({ identifier: "TimelineState" })
export type TimelineState = typeof TimelineState.Type

/** What the acquirer is asked to do. */
export const AcquirerOrder = Schema.Struct({
  id: Id,
  object: Schema.Literal("acquirer_order"),
  kind: open(Schema.Literals(["emission", "cancel", "refund", "payout"])).annotate({
    description: "`emission`: a charge without an answer, that is looked up again. A refund has the id of its order."
  }),
  status: open(Schema.Literals(["in_progress", "done", "refused", "failed"])).annotate({
    description:
      "`refused`: the acquirer never accepted it; `failed`: a payout that it accepted, and that failed later."
  }),
  amount: Schema.NullOr(Cents).annotateKey({ description: "Cents that it moves; null if it moves none." }),
  attempts: Count.annotate({ description: "How often the acquirer was asked." }),
  connection_id: Schema.NullOr(Id).annotateKey({ description: "Null for the simulated acquirer." }),
  created_at: Instant
}).annotate({ identifier: "AcquirerOrder" })
export type AcquirerOrder = typeof AcquirerOrder.Type

/** A notification of the acquirer, without personal data. */
export const AcquirerNotification = Schema.Struct({
  id: Id,
  object: Schema.Literal("acquirer_notification"),
  name: Schema.String.annotate({ description: "The fact: `charge.paid`, `med.opened`, `payout.failed`." }),
  outcome: open(Schema.Literals(["applied", "exception", "ignored", "unknown"])).annotate({
    description: "`ignored`: a duplicate, or not allowed by the state; `exception`: its money fits nothing."
  }),
  external_id: Schema.NullOr(Schema.String).annotateKey({ description: "The acquirer's id of the fact." }),
  end_to_end_id: Schema.NullOr(Schema.String),
  amount: Schema.NullOr(Cents).annotateKey({ description: "Cents, where the acquirer reports them." }),
  connection_id: Schema.NullOr(Id).annotateKey({ description: "Null for the simulated acquirer." }),
  created_at: Instant
}).annotate({ identifier: "AcquirerNotification" })
export type AcquirerNotification = typeof AcquirerNotification.Type

/** The newest rows of each kind, newest first. */
export const Timeline = Schema.Struct({
  object: Schema.Literal("timeline"),
  resource_id: Id,
  states: listOf(TimelineState),
  requests: listOf(RequestLogEntry).annotate({ description: "Requests to `/v1` that created or read the resource." }),
  orders: listOf(AcquirerOrder),
  notifications: listOf(AcquirerNotification),
  refunds: listOf(Refund).annotate({ description: "Of a charge." }),
  disputes: listOf(Dispute).annotate({ description: "Of a charge." }),
  ledger_entries: listOf(LedgerEntry),
  deliveries: listOf(DeliveryDetail).annotate({
    description: `Each with its newest ${timelineLimits.attempts} attempts; \`attempts_made\` counts all.`
  })
}).annotate({ identifier: "Timeline" })
export type Timeline = typeof Timeline.Type

const of = (resource: "charge" | "payout") =>
  HttpApiEndpoint.get(resource, `/${resource}s/:id/timeline`, { params: byId, success: Timeline, error: NotFound })
    .annotate(Access, { roles: ["viewer"], accounts: "resource" })
    .annotate(OpenApi.Summary, `Get what happened to a ${resource}`)
    .annotate(
      OpenApi.Description,
      `States, requests, orders and notifications of the acquirer, ledger entries and deliveries with their attempts. Each list has the newest ${timelineLimits.rows} rows at most (deliveries: ${timelineLimits.deliveries}); \`has_more\` says that there are more.`
    )

export class TimelinesGroup extends HttpApiGroup.make("timelines")
  .add(of("charge"), of("payout"))
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
