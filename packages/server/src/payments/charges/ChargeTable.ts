/** The rows of `charges`: their columns, and the status that a row has. */
import { type ChargeMethod, type ChargeStatus, chargeTransitions, type Receiver } from "@pix-payments/domain/Charge"
import {
  bigint,
  type Column,
  boolean,
  instant,
  integer,
  json,
  nullable,
  text,
  uuid
} from "../../database/statements/Column.ts"
import { type Stored, table } from "../../database/statements/Table.ts"

/**
 * `processing` is stored as a `pending` charge that no acquirer has answered, so that the answer changes no index (see
 * migration 0004). A status that a process of the previous release has written since is the charge's.
 */
const status: Column<ChargeStatus> = {
  ...text<ChargeStatus>(),
  beside: "acquirer_answered",
  encode: (value: ChargeStatus) => (value === "processing" ? "pending" : value),
  decode: (stored: ChargeStatus, row) =>
    row["acquirer_answered"] === true || stored !== "pending" ? stored : "processing"
}

/** The same in SQL, of the row with this alias. */
export const statusOf = (row: string): string =>
  `CASE WHEN ${row}.acquirer_answered OR ${row}.status <> 'pending' THEN ${row}.status ELSE 'processing' END`

/** Where the row has the id of it, `Receivers.ts` reads it. */
const receiver = { ...nullable(json<Receiver>()), beside: "receiver_id" }

/** The columns that `/v1` shows, and those that say who may read them. `expired` is never stored: see `chargeStatusAt`. */
const shown = {
  id: uuid(),
  accountId: uuid(),
  origin: text<"api" | "checkout">(),
  status,
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
  /** Returns or MEDs that name it alone wait for its payment, which is applied together with them. */
  hasEarlyReversals: boolean("has_early_reversals")
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
