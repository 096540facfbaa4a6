/**
 * The URL of a connection's callbacks: `/{connection}`, `/{connection}/{secret}` or `/{connection}?hmac={secret}`, with or
 * without `/webhooks` before it, and with the `/pix` that providers append, also after Efí's `&ignorar=`.
 */
import { isUuid } from "@pix-payments/domain/Uuid"

export interface CallbackTarget {
  readonly connectionId: string
  readonly secret: string | undefined
}

/** Undefined for a path of another form. */
export const callbackTarget = (url: string): CallbackTarget | undefined => {
  const [path = "", search = ""] = url.split("?", 2)
  const [empty, connectionId, ...rest] = path.replace(/^\/webhooks(?=\/)/, "").split("/")
  if (empty !== "" || connectionId === undefined || !isUuid(connectionId)) return undefined
  const [secret, ...more] = rest.at(-1) === "pix" ? rest.slice(0, -1) : rest
  if (more.length > 0 || secret === "") return undefined
  return {
    connectionId: connectionId.toLowerCase(),
    secret: secret ?? new URLSearchParams(search).get("hmac") ?? undefined
  }
}
