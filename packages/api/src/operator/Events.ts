/** Events as they are committed, as a stream and as a list: OPR-100 to OPR-106. */
import { WebhookEvent } from "@pix-payments/domain/Event"
import { EventName, eventNames } from "@pix-payments/domain/EventCatalog"
import { Limit } from "@pix-payments/domain/List"
import { distinctUpTo } from "@pix-payments/domain/Request"
import * as Schema from "effect/Schema"
import * as Sse from "effect/encoding/Sse"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { CursorExpired, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { idFilter } from "./Fields.ts"

/** An event's position in the stream, `<change id>.<n>`: the nth event of a change. */
const Position = Schema.String.annotate({
  description:
    "The event's position in the stream, `<change id>.<n>`: the nth event of a change. Continue with it as `after`."
})

const access: Access = { roles: ["developer", "operator"], accounts: "filtered", isClear: true }

/** The seconds that `GET /events` waits at most. */
const LONGEST_WAIT = 10

const filters = {
  account_id: idFilter,
  application_id: idFilter,
  events: Schema.optionalKey(
    distinctUpTo(eventNames.length, EventName).annotateKey({
      description: "Only these events. Repeat the parameter for several."
    })
  ),
  after: Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(
        /^(?:oldest|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\.\d{1,3}|position\.[\w-]{1,400})$/
      )
    ).annotate({
      description:
        "Continues after this event; `oldest` begins with the first event that is kept. When absent, the events from now on."
    })
  )
}

export const eventsQuery = {
  ...filters,
  limit: Schema.optionalKey(Limit),
  wait: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: LONGEST_WAIT })).annotate({
      description: `Seconds to wait for an event if there is none, 0 to ${LONGEST_WAIT}; 0 when absent.`,
      default: 0
    })
  )
}

/** An event with its position. */
export const StreamedEvent = Schema.Struct({ id: Position, data: WebhookEvent }).annotate({
  identifier: "StreamedEvent"
})

/** A page of events, oldest first. */
export const EventPage = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(StreamedEvent),
  has_more: Schema.Boolean.annotate({ description: "True while there may be more events to read at once." }),
  next_after: Schema.String.annotate({
    description:
      "The `after` of the next page, also where this one is empty. Opaque where an operator is limited to accounts and other events follow."
  })
}).annotate({ identifier: "EventPage" })
export type EventPage = typeof EventPage.Type

const description =
  "Every event of every change that is kept, also events that are not sent to endpoints. The data is the body of a delivery; only its `id` differs, and is the same each time."

export class EventsGroup extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("stream", "/stream", {
      query: filters,
      headers: {
        "last-event-id": Schema.optionalKey(
          Schema.String.annotate({ description: "The id of the last event that was received. It replaces `after`." })
        )
      },
      success: HttpApiSchema.StreamSse({
        events: Schema.Struct({ ...Sse.EventEncoded.fields, data: Schema.fromJsonString(WebhookEvent) })
      }),
      error: [ValidationError, CursorExpired]
    })
      .annotate(Access, access)
      .annotate(OpenApi.Summary, "Stream events as they are committed")
      .annotate(
        OpenApi.Description,
        `${description} Server-sent events: reconnect with \`Last-Event-ID\`, which browsers do, and nothing is missed.`
      ),
    HttpApiEndpoint.get("list", "/", {
      query: eventsQuery,
      success: EventPage,
      error: [ValidationError, CursorExpired]
    })
      .annotate(Access, access)
      .annotate(OpenApi.Summary, "List events in the order of their commits, oldest first")
      .annotate(OpenApi.Description, `${description} For clients that cannot stream.`)
  )
  .prefix("/operator/v1/events")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Events as they are committed.") {}
