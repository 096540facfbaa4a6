/** Channels that alert operators: OPR-315 to OPR-319. */
import { AlertChannelKind, AlertEvent } from "@pix-payments/domain/Alert"
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { decoder, distinctUpTo, nullable } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Name } from "./Accounts.ts"
import { byId, Id } from "./Fields.ts"

const TimeOfDay = Schema.String.check(
  Schema.isPattern(/^([01]\d|2[0-3]):[0-5]\d$/, { expected: "a time of day, as 22:00" })
)

/** `from` after `until` is over midnight. */
export const QuietHours = Schema.Struct({ from: TimeOfDay, until: TimeOfDay }).annotate({ identifier: "QuietHours" })

/** A channel without its secret. */
export const AlertChannel = Schema.Struct({
  id: Id,
  object: Schema.Literal("alert_channel"),
  name: Schema.String,
  kind: open(AlertChannelKind),
  target: Schema.String.annotateKey({ description: "An address or a URL; of Slack, whose URL is a secret, its host." }),
  events: Schema.Array(open(AlertEvent)),
  quiet_hours: Schema.NullOr(QuietHours).annotateKey({
    description: "In the installation's time zone. What is not urgent waits until they end."
  }),
  active: Schema.Boolean,
  has_secret: Schema.Boolean,
  last_sent_at: Schema.NullOr(Instant),
  last_error: Schema.NullOr(Schema.String).annotateKey({
    description: "Why its last message was not taken; null once one was."
  }),
  created_at: Instant
}).annotate({ identifier: "AlertChannel" })
export type AlertChannel = typeof AlertChannel.Type

const Events = distinctUpTo(20, AlertEvent)
const Target = text(3, 2048).annotateKey({ description: "An e-mail address, or a URL." })
const Secret = text(8, 255)

/** The body of `POST /alert-channels`. */
export const CreateAlertChannel = Schema.Struct({
  name: Name,
  kind: AlertChannelKind,
  target: Target,
  events: Events,
  quiet_hours: nullable(QuietHours),
  secret: nullable(Secret).annotateKey({ description: "Of a webhook: signs its messages, as Standard Webhooks does." })
}).annotate({ identifier: "CreateAlertChannel" })
export type CreateAlertChannel = typeof CreateAlertChannel.Type

/** The body of `PATCH /alert-channels/{id}`. */
export const UpdateAlertChannel = Schema.Struct({
  name: Schema.optionalKey(Name),
  target: Schema.optionalKey(Target),
  events: Schema.optionalKey(Events),
  quiet_hours: nullable(QuietHours),
  secret: nullable(Secret),
  active: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateAlertChannel" })
export type UpdateAlertChannel = typeof UpdateAlertChannel.Type

export const decodeCreateAlertChannel = decoder(CreateAlertChannel)
export const decodeUpdateAlertChannel = decoder(UpdateAlertChannel)

const admins = { roles: ["admin"], accounts: "installation" } as const

export class AlertChannelsGroup extends HttpApiGroup.make("alertChannels")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateAlertChannel,
      success: AlertChannel.pipe(HttpApiSchema.status(201)),
      error: [ValidationError, InvalidState]
    })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "Add a channel for alerts")
      .annotate(OpenApi.Description, "At most 20. E-mail needs `SMTP_URL`. It hears at once of what holds now."),
    HttpApiEndpoint.get("list", "/", { query: listQuery, success: listOf(AlertChannel), error: ValidationError })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "List the channels for alerts, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: AlertChannel, error: NotFound })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "Get a channel for alerts"),
    HttpApiEndpoint.patch("update", "/:id", {
      params: byId,
      payload: UpdateAlertChannel,
      success: AlertChannel,
      error: [NotFound, ValidationError]
    })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "Change a channel for alerts"),
    HttpApiEndpoint.delete("delete", "/:id", { params: byId, success: HttpApiSchema.NoContent, error: NotFound })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "Remove a channel for alerts"),
    HttpApiEndpoint.post("test", "/:id/test", {
      params: byId,
      success: AlertChannel.pipe(HttpApiSchema.status(202)),
      error: NotFound
    })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "Send a test message to a channel")
      .annotate(OpenApi.Description, "Like any alert; quiet hours do not hold it back.")
  )
  .prefix("/operator/v1/alert-channels")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
