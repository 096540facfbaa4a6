/** `pix events resend`: one delivery again, or all failed ones that meet a filter, after a count and a question. CLI-22. */
import type { Resent } from "@pix-payments/api/operator/Deliveries"
import { EventName } from "@pix-payments/domain/EventCatalog"
import { formatInstant, parseInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { exitCodes, Failure, usage } from "./Failure.ts"
import { call, type Service } from "./OperatorClient.ts"
import { wantsJson, writeJson } from "./Output.ts"
import { signedIn } from "./Profile.ts"
import { confirm, failedDeliveries } from "./resources/Questions.ts"
import { notice, progress } from "./Terminal.ts"

const flags = {
  delivery: Argument.String("delivery-id").pipe(
    Argument.withDescription("The delivery to send again"),
    Argument.optional
  ),
  failed: Flag.Boolean("failed").pipe(
    Flag.withDescription("All that failed. The filters below narrow it"),
    Flag.withDefault(false)
  ),
  since: Flag.String("since").pipe(
    Flag.withDescription("Those that were created since: 2026-11-22T08:00:00Z, or 2h, 30m, 1d ago"),
    Flag.optional
  ),
  event: Flag.Literals("event", EventName.literals).pipe(Flag.withDescription("Those of this event"), Flag.optional),
  endpoint: Flag.String("endpoint").pipe(Flag.withDescription("Those to this endpoint (id)"), Flag.optional),
  resource: Flag.String("resource").pipe(
    Flag.withDescription("Those of this charge, payout or dispute (id)"),
    Flag.optional
  ),
  dryRun: Flag.Boolean("dry-run").pipe(Flag.withDescription("Only count them"), Flag.withDefault(false)),
  yes: Flag.Boolean("yes").pipe(Flag.withAlias("y"), Flag.withDescription("Do not ask"), Flag.withDefault(false))
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The instant that a text means, or `undefined` where it is none from 1970 on. */
const sinceMs = (text: string, nowMs: number): number | undefined => {
  const [, count, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? []
  const ms = count === undefined ? parseInstant(text) : nowMs - Number(count) * unitsMs[unit]!
  return ms === undefined || ms < 0 ? undefined : ms
}

const sentAgain = (count: number): string =>
  count === 1 ? "1 delivery is sent again now." : `${count} deliveries are sent again now.`

/** One request: counts failed deliveries, or sends them again. */
const resendFailed = (service: Service, payload: object): Effect.Effect<Resent, Failure> =>
  Effect.map(call(service, "deliveryActions.resendFailed", { payload }), ({ body }) => body as Resent)

/** Sends what meets the filter again, with as many requests as it takes. Returns the sum. */
const resendAll = Effect.fnUntraced(function* (service: Service, filter: object) {
  const all = { object: "resend", count: 0, has_more: true, dry_run: false }
  while (all.has_more) {
    const { count, has_more } = yield* resendFailed(service, { ...filter, dry_run: false }).pipe(
      Effect.mapError((failure) => (all.count === 0 ? failure : interrupted(failure, all.count)))
    )
    all.count += count
    all.has_more = has_more
    // Those of a deleted endpoint stay failed: every further request would find them.
    if (count === 0) break
    progress(sentAgain(all.count))
  }
  progress("")
  return all
})

const interrupted = ({ code, exitCode, message }: Failure, count: number): Failure => {
  progress("")
  return new Failure({
    message: `${message}\n${sentAgain(count)} Repeat the command for the rest.`,
    exitCode,
    ...(code === undefined ? {} : { code })
  })
}

const resend = Command.make("resend", flags, (input) =>
  Effect.gen(function* () {
    const service = yield* signedIn
    const json = yield* wantsJson
    const one = Option.getOrUndefined(input.delivery)
    if (one !== undefined) {
      const { body } = yield* call(service, "deliveryActions.resend", { params: { id: one } })
      return json ? writeJson(body) : notice("It is sent again now.")
    }
    const filters = [input.since, input.event, input.endpoint, input.resource]
    if (!input.failed && filters.every(Option.isNone)) {
      return yield* usage("Which deliveries? Give an id, --failed, or a filter. See: pix events resend --help")
    }
    const nowMs = yield* Clock.currentTimeMillis
    const from = Option.match(input.since, { onNone: () => 0, onSome: (text) => sinceMs(text, nowMs) })
    if (from === undefined) {
      return yield* usage("--since is no instant from 1970 on. Examples: 2026-11-22T08:00:00Z, 2h, 1d.")
    }
    const filter = {
      ...Option.match(input.event, { onNone: () => ({}), onSome: (event) => ({ event }) }),
      ...Option.match(input.endpoint, { onNone: () => ({}), onSome: (endpoint_id) => ({ endpoint_id }) }),
      ...Option.match(input.resource, { onNone: () => ({}), onSome: (resource_id) => ({ resource_id }) }),
      since: formatInstant(from)
    }
    const found = yield* resendFailed(service, { ...filter, dry_run: true })
    const matching = failedDeliveries(found)
    if (input.dryRun || (found.count === 0 && !found.has_more)) {
      return json ? writeJson(found) : notice(`Found ${matching}.`)
    }
    yield* confirm(`Send ${matching} again?`, input.yes)
    const all = yield* resendAll(service, filter)
    if (json) writeJson(all)
    else notice(sentAgain(all.count))
    if (all.has_more) {
      notice("The service passes over the others: their endpoints were deleted. Narrow the filter to reach older ones.")
      process.exitCode = exitCodes.negative
    }
  })
).pipe(
  Command.withDescription("Send deliveries again: one, or the failed ones that meet a filter"),
  Command.withExamples([
    { command: "pix events resend 01a2027c-27ce-74b6-88f7-06b8f8b33cb6" },
    { command: "pix events resend --failed --since 2h", description: "After a count and a question" }
  ])
)

/** `pix events`. */
export const eventsCommand = Command.make("events").pipe(
  Command.withDescription("Events that were sent to endpoints"),
  Command.withExamples([{ command: "pix events resend --failed --since 2h" }]),
  Command.withSubcommands([resend])
)
