/**
 * Brakes in SQL: the account `a`, its installation or its connection stops charges or payouts.
 *
 * Guarantee: a statement reads them when it begins, so a brake takes effect with the next statement of every process.
 *
 * Measured: one row of one page, read once for each statement and not for each of its rows.
 *
 * Rules: OPR-17, OPR-18, OPR-64, OPR-122, OPR-123, OPR-159.
 */
import { connectionOfAccount } from "./AccountConnection.ts"

const ofInstallation = (column: "charges_paused" | "payouts_paused") =>
  `(SELECT i.${column} FROM installation_settings i WHERE i.id)`

/** False for a connection that is null, which is the simulator's. */
const isOneOf = (connectionId: string, brakes: string) =>
  `((${connectionId}) = ANY (ARRAY(SELECT k.id FROM acquirer_connections k WHERE ${brakes}))) IS TRUE`

/** Whether no charge of the account `a` can be created through a connection, its status aside. */
export const chargesStoppedThrough = (connectionId: string) => `(a.charges_paused OR ${ofInstallation("charges_paused")}
  OR EXISTS (SELECT FROM acquirer_connections k WHERE k.id = ${connectionId} AND k.charges_paused))`

/** Whether no charge of the account `a` can be created, its status aside. The simulator takes the place of the default one. */
export const chargesStopped = {
  simulator: chargesStoppedThrough("a.connection_id"),
  connections: chargesStoppedThrough(connectionOfAccount)
}

/** Whether no payout of the account `a` may be sent. */
export const payoutsStopped = `(a.status <> 'active' OR a.payouts_paused OR ${ofInstallation("payouts_paused")})`

/** Whether payouts of all accounts are stopped. */
export const allPayoutsStopped = ofInstallation("payouts_paused")

/** Whether nothing may be sent through a connection. */
export const isConnectionPaused = (connectionId: string): string => isOneOf(connectionId, "k.paused")

/** Whether no payout may be sent through a connection. */
export const areConnectionPayoutsStopped = (connectionId: string): string =>
  isOneOf(connectionId, "k.paused OR k.payouts_paused")
