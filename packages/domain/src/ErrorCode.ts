/**
 * The error codes, each with its HTTP status and its default message: ERR-13, `docs/errors.md`.
 *
 * Guarantees
 * - A code is declared here once. The wire errors of `api`, the checks of the request schemas and the order of
 *   `requestCodes` (ERR-2) use this table.
 */

export const errorCodes = {
  UNAUTHORIZED: { status: 401, message: "The API key is missing or not accepted." },
  INSUFFICIENT_SCOPE: { status: 403, message: "The API key lacks a required scope." },
  FORBIDDEN: { status: 403, message: "This operator may not do that." },
  IDEMPOTENCY_KEY_REQUIRED: { status: 400, message: "The Idempotency-Key header is required." },
  IDEMPOTENCY_KEY_REUSED: { status: 409, message: "The Idempotency-Key is that of another request." },
  VALIDATION_ERROR: { status: 400, message: "The request is invalid." },
  METHOD_NOT_SUPPORTED: { status: 400, message: "The payment method is not available: v1 supports pix." },
  AMOUNT_BELOW_MINIMUM: { status: 400, message: "The amount is below the minimum of this operation." },
  INVALID_DOCUMENT: { status: 400, message: "The CPF or CNPJ is invalid." },
  INVALID_WEBHOOK_EVENT: { status: 422, message: "An event name is not in the catalog." },
  INVALID_WEBHOOK_URL: { status: 422, message: "The webhook URL must be http or https and public." },
  ACCOUNT_INACTIVE: { status: 400, message: "The account is inactive." },
  ACCOUNT_RESTRICTED: { status: 400, message: "The account has not completed its onboarding." },
  INSUFFICIENT_BALANCE: { status: 400, message: "The available balance is lower than amount plus fee." },
  ACQUIRER_REJECTED: { status: 422, message: "The acquirer refused the charge." },
  CHARGE_NOT_FOUND: { status: 404, message: "The charge does not exist." },
  PAYOUT_NOT_FOUND: { status: 404, message: "The payout does not exist." },
  WEBHOOK_NOT_FOUND: { status: 404, message: "The webhook endpoint does not exist." },
  NOT_FOUND: { status: 404, message: "Nothing is found at this address." },
  METHOD_NOT_ALLOWED: { status: 405, message: "This address does not take that verb." },
  INVALID_STATE: { status: 409, message: "The present state does not allow this." },
  CURSOR_EXPIRED: {
    status: 410,
    message: "The event to continue after is not kept. Begin with `after=oldest`, or without."
  },
  MISDIRECTED_REQUEST: { status: 421, message: "The Host header names a host that is not served here." },
  PAYLOAD_TOO_LARGE: { status: 413, message: "The body is too large, or in too many chunks." },
  RATE_LIMITED: { status: 429, message: "Too many requests." },
  INTERNAL_ERROR: {
    status: 500,
    message: "An unexpected failure. The call may be repeated with the same idempotency key."
  },
  SERVICE_UNAVAILABLE: { status: 503, message: "The service is overloaded or restarting. Try again shortly." }
} as const satisfies Record<string, { readonly status: number; readonly message: string }>

export type ErrorCode = keyof typeof errorCodes

/**
 * The codes of a request's contents, in the order of ERR-2: of several, the first one is answered.
 */
export const requestCodes = [
  "VALIDATION_ERROR",
  "METHOD_NOT_SUPPORTED",
  "AMOUNT_BELOW_MINIMUM",
  "INVALID_DOCUMENT",
  "INVALID_WEBHOOK_EVENT",
  "INVALID_WEBHOOK_URL"
] as const satisfies ReadonlyArray<ErrorCode>

export type RequestCode = (typeof requestCodes)[number]

/**
 * The annotation that gives a check its code: `Schema.makeFilter(isDocument, failsWith("INVALID_DOCUMENT"))`.
 * A failed check without it is a `VALIDATION_ERROR`.
 */
export const failsWith = (code: RequestCode): { readonly code: RequestCode } => ({ code })

/** The code of a failed check, from its annotations. */
export const codeOf = (annotations: { readonly [key: string]: unknown } | undefined): RequestCode => {
  const code = annotations?.["code"]
  return requestCodes.find((known) => known === code) ?? "VALIDATION_ERROR"
}
