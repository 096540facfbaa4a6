/**
 * A first attempt that succeeds is stored in its delivery's row; every other attempt is a row of `delivery_attempts`.
 *
 * Why: docs/decisions/0031-deliveries.md.
 */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import { type CompletedAttempt } from "./Delivery.ts"

/**
 * The longest answer that is stored in a delivery, in bytes. Deliveries are kept for longer than attempts, and are written
 * again by each resend.
 */
export const MAX_RESPONSE_BYTES = 256

/** Whether the attempt fits into its delivery's row. */
export const fitsDelivery = ({ attempt, delivery, outcome }: CompletedAttempt): boolean =>
  delivery.attemptsMade === 0 &&
  outcome.status === "delivered" &&
  Buffer.byteLength(attempt.responseBody ?? "") <= MAX_RESPONSE_BYTES

/** A query of the attempt that is stored in the delivery of this id, if any. Its id sorts before those of all others. */
export const firstAttemptOf = (deliveryId: string): string => `
    SELECT '${NIL_UUID}'::uuid AS id, id AS delivery_id, first_attempt_at AS at, first_duration_ms AS duration_ms,
      first_address AS address, first_status_code::integer AS status_code, NULL AS error,
      first_response_body AS response_body
    FROM deliveries WHERE id = ${deliveryId} AND first_attempt_at IS NOT NULL`
