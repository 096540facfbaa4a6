/** The words in English. */
import type { ChargeStatus } from "@pix-payments/domain/Charge"
import type { DisputeStatus } from "@pix-payments/domain/Dispute"
import type { PayoutStatus } from "@pix-payments/domain/Payout"

const states = {
  processing: "processing",
  pending: "pending",
  paid: "paid",
  expired: "expired",
  canceled: "canceled",
  failed: "failed",
  refunded: "refunded",
  charged_back: "charged back",
  infraction: "infraction",
  completed: "completed",
  open: "open",
  under_review: "under review",
  won: "won",
  lost: "lost",
  scheduled: "scheduled",
  delivering: "delivering",
  delivered: "delivered"
} satisfies Readonly<Record<ChargeStatus | PayoutStatus | DisputeStatus, string>> & Readonly<Record<string, string>>

export const en = {
  product: "Pix payments",
  states,
  nav: {
    menu: "Menu",
    money: "Money",
    developers: "Developers",
    installation: "Installation",
    charges: "Charges",
    payouts: "Payouts"
  },
  signIn: {
    title: "Sign in",
    token: "Token",
    hint: "Your personal token, or the operator token of the installation.",
    submit: "Sign in",
    refused: "This token is not accepted.",
    limited: "Too many failed sign-ins from your address. Try again in half a minute."
  },
  signOut: "Sign out",
  list: {
    filter: "Filter",
    all: "all",
    next: "Next page",
    first: "First page",
    none: "Nothing here with these filters.",
    clear: "Clear filters"
  },
  charges: {
    title: "Charges",
    none: "No charge yet. Charges appear here as your applications create them.",
    amount: "Amount",
    status: "Status",
    reference: "Reference",
    customer: "Payer",
    created: "Created"
  },
  charge: {
    title: "Charge",
    timeline: "Timeline",
    newestFirst: "newest first",
    reference: "Reference",
    payer: "Payer",
    description: "Description",
    expires: "Expires",
    paid: "Paid",
    receiver: "Receiver",
    endToEndId: "End-to-end id",
    copyAndPaste: "Copy and paste",
    reason: "Reason",
    deliveredTo: "delivered to",
    waitsFor: "waits for"
  },
  actions: { copy: "Copy", copied: "Copied", curl: "Copy as curl", retry: "Try again" },
  problem: {
    network: "The server did not answer. Check that it runs, then try again.",
    notFound: "Nothing here. It may have another id, or belong to an account that you cannot see.",
    requestId: "Request"
  }
}

export type Words = typeof en
