/** The columns of disputes. */
import type { DisputeStatus } from "@pix-payments/domain/Dispute"
import { bigint, boolean, instant, integer, nullable, text, uuid } from "../../database/statements/Column.ts"
import { type Stored, table } from "../../database/statements/Table.ts"

export const disputeTable = table({
  id: uuid(),
  chargeId: nullable(uuid()),
  /** Of money that an account accepted; a dispute is of a charge or of an exception. */
  exceptionId: nullable(uuid()),
  accountId: uuid(),
  applicationId: nullable(uuid()),
  /** Null is the simulator's. */
  connectionId: nullable(uuid()),
  /** Its id at the provider. */
  externalId: nullable(text()),
  status: text<DisputeStatus>(),
  amount: bigint(),
  reason: nullable(text()),
  reference: nullable(text()),
  openedAtMs: instant("opened_at"),
  defenseDeadlineAtMs: nullable(instant("defense_deadline_at")),
  resolvedAtMs: nullable(instant("resolved_at")),
  arrivedResolved: boolean(),
  sequence: integer(),
  /** Cents of an exception that went back to the payer with it. Of a charge, refunds have them. */
  returned: bigint(),
  /** The provider's id of that return; null until it is reported. */
  returnId: nullable(text())
})

export interface StoredDispute extends Stored<typeof disputeTable> {}
