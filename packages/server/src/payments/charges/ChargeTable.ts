/** The rows of `charges`: their columns. */
import { type ChargeMethod, type ChargeStatus, chargeTransitions, type Receiver } from "@pix-payments/domain/Charge"
import { bigint, type Column, instant, integer, nullable, text, uuid } from "../../database/statements/Column.ts"
import { type Stored, table } from "../../database/statements/Table.ts"

/** Stored as an id; `Receivers.ts` puts the receiver into selected rows. */
const receiver: Column<Receiver | null> = {
  type: "uuid",
  wire: uuid().wire,
  name: "receiver_id",
  decode: (_id: string, row) => row["receiver"]
}

/** The columns that `/v1` shows, and those that say who may read them. `expired` is never stored: see `chargeStatusAt`. */
const shown = {
  id: uuid(),
  accountId: uuid(),
  origin: text<"api" | "checkout">(),
  status: text<ChargeStatus>(),
  method: text<ChargeMethod>(),
  amount: bigint(),
  description: nullable(text()),
  reference: nullable(text()),
  customerName: nullable(text()),
  customerEmail: nullable(text()),
  customerDocument: nullable(text()),
  webhookUrl: nullable(text()),
  brCode: nullable(text()),
  endToEndId: nullable(text()),
  receiver,
  expiresAtMs: nullable(instant("expires_at")),
  paidAtMs: nullable(instant("paid_at")),
  refundedAmount: bigint(),
  failureReason: nullable(text()),
  createdAtMs: instant("created_at"),
  sequence: integer()
}

const others = {
  applicationId: uuid(),
  idempotencyKey: nullable(text()),
  customerPhone: nullable(text()),
  sealedWebhookSecret: nullable(text("webhook_secret")),
  /** The connection through which it was emitted; null is the simulator's. */
  connectionId: nullable(uuid()),
  /** The `traceparent` of the request that created it, where that is sampled. */
  trace: nullable(text())
}

export const chargeTable = table({ ...shown, ...others })

/** Without what only the service reads. */
export const shownChargeTable = table(shown)

/** A charge as far as `/v1` shows it. */
export interface ShownCharge extends Stored<typeof shownChargeTable> {}

/** A charge as it is stored. */
export interface StoredCharge extends Stored<typeof chargeTable> {}

export const chargeColumns = chargeTable.columns()

/** The pairs `from>to` of stored states that the transition table allows, as a list of SQL texts. */
export const allowedTransitions: string = [
  ...new Set(
    chargeTransitions.flatMap(({ from, to }) =>
      from.map((state) => `'${state === "expired" ? "pending" : state}>${to}'`)
    )
  )
].join(", ")

/** The customer of a charge; null where the row has none. */
export const customerOf = ({
  customerDocument: document,
  customerEmail: email,
  customerName: name
}: ShownCharge): { readonly name: string; readonly email: string; readonly document: string } | null =>
  name === null || email === null || document === null ? null : { name, email, document }
