/** A history that the model (`Model.ts`) draws, run step by step by the service: each answers the same, or the history fails. */
import { assert } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounts } from "../../src/accounts/Accounts.ts"
import type { Confirmed } from "../../src/accounts/Caller.ts"
import type { AcquirerNotification, Reversal } from "../../src/providers/AcquirerNotification.ts"
import { newEndToEndId } from "../../src/providers/simulator/SimulatedInstitution.ts"
import { SimulatorNotifications } from "../../src/reports/SimulatorNotifications.ts"
import { Cancellations } from "../../src/payments/charges/Cancellations.ts"
import { Defenses } from "../../src/payments/disputes/Defenses.ts"
import { RefundOrders } from "../../src/payments/refunds/RefundOrders.ts"
import { NewCharges } from "../../src/payments/charges/NewCharges.ts"
import { DisputeStore } from "../../src/payments/disputes/DisputeStore.ts"
import { NewPayouts } from "../../src/payments/payouts/creation/NewPayouts.ts"
import { Payouts } from "../../src/payments/payouts/Payouts.ts"
import {
  apply,
  type Command,
  newWorld,
  nextCommand,
  type Random,
  randomFrom,
  type Recipient,
  type World
} from "./Model.ts"
import { newKey } from "./TestService.ts"

/** A history, as far as it has run. */
export interface History {
  readonly seed: number
  readonly random: Random
  readonly world: World
  readonly log: Array<string>
  readonly callers: ReadonlyArray<Confirmed>
  readonly charges: Array<string>
  readonly settlements: Array<string>
  readonly payouts: Array<{ readonly id: string; readonly key: string }>
  readonly disputes: Array<string>
}

export const begin = Effect.fnUntraced(function* (seed: number) {
  const accounts = yield* Accounts
  const random = randomFrom(seed)
  const world = newWorld(random)
  const callers = yield* Effect.forEach(world.accounts, (model) =>
    Effect.gen(function* () {
      const account = yield* accounts.create({
        name: "Loja",
        legal_name: "Loja Ltda",
        phone: "+5511999998888",
        document: "11222333000181",
        document_type: "cnpj",
        auto_payout_enabled: model.auto,
        payout_fee: { fixed: model.feeFixed, basis_points: model.feeBasisPoints },
        release_delay: model.releaseDelay ? 86_400 : 0,
        payout_duplicate_window: model.guarded ? 86_400 : 0
      })
      const application = yield* accounts.createApplication(account.id, "Loja")
      const caller: Confirmed = {
        _tag: "Confirmed",
        keyId: application.id,
        scopes: [],
        applicationId: application.id,
        requestsPerMinute: { ofKey: null, ofAccount: null },
        isPayoutLimited: false,
        account: {
          id: account.id,
          name: account.name,
          document: account.document,
          status: account.status,
          onboardingStatus: account.onboarding_status,
          defaultExpiresInSeconds: account.default_expires_in,
          chargesPaused: false,
          isMoved: false,
          connectionId: null
        }
      }
      return caller
    })
  )
  const history: History = {
    seed,
    random,
    world,
    log: world.accounts.map((account, index) => `account ${index}: ${JSON.stringify(account)}`),
    callers,
    charges: [],
    settlements: [],
    payouts: [],
    disputes: []
  }
  return history
})

export const takeStep = Effect.fnUntraced(function* (history: History) {
  const command = nextCommand(history.world, history.random)
  history.log.push(JSON.stringify(command))
  const before = history.world.disputes.length
  const expected = apply(history.world, command)
  const answers = yield* Effect.catchDefect(perform(history, command), (defect) =>
    Effect.succeed([`defect: ${String(defect)}`])
  )
  history.log.push(`   ${answers.join(", ")}`)
  if (JSON.stringify(answers) !== JSON.stringify(expected)) {
    fail(history, `the model answers ${JSON.stringify(expected)}, the service ${JSON.stringify(answers)}`)
  }
  // A dispute's id is not answered: it is the newest of its charge.
  for (let index = before; index < history.world.disputes.length; index++) {
    const { charge } = history.world.disputes[index]!
    const store = yield* DisputeStore
    const {
      rows: [newest]
    } = yield* store.list({ chargeId: history.charges[charge]! }, { limit: 1, startingAfter: undefined })
    if (newest === undefined) return fail(history, `charge ${charge} has no dispute`)
    history.disputes.push(newest.id)
  }
})

export const fail = (history: History, reason: string): never =>
  assert.fail(
    `${reason}\n\nMODEL_SEED=${history.seed} replays it. Its history:\n${history.log
      .map((line, index) => `${String(index).padStart(3)}  ${line}`)
      .join("\n")}`
  )

/** The answer of a caller: a status, an outcome, or the name of an error. */
const answered = <A, E extends { readonly _tag: string }, R>(
  effect: Effect.Effect<A, E, R>,
  answer: (value: A) => string
) => Effect.match(effect, { onSuccess: answer, onFailure: ({ _tag }) => _tag })

const perform = Effect.fnUntraced(function* (history: History, command: Command) {
  switch (command.kind) {
    case "create-charge":
      return [yield* createCharge(history, command)]
    case "create-payout":
      return [yield* createPayout(history, command)]
    case "toggle-auto": {
      const accounts = yield* Accounts
      const { auto } = history.world.accounts[command.account]!
      yield* accounts.update(history.callers[command.account]!.account.id, { auto_payout_enabled: auto })
      return ["done"]
    }
    default: {
      const once = actOnce(history, command)
      const answers = yield* Effect.forEach(Array.from({ length: command.times }), () => once, {
        concurrency: "unbounded"
      })
      return answers.toSorted()
    }
  }
})

const payers = {
  ordinary: "ana@example.com",
  refuse: "refuse@simulator.test",
  timeout: "timeout@simulator.test"
} as const

const createCharge = Effect.fnUntraced(function* (
  history: History,
  { account, amount, method, payer }: Extract<Command, { kind: "create-charge" }>
) {
  const charges = yield* NewCharges
  const caller = history.callers[account]!
  const body = { amount, customer: { name: "Ana", email: payers[payer], document: "52998224725" } }
  const made =
    method === "pix"
      ? charges.create(caller, newKey(), body)
      : charges.createForCheckout({ id: caller.applicationId, accountId: caller.account.id }, undefined, {
          ...body,
          method,
          amount
        })
  const settled = yield* Effect.match(made, {
    onSuccess: ({ charge }) => ({ id: charge.id, answer: charge.status as string }),
    onFailure: (error) =>
      error._tag === "ChargeRejected" ? { id: error.chargeId, answer: error._tag } : { id: "", answer: error._tag }
  })
  history.charges.push(settled.id)
  history.settlements.push(newEndToEndId(Number.parseInt(settled.id.replaceAll("-", "").slice(0, 12), 16) || 0))
  return settled.answer
})

const recipients: Readonly<Record<Recipient, string>> = {
  ordinary: "ana@example.com",
  fail: "fail@simulator.test",
  hold: "hold@simulator.test",
  timeout: "timeout@simulator.test"
}

const createPayout = Effect.fnUntraced(function* (
  history: History,
  { account, amount, recipient, repeats }: Extract<Command, { kind: "create-payout" }>
) {
  const newPayouts = yield* NewPayouts
  const repeated = repeats === undefined ? undefined : history.payouts[repeats]!
  const key = repeated?.key ?? newKey()
  const owner = repeats === undefined ? account : history.world.payouts[repeats]!.account
  const body = { amount, pix_key_type: "email", pix_key: recipients[recipient] }
  return yield* answered(newPayouts.create(history.callers[owner]!, key, body), ({ payout, replayed }) => {
    if (!replayed) history.payouts.push({ id: payout.id, key })
    else if (payout.id !== repeated?.id) return `replayed another payout`
    return replayed ? `replayed ${payout.status}` : payout.status
  })
})

const notified = (notification: AcquirerNotification) =>
  SimulatorNotifications.use(({ notify }) => answered(notify(notification), String))

/** Of the Pix that paid the charge; while none has, of the one that is meant for it. */
const reversed = Effect.fnUntraced(function* (
  { charges, settlements }: History,
  { charge }: Extract<Command, { kind: "charge" }>,
  reversal: Unnamed<Reversal>
) {
  const sql = yield* SqlClient
  const [paid] = yield* Effect.orDie(
    sql<{ end_to_end_id: string }>`SELECT end_to_end_id FROM charges
      WHERE id = ${charges[charge]!}::uuid AND end_to_end_id IS NOT NULL`
  )
  return yield* notified({ ...reversal, endToEndId: paid?.end_to_end_id ?? settlements[charge]! })
})

type Unnamed<A> = A extends unknown ? Omit<A, "endToEndId"> : never

const actOnce = (
  history: History,
  command: Extract<Command, { kind: "charge" | "payout" | "dispute" }>
): Effect.Effect<
  string,
  never,
  SimulatorNotifications | Cancellations | RefundOrders | Defenses | Payouts | SqlClient
> => {
  if (command.kind === "payout") {
    const { id: payoutId } = history.payouts[command.payout]!
    switch (command.action) {
      case "approve":
        return Payouts.use(({ approve }) => answered(approve(payoutId), ({ status }) => status))
      case "cancel":
        return Payouts.use(({ cancel }) => answered(cancel(payoutId), ({ status }) => status))
      case "complete":
        return notified({ _tag: "payout.completed", payoutId })
      case "fail":
        return notified({ _tag: "payout.failed", payoutId, reason: "x" })
    }
  }
  if (command.kind === "dispute") {
    const disputeId = history.disputes[command.dispute]!
    switch (command.action) {
      case "won":
        return notified({ _tag: "med.won", disputeId })
      case "lost":
        return notified({ _tag: "med.lost", disputeId })
      case "message":
        return notified({ _tag: "med.message", disputeId, text: "x" })
      case "defend":
        return Defenses.use(({ file }) => answered(file(disputeId, { text: "x", files: [] }), ({ status }) => status))
    }
  }
  const id = history.charges[command.charge]!
  const txid = txidFromId(id)
  switch (command.action) {
    case "pay":
      return notified({ _tag: "charge.paid", txid, endToEndId: history.settlements[command.settlement]! })
    case "fail":
      return notified({ _tag: "charge.failed", txid })
    case "refunded":
      return reversed(history, command, { _tag: "charge.refunded", txid })
    case "infraction":
      return reversed(history, command, { _tag: "med.opened", txid, reason: "x" })
    case "return":
      return reversed(history, command, { _tag: "charge.returned", txid, as: command.as })
    case "cancel":
      return Cancellations.use(({ cancel }) => answered(cancel(id), ({ status }) => status))
    case "refund":
      return RefundOrders.use(({ refund }) => answered(refund(id), ({ status }) => status))
    case "expire":
      // In one transaction: another one of the same charge would write the lifetime of an earlier end over its own.
      return SqlClient.use((sql) =>
        sql`UPDATE charges SET expires_at = now() - interval '1 hour' WHERE id = ${id}::uuid
          AND status = 'pending'`.pipe(
          Effect.andThen(
            sql`UPDATE charge_states s SET lifetime_ms = (extract(epoch FROM c.expires_at - c.created_at) * 1000)::bigint
              FROM charges c WHERE c.id = ${id}::uuid AND s.charge_id = c.id AND s.status = 'pending'`
          ),
          sql.withTransaction,
          Effect.orDie,
          Effect.as("done")
        )
      )
  }
}
