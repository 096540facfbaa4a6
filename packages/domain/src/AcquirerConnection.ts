/** A connection to a provider, through which an account's charges and payouts go. */
import * as Schema from "effect/Schema"

/** `simulator` is the acquirer inside the server, `api-pix` a provider that speaks the central bank's API Pix. */
export const ConnectionKind = Schema.Literals(["simulator", "api-pix"])
export type ConnectionKind = typeof ConnectionKind.Type
export const connectionKinds = ConnectionKind.literals

/** What happens to money that fits no charge: it waits for an operator, goes back to its payer, or is accepted (BAL-11). */
export const ExceptionRule = Schema.Literals(["hold", "return", "accept"])
export type ExceptionRule = typeof ExceptionRule.Type
export const exceptionRules = ExceptionRule.literals

/** The connection of the simulator, which every installation has. */
export const SIMULATOR_CONNECTION = "00000000-0000-7000-8000-000000000001"

/** The providers that `api-pix` connects to. `bacen` is the central bank's API as its document has it. */
export const ConnectionProfile = Schema.Literals([
  "bacen",
  "efi",
  "banco-do-brasil",
  "sicoob",
  "sicredi",
  "inter",
  "itau",
  "santander",
  "bradesco"
])

/** `unusable`: it cannot be opened. `circuit_open`: calls failed in a row, and none is sent for some seconds. */
export const ConnectionState = Schema.Literals(["ready", "paused", "unusable", "circuit_open"])
export type ConnectionState = typeof ConnectionState.Type
