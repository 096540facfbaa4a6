/** `pix balance`: what accounts have. CLI-24. */
import type { OperatorAccount } from "@pix-payments/api/operator/Accounts"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import { call } from "./OperatorClient.ts"
import { type Row, showTable, wantsJson, writeJson } from "./Output.ts"
import { signedIn } from "./Profile.ts"
import { eachPage } from "./resources/Pages.ts"

const account = Argument.String("account-id").pipe(
  Argument.withDescription("The account. Default: every account"),
  Argument.optional
)

/** The command. */
export const balanceCommand = Command.make("balance", { account }, ({ account }) =>
  Effect.gen(function* () {
    const service = yield* signedIn
    const json = yield* wantsJson
    const rows: Array<Row> = []
    const add = ({ balance, id, name }: OperatorAccount) => {
      const { object: _, ...amounts } = balance as Row
      rows.push({ account_id: id, name, ...amounts })
    }
    if (Option.isSome(account)) {
      add((yield* call(service, "accounts.retrieve", { params: { id: account.value } })).body as OperatorAccount)
    } else {
      yield* eachPage(service, { operation: "accounts.list", params: {}, query: {} }, Infinity, (items) =>
        Effect.sync(() => {
          for (const item of items) add(item as unknown as OperatorAccount)
          return true
        })
      )
    }
    if (json) writeJson({ object: "list", data: rows })
    else showTable(rows)
  })
).pipe(
  Command.withDescription("Show the balance of an account, or of every account"),
  Command.withExamples([{ command: "pix balance" }])
)
