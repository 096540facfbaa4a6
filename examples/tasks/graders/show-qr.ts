// @effect-diagnostics globalDate:off -- integrators have no Effect
import type { Charge } from "@pix-payments/client"
import { type Access, demand, type World } from "../World.ts"

export interface Page {
  readonly qr: string | null
  readonly word: "pay" | "wait" | "paid" | "over"
}

export type Solution = (access: Access, chargeId: string, now: Date) => Promise<Page>

export const grade = async ({ access, charge, operate, wire }: World, solution: Solution): Promise<void> => {
  const open = await charge({ expires_in: 600 })
  const now = new Date(Date.parse(open.created_at) + 60_000)
  const later = new Date(Date.parse(open.expires_at ?? "") + 1000)

  const first = await solution(access, open.id, now)
  demand(first.qr === open.pix.br_code && first.word === "pay", "shows another code than the charge's")
  const expired = await solution(access, open.id, later)
  demand(expired.qr === null && expired.word === "over", "shows a code that has expired")

  /** The same charge with other fields, as the service may answer. */
  const seenAs = async (fields: Partial<Charge>) => {
    const forwarding = wire.answer
    wire.answer = async () => ({ status: 200, body: JSON.stringify({ ...open, ...fields }) })
    const page = await solution(access, open.id, now)
    wire.answer = forwarding
    return page
  }
  const processing = await seenAs({ status: "processing", pix: { br_code: null, end_to_end_id: null } })
  demand(processing.qr === null && processing.word === "wait", "shows a code before there is one")
  const unknown = await seenAs({ status: "on_hold" })
  demand(unknown.qr === null && unknown.word === "wait", "takes an unknown status for one that it knows")

  await operate("POST", `/simulator/charges/${open.id}/pay`)
  const paid = await solution(access, open.id, now)
  demand(paid.qr === null && paid.word === "paid", "asks to pay again")
  demand((await solution(access, open.id, later)).word === "paid", "says over to one who has paid")
}
