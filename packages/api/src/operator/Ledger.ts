/** Entries of the ledger, and its verification: OPR-30. */
import { Cents } from "@pix-payments/domain/Cents"
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { createdFilters, Id, idFilter, orderQuery } from "./Fields.ts"

export const LedgerAccountName = Schema.Literals([
  "available",
  "pending",
  "blocked",
  "payouts_in_transit",
  "returns_in_transit",
  "unallocated",
  "acquirer",
  "fees"
])
export type LedgerAccountName = typeof LedgerAccountName.Type

/** A ledger account, of an account or of a connection. */
export const LedgerAccount = Schema.Struct({
  account_id: Schema.NullOr(Id).annotateKey({
    description:
      "The owner of the ledger account: an account, or a connection (`unallocated`, and the `acquirer` beside it). Null for `acquirer` and `fees` of an entry, and for those of the installation."
  }),
  name: open(LedgerAccountName)
}).annotate({ identifier: "LedgerAccount" })
export type LedgerAccount = typeof LedgerAccount.Type

/** A transfer between two ledger accounts (BAL-3). */
export const LedgerEntry = Schema.Struct({
  id: Id,
  object: Schema.Literal("ledger_entry"),
  reason: Schema.String.annotate({ description: "The change that moved the money: `charge.paid`." }),
  resource_id: Schema.NullOr(Id),
  from: LedgerAccount,
  to: LedgerAccount,
  amount: Cents.annotate({ description: "Cents." }),
  created_at: Instant
}).annotate({ identifier: "LedgerEntry" })
export type LedgerEntry = typeof LedgerEntry.Type

/** The balance of a ledger account: as stored (`kept`), and as the sum of its entries (`computed`). */
export const LedgerBalance = Schema.Struct({
  account: LedgerAccount,
  kept: Schema.Int,
  computed: Schema.Int
}).annotate({ identifier: "LedgerBalance" })
export type LedgerBalance = typeof LedgerBalance.Type

/** A day that is not as it was closed, or that lacks an entry (OPR-256). */
export const BrokenClose = Schema.Struct({
  account_id: Schema.NullOr(Id),
  connection_id: Schema.NullOr(Id),
  day: Schema.String.annotate({ format: "date" }),
  problem: open(Schema.Literals(["transfers", "close", "chain", "missing"])).annotate({
    description:
      "What changed: its entries, its own figures or hash, the hash of the close before it; or it is not there."
  })
}).annotate({ identifier: "BrokenClose" })
export type BrokenClose = typeof BrokenClose.Type

export const LedgerVerification = Schema.Struct({
  object: Schema.Literal("ledger_verification"),
  consistent: Schema.Boolean.annotate({
    description: "True when `differences`, `states` and `closes` are empty."
  }),
  accounts: Schema.Array(LedgerBalance),
  differences: Schema.Array(LedgerBalance).annotate({ description: "Ledger accounts whose `kept` is not `computed`." }),
  states: Schema.Array(LedgerBalance).annotate({
    description:
      "Up to 100 ledger accounts whose balance (`kept`) the states of payouts, refunds, releases, disputes and exceptions do not explain. They explain `computed`."
  }),
  closes: Schema.Array(BrokenClose).annotate({
    description:
      "Up to 100 days that are not as they were closed, or that lack an entry: of the newest closed day, of all days of an account whose last close does not fit its balances, or of all days with `full=true`."
  })
}).annotate({ identifier: "LedgerVerification" })
export type LedgerVerification = typeof LedgerVerification.Type

export const ledgerQuery = {
  ...listQuery,
  ...orderQuery,
  account_id: idFilter,
  resource_id: idFilter,
  ...createdFilters
}

export const verifyQuery = {
  full: Schema.optionalKey(Schema.Literals(["true", "false"])).annotateKey({
    description:
      "`true` reads all entries and closes. Otherwise those since the last closes, and the newest closed day."
  })
}

export class LedgerGroup extends HttpApiGroup.make("ledger")
  .add(
    HttpApiEndpoint.get("entries", "/entries", {
      query: ledgerQuery,
      success: listOf(LedgerEntry),
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "List ledger entries, newest first"),
    HttpApiEndpoint.get("verify", "/verify", {
      query: verifyQuery,
      success: LedgerVerification,
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Compare the stored balance of every ledger account with its entries")
  )
  .prefix("/operator/v1/ledger")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
