/** Questions before money moves, with the amount in words, before many deliveries are sent, with their number, and before an account is frozen. CLI-8. */
import type { OperatorAccount } from "@pix-payments/api/operator/Accounts"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { Resent } from "@pix-payments/api/operator/Deliveries"
import type { AcquirerException } from "@pix-payments/api/operator/Exceptions"
import type { OperatorCharge } from "@pix-payments/api/operator/Charges"
import type { OperatorPayout } from "@pix-payments/api/operator/Payouts"
import type { Refund } from "@pix-payments/domain/Refund"
import * as Effect from "effect/Effect"
import * as Prompt from "effect/cli/Prompt"
import { type Failure, usage } from "../Failure.ts"
import { amountOf } from "../Money.ts"
import { call, type Service } from "../OperatorClient.ts"
import { canAsk, printable } from "../Terminal.ts"
import { approvalQuestion, destinationOf } from "./ApprovalQuestion.ts"

/** Asks, unless `--yes` was given. Fails if nobody can answer, or the answer is no. */
export const confirm = Effect.fnUntraced(function* (question: string, isSure: boolean) {
  if (isSure) return
  if (!canAsk()) return yield* usage(`${question}\nNobody can answer here: add --yes to do it.`)
  // The prompt is the last line. What it asks about stands above it.
  const lines = question.split("\n")
  for (const line of lines.slice(0, -1)) process.stderr.write(`${line}\n`)
  const isYes = yield* Prompt.run(Prompt.Confirm({ message: lines.at(-1) ?? "", initial: false }))
  if (!isYes) return yield* usage("Nothing was done.")
})

/** The amount of a request, as it will be sent. */
const requested = (amount: unknown): Effect.Effect<number, Failure> =>
  typeof amount === "number" && Number.isSafeInteger(amount) && amount > 0
    ? Effect.succeed(amount)
    : Effect.fail(
        usage(`The amount is a number of cents from 1, not ${printable(JSON.stringify(amount) ?? "nothing")}.`)
      )

/** The amount of a request in figures and words. */
export const requestedAmount = (amount: unknown): Effect.Effect<string, Failure> =>
  Effect.map(requested(amount), amountOf)

interface Asked {
  readonly service: Service
  readonly id: string
  readonly payload: Readonly<Record<string, unknown>>
}

type Question = (asked: Asked) => Effect.Effect<string | void, Failure>

/** What the service has under an id. */
const stored = <A>({ id, service }: Asked, operation: string): Effect.Effect<A, Failure> =>
  Effect.map(call(service, operation, { params: { id } }), ({ body }) => body as A)

/** The name of an account, and its id. The call that follows says why an account cannot be read. */
const accountNamed = (service: Service, id: string): Effect.Effect<string> =>
  Effect.match(stored<OperatorAccount>({ service, id, payload: {} }, "accounts.retrieve"), {
    onSuccess: ({ name }) => `${printable(name)} (${id})`,
    onFailure: () => id
  })

/** `at least 3 failed deliveries`. */
export const failedDeliveries = ({ count, has_more }: Resent): string =>
  `${has_more ? "at least " : ""}${count} failed ${count === 1 ? "delivery" : "deliveries"}`

const payerOf = ({ payer }: AcquirerException): string => printable(payer?.name ?? "the payer")

/** The account that accepts the money of an exception. */
const acceptingAccount = (
  { payload, service }: Asked,
  exception: AcquirerException
): Effect.Effect<string, Failure> => {
  const [chosen, charge] = [payload["account_id"], payload["charge_id"] ?? exception.charge_id]
  if (typeof chosen === "string") return accountNamed(service, chosen)
  if (typeof charge !== "string") return Effect.succeed("of no charge")
  return Effect.flatMap(
    stored<OperatorCharge>({ service, id: charge, payload }, "charges.retrieve"),
    ({ account_id: id }) => Effect.map(accountNamed(service, id), (account) => `${account}, charge ${charge}`)
  )
}

const settle = (what: string, { payload }: Asked): string =>
  `Settle ${what} as ${printable(String(payload["outcome"]))}, without the bank's answer?`

/** The operations that ask, and what. */
const questions: Readonly<Record<string, Question>> = {
  "accounts.move": ({ id, payload, service }) =>
    Effect.map(
      accountNamed(service, id),
      (account) =>
        `Freeze account ${account}? Its requests are 503 until it lives in the cell ${printable(String(payload["target"]))}.`
    ),
  "payoutActions.create": ({ id, payload, service }) =>
    Effect.gen(function* () {
      const cents = yield* requested(payload["amount"])
      const part = (field: string) => (payload[field] === undefined ? null : String(payload[field]))
      const recipient = {
        document: part("recipient_document"),
        pix_key_type: null,
        pix_key: part("pix_key"),
        bank: part("bank"),
        branch: part("branch"),
        account: part("account"),
        account_type: part("account_type")
      }
      const to = destinationOf(recipient, part("recipient_name"))
      return `Send ${amountOf(cents)} from account ${yield* accountNamed(service, id)} to ${to}?`
    }),
  "payoutActions.approve": (asked) =>
    Effect.gen(function* () {
      const {
        account_id: id,
        amount,
        duplicate_of,
        recipient
      } = yield* stored<OperatorPayout>(asked, "payouts.retrieve")
      const repeated = duplicate_of === null ? "" : `, as payout ${duplicate_of} did before`
      const from = yield* accountNamed(asked.service, id)
      return `Send ${amountOf(amount)} from account ${from} to ${destinationOf(recipient, recipient.name)}${repeated}?`
    }),
  "chargeActions.refund": (asked) =>
    Effect.gen(function* () {
      const { amount: part = null } = asked.payload
      const cents = part === null ? undefined : yield* requested(part)
      const { amount, customer, refunded_amount } = yield* stored<OperatorCharge>(asked, "charges.retrieve")
      const left = `what the account has of ${amountOf(amount - refunded_amount)}`
      return `Refund ${cents === undefined ? left : amountOf(cents)} to ${printable(customer?.name ?? "the payer")}?`
    }),
  "deliveryActions.resendFailed": ({ payload, service }) => {
    if (payload["dry_run"] === true) return Effect.void
    const counted = call(service, "deliveryActions.resendFailed", { payload: { ...payload, dry_run: true } })
    return Effect.map(counted, ({ body }) => `Send ${failedDeliveries(body as Resent)} again?`)
  },
  "exceptionActions.resolve": (asked) =>
    Effect.gen(function* () {
      const { action, amount: part = null } = asked.payload
      if (action !== "return" && action !== "accept") return
      const exception = yield* stored<AcquirerException>(asked, "exceptions.retrieve")
      const cents = part === null ? exception.unallocated : yield* requested(part)
      if (action === "return") return `Return ${amountOf(cents)} to ${payerOf(exception)}?`
      const account = yield* acceptingAccount(asked, exception)
      return cents < 0
        ? `Take ${amountOf(-cents)} from account ${account}?`
        : `Accept ${amountOf(cents)} for account ${account}?`
    }),
  "payoutActions.settle": (asked) =>
    Effect.gen(function* () {
      const { account_id: id, amount, recipient } = yield* stored<OperatorPayout>(asked, "payouts.retrieve")
      const from = yield* accountNamed(asked.service, id)
      return settle(
        `the payout of ${amountOf(amount)} from account ${from} to ${destinationOf(recipient, recipient.name)}`,
        asked
      )
    }),
  "refundActions.settle": (asked) =>
    Effect.gen(function* () {
      const { account_id: id, amount, charge_id } = yield* stored<Refund>(asked, "refunds.retrieve")
      const account = yield* accountNamed(asked.service, id)
      return settle(`the refund of ${amountOf(amount)} of charge ${charge_id}, account ${account},`, asked)
    }),
  "exceptionActions.settle": (asked) =>
    Effect.map(stored<AcquirerException>(asked, "exceptions.retrieve"), (exception) =>
      settle(`the return to ${payerOf(exception)}, of ${amountOf(exception.amount)} that arrived,`, asked)
    ),
  "exceptionActions.refund": (asked) =>
    Effect.gen(function* () {
      const { amount: part = null } = asked.payload
      const cents = part === null ? undefined : yield* requested(part)
      const exception = yield* stored<AcquirerException>(asked, "exceptions.retrieve")
      const what = cents === undefined ? "all that is left" : amountOf(cents)
      return `Refund ${what} to ${payerOf(exception)}?`
    }),
  "adjustments.create": ({ payload, service }) =>
    Effect.gen(function* () {
      const { account_id: id, amount } = payload
      const cents = yield* requested(Math.abs(Number(amount)))
      const account = yield* accountNamed(service, String(id))
      return Number(amount) > 0
        ? `Give ${amountOf(cents)} to account ${account}?`
        : `Take ${amountOf(cents)} from account ${account}?`
    }),
  "approvalActions.approve": (asked) =>
    Effect.map(stored<Approval>(asked, "approvals.retrieve"), (approval) => approvalQuestion([approval]))
}

/** Whether an operation asks before it acts. */
export const asks = (operation: string): boolean => operation in questions

/** The question of an operation, if it has one. */
export const questionOf = (operation: string, asked: Asked): Effect.Effect<string | void, Failure> =>
  questions[operation]?.(asked) ?? Effect.void
