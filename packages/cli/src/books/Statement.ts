/** `pix statement`: the lines of some days as a file, or a month with all files as a zip. CLI-40. */
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { type Failure, usage } from "../Failure.ts"
import { signedIn } from "../Profile.ts"
import { writeFile } from "../resources/Files.ts"
import { notice } from "../Terminal.ts"
import { operationOf, ownerFlags, ownerOf } from "./Owner.ts"

const formats = ["csv", "ofx", "ofx1", "journal", "jsonl", "zip"] as const

const optional = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

/** Parameters of the operation, as they are. */
const parameters = {
  separator: optional("separator", "Of CSV: , ; or tab"),
  decimal: optional("decimal", "Of CSV and journal: . or ,"),
  bom: optional("bom", "Of CSV and journal: true begins with a byte order mark"),
  chart: optional("chart", "Of a journal: available=2.1.1.01,acquirer=1.1.1.02"),
  reveal: optional("reveal", "true shows documents that the role sees masked")
}

interface Period {
  readonly from: Option.Option<string>
  readonly to: Option.Option<string>
  readonly month: Option.Option<string>
}

/** The first and the last day, inclusive. */
const daysOf = ({ from, month, to: until }: Period): Effect.Effect<{ from: string; to: string }, Failure> => {
  if (Option.isSome(month)) {
    const [, year = "", number = ""] = /^([1-9]\d{3})-(0[1-9]|1[0-2])$/.exec(month.value) ?? []
    if (year === "" || Option.isSome(from) || Option.isSome(until)) {
      return Effect.fail(usage("--month is as 2026-11, and stands instead of --from and --to."))
    }
    const to = formatInstant(Date.UTC(Number(year), Number(number), 0)).slice(0, 10)
    return Effect.succeed({ from: `${month.value}-01`, to })
  }
  return Option.isSome(from) && Option.isSome(until)
    ? Effect.succeed({ from: from.value, to: until.value })
    : Effect.fail(usage("Give --month, or --from and --to."))
}

/** The command. */
export const statementCommand = Command.make(
  "statement",
  {
    ...ownerFlags,
    format: Flag.Literals("format", formats).pipe(
      Flag.withDescription("csv, ofx1 (OFX 1.02), ofx (2.2), journal, jsonl; zip: all of a month, with the closes")
    ),
    month: optional("month", "yyyy-mm: a whole month"),
    from: optional("from", "yyyy-mm-dd: the first day"),
    to: optional("to", "yyyy-mm-dd: the last day, inclusive"),
    ...parameters
  },
  (flags) =>
    Effect.gen(function* () {
      const owner = yield* ownerOf(flags)
      const days = yield* daysOf(flags)
      const given = Object.fromEntries(
        Object.keys(parameters).flatMap((name) =>
          Option.match(flags[name as keyof typeof parameters], {
            onNone: () => [],
            onSome: (value) => [[name, value] as const]
          })
        )
      )
      const service = yield* signedIn
      if (flags.format === "zip") {
        if (Option.isNone(flags.month)) return yield* usage("A zip is of a whole month: --month 2026-11.")
        const name = yield* writeFile(service, "closes.package", {
          params: { month: flags.month.value },
          query: { ...given, [`${owner.kind}_id`]: owner.id }
        })
        const until = /-incomplete-until-([\d-]+)/.exec(name)?.[1]
        if (until !== undefined) notice(`Days of the month are not closed yet. The files are until ${until}.`)
        return
      }
      yield* writeFile(service, operationOf(owner, "statement"), {
        params: { id: owner.id },
        query: { ...days, format: flags.format, ...given }
      })
    })
).pipe(
  Command.withDescription("Write the statement of an account or a bank account to standard output"),
  Command.withExamples([
    {
      command:
        "pix statement --account 01a2027c-27ce-74b6-88f7-06b8f8b33cb6 --month 2026-11 --format zip > november.zip"
    }
  ])
)
