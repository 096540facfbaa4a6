import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { orderIdOf } from "../../src/payments/payouts/PayoutTable.ts"

const NO_PAYMENT = "'unmatched_return', 'unmatched_dispute', 'conflicting_settlement'"

/**
 * Selects charges and payouts without their row in a key table, and rows of key tables that name no such row. A settlement that
 * pays no charge names its exception, or none while it is awaited. Also payments that are exceptions without a settlement, and
 * returns and MEDs that wait although their payment has arrived.
 */
export const incompleteKeys = `
  SELECT coalesce(r.id, k.resource_id) AS id FROM (
      SELECT id, idempotency_digest(application_id, 'charge', origin, idempotency_key) AS digest FROM charges
      WHERE idempotency_key IS NOT NULL
      UNION ALL SELECT p.id, ${orderIdOf("p")} FROM payouts p
    ) r
    FULL JOIN idempotency_keys k ON k.resource_id = r.id AND k.digest = r.digest
    WHERE r.id IS NULL OR k.resource_id IS NULL
  UNION ALL
  SELECT coalesce(c.id, s.charge_id) FROM charges c
    FULL JOIN charge_settlements s ON s.charge_id = c.id AND s.end_to_end_id = c.end_to_end_id
      AND s.connection_id = coalesce(c.connection_id, '${SIMULATOR_CONNECTION}') AND s.amount = c.amount
    WHERE (c.id IS NULL OR s.charge_id IS NULL) AND (s.charge_id IS NOT NULL OR c.end_to_end_id IS NOT NULL)
      AND NOT EXISTS (SELECT FROM acquirer_exceptions e WHERE e.id = s.charge_id AND e.end_to_end_id = s.end_to_end_id
        AND e.connection_id = s.connection_id AND e.amount = s.amount AND e.kind NOT IN (${NO_PAYMENT}))
  UNION ALL
  SELECT e.id FROM acquirer_exceptions e
    WHERE e.end_to_end_id IS NOT NULL AND e.kind NOT IN (${NO_PAYMENT})
      AND NOT EXISTS (SELECT FROM charge_settlements s WHERE s.end_to_end_id = e.end_to_end_id
        AND s.connection_id = e.connection_id AND s.charge_id IS NOT NULL)
  UNION ALL
  SELECT r.id FROM early_reversals r
    WHERE NOT EXISTS (SELECT FROM charge_settlements s
      WHERE s.end_to_end_id = r.end_to_end_id AND s.connection_id = r.connection_id
        AND (s.charge_id IS NULL OR r.is_taken OR r.notification ->> '_tag' = 'med.opened'))`
