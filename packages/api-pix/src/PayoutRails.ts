/** The payouts of a connection, by the rail that its profile names. */
import type { Connection } from "./Connection.ts"
import { makeEfiPayouts } from "./EfiPayouts.ts"
import { makeInterPayouts } from "./InterPayouts.ts"
import type { Payouts } from "./Payouts.ts"
import { makeSicoobPayouts } from "./SicoobPayouts.ts"

/** Undefined if the provider has no rail. */
export const makePayouts = (connection: Connection): Payouts | undefined => {
  switch (connection.profile.payouts) {
    case "efi":
      return makeEfiPayouts(connection)
    case "sicoob":
      return makeSicoobPayouts(connection)
    case "inter":
      return makeInterPayouts(connection)
    case null:
      return undefined
  }
}
