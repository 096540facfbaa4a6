/**
 * `pix approvals approve ID…`: approves requests of other operators. CLI-18, CLI-44.
 *
 * Guarantees:
 * - One question shows all of them, and what they do together. What is approved is what it showed: a request never changes.
 * - The command can be repeated: a request that is approved already is done.
 * - One that is refused stops no other, and the exit code says so.
 */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { exitCodes, Failure, usage } from "./Failure.ts"
import { reais } from "./Money.ts"
import { type Answer, call, type Service } from "./OperatorClient.ts"
import { wantsJson, writeJson } from "./Output.ts"
import { signedIn } from "./Profile.ts"
import { approvalQuestion } from "./resources/ApprovalQuestion.ts"
import { confirm } from "./resources/Questions.ts"
import { showAnswer, showApproved } from "./resources/ResourceCommands.ts"
import { green, notice, printable, withTime, write } from "./Terminal.ts"

/** What one question can show. */
const MOST = 100

const isApproved = ({ body }: Answer): boolean => (body as Approval).status === "approved"

const read = (service: Service, id: string) => call(service, "approvals.retrieve", { params: { id } })

/** Approves a request as it was read. One that somebody approved meanwhile is done as well. */
const approve = (service: Service, found: Answer, reason: string | null): Effect.Effect<Answer, Failure> => {
  const { id } = found.body as Approval
  if (isApproved(found)) return Effect.succeed(found)
  return call(service, "approvalActions.approve", { params: { id }, payload: { reason } }).pipe(
    withTime,
    Effect.catchIf(
      ({ exitCode }) => exitCode === exitCodes.refused,
      (failure) => Effect.filterOrElse(read(service, id), isApproved, () => Effect.fail(failure))
    )
  )
}

/** Whether a failure is about one request, and says nothing of the others. */
const isOfOne = ({ exitCode }: Failure): boolean => exitCode === exitCodes.refused || exitCode === exitCodes.denied

const showOne = ({ body }: Answer, json: boolean): void => {
  const approval = body as Approval
  const { id, summary } = approval
  if (json) writeJson(body)
  else {
    const amount = summary.amount === null ? "" : `  ${reais(summary.amount)}`
    write(`${green("approved")}  ${id}  ${printable(summary.title)}${amount}\n`)
  }
  showApproved(approval)
}

/** The command. */
export const approveCommand = Command.make(
  "approve",
  {
    ids: Argument.String("approval-id").pipe(
      Argument.withDescription("The ids of the approvals"),
      Argument.variadic({ min: 1 })
    ),
    reason: Flag.String("reason").pipe(Flag.withDescription("Kept with the decision"), Flag.optional),
    yes: Flag.Boolean("yes").pipe(Flag.withAlias("y"), Flag.withDescription("Do not ask"), Flag.withDefault(false))
  },
  ({ ids: given, reason, yes }) =>
    Effect.gen(function* () {
      const service = yield* signedIn
      const json = yield* wantsJson
      const wrong = given.find((id) => !isUuid(id))
      if (wrong !== undefined) return yield* usage(`Not an id: ${wrong}`)
      const ids = [...new Set(given.map((id) => id.toLowerCase()))]
      if (ids.length > MOST) return yield* usage(`At most ${MOST} requests are approved at once.`)
      const found = yield* Effect.forEach(ids, (id) => read(service, id), { concurrency: 4 })
      const pending = found.map(({ body }) => body as Approval).filter(({ status }) => status === "pending")
      if (pending.length > 0) yield* confirm(approvalQuestion(pending), yes)
      for (const each of found) {
        const approving = approve(service, each, Option.getOrNull(reason))
        if (found.length === 1) return showAnswer(yield* approving, json)
        const { id } = each.body as Approval
        const outcome = yield* Effect.result(approving)
        if (outcome._tag === "Success") showOne(outcome.success, json)
        else if (isOfOne(outcome.failure)) {
          notice(`${id} is not approved: ${outcome.failure.message}`)
          process.exitCode = outcome.failure.exitCode
        } else {
          const { exitCode, message } = outcome.failure
          return yield* new Failure({
            message: `${message}\n${id} may have been approved. Repeat the command: what is approved stays as it is.`,
            exitCode
          })
        }
      }
    })
).pipe(
  Command.withDescription(
    "Approve requests of other operators\n\n  Each action is done in the commit of its approval. The question shows all requests, their sum and the balances after them. The command can be repeated."
  ),
  Command.withShortDescription("Approve requests of other operators"),
  Command.withExamples([
    {
      command:
        "pix approvals approve 01a2027c-27ce-74b6-88f7-06b8f8b33cb6 01a2027d-50c1-7a0e-b0a1-2f3c4d5e6f70 --reason 'as agreed'"
    }
  ])
)
