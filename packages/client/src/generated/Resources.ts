/**
 * The resources, requests, errors and events of `/v1`, as plain types.
 *
 * Generated from `PaymentsApi` by `pnpm run client:generate`. Do not edit.
 */

/** An open enumeration: one of `Known`, or a value that a later release adds. A `switch` over it needs a `default`. */
export type Open<Known extends string> = Known | (string & Record<never, never>)

/**
 * A name that this release does not know. The suffix exists only in the type: it lets a comparison with a known name narrow
 * the union. Values have no suffix.
 */
export type Unrecognized = `${string}~unrecognized`

/** A page of a list, newest first. */
export interface Page<Item> {
  /** The kind of resource. */
  readonly object: "list"
  /** The items, newest first. */
  readonly data: ReadonlyArray<Item>
  /** Whether more items exist after this page. */
  readonly has_more: boolean
}

/** The values of `AccountDocumentType` that this release knows. */
export type KnownAccountDocumentType = "cpf" | "cnpj"

/** Later releases may add values. */
export type AccountDocumentType = Open<KnownAccountDocumentType>

/** The values of `AccountStatus` that this release knows. */
export type KnownAccountStatus = "active" | "inactive"

/** Later releases may add values. */
export type AccountStatus = Open<KnownAccountStatus>

/** The values of `AccountOnboardingStatus` that this release knows. */
export type KnownAccountOnboardingStatus = "pending" | "in_review" | "completed" | "rejected"

/** Later releases may add values. */
export type AccountOnboardingStatus = Open<KnownAccountOnboardingStatus>

/** The values of `ChargeStatus` that this release knows. */
export type KnownChargeStatus =
  | "processing"
  | "pending"
  | "paid"
  | "expired"
  | "canceled"
  | "failed"
  | "refunded"
  | "charged_back"
  | "infraction"

/** Later releases may add values. */
export type ChargeStatus = Open<KnownChargeStatus>

/** The values of `ChargeMethod` that this release knows. */
export type KnownChargeMethod = "pix" | "boleto" | "card"

/** Later releases may add values. */
export type ChargeMethod = Open<KnownChargeMethod>

/** The names of charge events that this release knows. */
export type ChargeEventName =
  | "charge.pix.created"
  | "charge.pix.emitted"
  | "charge.pix.paid"
  | "charge.pix.expired"
  | "charge.pix.failed"
  | "charge.pix.canceled"
  | "charge.pix.refunded"
  | "charge.pix.infraction"
  | "charge.pix.charged_back"
  | "charge.boleto.created"
  | "charge.boleto.emitted"
  | "charge.boleto.paid"
  | "charge.boleto.expired"
  | "charge.boleto.failed"
  | "charge.boleto.canceled"
  | "charge.boleto.refunded"
  | "charge.card.created"
  | "charge.card.authorized"
  | "charge.card.paid"
  | "charge.card.failed"
  | "charge.card.canceled"
  | "charge.card.refunded"
  | "charge.card.charged_back"

/** The values of `DisputeStatus` that this release knows. */
export type KnownDisputeStatus = "open" | "under_review" | "won" | "lost"

/** Later releases may add values. */
export type DisputeStatus = Open<KnownDisputeStatus>

/** The names of dispute events that this release knows. */
export type DisputeEventName = "dispute.pix.opened" | "dispute.pix.message" | "dispute.pix.won" | "dispute.pix.lost"

/** The values of `PaymentStatus` that this release knows. */
export type KnownPaymentStatus = "pending" | "processing" | "completed" | "failed" | "canceled"

/** Later releases may add values. */
export type PaymentStatus = Open<KnownPaymentStatus>

/** The values of `PaymentMethod` that this release knows. */
export type KnownPaymentMethod = "pix" | "ted"

/** Later releases may add values. */
export type PaymentMethod = Open<KnownPaymentMethod>

/** The names of payment events that this release knows. */
export type PaymentEventName =
  | "payment.pix.created"
  | "payment.pix.processing"
  | "payment.pix.completed"
  | "payment.pix.failed"
  | "payment.pix.canceled"
  | "payment.ted.created"
  | "payment.ted.processing"
  | "payment.ted.completed"
  | "payment.ted.failed"
  | "payment.ted.canceled"

/** The values of `PayoutStatus` that this release knows. */
export type KnownPayoutStatus = "pending" | "processing" | "completed" | "failed" | "canceled"

/** Later releases may add values. */
export type PayoutStatus = Open<KnownPayoutStatus>

/** The values of `PayoutMethod` that this release knows. */
export type KnownPayoutMethod = "pix" | "ted"

/** Later releases may add values. */
export type PayoutMethod = Open<KnownPayoutMethod>

/** The values of `ReceiverPixKeyType` that this release knows. */
export type KnownReceiverPixKeyType = "cpf" | "cnpj" | "email" | "phone" | "random"

/** Later releases may add values. */
export type ReceiverPixKeyType = Open<KnownReceiverPixKeyType>

/** The values of `ReceiverAccountType` that this release knows. */
export type KnownReceiverAccountType = "checking" | "savings" | "payment" | "salary"

/** Later releases may add values. */
export type ReceiverAccountType = Open<KnownReceiverAccountType>

/** The values of `RecipientPixKeyType` that this release knows. */
export type KnownRecipientPixKeyType = "cpf" | "cnpj" | "email" | "phone" | "random"

/** Later releases may add values. */
export type RecipientPixKeyType = Open<KnownRecipientPixKeyType>

/** Account, as the API returns it. */
export interface Account {
  /** Identifier. UUID. */
  readonly id: string
  /** The kind of resource. */
  readonly object: "account"
  /** Trade name. */
  readonly name: string
  /** Legal name. */
  readonly legal_name: string
  /** CPF or CNPJ, without mask. */
  readonly document: string
  /** One of `cpf`, `cnpj`. New values may be added: treat an unknown one as a generic case. */
  readonly document_type: AccountDocumentType
  /** Phone number. */
  readonly phone: string
  /** One of `active`, `inactive`. New values may be added: treat an unknown one as a generic case. */
  readonly status: AccountStatus
  /** One of `pending`, `in_review`, `completed`, `rejected`. New values may be added: treat an unknown one as a generic case. */
  readonly onboarding_status: AccountOnboardingStatus
  /** True: payouts are sent at once. False: they wait for an operator's approval. */
  readonly auto_payout_enabled: boolean
  /** When it was created. */
  readonly created_at: Instant
}

/** Balance, as the API returns it. */
export interface Balance {
  /** The kind of resource. */
  readonly object: "balance"
  /** Currency of the amounts. */
  readonly currency: Open<"BRL">
  /** Cents spendable now, net of payouts in progress. */
  readonly available: number
  /** Cents received but not yet released. */
  readonly pending: number
  /** `available` plus `pending`. */
  readonly total: number
}

/** Charge, as the API returns it. */
export interface Charge {
  /** Without hyphens it is the txid of the Pix, which banks and fiscal documents name. UUID. */
  readonly id: string
  /** The kind of resource. */
  readonly object: "charge"
  /** One of `processing`, `pending`, `paid`, `expired`, `canceled`, `failed`, `refunded`, `charged_back`, `infraction`. New values may be added: treat an unknown one as a generic case. */
  readonly status: ChargeStatus
  /** Cents. 0 to 999999999999. */
  readonly amount: number
  /** Currency of the amounts. */
  readonly currency: Open<"BRL">
  /** One of `pix`, `boleto`, `card`. New values may be added: treat an unknown one as a generic case. */
  readonly method: ChargeMethod
  /** Free text. */
  readonly description: string | null
  /** Your own identifier. It is part of every event. */
  readonly reference: string | null
  /** The payer. */
  readonly customer: Customer | null
  /** The Pix to pay, and its settlement. */
  readonly pix: {
    /** Pix copy-and-paste payload (EMV). */
    readonly br_code: string | null
    /** Settlement identifier, after payment. */
    readonly end_to_end_id: string | null
  }
  /** The account that receives the money; null if the acquirer does not say. */
  readonly receiver: Receiver | null
  /** Public http(s) URL that receives every event of this resource. */
  readonly webhook_url: string | null
  /** When the charge stops accepting payment. */
  readonly expires_at: Instant | null
  /** When the payment was confirmed. */
  readonly paid_at: Instant | null
  /** Cents that went back to the payer, by refunds or a MED; 0 at first. */
  readonly refunded_amount: number
  /** Why it failed; null unless `status` is `failed`. */
  readonly failure_reason: string | null
  /** When it was created. */
  readonly created_at: Instant
  /** Grows with each state change. A lower one is older: act on its event, but keep a newer state that you have. */
  readonly sequence: number
}

/** An event of a charge. `data` is its state after the change. */
export interface ChargeEvent {
  /** Delivery id; equals the header X-Webhook-Delivery. */
  readonly id: string
  /** The kind of resource. */
  readonly object: "event"
  /** Payment method. */
  readonly method: string
  /** Third part of the event name. */
  readonly action: string
  /** When it was created. */
  readonly created_at: Instant
  /** The resource's, after the change. A lower one is older: act on it, but keep a newer state that you have. */
  readonly sequence: number
  /** The resource after the change. */
  readonly data: Charge
  /** Event name. Later releases may add names. */
  readonly event: ChargeEventName | `charge.${string}.${string}`
  /** First part of the event name. */
  readonly resource: "charge"
}

/** Params to create a charge. */
export interface CreateCharge {
  /** Cents, 100 to 999999999999. */
  readonly amount: number
  /** Only `pix`, which is the default. */
  readonly method?: Open<"pix"> | null | undefined
  /** The payer. */
  readonly customer: {
    /** Name. 1 to 200 characters. */
    readonly name: string
    /** E-mail. At most 254 characters. */
    readonly email: string
    /** CPF or CNPJ, with or without mask. */
    readonly document: string
    /** Phone number. At most 32 characters. */
    readonly phone?: string | null | undefined
  }
  /** Free text. At most 140 characters. */
  readonly description?: string | null | undefined
  /** Your own identifier. It is part of every event. At most 255 characters. */
  readonly reference?: string | null | undefined
  /** Seconds until the charge stops accepting payment; the account's default when absent. 60 to 604800. */
  readonly expires_in?: number | null | undefined
  /** Public http(s) URL that receives every event of this resource. At most 2048 characters. */
  readonly webhook_url?: string | null | undefined
  /** Signs the deliveries to `webhook_url`. Never returned. At most 255 characters. */
  readonly webhook_secret?: string | null | undefined
}

/** Params to create a payout. */
export interface CreatePayout {
  /** Cents, 500 to 999999999999. */
  readonly amount: number
  /** The kind of Pix key. */
  readonly pix_key_type: Open<"cpf" | "cnpj" | "email" | "phone" | "random">
  /** The Pix key. 1 to 255 characters. */
  readonly pix_key: string
  /** Only `pix`, which is the default. */
  readonly method?: Open<"pix"> | null | undefined
  /** Name of the recipient. 1 to 200 characters. */
  readonly recipient_name?: string | null | undefined
  /** CPF or CNPJ, with or without mask. */
  readonly recipient_document?: string | null | undefined
  /** Free text. At most 140 characters. */
  readonly description?: string | null | undefined
  /** Your own identifier. It is part of every event. At most 255 characters. */
  readonly reference?: string | null | undefined
  /** Public http(s) URL that receives every event of this resource. At most 2048 characters. */
  readonly webhook_url?: string | null | undefined
  /** Signs the deliveries to `webhook_url`. Never returned. At most 255 characters. */
  readonly webhook_secret?: string | null | undefined
}

/** Params to create a webhook endpoint. */
export interface CreateWebhookEndpoint {
  /** Public http(s) URL that receives the deliveries. At most 2048 characters. */
  readonly url: string
  /** The subscribed events. */
  readonly events: ReadonlyArray<Open<EventName>>
  /** Free text. At most 255 characters. */
  readonly description?: string | null | undefined
  /** Signs the deliveries. Never returned. 8 to 255 characters. */
  readonly secret?: string | null | undefined
}

/** Customer, as the API returns it. */
export interface Customer {
  /** Name. */
  readonly name: string
  /** E-mail. */
  readonly email: string
  /** CPF or CNPJ, without mask. */
  readonly document: string
}

/** Dispute, as the API returns it. */
export interface Dispute {
  /** The kind of resource. */
  readonly object: "dispute"
  /** Identifier. UUID. */
  readonly id: string
  /** Id of the disputed charge. UUID. */
  readonly charge_id: string
  /** One of `open`, `under_review`, `won`, `lost`. New values may be added: treat an unknown one as a generic case. */
  readonly status: DisputeStatus
  /** Blocked amount in cents. 0 to 999999999999. */
  readonly amount: number
  /** Currency of the amounts. */
  readonly currency: Open<"BRL">
  /** Reason of the dispute. */
  readonly reason: string | null
  /** The charge's. */
  readonly reference: string | null
  /** When the dispute was opened. */
  readonly opened_at: Instant | null
  /** Deadline to file a defense. */
  readonly defense_deadline_at: Instant | null
  /** When the dispute was resolved. */
  readonly resolved_at: Instant | null
  /** True if the money was returned without prior notice: the dispute has no earlier event. */
  readonly arrived_resolved: boolean
  /** The platform's message, in `dispute.pix.message`. */
  readonly message?: string
  /** Grows with each change of the resource. An event with a lower value is older. */
  readonly sequence: number
}

/** An event of a dispute. `data` is its state after the change. */
export interface DisputeEvent {
  /** Delivery id; equals the header X-Webhook-Delivery. */
  readonly id: string
  /** The kind of resource. */
  readonly object: "event"
  /** Payment method. */
  readonly method: string
  /** Third part of the event name. */
  readonly action: string
  /** When it was created. */
  readonly created_at: Instant
  /** The resource's, after the change. A lower one is older: act on it, but keep a newer state that you have. */
  readonly sequence: number
  /** The resource after the change. */
  readonly data: Dispute
  /** Event name. Later releases may add names. */
  readonly event: DisputeEventName | `dispute.${string}.${string}`
  /** First part of the event name. */
  readonly resource: "dispute"
}

/** Event catalog entry, as the API returns it. */
export interface EventCatalogEntry {
  /** Event name, `<resource>.<method>.<action>`. */
  readonly event: string
  /** First part of the event name. */
  readonly resource: string
  /** Payment method. */
  readonly method: string
  /** Third part of the event name. */
  readonly action: string
  /** Free text. */
  readonly description: string
  /** False while the platform does not yet emit the event. */
  readonly dispatched: boolean
}

/** ISO 8601 in UTC with milliseconds. */
export type Instant = string

/** Payment, as the API returns it. */
export interface Payment {
  /** Identifier. UUID. */
  readonly id: string
  /** The kind of resource. */
  readonly object: "payment"
  /** One of `pending`, `processing`, `completed`, `failed`, `canceled`. New values may be added: treat an unknown one as a generic case. */
  readonly status: PaymentStatus
  /** One of `pix`, `ted`. New values may be added: treat an unknown one as a generic case. */
  readonly method: PaymentMethod
  /** Cents, without the fee. 0 to 999999999999. */
  readonly amount: number
  /** Cents; leaves the balance together with the amount. 0 to 999999999999. */
  readonly fee: number
  /** Currency of the amounts. */
  readonly currency: Open<"BRL">
  /** Free text. */
  readonly description: string | null
  /** Your own identifier. It is part of every event. */
  readonly reference: string | null
  /** Who receives the money. */
  readonly recipient: Recipient
  /** Settlement identifier, after settlement. */
  readonly end_to_end_id: string | null
  /** Why it failed; null unless `status` is `failed`. */
  readonly failure_reason: string | null
  /** Public http(s) URL that receives every event of this resource. */
  readonly webhook_url: string | null
  /** When the payout was sent to the acquirer. */
  readonly processed_at: Instant | null
  /** When it was created. */
  readonly created_at: Instant
  /** Grows with each state change. A lower one is older: act on its event, but keep a newer state that you have. */
  readonly sequence: number
}

/** An event of a payment. `data` is its state after the change. */
export interface PaymentEvent {
  /** Delivery id; equals the header X-Webhook-Delivery. */
  readonly id: string
  /** The kind of resource. */
  readonly object: "event"
  /** Payment method. */
  readonly method: string
  /** Third part of the event name. */
  readonly action: string
  /** When it was created. */
  readonly created_at: Instant
  /** The resource's, after the change. A lower one is older: act on it, but keep a newer state that you have. */
  readonly sequence: number
  /** The resource after the change. */
  readonly data: Payment
  /** Event name. Later releases may add names. */
  readonly event: PaymentEventName | `payment.${string}.${string}`
  /** First part of the event name. */
  readonly resource: "payment"
}

/** Payout, as the API returns it. */
export interface Payout {
  /** Identifier. UUID. */
  readonly id: string
  /** The kind of resource. */
  readonly object: "payout"
  /** One of `pending`, `processing`, `completed`, `failed`, `canceled`. New values may be added: treat an unknown one as a generic case. */
  readonly status: PayoutStatus
  /** One of `pix`, `ted`. New values may be added: treat an unknown one as a generic case. */
  readonly method: PayoutMethod
  /** Cents, without the fee. 0 to 999999999999. */
  readonly amount: number
  /** Cents; leaves the balance together with the amount. 0 to 999999999999. */
  readonly fee: number
  /** Currency of the amounts. */
  readonly currency: Open<"BRL">
  /** Free text. */
  readonly description: string | null
  /** Your own identifier. It is part of every event. */
  readonly reference: string | null
  /** Who receives the money. */
  readonly recipient: Recipient
  /** Settlement identifier, after settlement. */
  readonly end_to_end_id: string | null
  /** Why it failed; null unless `status` is `failed`. */
  readonly failure_reason: string | null
  /** Public http(s) URL that receives every event of this resource. */
  readonly webhook_url: string | null
  /** When the payout was sent to the acquirer. */
  readonly processed_at: Instant | null
  /** When it was created. */
  readonly created_at: Instant
  /** Grows with each state change. A lower one is older: act on its event, but keep a newer state that you have. */
  readonly sequence: number
}

/** Receiver, as the API returns it. */
export interface Receiver {
  /** Name. */
  readonly name: string | null
  /** CPF or CNPJ, without mask. */
  readonly document: string | null
  /** The Pix key. */
  readonly pix_key: string | null
  /** One of `cpf`, `cnpj`, `email`, `phone`, `random`. New values may be added: treat an unknown one as a generic case. */
  readonly pix_key_type: ReceiverPixKeyType | null
  /** Name of the institution. */
  readonly institution_name: string | null
  /** ISPB of the institution. */
  readonly institution_ispb: string | null
  /** Branch number. */
  readonly branch: string | null
  /** Account number. */
  readonly account: string | null
  /** One of `checking`, `savings`, `payment`, `salary`. New values may be added: treat an unknown one as a generic case. */
  readonly account_type: ReceiverAccountType | null
}

/** Recipient, as the API returns it. */
export interface Recipient {
  /** Name. */
  readonly name: string | null
  /** CPF or CNPJ, without mask. */
  readonly document: string | null
  /** Null for a TED. */
  readonly pix_key_type: RecipientPixKeyType | null
  /** Null for a TED. */
  readonly pix_key: string | null
}

/** Params to update a webhook endpoint. */
export interface UpdateWebhookEndpoint {
  /** Public http(s) URL that receives the deliveries. At most 2048 characters. */
  readonly url?: string | undefined
  /** The subscribed events. */
  readonly events?: ReadonlyArray<Open<EventName>> | undefined
  /** Free text. At most 255 characters. */
  readonly description?: string | null | undefined
  /** Signs the deliveries. Never returned. 8 to 255 characters. */
  readonly secret?: string | null | undefined
  /** False pauses deliveries until it is true again. */
  readonly active?: boolean | undefined
}

/** Webhook endpoint, as the API returns it. */
export interface WebhookEndpoint {
  /** Identifier. UUID. */
  readonly id: string
  /** The kind of resource. */
  readonly object: "webhook"
  /** Public http(s) URL that receives the deliveries. */
  readonly url: string
  /** Free text. */
  readonly description: string | null
  /** The subscribed events. */
  readonly events: ReadonlyArray<string>
  /** False pauses deliveries: they wait. */
  readonly active: boolean
  /** Whether deliveries are signed. */
  readonly has_secret: boolean
  /** When it was created. */
  readonly created_at: Instant
}

/** The filters and pagination of `charges.list`. */
export interface ListChargesQuery {
  /** Page size, 1 to 100; 20 when absent. */
  readonly limit?: number | undefined
  /** The id of the last item of the previous page. UUID. */
  readonly starting_after?: string | undefined
  /** Only items with this status. */
  readonly status?:
    | Open<
        | "processing"
        | "pending"
        | "paid"
        | "expired"
        | "canceled"
        | "failed"
        | "refunded"
        | "charged_back"
        | "infraction"
      >
    | undefined
  /** Payment method. */
  readonly method?: Open<"pix" | "boleto" | "card"> | undefined
  /** ISO 8601 with an offset or `Z`. */
  readonly created_after?: string | undefined
  /** ISO 8601 with an offset or `Z`. */
  readonly created_before?: string | undefined
}

/** The filters and pagination of `payouts.list`. */
export interface ListPayoutsQuery {
  /** Page size, 1 to 100; 20 when absent. */
  readonly limit?: number | undefined
  /** The id of the last item of the previous page. UUID. */
  readonly starting_after?: string | undefined
  /** Only items with this status. */
  readonly status?: Open<"pending" | "processing" | "completed" | "failed" | "canceled"> | undefined
  /** Payment method. */
  readonly method?: Open<"pix" | "ted"> | undefined
  /** ISO 8601 with an offset or `Z`. */
  readonly created_after?: string | undefined
  /** ISO 8601 with an offset or `Z`. */
  readonly created_before?: string | undefined
}

/** An event of a resource that this release does not know: answer 2xx and ignore it. */
export interface UnknownEvent {
  /** Delivery id; equals the header X-Webhook-Delivery. */
  readonly id: string
  /** The kind of resource. */
  readonly object: "event"
  /** Payment method. */
  readonly method: string
  /** Third part of the event name. */
  readonly action: string
  /** When it was created. */
  readonly created_at: Instant
  /** The resource's, after the change. A lower one is older: act on it, but keep a newer state that you have. */
  readonly sequence: number
  /** Event name. */
  readonly event: Unrecognized
  /** First part of the event name. */
  readonly resource: Unrecognized
  /** The resource after the change. */
  readonly data: { readonly object: string; readonly [field: string]: unknown }
}

/** The event names that this release knows. */
export type EventName = ChargeEventName | PaymentEventName | DisputeEventName

/** The body of a delivery. Narrow it by `event` or `resource`. */
export type WebhookEvent = ChargeEvent | PaymentEvent | DisputeEvent | UnknownEvent

/** The error codes that this release knows. Later releases may add codes. */
export type ErrorCode = keyof ErrorFields

/** The fields of an error body beside `code`, `message` and `details`, by code. */
export interface ErrorFields {
  /** 401: The API key is missing or not accepted. */
  readonly UNAUTHORIZED: Record<never, never>
  /** 403: The API key lacks a required scope. */
  readonly INSUFFICIENT_SCOPE: Record<never, never>
  /** 400: The Idempotency-Key header is required. */
  readonly IDEMPOTENCY_KEY_REQUIRED: Record<never, never>
  /** 400: The request is invalid. */
  readonly VALIDATION_ERROR: Record<never, never>
  /** 400: The payment method is not available: v1 supports pix. */
  readonly METHOD_NOT_SUPPORTED: Record<never, never>
  /** 400: The amount is below the minimum of this operation. */
  readonly AMOUNT_BELOW_MINIMUM: Record<never, never>
  /** 400: The CPF or CNPJ is invalid. */
  readonly INVALID_DOCUMENT: Record<never, never>
  /** 422: An event name is not in the catalog. */
  readonly INVALID_WEBHOOK_EVENT: Record<never, never>
  /** 422: The webhook URL must be http or https and public. */
  readonly INVALID_WEBHOOK_URL: Record<never, never>
  /** 400: The account is inactive. */
  readonly ACCOUNT_INACTIVE: Record<never, never>
  /** 400: The account has not completed its onboarding. */
  readonly ACCOUNT_RESTRICTED: Record<never, never>
  /** 400: The available balance is lower than amount plus fee. */
  readonly INSUFFICIENT_BALANCE: Record<never, never>
  /** 422: The acquirer refused the charge. */
  readonly ACQUIRER_REJECTED: { readonly charge_id: string }
  /** 404: The charge does not exist. */
  readonly CHARGE_NOT_FOUND: Record<never, never>
  /** 404: The payout does not exist. */
  readonly PAYOUT_NOT_FOUND: Record<never, never>
  /** 404: The webhook endpoint does not exist. */
  readonly WEBHOOK_NOT_FOUND: Record<never, never>
  /** 404: Nothing is found at this address. */
  readonly NOT_FOUND: Record<never, never>
  /** 405: This address does not take that verb. */
  readonly METHOD_NOT_ALLOWED: Record<never, never>
  /** 413: The body is too large, or in too many chunks. */
  readonly PAYLOAD_TOO_LARGE: Record<never, never>
  /** 429: Too many requests. */
  readonly RATE_LIMITED: Record<never, never>
  /** 500: An unexpected failure. The call may be repeated with the same idempotency key. */
  readonly INTERNAL_ERROR: Record<never, never>
  /** 503: The service is overloaded or restarting. Try again shortly. */
  readonly SERVICE_UNAVAILABLE: Record<never, never>
}
