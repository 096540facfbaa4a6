/**
 * The tables and columns of our schema that this peer uses.
 */
import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn } from "typeorm"

/** Cents are numbers; `pg` returns `bigint` as text. */
const cents = { from: Number, to: (value: number) => value }

@Entity("accounts")
export class Account {
  @PrimaryColumn("uuid") id!: string
  @Column("text") name!: string
  @Column("text") document!: string
  @Column("text") status!: string
  @Column("text") onboarding_status!: string
  @Column("boolean") auto_payout_enabled!: boolean
  @Column("bigint", { transformer: cents }) payout_fee_fixed!: number
  @Column("integer") payout_fee_basis_points!: number
  @Column("integer") payout_duplicate_window!: number
  @Column("integer") default_expires_in!: number
}

@Entity("applications")
export class Application {
  @PrimaryColumn("uuid") id!: string
  @Column("uuid") account_id!: string
  @Column("boolean") active!: boolean
  @ManyToOne(() => Account)
  @JoinColumn({ name: "account_id" })
  account!: Account
}

@Entity("api_keys")
export class ApiKey {
  @PrimaryColumn("uuid") id!: string
  @Column("uuid") application_id!: string
  @Column("text") hash!: string
  @Column("text", { array: true }) scopes!: Array<string>
  @Column("timestamptz", { nullable: true }) expires_at!: Date | null
  @Column("timestamptz", { nullable: true }) revoked_at!: Date | null
  @Column("timestamptz", { nullable: true }) last_used_at!: Date | null
  @ManyToOne(() => Application)
  @JoinColumn({ name: "application_id" })
  application!: Application
}

@Entity("charges")
export class Charge {
  @PrimaryColumn("uuid") id!: string
  @Column("uuid") account_id!: string
  @Column("uuid") application_id!: string
  @Column("text") origin!: string
  @Column("text", { nullable: true }) idempotency_key!: string | null
  @Column("text") status!: string
  @Column("text") method!: string
  @Column("bigint", { transformer: cents }) amount!: number
  @Column("text", { nullable: true }) description!: string | null
  @Column("text", { nullable: true }) reference!: string | null
  @Column("text", { nullable: true }) customer_name!: string | null
  @Column("text", { nullable: true }) customer_email!: string | null
  @Column("text", { nullable: true }) customer_document!: string | null
  @Column("text", { nullable: true }) customer_phone!: string | null
  @Column("text", { nullable: true }) webhook_url!: string | null
  @Column("text", { nullable: true }) webhook_secret!: string | null
  @Column("text", { nullable: true }) br_code!: string | null
  @Column("text", { nullable: true }) end_to_end_id!: string | null
  @Column("json", { nullable: true }) receiver!: object | null
  @Column("timestamptz", { nullable: true }) expires_at!: Date | null
  @Column("timestamptz", { nullable: true }) paid_at!: Date | null
  @Column("text", { nullable: true }) failure_reason!: string | null
  @Column("timestamptz") created_at!: Date
  @Column("integer") sequence!: number
  @Column("timestamptz", { nullable: true }) recover_at!: Date | null
}

@Entity("payouts")
export class Payout {
  @PrimaryColumn("uuid") id!: string
  @Column("uuid") account_id!: string
  @Column("uuid", { nullable: true }) application_id!: string | null
  @Column("text") origin!: string
  @Column("text", { nullable: true }) idempotency_key!: string | null
  @Column("text") status!: string
  @Column("text") method!: string
  @Column("bigint", { transformer: cents }) amount!: number
  @Column("bigint", { transformer: cents }) fee!: number
  @Column("text", { nullable: true }) description!: string | null
  @Column("text", { nullable: true }) reference!: string | null
  @Column("text", { nullable: true }) recipient_name!: string | null
  @Column("text", { nullable: true }) recipient_document!: string | null
  @Column("text") pix_key_type!: string
  @Column("text") pix_key!: string
  @Column("text", { nullable: true }) webhook_url!: string | null
  @Column("text", { nullable: true }) webhook_secret!: string | null
  @Column("text", { nullable: true }) end_to_end_id!: string | null
  @Column("text", { nullable: true }) failure_reason!: string | null
  @Column("uuid", { nullable: true }) duplicate_of!: string | null
  @Column("timestamptz", { nullable: true }) processed_at!: Date | null
  @Column("timestamptz") created_at!: Date
  @Column("integer") sequence!: number
  @Column("timestamptz", { nullable: true }) due_at!: Date | null
  @Column("integer", { default: 0 }) attempts!: number
}

@Entity("changes")
export class Change {
  @PrimaryColumn("uuid") id!: string
  @Column("uuid") resource_id!: string
  @Column("uuid") account_id!: string
  @Column("uuid", { nullable: true }) application_id!: string | null
  @Column("text") kind!: string
  @Column("text", { array: true }) actions!: Array<string>
  @Column("text") status!: string
  @Column("integer") sequence!: number
  @Column("text") data!: string
  @Column("timestamptz") created_at!: Date
}

@Entity("webhook_endpoints")
export class WebhookEndpoint {
  @PrimaryColumn("uuid") id!: string
  @Column("uuid") application_id!: string
  @Column("text") url!: string
  @Column("text") normalized_url!: string
  @Column("text") destination!: string
  @Column("text", { array: true }) events!: Array<string>
  @Column("timestamptz", { nullable: true }) deleted_at!: Date | null
}

@Entity("deliveries")
export class Delivery {
  @PrimaryColumn("uuid") id!: string
  @Column("uuid") change_id!: string
  @Column("text") event!: string
  @Column("uuid") resource_id!: string
  @Column("uuid") account_id!: string
  @Column("uuid", { nullable: true }) endpoint_id!: string | null
  @Column("text") url!: string
  @Column("text") destination!: string
  @Column("text", { nullable: true }) secret!: string | null
  @Column("text") status!: string
  @Column("timestamptz", { nullable: true }) due_at!: Date | null
  @Column("timestamptz") created_at!: Date
}

@Entity("ledger_accounts")
export class LedgerAccount {
  @PrimaryColumn("uuid") owner_id!: string
  @PrimaryColumn("text") kind!: string
  @Column("bigint", { transformer: cents }) balance!: number
}

@Entity("ledger_transfers")
export class LedgerTransfer {
  @PrimaryColumn("uuid") id!: string
  @Column("uuid") account_id!: string
  @Column("text") debit!: string
  @Column("text") credit!: string
  @Column("bigint", { transformer: cents }) amount!: number
  @Column("uuid") resource_id!: string
  @Column("text") reason!: string
  @Column("timestamptz") created_at!: Date
}

@Entity("requests")
export class RequestLogRow {
  @PrimaryColumn("uuid") id!: string
  @Column("text") request_id!: string
  @Column("uuid", { nullable: true }) key_id!: string | null
  @Column("uuid", { nullable: true }) account_id!: string | null
  @Column("text") route!: string
  @Column("integer") status!: number
  @Column("integer") duration_us!: number
  @Column("timestamptz") at!: Date
}

export const entities = [
  Account,
  Application,
  ApiKey,
  Charge,
  Payout,
  Change,
  WebhookEndpoint,
  Delivery,
  LedgerAccount,
  LedgerTransfer,
  RequestLogRow
]
