import { type Charge, Payments } from "@pix-payments/client"
import type { Page, Solution } from "../graders/show-qr.ts"

const pageWith =
  (pageOf: (charge: Charge, now: Date) => Page): Solution =>
  async ({ apiKey, url }, chargeId, now) =>
    pageOf(await new Payments({ baseUrl: url, apiKey }).charges.retrieve(chargeId), now)

const isOver = ({ expires_at }: Charge, now: Date): boolean =>
  expires_at !== null && Date.parse(expires_at) <= now.getTime()

const pageOf = (charge: Charge, now: Date): Page => {
  switch (charge.status) {
    case "pending":
      return isOver(charge, now) ? { qr: null, word: "over" } : { qr: charge.pix.br_code, word: "pay" }
    case "paid":
      return { qr: null, word: "paid" }
    case "expired":
    case "canceled":
    case "failed":
      return { qr: null, word: "over" }
    default: // processing, and statuses of later releases
      return { qr: null, word: "wait" }
  }
}

export const right: Solution = pageWith(pageOf)

export const wrong: Readonly<Record<string, Solution>> = {
  // A link to the charge is no Pix.
  "shows another code than the charge's": pageWith((charge, now) => {
    const page = pageOf(charge, now)
    return page.qr === null ? page : { ...page, qr: `https://pix.example.com/v1/charges/${charge.id}` }
  }),

  // The status changes a moment after the deadline.
  "shows a code that has expired": pageWith((charge, now) =>
    charge.status === "pending" ? { qr: charge.pix.br_code, word: "pay" } : pageOf(charge, now)
  ),

  // The code is not there at once.
  "shows a code before there is one": pageWith((charge, now) =>
    charge.status === "processing" ? { qr: `${charge.pix.br_code}`, word: "pay" } : pageOf(charge, now)
  ),

  // Neither open nor over: so it was paid.
  "takes an unknown status for one that it knows": pageWith((charge, now) =>
    charge.status === "processing" || pageOf(charge, now).word !== "wait"
      ? pageOf(charge, now)
      : { qr: null, word: "paid" }
  ),

  // Looks at the deadline only.
  "asks to pay again": pageWith((charge, now) =>
    charge.status === "paid" && !isOver(charge, now) ? { qr: charge.pix.br_code, word: "pay" } : pageOf(charge, now)
  ),

  // Looks at the deadline first.
  "says over to one who has paid": pageWith((charge, now) =>
    isOver(charge, now) ? { qr: null, word: "over" } : pageOf(charge, now)
  )
}
