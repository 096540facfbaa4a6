/** `pix closes`: the daily closes of an account or a bank account. CLI-40. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { limitFlag } from "../LimitFlag.ts"
import { wantsJson } from "../Output.ts"
import { signedIn } from "../Profile.ts"
import { showList } from "../resources/Pages.ts"
import { operationOf, ownerFlags, ownerOf } from "./Owner.ts"

/** The command. */
export const closesCommand = Command.make(
  "closes",
  {
    ...ownerFlags,
    overdue: Flag.Boolean("overdue").pipe(
      Flag.withDescription("Accounts and bank accounts with an ended day that is not closed"),
      Flag.withDefault(false)
    ),
    limit: limitFlag("How many days, the newest first. Default: 20")
  },
  ({ limit, overdue, ...flags }) =>
    Effect.gen(function* () {
      const owner = overdue ? undefined : yield* ownerOf(flags)
      const service = yield* signedIn
      yield* showList(service, {
        operation: owner === undefined ? "closes.overdue" : operationOf(owner, "closes"),
        params: owner === undefined ? {} : { id: owner.id },
        query: {},
        limit: Option.getOrUndefined(limit),
        isAll: false,
        json: yield* wantsJson
      })
    })
).pipe(
  Command.withDescription("List the daily closes of an account or a bank account"),
  Command.withExamples([{ command: "pix closes --account 01a2027c-27ce-74b6-88f7-06b8f8b33cb6 --limit 31" }])
)
