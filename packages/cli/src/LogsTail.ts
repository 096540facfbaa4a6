/**
 * `pix logs tail`: requests to `/v1` as they are logged. CLI-21.
 *
 * Guarantee: an entry that is stored later than a newer one is shown too, if it is not older than `OVERLAP_MS`.
 */
import type { RequestLogEntry } from "@pix-payments/api/operator/Logs"
import { parseInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { exitCodes, usage } from "./Failure.ts"
import { limitFlag } from "./LimitFlag.ts"
import { call, type Service } from "./OperatorClient.ts"
import { wantsJson } from "./Output.ts"
import { signedIn } from "./Profile.ts"
import { dim, drained, green, jsonOf, notice, printable, red, write, yellow } from "./Terminal.ts"

const INTERVAL = "1 second"
const OVERLAP_MS = 15_000
const PAGE = 100
/** Of one round. What is older is left out, with a notice. */
const MAX_PAGES = 20

const flags = {
  key: Flag.String("key").pipe(Flag.withDescription("Only requests with this key (id)"), Flag.optional),
  route: Flag.String("route").pipe(Flag.withDescription("Only this route: 'POST /v1/charges'"), Flag.optional),
  status: Flag.String("status").pipe(
    Flag.withDescription("Only this HTTP status: 422, or 4xx for a class"),
    Flag.optional
  ),
  limit: limitFlag("End after this number of requests")
}

/** Whether an entry has the status that was asked for. */
const matcher = (status: string | undefined): ((entry: RequestLogEntry) => boolean) => {
  if (status === undefined || /^\d{3}$/.test(status)) return () => true
  return (entry) => String(entry.status).startsWith(status.slice(0, 1))
}

const timeOf = ({ created_at }: RequestLogEntry): number => parseInstant(created_at) ?? 0

const show = (entry: RequestLogEntry, json: boolean): void => {
  if (json) return write(`${jsonOf(entry)}\n`)
  const colour = entry.status < 400 ? green : entry.status < 500 ? yellow : red
  const time = entry.created_at.slice(11, 19)
  write(
    `${dim(time)}  ${colour(String(entry.status))}  ${printable(entry.route).padEnd(28)}  ${entry.duration_ms} ms  ${dim(entry.request_id)}\n`
  )
}

/** The entries that are not older than an instant, oldest first. */
const entriesSince = Effect.fnUntraced(function* (service: Service, query: object, sinceMs: number) {
  const found: Array<RequestLogEntry> = []
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const { body } = yield* call(service, "requests.list", {
      query: { ...query, limit: PAGE, ...(after === undefined ? {} : { starting_after: after }) }
    })
    const { data, has_more: hasMore } = body as { data: ReadonlyArray<RequestLogEntry>; has_more: boolean }
    found.push(...data.filter((entry) => timeOf(entry) >= sinceMs))
    const last = data.at(-1)
    if (!hasMore || last === undefined || timeOf(last) < sinceMs) return found.toReversed()
    after = last.id
  }
  notice("There are more requests than can be shown: add a filter.")
  return found.toReversed()
})

/** The command. */
export const tailCommand = Command.make("tail", flags, ({ key, limit, route, status }) =>
  Effect.gen(function* () {
    const asked = Option.getOrUndefined(status)
    if (asked !== undefined && !/^(?:[1-5]\d\d|[1-5]xx)$/.test(asked)) {
      return yield* usage(`Not an HTTP status: ${asked}. Examples: 422, 4xx.`)
    }
    const service = yield* signedIn
    const json = yield* wantsJson
    const query = {
      ...Option.match(key, { onNone: () => ({}), onSome: (key_id) => ({ key_id }) }),
      ...Option.match(route, { onNone: () => ({}), onSome: (route) => ({ route }) }),
      ...(asked !== undefined && /^\d+$/.test(asked) ? { status: Number(asked) } : {})
    }
    const matches = matcher(asked)
    /** What was shown, and when it was logged. */
    const seen = new Map<string, number>()
    const first = (yield* call(service, "requests.list", { query: { limit: 1 } })).body as {
      data: ReadonlyArray<RequestLogEntry>
    }
    let newestMs = Math.max(0, ...first.data.map(timeOf))
    for (const entry of yield* entriesSince(service, query, newestMs - OVERLAP_MS)) seen.set(entry.id, timeOf(entry))
    notice(`Tailing the requests to ${service.url}.`)
    let left = Option.getOrElse(limit, () => Infinity)
    const round = Effect.gen(function* () {
      const entries = yield* entriesSince(service, query, newestMs - OVERLAP_MS)
      for (const entry of entries) {
        if (seen.has(entry.id)) continue
        seen.set(entry.id, timeOf(entry))
        newestMs = Math.max(newestMs, timeOf(entry))
        if (!matches(entry)) continue
        show(entry, json)
        yield* drained
        if (--left <= 0) return true
      }
      for (const [id, atMs] of seen) if (atMs < newestMs - OVERLAP_MS) seen.delete(id)
      return false
    }).pipe(
      // The service may be restarted meanwhile.
      Effect.catchTag("Failure", (failure) =>
        failure.exitCode === exitCodes.unreachable || failure.exitCode === exitCodes.unavailable
          ? Effect.succeed(false)
          : Effect.fail(failure)
      )
    )
    while (!(yield* round)) yield* Effect.sleep(INTERVAL)
  })
).pipe(
  Command.withDescription("Show requests to /v1 as they are answered"),
  Command.withExamples([
    { command: "pix logs tail --status 4xx" },
    { command: "pix logs tail --route 'POST /v1/charges'" }
  ])
)
