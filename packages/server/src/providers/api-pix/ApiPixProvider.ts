/**
 * A provider that speaks the central bank's API Pix, as the service's port.
 *
 * Guarantees:
 * - Only a documented refusal, in an answer that was read to its end, is a refusal. Access errors, limits, an open circuit and
 *   unknown answers are unclear: the order stays open. So is an answer that is not of its question.
 * - Each call ends within `timeoutMs`, and sends nothing afterwards, also where the process was stopped meanwhile.
 */
import type { ApiPixClient, Emission as Cobranca } from "@pix-payments/api-pix/ApiPixClient"
import { type Page, reason } from "@pix-payments/api-pix/Decoding"
import type { Balance } from "@pix-payments/api-pix/Balance"
import { SendUntilMs } from "@pix-payments/api-pix/Connection"
import type { Disputes } from "@pix-payments/api-pix/Disputes"
import type { Cob, PixReturn, ReceivedPix as Received } from "@pix-payments/api-pix/Messages"
import { type Failure, isNotExecuted, Unclear } from "@pix-payments/api-pix/Outcome"
import type { Payee, Payout, PayoutOrder as Ordered, Payouts } from "@pix-payments/api-pix/Payouts"
import { buildBrCode, merchantNameOf } from "@pix-payments/domain/BrCode"
import { parsePixKey } from "@pix-payments/domain/PixKey"
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import {
  AcquirerRefused,
  AcquirerUnclear,
  type Emission,
  type Emitted,
  type Paged,
  type PayoutOrder,
  type PayoutProgress,
  type Progress,
  type Provider,
  providerIdOf,
  type Range,
  type ReceivedPix,
  type ReportedReturn,
  type SentPayout
} from "../Acquirer.ts"

export interface ApiPixProviderOptions {
  readonly client: ApiPixClient
  /** Undefined where the provider has no payout rail. */
  readonly payouts: Payouts | undefined
  /** Undefined where the provider's API has no disputes. */
  readonly disputes: Disputes | undefined
  /** Undefined where the provider's API has no balance. */
  readonly balance?: Balance | undefined
  /** The receiving Pix key, which also pays. */
  readonly pixKey: string
  readonly timeoutMs: number
}

export const makeApiPixProvider = ({
  balance,
  client,
  disputes,
  payouts,
  pixKey,
  timeoutMs
}: ApiPixProviderOptions): Provider => {
  const bounded = <A, E>(call: Effect.Effect<A, E | AcquirerUnclear>, duration: Duration.Input = timeoutMs) =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
      Effect.timeoutOrElse(Effect.provideService(call, SendUntilMs, nowMs + Duration.toMillis(duration)), {
        duration,
        orElse: () => Effect.fail(new AcquirerUnclear({ reason: "no answer in time" }))
      })
    )

  const emission = (of: Emission): Effect.Effect<Cobranca> =>
    Effect.map(Clock.currentTimeMillis, (nowMs) => ({
      txid: of.txid,
      cents: of.amount,
      key: pixKey,
      expiresInSeconds: Math.max(1, Math.ceil((of.expiresAtMs - nowMs) / 1000)),
      debtor: { name: of.payer.name, document: of.payer.document },
      ...(of.description !== null && of.description !== "" && { message: of.description })
    }))

  const findPix = (endToEndId: string) =>
    client.findReceived(endToEndId).pipe(
      Effect.map(receivedFrom),
      Effect.catchTag("NotFound", () => Effect.undefined),
      Effect.mapError(unclear)
    )

  const listReceived = ({ fromMs, page, toMs }: Range, which: { readonly returned: boolean }) =>
    client
      .listReceived({ fromMs, toMs, page, pageSize: LIST_PAGE }, which)
      .pipe(Effect.map(pagedFrom(page, receivedFrom)), Effect.mapError(unclear), (call) =>
        bounded(call, LIST_TIMEOUT_MS)
      )

  return {
    emit: (of) =>
      of.method !== "pix"
        ? Effect.fail(new AcquirerRefused({ reason: `the provider emits no ${of.method}` }))
        : emission(of).pipe(
            Effect.flatMap((cob) => (of.isRepeated ? client.emitAgain(cob) : client.emit(cob))),
            Effect.mapError(refusedOrUnclear),
            Effect.flatMap((cob) => emittedFrom(cob, of, pixKey)),
            bounded
          ),

    cancel: ({ txid }) =>
      client.cancel(txid).pipe(
        Effect.mapError(refusedOrUnclear),
        Effect.flatMap(({ status }): Effect.Effect<void, AcquirerRefused | AcquirerUnclear> => {
          if (status === "CONCLUIDA") return Effect.fail(new AcquirerRefused({ reason: "the charge is paid" }))
          if (status === "ATIVA") return Effect.fail(new AcquirerUnclear({ reason: "the charge is still active" }))
          return Effect.void
        }),
        (call) => bounded(call)
      ),

    orderReturn: ({ amount, description, endToEndId, id }) =>
      endToEndId === null
        ? Effect.fail(new AcquirerRefused({ reason: "the charge was not paid by Pix" }))
        : client
            .returnPix({
              endToEndId,
              id: providerIdOf(id),
              cents: amount,
              nature: "ORIGINAL",
              ...(description !== null && { description })
            })
            .pipe(Effect.map(progressOfReturn), Effect.mapError(refusedOrUnclear), bounded),

    received: {
      find: (endToEndId) => bounded(findPix(endToEndId)),
      list: (range) => listReceived(range, { returned: false }),
      listReturned: (range) => listReceived(range, { returned: true })
    },

    ...(payouts !== undefined && { payouts: railOf(payouts, pixKey, bounded) }),
    ...(balance !== undefined && { balance: bounded(Effect.mapError(balance, unclear)) }),
    ...(disputes !== undefined && { disputes: disputesOf(disputes, bounded) })
  }
}

type Bounded = <A, E>(
  call: Effect.Effect<A, E | AcquirerUnclear>,
  duration?: Duration.Input
) => Effect.Effect<A, E | AcquirerUnclear>

const disputesOf = (disputes: Disputes, bounded: Bounded): NonNullable<Provider["disputes"]> => ({
  list: ({ fromMs, page, toMs }) =>
    disputes.list({ fromMs, toMs, page, pageSize: LIST_PAGE }).pipe(
      Effect.map(
        pagedFrom(page, (of) => ({
          externalId: of.id,
          endToEndId: of.endToEndId,
          key: of.key ?? null,
          amount: of.cents,
          status: of.status,
          reason: of.reason,
          openedAtMs: of.openedAtMs,
          defenseDeadlineAtMs: of.deadlineMs ?? null
        }))
      ),
      // A merchant may do without the scope of disputes. The sweep of its payments is complete all the same.
      Effect.catchTag("ScopeMissing", () =>
        Effect.succeed({ items: [], unreadable: [], hasMore: false, number: 0, total: 0 })
      ),
      Effect.mapError(unclear),
      (call) => bounded(call, LIST_TIMEOUT_MS)
    ),
  // The providers that have disputes take the text alone.
  defend: ({ externalId, openedAtMs, text }) =>
    externalId === null
      ? Effect.fail(new AcquirerRefused({ reason: "the provider does not know this dispute" }))
      : disputes.defend({ id: externalId, openedAtMs }, text).pipe(Effect.mapError(refusedOrUnclear), bounded)
})

const railOf = (payouts: Payouts, pixKey: string, bounded: Bounded): NonNullable<Provider["payouts"]> => {
  const { findsUnnamed, listSent } = payouts
  return {
    ...(!findsUnnamed && { findsUnnamed }),
    send: (order) => {
      const ordered = orderedFrom(order, pixKey)
      if (ordered === undefined) return Effect.succeed({ _tag: "Refused", reason: "the provider sends no TED" })
      return payouts.send(ordered).pipe(
        Effect.map(progressOfPayout),
        Effect.catchTag("Refused", (refused) =>
          Effect.succeed<PayoutProgress>({ _tag: "Refused", reason: reasonOf(refused) })
        ),
        Effect.mapError(unclear),
        bounded
      )
    },
    outcome: ({ amount, id, reference }) =>
      payouts.find({ id: providerIdOf(id), reference: reference ?? undefined, cents: amount }).pipe(
        Effect.map(progressOfPayout),
        Effect.catchTag("NotFound", () => Effect.succeed<PayoutProgress>({ _tag: "NotFound" })),
        Effect.mapError(unclear),
        bounded
      ),
    ...(listSent !== undefined && {
      list: ({ fromMs, page, toMs }) =>
        listSent({ fromMs, toMs, page, pageSize: LIST_PAGE }).pipe(
          Effect.map(
            pagedFrom(page, (payout) => ({
              id: payout.id === undefined ? null : (idFromTxid(payout.id) ?? null),
              key: payout.payerKey ?? null,
              endToEndId: payout.endToEndId ?? null,
              amount: payout.cents,
              progress: progressOfPayout(payout),
              returns: payout.returns.map(({ atMs, cents, returnId }) => ({
                providerId: returnId,
                amount: cents,
                atMs
              }))
            }))
          ),
          Effect.mapError(unclear),
          (call) => bounded(call, LIST_TIMEOUT_MS)
        )
    })
  }
}

/** Providers count their pages from 0 or from 1. */
const pagedFrom =
  <A, B>(page: number, from: (item: A) => B) =>
  (found: Page<A>): Paged<B> => ({
    items: found.items.map(from),
    unreadable: found.unreadable,
    hasMore: page + 1 < found.pages,
    number: found.page,
    total: found.total
  })

const LIST_PAGE = 1000
/** A page of 1,000 Pix: longer than a connection's limit of one, so that the end of that one counts for its circuit. */
const LIST_TIMEOUT_MS = 30_000

const reasonOf = (failure: Failure): string => {
  switch (failure._tag) {
    case "Refused":
      return failure.detail === undefined
        ? failure.code
        : (reason(`${failure.code}: ${failure.detail}`) ?? failure.code)
    case "Unclear":
      return failure.reason
    case "NotSent":
      return failure.detail === undefined ? failure.reason : `${failure.reason}: ${failure.detail}`
    default:
      return "code" in failure ? `${failure._tag}: ${failure.code}` : failure._tag
  }
}

const unclear = (failure: Failure): AcquirerUnclear =>
  new AcquirerUnclear({ reason: reasonOf(failure), ...(isNotExecuted(failure) && { isUnsent: true }) })

const refusedOrUnclear = (failure: Failure): AcquirerRefused | AcquirerUnclear =>
  failure._tag === "Refused" || failure._tag === "Duplicate" || failure._tag === "NotFound"
    ? new AcquirerRefused({ reason: reasonOf(failure) })
    : unclear(failure)

/** A removed charge will never be paid. A paid one was emitted: its payment is reported apart. */
const emittedFrom = (
  cob: Cob,
  { merchant }: Emission,
  pixKey: string
): Effect.Effect<Emitted, AcquirerRefused | AcquirerUnclear> => {
  if (cob.status === "REMOVIDA_PELO_PSP" || cob.status === "REMOVIDA_PELO_USUARIO_RECEBEDOR") {
    return Effect.fail(new AcquirerRefused({ reason: "the provider has removed the charge" }))
  }
  const receiver = {
    name: merchant.name,
    document: merchant.document,
    pix_key: pixKey,
    pix_key_type: keyTypeOf(pixKey),
    institution_name: null,
    institution_ispb: null,
    branch: null,
    account: null,
    account_type: null
  }
  if (cob.brCode !== undefined) return Effect.succeed({ brCode: cob.brCode, receiver })
  if (cob.location === undefined) {
    return Effect.fail(new AcquirerUnclear({ reason: "the charge has neither a BR code nor a location" }))
  }
  return Result.match(
    buildBrCode({
      payloadUrl: cob.location,
      amount: cob.cents,
      merchantName: merchantNameOf(merchant),
      merchantCity: "SAO PAULO",
      singleUse: true
    }),
    {
      onSuccess: (brCode) => Effect.succeed({ brCode, receiver }),
      onFailure: ({ reason }) => Effect.fail(new AcquirerUnclear({ reason: `no BR code can be made: ${reason}` }))
    }
  )
}

const keyTypes = ["cpf", "cnpj", "phone", "email", "random"] as const

/** A key that fits none has no type. */
const keyTypeOf = (key: string) => keyTypes.find((type) => parsePixKey(type, key)._tag === "Valid") ?? null

const natures: Readonly<Record<string, ReportedReturn["nature"]>> = { ORIGINAL: "original", RETIRADA: "withdrawal" }

const returnFrom = (of: PixReturn): ReportedReturn => ({
  id: of.id,
  providerId: of.returnId ?? null,
  amount: of.cents,
  nature: of.nature === undefined ? "original" : (natures[of.nature] ?? "dispute"),
  status: returnStates[of.status],
  atMs: of.settledAtMs ?? of.requestedAtMs ?? null,
  reason: of.reason ?? null
})

const returnStates = { EM_PROCESSAMENTO: "processing", DEVOLVIDO: "completed", NAO_REALIZADO: "failed" } as const

const receivedFrom = (of: Received): ReceivedPix => ({
  endToEndId: of.endToEndId,
  txid: of.txid ?? null,
  amount: of.cents,
  atMs: of.atMs,
  payer: of.payer === undefined ? null : { name: of.payer.name ?? null, document: of.payer.document ?? null },
  key: of.key ?? null,
  returns: of.returns.map(returnFrom)
})

const progressOfReturn = ({ reason, returnId, status }: PixReturn): Progress => {
  switch (status) {
    case "DEVOLVIDO":
      return { _tag: "Completed", returnId }
    case "NAO_REALIZADO":
      return { _tag: "Failed", reason: reason ?? "not carried out by the provider" }
    case "EM_PROCESSAMENTO":
      return { _tag: "Accepted" }
  }
}

const progressOfPayout = ({ endToEndId, reason, status }: Payout): SentPayout["progress"] => {
  switch (status) {
    case "REALIZADO":
      return { _tag: "Completed", endToEndId }
    case "NAO_REALIZADO":
      return { _tag: "Failed", reason: reason ?? "not carried out by the provider" }
    case "EM_PROCESSAMENTO":
      return { _tag: "Accepted" }
  }
}

/** Undefined for a TED. */
const orderedFrom = (order: PayoutOrder, payerKey: string): Ordered | undefined => {
  if (order.pixKey === null) return undefined
  const payee: Payee = {
    key: order.pixKey,
    ...(order.recipientDocument !== null && { document: order.recipientDocument })
  }
  return {
    id: providerIdOf(order.id),
    reference: order.reference ?? undefined,
    cents: order.amount,
    payerKey,
    ...(order.description !== null && order.description !== "" && { message: order.description }),
    payee,
    keepReference: (reference) =>
      Effect.mapError(
        order.keepReference(reference),
        ({ reason }) => new Unclear({ operation: "keep-reference", kind: "not-found-yet", reason })
      )
  }
}
