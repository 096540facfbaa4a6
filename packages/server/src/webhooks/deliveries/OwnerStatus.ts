/**
 * SQL conditions: whether the application and the account of a delivery are active.
 *
 * Guarantees: both are read without a lock. A delivery that is paused while they become active again is rescheduled by
 * the next poll of `PausedDeliveries`.
 */

/** The condition for one row. */
export const isActiveOwner = (account: string, application: string): string => `(
    NOT EXISTS (SELECT 1 FROM accounts o WHERE o.id = ${account} AND o.status <> 'active')
    AND NOT EXISTS (SELECT 1 FROM applications o WHERE o.id = ${application} AND NOT o.active)
  )`

/**
 * The condition for the rows of a CTE with the columns `account_id` and `application_id`. Each account and application is
 * read once, however many rows it has.
 */
export const isActiveOwnerIn = (cte: string): string => `(
    account_id <> ALL (ARRAY(
      SELECT o.id FROM accounts o WHERE o.id = ANY (ARRAY(SELECT account_id FROM ${cte})) AND o.status <> 'active'
    ))
    AND (application_id = ANY (ARRAY(
      SELECT o.id FROM applications o WHERE o.id = ANY (ARRAY(SELECT application_id FROM ${cte})) AND NOT o.active
    ))) IS NOT TRUE
  )`
