/**
 * `pix listen`: events as they are committed, forwarded to a receiver on this machine. CLI-10 to CLI-15.
 *
 * Guarantees:
 * - Events are forwarded in the order of the stream, one at a time. None is left out, also when the service or the receiver
 *   restarts; one that may have arrived before is marked.
 * - The position is stored after the line of the event is written: a slow reader loses no line to `--resume`.
 * - Nothing of the service changes: no delivery, and no endpoint.
 */
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { formatInstant } from "@pix-payments/domain/Instant"
import { isSuccess } from "@pix-payments/domain/ReceiverAnswer"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { addressOf } from "../Address.ts"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { limitFlag } from "../LimitFlag.ts"
import { wantsJson } from "../Output.ts"
import { attempt, signedIn } from "../Profile.ts"
import { dim, green, isTerminal, jsonOf, notice, printable, red, write, written } from "../Terminal.ts"
import { currentPosition, type EventFilter, openPages, openStream, type Pull } from "./EventSource.ts"
import { forward, type Forwarded, type ForwardedEvent, type Receiver } from "./Forward.ts"
import { keys } from "./Keys.ts"
import { positionFile } from "./Position.ts"
import { sessionSecret } from "./SessionSecret.ts"
import type { Arrived } from "./SseLines.ts"

const flags = {
  forwardTo: Flag.String("forward-to").pipe(
    Flag.withAlias("f"),
    Flag.withDescription("The URL of a receiver on this machine, or its port. Without it, events are only shown"),
    Flag.optional
  ),
  events: Flag.String("events").pipe(
    Flag.withAlias("e"),
    Flag.withDescription("Only these events, separated by commas; charge.pix.* for several"),
    Flag.optional
  ),
  account: Flag.String("account").pipe(Flag.withDescription("Only events of this account (id)"), Flag.optional),
  application: Flag.String("application").pipe(
    Flag.withDescription("Only events of this application (id)"),
    Flag.optional
  ),
  after: Flag.String("after").pipe(
    Flag.withDescription("Begin after this event of the stream; oldest for all that are kept. Default: from now on"),
    Flag.optional
  ),
  resume: Flag.Boolean("resume").pipe(
    Flag.withDescription("Continue where the last session with these flags ended"),
    Flag.withDefault(false)
  ),
  poll: Flag.Boolean("poll").pipe(
    Flag.withDescription("Ask for pages instead of a stream; used anyway where a proxy buffers the stream"),
    Flag.withDefault(false)
  ),
  format: Flag.Literals("format", ["text", "json"]).pipe(
    Flag.withDescription("A line of text or of JSON for each event"),
    Flag.optional
  ),
  limit: limitFlag("End after this number of events"),
  skipVerify: Flag.Boolean("skip-verify").pipe(
    Flag.withDescription("Do not check the receiver's certificate"),
    Flag.withDefault(false)
  ),
  printSecret: Flag.Boolean("print-secret").pipe(
    Flag.withDescription("Print the secret that forwarded events are signed with, and end. It is always the same"),
    Flag.withDefault(false)
  )
}

/** The names that a filter means. Throws where it means none. */
export const matchingEvents = (filter: string): ReadonlyArray<string> => {
  const patterns = filter
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")
  const found = patterns.map((pattern) => {
    const expression = new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`)
    const names = /^[a-z_.*]+$/.test(pattern) ? eventNames.filter((name) => expression.test(name)) : []
    if (names.length === 0) throw usage(`No event is named ${printable(pattern)}. See all names: pix trigger --list`)
    return names
  })
  if (found.length === 0) throw usage("--events names no event.")
  return [...new Set(found.flat())]
}

const receiverOf = (text: string, skipVerify: boolean): Receiver => ({
  url: addressOf(text, usage(`Not a URL to forward to: ${text}. Example: http://localhost:4000/webhooks`)),
  secret: sessionSecret(),
  skipVerify
})

/** The envelope's fields that a line shows. */
const eventOf = ({ id, text = "" }: Arrived): ForwardedEvent => {
  const { data, event, id: deliveryId } = JSON.parse(text) as Record<string, unknown>
  return {
    id,
    text,
    deliveryId: String(deliveryId),
    name: String(event),
    resourceId: String(Object(data).id ?? "")
  }
}

const timeOfDay = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" })

interface Shown {
  readonly json: boolean
  readonly isReplay?: boolean
  /** Without a receiver: whether the line may have been shown before. */
  readonly isRepeat?: boolean
}

const lineOf = (
  event: ForwardedEvent,
  forwarded: Forwarded | undefined,
  nowMs: number,
  { json, isReplay, isRepeat: wasShown }: Shown
): string => {
  const isRepeat = isReplay === true || (forwarded?.isRepeat ?? wasShown === true)
  if (json) {
    return `${jsonOf({
      id: event.id,
      at: formatInstant(nowMs),
      event: event.name,
      event_id: event.deliveryId,
      resource_id: event.resourceId,
      ...(forwarded === undefined
        ? { data: JSON.parse(event.text) }
        : { status: forwarded.status, duration_ms: forwarded.durationMs }),
      repeat: isRepeat
    })}\n`
  }
  const mark = isRepeat ? dim(isReplay === true ? "  replay" : "  repeat") : ""
  const time = timeOfDay.format(nowMs)
  const head = `${dim(time)}  ${printable(event.name).padEnd(24)}  ${event.deliveryId}`
  if (forwarded === undefined) return `${head}${mark}\n`
  const { durationMs, status } = forwarded
  const shown = (isSuccess(status) ? green : red)(status === null ? "timeout" : String(status))
  return `${head}  ${shown}  ${durationMs} ms${mark}\n`
}

const FIRST_DELAY_MS = 200
const LONGEST_DELAY_MS = 5000

/** The command. */
export const listenCommand = Command.make("listen", flags, (input) =>
  Effect.gen(function* () {
    if (input.printSecret) return write(`${yield* attempt(sessionSecret)}\n`)
    const service = yield* signedIn
    const { filter, receiver } = yield* attempt(() => {
      for (const id of [input.account, input.application].flatMap(Option.toArray)) {
        if (!isUuid(id)) throw usage(`Not an id: ${id}`)
      }
      const filter: EventFilter = {
        ...Option.match(input.account, { onNone: () => ({}), onSome: (account_id) => ({ account_id }) }),
        ...Option.match(input.application, { onNone: () => ({}), onSome: (application_id) => ({ application_id }) }),
        ...Option.match(input.events, { onNone: () => ({}), onSome: (names) => ({ events: matchingEvents(names) }) })
      }
      return {
        filter,
        receiver: Option.getOrUndefined(Option.map(input.forwardTo, (url) => receiverOf(url, input.skipVerify)))
      }
    })
    const shown: Shown = {
      json: yield* Option.match(input.format, {
        onNone: () => wantsJson,
        onSome: (format) => Effect.succeed(format === "json")
      })
    }
    const stored = positionFile([service.url, filter, receiver?.url.href ?? null])
    const resumed = input.resume ? yield* attempt(stored.read) : undefined
    const given = Option.getOrUndefined(input.after)
    const session = {
      /** Everything up to here was shown and forwarded. */
      after: given ?? resumed?.after ?? (yield* currentPosition(service, filter)),
      /** The event that may have been forwarded or shown before. */
      interrupted: given === undefined ? resumed?.forwarding : undefined,
      left: Option.getOrElse(input.limit, () => Infinity),
      last: undefined as ForwardedEvent | undefined,
      isPolling: input.poll,
      isLost: false,
      delayMs: FIRST_DELAY_MS
    }
    const oneAtATime = yield* Semaphore.make(1)
    const sendTo = (target: Receiver, event: ForwardedEvent, wasInterrupted: boolean) =>
      oneAtATime.withPermit(
        forward(event, target, wasInterrupted, (reason) =>
          notice(`The receiver is away (${reason}). ${event.name} and later events wait for it.`)
        )
      )

    const handle = Effect.fnUntraced(function* (arrived: Arrived) {
      if (arrived.text !== undefined) {
        const event = eventOf(arrived)
        session.last = event
        const isRepeat = session.interrupted === arrived.id
        yield* attempt(() => stored.write({ after: session.after, forwarding: arrived.id }))
        const forwarded = receiver === undefined ? undefined : yield* sendTo(receiver, event, isRepeat)
        session.left -= 1
        yield* written(lineOf(event, forwarded, yield* Clock.currentTimeMillis, { ...shown, isRepeat }))
        session.interrupted = undefined
      }
      session.after = arrived.id
      const interrupted = session.interrupted === undefined ? {} : { forwarding: session.interrupted }
      yield* attempt(() => stored.write({ after: arrived.id, ...interrupted }))
    })

    const read = Effect.fnUntraced(function* (pull: Pull, onRead: () => void) {
      while (session.left > 0) {
        for (const arrived of yield* pull) {
          if (session.left <= 0) return
          yield* handle(arrived)
        }
        onRead()
      }
    })

    if (isTerminal() && receiver !== undefined) {
      const run = Effect.runForkWith(yield* Effect.context())
      yield* keys((key) => {
        if (key === "q") process.kill(process.pid, "SIGINT")
        const event = session.last
        if (key !== "r" || event === undefined) return
        run(
          Effect.flatMap(sendTo(receiver, event, true), (forwarded) =>
            Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
              written(lineOf(event, forwarded, nowMs, { ...shown, isReplay: true }))
            )
          )
        )
      })
    }
    notice(
      `Listening to ${service.url}${receiver === undefined ? "" : `, forwarding to ${receiver.url.href}`}.` +
        (isTerminal() && receiver !== undefined ? " Keys: r replays the last event, q ends." : "")
    )

    const onRead = () => {
      if (session.isLost) notice("Connected again: continuing after the last event.")
      session.isLost = false
      session.delayMs = FIRST_DELAY_MS
    }
    while (session.left > 0) {
      const connection = session.isPolling
        ? read(openPages(service, filter, session.after), onRead)
        : Effect.scoped(Effect.flatMap(openStream(service, filter, session.after), (pull) => read(pull, onRead)))
      yield* connection.pipe(
        Effect.catchTags({
          Buffered: () =>
            Effect.sync(() => {
              session.isPolling = true
              notice("The stream is buffered on the way: asking for pages instead.")
            }),
          Lost: ({ reason }) => {
            if (!session.isLost) notice(`The connection is lost (${reason}). Connecting again until it is back.`)
            session.isLost = true
            const delay = Effect.sleep(session.delayMs)
            session.delayMs = Math.min(LONGEST_DELAY_MS, session.delayMs * 2)
            return delay
          },
          Failure: (failure) => Effect.fail(failure.code === "CURSOR_EXPIRED" ? expired(session.after) : failure)
        })
      )
    }
  }).pipe(Effect.scoped)
).pipe(
  Command.withDescription("Forward a copy of each event to a receiver on this machine, as it is committed"),
  Command.withExamples([
    { command: "pix listen --forward-to http://localhost:4000/webhooks" },
    { command: "pix listen --events 'charge.pix.*' --format json", description: "Show events, forward none" },
    { command: "pix listen --print-secret", description: "The secret for the receiver" }
  ])
)

const expired = (after: string): Failure =>
  new Failure({
    message:
      `The events after ${after} are no longer kept, so that some would be missing. ` +
      "Begin with those that are kept (--after oldest), or with new ones (neither --after nor --resume).",
    exitCode: exitCodes.refused,
    code: "CURSOR_EXPIRED"
  })
