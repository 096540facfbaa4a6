/**
 * The operator routes of events as they are committed: server-sent events, and pages that wait.
 *
 * Guarantees:
 * - An operator who is limited to accounts sees the events of these only, and no id of others: a position among them is sealed.
 * - A stream without an event sends a heartbeat with its position, so that it continues from there although nothing met its
 *   filter.
 * - What a role that sees masked data reads of the past is an entry of the audit log, before it is sent.
 * - A page that waits for an event is a stream of one piece: it takes a stream's place, and no slot of requests.
 *
 * Rules: OPR-100 to OPR-106, OPR-243.
 */
import type { EventPage } from "@pix-payments/api/operator/Events"
import type { Operator } from "@pix-payments/api/Security"
import { ValidationError } from "@pix-payments/api/WireErrors"
import type { EventName } from "@pix-payments/domain/EventCatalog"
import { defaultLimit } from "@pix-payments/domain/List"
import { personalDataFor } from "@pix-payments/domain/Operator"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { Secrets } from "../../../base/Secrets.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { type EventBatch, EventFeed } from "../../../events/EventFeed.ts"
import { type EventFilter, EventLog, OLDEST, type Position } from "../../../events/EventLog.ts"
import { type OperatorHandlers, shareOf } from "../OperatorHandlers.ts"
import { cursorExpired } from "../../pipeline/WireTranslation.ts"

export const eventHandlers = Effect.gen(function* () {
  const feed = yield* EventFeed
  const log = yield* EventLog
  const audit = yield* AuditLog
  const secrets = yield* Secrets

  /** The position after which a request continues. */
  const positionOf = Effect.fnUntraced(function* (cursor: string | undefined) {
    if (cursor === undefined) return yield* log.last
    if (cursor === "oldest") return yield* log.oldest
    const opened = cursor.startsWith(SEALED) ? openedFrom(cursor) : cursor
    if (opened === "oldest") return yield* log.oldest
    const [changeId = "", n = ""] = opened.split(".")
    return (
      (isUuid(changeId) ? yield* log.find(changeId.toLowerCase(), Number(n)) : undefined) ?? (yield* cursorExpired())
    )
  })

  /** Empty where no key opens it. */
  const openedFrom = (cursor: string): string => {
    try {
      const sealed = Buffer.from(cursor.slice(SEALED.length), "base64url").toString()
      return Redacted.value(secrets.open(sealed, POSITIONS))
    } catch {
      return ""
    }
  }

  /** Where a reader continues. For one who is limited, a position without an event of theirs names nobody's. */
  const continuationOf = ({ accountIds }: Operator, { end, events }: Pick<EventBatch, "end" | "events">): string => {
    const cursor = cursorOf(end)
    const last = events.at(-1)
    const isOwn = last !== undefined && cursorOf(last.position) === cursor
    if (accountIds === null || isOwn || cursor === "oldest") return cursor
    return SEALED + Buffer.from(secrets.seal(cursor, POSITIONS)).toString("base64url")
  }

  const toPage = (caller: Operator, batch: EventBatch): EventPage => ({
    object: "list",
    data: batch.events.map(({ body, position }) => ({ id: cursorOf(position), data: JSON.parse(body) })),
    has_more: batch.isMore,
    next_after: continuationOf(caller, batch)
  })

  /** A comment, and the position as the id of the last event. */
  const heartbeat = (caller: Operator, end: Position): string =>
    end.changeId === OLDEST.changeId
      ? ": heartbeat\n\n"
      : `: heartbeat\nid: ${continuationOf(caller, { end, events: [] })}\n\n`

  const handlers: OperatorHandlers<"events"> = {
    stream: Effect.fnUntraced(function* ({ caller, lastEventId, query }) {
      if (lastEventId !== undefined && !isCursor(lastEventId)) {
        return yield* new ValidationError({ details: ["Last-Event-ID"] })
      }
      const asked = lastEventId ?? query.after
      let after = yield* positionOf(asked)
      if (asked !== undefined && isMasked(caller)) yield* audit.recordUse("events.stream", { ...query, after: asked })
      const filter = filterOf(caller, query)
      let isFirst = true
      const next = Effect.suspend(() => {
        // The headers leave before there is an event.
        if (isFirst) {
          isFirst = false
          return Effect.succeed(heartbeat(caller, after))
        }
        return Effect.map(feed.next({ after, filter, limit: STREAM_LIMIT, waitMs: HEARTBEAT_MS }), (batch) => {
          after = batch.end
          return batch.events.length === 0 ? heartbeat(caller, after) : toText(batch.events)
        })
      })
      return {
        status: 200,
        stream: {
          contentType: "text/event-stream",
          ...readerOf(caller),
          next
        }
      }
    }),

    list: Effect.fnUntraced(
      function* ({ caller, query }) {
        const request = {
          after: yield* positionOf(query.after),
          filter: filterOf(caller, query),
          limit: query.limit ?? defaultLimit
        }
        const batch = yield* feed.next({ ...request, waitMs: 0 })
        // A page that follows the last one is not of the past, and neither is one after which nothing is.
        if (
          query.after !== undefined &&
          (batch.events.length > 0 || batch.isMore) &&
          isMasked(caller) &&
          (yield* isPast(request.after))
        ) {
          yield* audit.recordUse("events.list", query)
        }
        const waitMs = (query.wait ?? 0) * 1000
        if (waitMs === 0 || batch.events.length > 0) return { status: 200, body: toPage(caller, batch) }
        return {
          status: 200,
          stream: {
            contentType: "application/json",
            ...readerOf(caller),
            next: once(
              feed.next({ ...request, after: batch.end, waitMs }).pipe(
                // The status has left. The next page says what is wrong.
                Effect.orElseSucceed(() => batch),
                Effect.map((waited) => JSON.stringify(toPage(caller, waited)))
              )
            )
          }
        }
      },
      Effect.catchTag("EventsRemoved", cursorExpired)
    )
  }
  return handlers
})

/** The data of events is not masked. */
const isMasked = ({ role }: Operator): boolean => personalDataFor[role] !== "clear"

/** Whether a position is older than a reader that follows the events has. */
const isPast = ({ changeId }: Position) =>
  Effect.map(Clock.currentTimeMillis, (nowMs) => {
    if (changeId === OLDEST.changeId) return true
    return nowMs - Number.parseInt(changeId.replaceAll("-", "").slice(0, 12), 16) > FOLLOWING_MS
  })

const FOLLOWING_MS = 60_000

/** Events of one piece. */
const STREAM_LIMIT = 100

/** Shorter than proxies wait for a silent server: 60 s by default in nginx, 50 s in HAProxy. */
const HEARTBEAT_MS = 15_000

const readerOf = (operator: Operator) => ({
  owner: shareOf(operator),
  scope: JSON.stringify([operator.id, operator.accountIds])
})

/** The only piece of a stream. */
const once = (piece: Effect.Effect<string>): Effect.Effect<string | undefined> => {
  let isFirst = true
  return Effect.suspend(() => {
    if (!isFirst) return Effect.undefined
    isFirst = false
    return piece
  })
}

interface Query {
  readonly account_id?: string
  readonly application_id?: string
  readonly events?: ReadonlyArray<EventName>
}

const filterOf = ({ accountIds }: Operator, query: Query): EventFilter => {
  const accountId = query.account_id?.toLowerCase()
  const asked = accountId === undefined ? undefined : [accountId]
  return {
    accountIds: accountIds === null ? asked : accountIds.filter((id) => asked?.includes(id) ?? true),
    applicationId: query.application_id?.toLowerCase(),
    events: query.events
  }
}

const SEALED = "position."

const POSITIONS = { kind: "position", id: "events" } as const

const isCursor = (text: string): boolean => {
  if (/^position\.[\w-]{1,400}$/.test(text)) return true
  const [changeId = "", n = "", ...rest] = text.split(".")
  return isUuid(changeId) && /^\d{1,3}$/.test(n) && rest.length === 0
}

const cursorOf = ({ changeId, n }: Position): string => (changeId === OLDEST.changeId ? "oldest" : `${changeId}.${n}`)

const toText = (events: EventBatch["events"]): string =>
  events.map(({ body, position }) => `id: ${cursorOf(position)}\ndata: ${body}\n\n`).join("")
