/** The acquirer of a simulated history with the payers and institutions behind it: `Books`, or the double of a provider. */
import type * as Layer from "effect/Layer"
import type { Acquirer } from "../../../src/providers/Acquirer.ts"
import type { ConnectionRegistry } from "../../../src/providers/connections/ConnectionRegistry.ts"
import type { SettledKind } from "../../../src/payments/exceptions/HandSettlements.ts"
import type { SettingsShape } from "../../../src/base/Settings.ts"
import type { Database } from "./Database.ts"
import type { Running } from "./Machine.ts"
import type { BankPayout, BankPix } from "./MoneyModel.ts"
import type { ServerProcess } from "./ServerProcess.ts"

/** The acquirer as a process sees it. */
export interface SimulatedAcquirer {
  readonly layerFor: (process: Running) => Layer.Layer<Acquirer | ConnectionRegistry>
  readonly settings: Partial<SettingsShape>
  /** Before the first process starts. */
  readonly begin: (database: Database) => Promise<void>
}

export interface Institutions {
  /** Violations of the acquirer's rules by the service. */
  readonly broken: ReadonlyArray<string>
  /** Something happens to a charge between its payer and the institutions. */
  readonly happen: () => void
  /** Sends a notification that is due, or a copy of one. */
  readonly notify: (process: ServerProcess) => void
  readonly notifyAgain: (process: ServerProcess) => void
  /** The whole amount of a charge is paid, and the service notified, unless its acquirer does not wait for a payment. */
  readonly pay: (process: ServerProcess, chargeId: string) => void
  readonly connections: ReadonlyArray<string>
  /** The connection of a merchant, by its number; `undefined`: the default one. */
  readonly connectionFor: (merchant: number) => string | undefined
  /** Whether payouts are sent. */
  readonly paysOut: boolean
  /** Orders of which the bank says nothing. */
  readonly held: () => Promise<ReadonlyArray<HeldOrder>>
  /** The bank decides them. */
  readonly release: () => void
  /** Something happened that the service is sure of only days later. */
  readonly needsDays: () => boolean
  /** The service has everything that happened so far. From now on the bank sends nothing by itself. */
  readonly later: () => void
  /** The faults of the institutions begin or end. */
  readonly storm: (on: boolean) => void
  /** True of a charge that the acquirer has, and that nobody has paid. */
  readonly isUnpaid: (chargeId: string) => boolean
  /** True where the acquirer refused the charge. */
  readonly wasRefused: (chargeId: string) => boolean
  /** A dispute that the service has. */
  readonly someDispute: () => string | undefined
  /** An exception that is open at this moment, or was. */
  readonly someException: () => string | undefined
  /** Between two statements of the service: learns what the service made of notifications. */
  readonly observe: () => Promise<void>
  /** After the faults: sends every notification that is due; false when there are none. */
  readonly finish: (process: ServerProcess) => boolean
  /** How many notifications wait to be acknowledged. */
  readonly unacknowledged: () => number
  /** Everything that is unfinished between the service and the institutions. */
  readonly waiting: () => Promise<ReadonlyArray<string>>
  /** What the bank did, at the end. */
  readonly statement: () => BankStatement
}

/** An order that an operator may settle, who sees it at the bank. */
export interface HeldOrder {
  readonly kind: SettledKind
  /** Of the payout, the refund or the exception. */
  readonly id: string
  /** Of the payout, or of the order of the return. */
  readonly orderId: string
  /** The end-to-end id, or that of the return. */
  readonly externalId: string
}

/** The books of the bank. */
export interface BankStatement {
  readonly pix: ReadonlyArray<BankPix>
  readonly payouts: ReadonlyArray<BankPayout>
  /** The operations of payouts of which a request was refused. */
  readonly denied: ReadonlySet<string>
  /** The states that each charge may have while nothing has paid it, by its id. */
  readonly unpaid: ReadonlyMap<string, ReadonlyArray<string>>
  readonly balanceCents: number
}

/** A caller waits no longer than this, in milliseconds. */
export const ACQUIRER_TIMEOUT_MS = 3000
