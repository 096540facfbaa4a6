/** The payouts of a connection, by the rail that its profile names. */
import type { Connection } from "./Connection.ts"
import { makeEfiPayouts } from "./EfiPayouts.ts"
import type { Payouts } from "./Payouts.ts"

/** Undefined if the provider has no rail. */
export const makePayouts = (connection: Connection): Payouts | undefined => {
  switch (connection.profile.payouts) {
    case "efi":
      return makeEfiPayouts(connection)
    case "sicoob":
    case "inter":
    case null:
      return undefined
  }
}
