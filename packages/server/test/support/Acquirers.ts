/** What payers, banks and analysts do at an acquirer, for the simulator and for a double of Efí alike. */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { formatInstant } from "@pix-payments/domain/Instant"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { connectedBank, type ConnectedBank, sweepNow } from "./ConnectedBank.ts"
import { disputesOf, med } from "./Disputes.ts"
import { notified, paymentOf } from "./Exceptions.ts"
import { holding, operated, simulated } from "./Money.ts"
import { idAtProvider } from "./Payouts.ts"
import { eventually } from "./Receiver.ts"
import { TestService } from "./TestService.ts"

/** A Pix as the acquirer has it. */
export interface Payment {
  readonly endToEndId: string
  readonly paidAt: string
}

/** The dispute of a charge, as the service and the acquirer name it. */
export interface OpenedDispute {
  readonly id: string
  readonly atAcquirer: string
}

const simulator = Effect.gen(function* () {
  const { makeCaller } = yield* TestService
  const { accountId, key } = yield* makeCaller()
  return {
    accountId,
    key,
    connectionId: SIMULATOR_CONNECTION,
    /** A recipient whose payouts wait for their outcome. */
    recipient: holding.pix_key,
    pay: (chargeId: string, amount: number) =>
      Effect.gen(function* () {
        // A minute ago, so that the instant is the acquirer's and not the service's.
        const atMs = (yield* Clock.currentTimeMillis) - 60_000
        const payment = paymentOf(chargeId, { amount, atMs })
        yield* notified(payment)
        return paymentAt(payment.endToEndId ?? "", atMs)
      }),
    completePayout: (id: string) => simulated(`/payouts/${id}/complete`),
    failPayout: (id: string) => simulated(`/payouts/${id}/fail`, { reason: "account closed" }),
    openDispute: (chargeId: string, amount: number) =>
      Effect.map(med(chargeId, { amount }), ({ id }): OpenedDispute => ({ id, atAcquirer: id })),
    /** Ends once the acquirer has the defense. */
    defended: (dispute: OpenedDispute) =>
      eventually(operated<{ status: string }>("GET", `/disputes/${dispute.id}`), ({ status }) => status !== "open"),
    win: ({ id }: OpenedDispute) => simulated(`/disputes/${id}/win`),
    lose: ({ id }: OpenedDispute) => simulated(`/disputes/${id}/lose`),
    /** The acquirer returns a part by itself, without a dispute that was reported. */
    giveBack: (chargeId: string, _payment: Payment, amount: number) =>
      simulated(`/charges/${chargeId}/return`, { as: "charged_back", amount }),
    /** Brings what happened at the acquirer to the service. */
    reported: Effect.void,
    isWithdrawn: (_chargeId: string): boolean => true,
    /** Cents at the acquirer; undefined where it keeps no balance. */
    balance: (): number | undefined => undefined,
    breaches: (): ReadonlyArray<unknown> => []
  }
})

/** Outcomes come by callback, and what has no callback by a sweep; or, with every callback lost, all by sweeps. */
const efi = Effect.fnUntraced(function* (reports: "callbacks" | "sweeps") {
  const bank = yield* connectedBank({
    profile: "efi",
    settings: { openingCents: OPENING, payoutFate: () => ({ _tag: "Held" }) }
  })
  const { double } = bank
  const { infractions, payouts, receipts } = double.provider
  yield* sweepNow(bank)
  if (reports === "callbacks") {
    Result.getOrThrow(double.provider.webhooks.put(double.key, bank.url))
    yield* withoutSweeps(bank)
  }
  const settled = Effect.promise(() => double.settle())
  const swept = Effect.gen(function* () {
    if (reports === "callbacks") yield* withSweeps(bank)
    yield* sweepNow(bank)
    if (reports === "callbacks") yield* withoutSweeps(bank)
  })
  const reported = reports === "callbacks" ? settled : Effect.andThen(settled, swept)
  const endPayout = (id: string, outcome: Parameters<typeof payouts.settle>[1]) =>
    Effect.gen(function* () {
      const name = yield* idAtProvider(id)
      yield* eventually(
        Effect.sync(() => payouts.get(name)),
        Result.isSuccess
      )
      Result.getOrThrow(payouts.settle(name, outcome))
    })
  const close = ({ atAcquirer }: OpenedDispute, status: "ACEITA" | "REJEITADA") =>
    Effect.suspend(() => {
      Result.getOrThrow(infractions.close(atAcquirer, status))
      return Effect.andThen(settled, swept)
    })

  return {
    accountId: bank.accountId,
    key: bank.key,
    connectionId: bank.connectionId,
    recipient: "ana@example.com",
    pay: (chargeId: string, amount: number) =>
      Effect.sync(() => {
        const pix = Result.getOrThrow(receipts.payCob(txidFromId(chargeId), { cents: amount }))
        return paymentAt(pix.endToEndId, pix.atMs)
      }),
    completePayout: (id: string) => endPayout(id, {}),
    failPayout: (id: string) => endPayout(id, { error: { code: "AC03", origin: "x", reason: "account closed" } }),
    openDispute: (chargeId: string, amount: number, { endToEndId }: Payment) =>
      Effect.gen(function* () {
        const { id: atAcquirer } = Result.getOrThrow(infractions.open(endToEndId, { cents: amount }))
        yield* swept
        const [dispute] = yield* eventually(disputesOf(chargeId), ([found]) => found?.status === "open")
        return { id: dispute!.id, atAcquirer } satisfies OpenedDispute
      }),
    defended: ({ atAcquirer }: OpenedDispute) =>
      eventually(
        Effect.sync(() => Result.getOrThrow(infractions.get(atAcquirer))),
        ({ defense }) => defense !== undefined
      ),
    win: (dispute: OpenedDispute) => close(dispute, "REJEITADA"),
    lose: (dispute: OpenedDispute) => close(dispute, "ACEITA"),
    giveBack: (_chargeId: string, { endToEndId }: Payment, amount: number) =>
      Effect.sync(() => Result.getOrThrow(receipts.takeBack(endToEndId, amount))),
    reported,
    isWithdrawn: (chargeId: string) =>
      Result.getOrThrow(double.provider.cobs.get(txidFromId(chargeId))).status === "REMOVIDA_PELO_USUARIO_RECEBEDOR",
    balance: (): number | undefined => double.provider.balanceCents() - OPENING,
    breaches: () => [...double.violations, ...double.defects]
  }
})

const OPENING = 100_000

const paymentAt = (endToEndId: string, atMs: number): Payment => ({ endToEndId, paidAt: formatInstant(atMs) })

/** A sweep that is running would end this: it is called after one has ended. */
const withoutSweeps = ({ connectionId }: ConnectedBank) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`UPDATE acquirer_connections SET due_at = 'infinity' WHERE id = ${connectionId}::uuid`
  )

const withSweeps = ({ connectionId }: ConnectedBank) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`UPDATE acquirer_connections SET due_at = now() WHERE id = ${connectionId}::uuid`
  )

/** Each makes an account whose money goes through it. */
export const acquirers = [
  { name: "the simulator", make: simulator },
  { name: "Efí, by callbacks", make: efi("callbacks") },
  { name: "Efí, with every callback lost", make: efi("sweeps") }
]
