import { unwrap, type WebhookEvent, WebhookSignatureError } from "@pix-payments/client/webhooks"
import type { Solution } from "../graders/rotate-secret.ts"

type Shop = Parameters<Solution>[0]

const receiveWith =
  (verified: (request: Request, shop: Shop) => Promise<WebhookEvent>): Solution =>
  (shop) =>
  async (request) => {
    try {
      shop.handle(await verified(request, shop))
      return new Response(null, { status: 204 })
    } catch (error) {
      if (error instanceof WebhookSignatureError) return new Response(null, { status: 401 })
      throw error
    }
  }

export const right: Solution = receiveWith(async (request, { current, previous }) =>
  unwrap({ body: await request.text(), headers: request.headers, secrets: [current, previous] })
)

export const wrong: Readonly<Record<string, Solution>> = {
  // Switches at once: what is signed with the previous one is lost.
  "refused the previous secret": receiveWith(async (request, { current }) =>
    unwrap({ body: await request.text(), headers: request.headers, secrets: current })
  ),

  // Switches later: the service has the new one already.
  "refused the current secret": receiveWith(async (request, { previous }) =>
    unwrap({ body: await request.text(), headers: request.headers, secrets: previous })
  ),

  // Writes the parsed body again.
  "verified other bytes than came": receiveWith(async (request, { current, previous }) =>
    unwrap({ body: JSON.stringify(await request.json()), headers: request.headers, secrets: [current, previous] })
  ),

  // A service without a secret would not sign: so this looks at a signature where there is one.
  "handled what nobody signed": receiveWith(async (request, { current, previous }) =>
    request.headers.has("x-webhook-signature")
      ? unwrap({ body: await request.text(), headers: request.headers, secrets: [current, previous] })
      : ((await request.json()) as WebhookEvent)
  ),

  // "too-old" was in the log, so the check was turned off.
  "handled a recorded attempt": receiveWith(async (request, { current, previous }) =>
    unwrap({
      body: await request.text(),
      headers: request.headers,
      secrets: [current, previous],
      toleranceMs: Infinity
    })
  ),

  // Verifies, logs, and goes on.
  "handled what others signed": (shop) => async (request) => {
    const copy = request.clone()
    const { current, previous } = shop
    const secrets = [current, previous]
    await unwrap({ body: await request.text(), headers: request.headers, secrets }).catch(() => undefined)
    shop.handle((await copy.json()) as WebhookEvent)
    return new Response(null, { status: 204 })
  }
}
