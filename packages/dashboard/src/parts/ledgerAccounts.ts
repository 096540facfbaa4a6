/** The accounts of the ledger in words. */
import type { LedgerAccount } from "@pix-payments/api/operator/Ledger"
import { inBoth } from "../words/Words.ts"

/** The word of an account, or its name where it is new. */
export const ledgerAccountName = ({ name }: Pick<LedgerAccount, "name">): string =>
  (ledgerWords() as Readonly<Record<string, string>>)[name] ?? name.replaceAll("_", " ")

const ledgerWords = inBoth({
  en: {
    available: "available",
    pending: "pending",
    blocked: "blocked",
    payouts_in_transit: "payouts in transit",
    returns_in_transit: "returns in transit",
    acquirer: "acquirer",
    fees: "fees",
    unallocated: "unallocated"
  },
  pt: {
    available: "disponível",
    pending: "a liberar",
    blocked: "bloqueado",
    payouts_in_transit: "pagamentos em trânsito",
    returns_in_transit: "devoluções em trânsito",
    acquirer: "instituição",
    fees: "tarifas",
    unallocated: "não alocado"
  }
})
