/**
 * The URL of a connection's webhook: it names the connection and contains a secret, because a provider's certificate says
 * which provider calls, and not for which of its clients.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { randomBytes } from "node:crypto"
import type { Secrets } from "../../base/Secrets.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import type { ConnectionStore } from "./ConnectionStore.ts"

const SECRET_BYTES = 32

/** Below the listener of callbacks. Providers append `/pix`. */
export const webhookPath = (id: string, secret: Redacted.Redacted<string>): string => `/${id}/${Redacted.value(secret)}`

/** The secret of a connection, made where there is none. */
export const makeWebhookSecret = (
  store: ConnectionStore["Service"],
  secrets: Secrets["Service"],
  id: string
): Effect.Effect<Redacted.Redacted<string>, Unavailable> =>
  Effect.suspend(() => {
    const owner = { kind: "connection", id } as const
    const fresh = secrets.seal(randomBytes(SECRET_BYTES).toString("base64url"), owner)
    return Effect.map(store.webhookSecret(id, fresh), (sealed) => secrets.open(sealed ?? fresh, owner))
  })

/** The secret of a connection; undefined where there is none. */
export const findWebhookSecret = (
  store: ConnectionStore["Service"],
  secrets: Secrets["Service"],
  id: string
): Effect.Effect<Redacted.Redacted<string> | undefined, Unavailable> =>
  Effect.map(store.webhookSecret(id, null), (sealed) =>
    sealed === undefined ? undefined : secrets.open(sealed, { kind: "connection", id })
  )
