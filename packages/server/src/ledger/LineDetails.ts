/**
 * What stands behind lines: the charge, payout, exception, refund or dispute of each, read for many at once.
 *
 * Guarantee: a read costs one statement for each kind of resource that the lines have, by ids, and one for disputes of payments.
 */
import { paymentCodes, type SourceObject } from "@pix-payments/domain/BalanceTransaction"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { oneOfIds } from "../database/statements/PrunedIds.ts"
import { statement, uuids } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import type { Movement } from "./Lines.ts"

/** What a line is about. */
export interface LineDetail {
  readonly source: { readonly object: SourceObject; readonly id: string }
  readonly endToEndId: string | null
  /** Of a return: the provider's id of it. */
  readonly returnId: string | null
  readonly txid: string | null
  readonly reference: string | null
  readonly counterparty: { readonly name: string | null; readonly document: string | null } | null
  readonly paymentCode: string | null
  /** Cents of the fee of the payout behind it. */
  readonly orderFee: number | null
  /** The dispute that moved it, else the newest one of its payment. */
  readonly disputeId: string | null
  /** When pending money becomes available, where it has not. */
  readonly availableOn: Date | null
}

export class LineDetails extends Context.Service<
  LineDetails,
  {
    /** The details of each line, in their order. */
    readonly of: (lines: ReadonlyArray<Movement>) => Effect.Effect<ReadonlyArray<LineDetail>, Unavailable>
  }
>()("@pix-payments/server/LineDetails") {
  static readonly layer = Layer.effect(
    LineDetails,
    Effect.map(SqlClient, (sql) => {
      const read = <Row extends { readonly id: string }>(
        query: (ids: ReadonlyArray<string>) => [string, ReadonlyArray<unknown>],
        ids: ReadonlyArray<string>
      ) =>
        ids.length === 0
          ? Effect.succeed(new Map<string, Row>())
          : Effect.map(
              orUnavailable(sql.unsafe<Row>(...query([...new Set(ids)]))),
              (rows) => new Map(rows.map((row) => [row.id, row]))
            )

      return LineDetails.of({
        of: Effect.fnUntraced(function* (lines) {
          const ofKind = (kind: string) =>
            lines.filter(({ reason }) => reason.startsWith(`${kind}.`)).map(({ resource_id }) => resource_id)
          const exceptions = yield* read<ExceptionRow>(findExceptions, ofKind("exception"))
          const accepted = [...exceptions.values()].flatMap(({ charge_id }) => charge_id ?? [])
          const charges = [...ofKind("charge"), ...accepted]
          const sentBack = [...exceptions.values()].flatMap(({ payout_id }) => payout_id ?? [])
          const sources = lines.flatMap(({ source_id }) => source_id ?? [])
          const pending = lines.filter(({ credit }) => credit === "pending").map(({ resource_id }) => resource_id)
          const found = {
            exceptions,
            charges: yield* read<ChargeRow>(findCharges, charges),
            payouts: yield* read<PayoutRow>(findPayouts, [...ofKind("payout"), ...sentBack]),
            refunds: yield* read<RefundRow>(findRefunds, sources),
            disputes: yield* read<ReturnRow>(findReturnsOfDisputes, sources),
            newestDisputes: yield* read<DisputeRow>(findNewestDisputes, [...charges, ...exceptions.keys()]),
            returns: yield* read<ReturnRow>(findReturnsOfExceptions, sources),
            releases: yield* read<ReleaseRow>(findReleases, pending)
          }
          return lines.map((line) => detailOf(line, found))
        })
      })
    })
  )
}

interface Found {
  readonly charges: ReadonlyMap<string, ChargeRow>
  readonly payouts: ReadonlyMap<string, PayoutRow>
  readonly exceptions: ReadonlyMap<string, ExceptionRow>
  readonly refunds: ReadonlyMap<string, RefundRow>
  /** The return of each. */
  readonly disputes: ReadonlyMap<string, ReturnRow>
  /** By charge or exception. */
  readonly newestDisputes: ReadonlyMap<string, DisputeRow>
  /** Of exceptions' money. */
  readonly returns: ReadonlyMap<string, ReturnRow>
  readonly releases: ReadonlyMap<string, ReleaseRow>
}

const detailOf = (line: Movement, found: Found): LineDetail => {
  const [kind = ""] = line.reason.split(".")
  const exception = found.exceptions.get(line.resource_id)
  const charge = found.charges.get(exception?.charge_id ?? line.resource_id)
  const payout = found.payouts.get(exception?.payout_id ?? line.resource_id)
  const sourceId = line.source_id ?? ""
  const refund = found.refunds.get(sourceId)
  const back = refund ?? found.disputes.get(sourceId) ?? found.returns.get(sourceId)
  const source: LineDetail["source"] =
    line.source_id === null || found.returns.has(sourceId)
      ? { object: kind as SourceObject, id: line.resource_id }
      : { object: refund === undefined ? "dispute" : "refund", id: line.source_id }
  const paid = exception === undefined || isPaymentOf(charge, exception) ? charge : undefined
  const newestDispute = found.newestDisputes.get(line.resource_id) ?? found.newestDisputes.get(paid?.id ?? "")
  return {
    source,
    endToEndId: exception?.end_to_end_id ?? charge?.end_to_end_id ?? payout?.end_to_end_id ?? null,
    returnId: back?.provider_id ?? (isReturn(line, exception) ? (exception?.external_id ?? null) : null),
    txid: exception?.txid ?? (charge === undefined ? null : txidFromId(charge.id)),
    reference: charge?.reference ?? payout?.reference ?? line.adjusted_because,
    counterparty: counterpartyOf(charge, payout, exception?.payer ?? paid?.payer),
    paymentCode: paymentCodeOf(line, charge, exception),
    orderFee: payout === undefined ? null : Number(payout.fee),
    disputeId: source.object === "dispute" ? source.id : (refund?.dispute_id ?? newestDispute?.dispute_id ?? null),
    availableOn: line.credit === "pending" ? (found.releases.get(line.resource_id)?.due_at ?? null) : null
  }
}

const isReturn = ({ reason }: Movement, exception: ExceptionRow | undefined) =>
  reason === "exception.returned" || reason === "exception.charged_back" || exception?.kind === "returned_payout"

/** Whether an exception is the payment of the charge that it names. A second payment is not. */
const isPaymentOf = (charge: ChargeRow | undefined, exception: ExceptionRow) =>
  exception.end_to_end_id !== null && exception.end_to_end_id === charge?.end_to_end_id

const counterpartyOf = (
  charge: ChargeRow | undefined,
  payout: PayoutRow | undefined,
  payer: PayerRow | null | undefined
): LineDetail["counterparty"] => {
  if (payout !== undefined) return { name: payout.recipient_name, document: payout.recipient_document }
  if (payer) return { name: payer.name ?? null, document: payer.document ?? null }
  return charge === undefined ? null : { name: charge.customer_name, document: charge.customer_document }
}

const paymentCodeOf = (
  { connection_id, debit, type }: Movement,
  charge: ChargeRow | undefined,
  exception: ExceptionRow | undefined
): string | null => {
  if (type === "charge") return charge?.method === "pix" ? paymentCodes.dynamic : null
  const isPayment = type === "exception" && debit === "acquirer" && connection_id !== null
  return isPayment && exception !== undefined
    ? exception.txid === null
      ? paymentCodes.static
      : paymentCodes.dynamic
    : null
}

interface ChargeRow {
  readonly id: string
  readonly method: string
  readonly reference: string | null
  readonly end_to_end_id: string | null
  readonly customer_name: string | null
  readonly customer_document: string | null
  /** Who paid it, as the acquirer says. */
  readonly payer: PayerRow | null
}

interface PayerRow {
  readonly name?: string | null
  readonly document?: string | null
}

interface PayoutRow {
  readonly id: string
  readonly reference: string | null
  readonly end_to_end_id: string | null
  readonly recipient_name: string | null
  readonly recipient_document: string | null
  readonly fee: bigint
}

interface ExceptionRow {
  readonly id: string
  readonly kind: string
  readonly charge_id: string | null
  readonly payout_id: string | null
  readonly end_to_end_id: string | null
  readonly external_id: string | null
  readonly txid: string | null
  readonly payer: PayerRow | null
}

interface ReturnRow {
  readonly id: string
  readonly provider_id: string | null
}

interface RefundRow extends ReturnRow {
  readonly dispute_id: string | null
}

interface DisputeRow {
  readonly id: string
  readonly dispute_id: string
}

interface ReleaseRow {
  readonly id: string
  readonly due_at: Date
}

const pruned = (table: string, columns: string) => {
  const find = statement({ ids: oneOfIds }, ({ ids }) => `SELECT id, ${columns} FROM ${table} WHERE ${ids("id")}`)
  return (ids: ReadonlyArray<string>) => find({ ids })
}

const listed = (text: (ids: string) => string) => {
  const find = statement({ ids: uuids }, ({ ids }) => text(ids))
  return (ids: ReadonlyArray<string>) => find({ ids })
}

const findCharges = pruned("charges", "method, reference, end_to_end_id, customer_name, customer_document, payer")

const findPayouts = pruned("payouts", "reference, end_to_end_id, recipient_name, recipient_document, fee")

const findExceptions = listed(
  (ids) =>
    `SELECT id, kind, charge_id, payout_id, end_to_end_id, external_id, txid, payer FROM acquirer_exceptions WHERE id = ANY (${ids})`
)

const findRefunds = listed((ids) => `SELECT id, provider_id, dispute_id FROM refunds WHERE id = ANY (${ids})`)

const findReturnsOfDisputes = listed(
  (ids) => `
  SELECT d.id, coalesce(d.return_id, r.provider_id) AS provider_id
  FROM disputes d LEFT JOIN refunds r ON r.charge_id = d.charge_id AND r.dispute_id = d.id
  WHERE d.id = ANY (${ids})`
)

const findNewestDisputes = listed(
  (ids) => `
  (SELECT DISTINCT ON (charge_id) charge_id AS id, id AS dispute_id FROM disputes
  WHERE charge_id = ANY (${ids}) ORDER BY charge_id DESC, id DESC)
  UNION ALL
  (SELECT DISTINCT ON (exception_id) exception_id, id FROM disputes
  WHERE exception_id IS NOT NULL AND exception_id = ANY (${ids}) ORDER BY exception_id DESC, id DESC)`
)

const findReturnsOfExceptions = listed(
  (ids) => `SELECT id, return_id AS provider_id FROM exception_returns WHERE id = ANY (${ids})`
)

const findReleases = listed((ids) => `SELECT charge_id AS id, due_at FROM releases WHERE charge_id = ANY (${ids})`)
