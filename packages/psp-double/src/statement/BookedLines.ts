/**
 * What the bank books of a provider's account: a line for each Pix received, return, payout and payout that came back.
 *
 * Guarantees: opening and lines are the balance, where nothing is in process. A payout that failed has no line.
 */
import type { Provider } from "../provider/Provider.ts"

export interface BookedLine {
  readonly atMs: number
  /** Negative where money left. */
  readonly cents: number
  /** Of the Pix (`E…`) or the return (`D…`); empty where the bank names none. */
  readonly endToEndId: string
  readonly text: string
}

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
const ALL = { page: 0, size: Number.MAX_SAFE_INTEGER }

/** Oldest first. */
export const bookedLines = ({ payouts, receipts }: Provider): ReadonlyArray<BookedLine> => {
  const received = receipts
    .list(ALWAYS, () => true, ALL)
    .items.flatMap((pix) => [
      { atMs: pix.atMs, cents: pix.cents, endToEndId: pix.endToEndId, text: `PIX RECEBIDO ${pix.payer.name}` },
      ...pix.returns
        .filter(({ status }) => status === "DEVOLVIDO")
        .map(({ cents, nature, requestedAtMs, rtrId, settledAtMs }) => ({
          atMs: settledAtMs ?? requestedAtMs,
          cents: -cents,
          endToEndId: rtrId,
          text: nature.startsWith("MED") ? "PIX DEVOLUCAO MED" : "PIX DEVOLVIDO"
        }))
    ])
  const sent = payouts
    .list(ALWAYS, ({ status }) => status === "REALIZADO", ALL)
    .items.flatMap(({ cents, endToEndId, requestedAtMs, returned, settledAtMs }) => [
      { atMs: settledAtMs ?? requestedAtMs, cents: -cents, endToEndId, text: "PIX ENVIADO" },
      ...returned.map((back) => ({
        atMs: back.atMs,
        cents: back.cents,
        endToEndId: back.rtrId,
        text: "PIX ENVIADO DEVOLVIDO"
      }))
    ])
  return [...received, ...sent].toSorted((a, b) => a.atMs - b.atMs)
}
