/** The operator routes of channels that alert operators. */
import {
  type AlertChannel,
  decodeCreateAlertChannel,
  decodeUpdateAlertChannel,
  type UpdateAlertChannel
} from "@pix-payments/api/operator/AlertChannels"
import * as Effect from "effect/Effect"
import { AlertChannels, type AlertChannelRow } from "../../../alerts/AlertChannels.ts"
import { AuditLog, type Fields } from "../../../operations/AuditLog.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, notFound, refusedAs, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const alertChannelHandlers = Effect.gen(function* () {
  const channels = yield* AlertChannels
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"alertChannels"> = {
    create: ({ body }) =>
      Effect.gen(function* () {
        const input = yield* decodeBody(body, decodeCreateAlertChannel)
        const row = yield* channels.create(input, (created) =>
          audit.record("alert_channels.create", created.id, { after: shown(created) })
        )
        return answer(201, toChannel(row))
      }).pipe(Effect.catchTags({ RequestRefused: invalid, InvalidStateError: invalidState })),
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        return listAnswer(yield* channels.list(page), toChannel, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toChannel(yield* channels.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound })),
    update: ({ body, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const changes = yield* decodeBody(body, decodeUpdateAlertChannel)
        const row = yield* channels.update(id, changes, (before) =>
          audit.record("alert_channels.update", id, { before: shown(before), after: withoutSecrets(before, changes) })
        )
        return answer(200, toChannel(row))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, RequestRefused: invalid })),
    delete: ({ params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        yield* channels.remove(id, (row) => audit.record("alert_channels.delete", id, { before: shown(row) }))
        return { status: 204 }
      }).pipe(Effect.catchTags({ NotFoundError: notFound })),
    test: ({ params }) =>
      Effect.gen(function* () {
        const row = yield* channels.test(yield* knownId(params)).pipe(audit.recordWith("alert_channels.test"))
        return answer(202, toChannel(row))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

const invalid = refusedAs("VALIDATION_ERROR")

const quietHours = ({ quiet_from: from, quiet_until: until }: AlertChannelRow) =>
  from === null || until === null ? null : { from: from.slice(0, 5), until: until.slice(0, 5) }

const toChannel = (row: AlertChannelRow): AlertChannel => ({
  id: row.id,
  object: "alert_channel",
  name: row.name,
  kind: row.kind,
  target: row.target,
  events: row.events as AlertChannel["events"],
  quiet_hours: quietHours(row),
  active: row.active,
  has_secret: row.has_secret,
  last_sent_at: row.last_sent_at?.toISOString() ?? null,
  last_error: row.last_error,
  created_at: row.created_at.toISOString()
})

/** For the audit log. */
const shown = (row: AlertChannelRow): Fields => ({
  name: row.name,
  kind: row.kind,
  target: row.target,
  events: row.events,
  quiet_hours: quietHours(row),
  active: row.active
})

const withoutSecrets = ({ kind }: AlertChannelRow, { secret, target, ...others }: UpdateAlertChannel): Fields => ({
  ...others,
  ...(target !== undefined && { target: kind === "slack" ? (URL.parse(target)?.origin ?? "") : target }),
  ...(secret !== undefined && { has_secret: secret !== null })
})
