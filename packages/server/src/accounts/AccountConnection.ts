/**
 * The connection of an account: its own, else the installation's default one, which is the simulator's with
 * `ACQUIRER=simulator`.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { SettingsShape } from "../base/Settings.ts"

/** The default connection in SQL; null where there is none. */
export const defaultConnectionId = "(SELECT d.id FROM acquirer_connections d WHERE d.is_default)"

/** The connection of the account `a` in SQL, else the default one; null where there is neither. */
export const connectionOfAccount = `coalesce(a.connection_id, ${defaultConnectionId})`

/** Null is the simulator's connection; undefined: the account has none. */
export const connectionOf = (
  acquirer: SettingsShape["acquirer"],
  row: { readonly connection_id: string | null; readonly default_connection_id: string | null }
): string | null | undefined => {
  const own = row.connection_id ?? (acquirer === "simulator" ? SIMULATOR_CONNECTION : row.default_connection_id)
  if (own === null) return undefined
  return own === SIMULATOR_CONNECTION ? null : own
}
