/**
 * The error codes of the contract: each with its HTTP status and its default message, as data.
 *
 * Guarantees: a code is declared here once. The wire errors of `api`, the checks of the request
 * schemas (by the annotation `code`) and the order in which several failures of one request are
 * answered all come from this table.
 *
 * Source: payments-api-v1.md "Errors"; decisions.md "Answers".
 */
export declare const errorCodes: {
    readonly UNAUTHORIZED: {
        readonly status: 401;
        readonly message: "The API key is missing or not accepted.";
    };
    readonly INSUFFICIENT_SCOPE: {
        readonly status: 403;
        readonly message: "The API key lacks a required scope.";
    };
    readonly IDEMPOTENCY_KEY_REQUIRED: {
        readonly status: 400;
        readonly message: "The Idempotency-Key header is required.";
    };
    readonly VALIDATION_ERROR: {
        readonly status: 400;
        readonly message: "The request is invalid.";
    };
    readonly METHOD_NOT_SUPPORTED: {
        readonly status: 400;
        readonly message: "The payment method is not available: v1 supports pix.";
    };
    readonly AMOUNT_BELOW_MINIMUM: {
        readonly status: 400;
        readonly message: "The amount is below the minimum of this operation.";
    };
    readonly INVALID_DOCUMENT: {
        readonly status: 400;
        readonly message: "The CPF or CNPJ is invalid.";
    };
    readonly INVALID_WEBHOOK_EVENT: {
        readonly status: 422;
        readonly message: "An event name is not in the catalog.";
    };
    readonly INVALID_WEBHOOK_URL: {
        readonly status: 422;
        readonly message: "The webhook URL must be http or https and public.";
    };
    readonly ACCOUNT_INACTIVE: {
        readonly status: 400;
        readonly message: "The account is inactive.";
    };
    readonly ACCOUNT_RESTRICTED: {
        readonly status: 400;
        readonly message: "The account has not completed its onboarding.";
    };
    readonly INSUFFICIENT_BALANCE: {
        readonly status: 400;
        readonly message: "The available balance is lower than amount plus fee.";
    };
    readonly ACQUIRER_REJECTED: {
        readonly status: 422;
        readonly message: "The acquirer refused the charge.";
    };
    readonly CHARGE_NOT_FOUND: {
        readonly status: 404;
        readonly message: "The charge does not exist.";
    };
    readonly PAYOUT_NOT_FOUND: {
        readonly status: 404;
        readonly message: "The payout does not exist.";
    };
    readonly WEBHOOK_NOT_FOUND: {
        readonly status: 404;
        readonly message: "The webhook endpoint does not exist.";
    };
    readonly NOT_FOUND: {
        readonly status: 404;
        readonly message: "Nothing is found at this address.";
    };
    readonly METHOD_NOT_ALLOWED: {
        readonly status: 405;
        readonly message: "This address does not take that verb.";
    };
    readonly INVALID_STATE: {
        readonly status: 409;
        readonly message: "The present state does not allow this.";
    };
    readonly PAYLOAD_TOO_LARGE: {
        readonly status: 413;
        readonly message: "The body is larger than 256 KiB.";
    };
    readonly RATE_LIMITED: {
        readonly status: 429;
        readonly message: "Too many requests.";
    };
    readonly INTERNAL_ERROR: {
        readonly status: 500;
        readonly message: "An unexpected failure. The call may be repeated with the same idempotency key.";
    };
    readonly SERVICE_UNAVAILABLE: {
        readonly status: 503;
        readonly message: "The service is overloaded or restarting. Try again shortly.";
    };
};
export type ErrorCode = keyof typeof errorCodes;
/**
 * The codes that a request's own content can raise, in the order in which they are answered when
 * several apply: all bad fields at once first, then one rule after the other.
 */
export declare const requestCodes: readonly ["VALIDATION_ERROR", "METHOD_NOT_SUPPORTED", "AMOUNT_BELOW_MINIMUM", "INVALID_DOCUMENT", "INVALID_WEBHOOK_EVENT", "INVALID_WEBHOOK_URL"];
export type RequestCode = (typeof requestCodes)[number];
/**
 * Names the code of a check: `Schema.makeFilter(isDocument, failsWith("INVALID_DOCUMENT"))`.
 * A failed check without one is a `VALIDATION_ERROR`.
 */
export declare const failsWith: (code: RequestCode) => {
    readonly code: RequestCode;
};
/** The code that the annotations of a failed check name. */
export declare const codeOf: (annotations: {
    readonly [key: string]: unknown;
} | undefined) => RequestCode;
