/** Sends hooks over TLS, with the provider's certificate or without one, or over plain HTTP where the URL says so. */
import { request as requestPlain } from "node:http"
import { request as requestTls } from "node:https"
import type { Identity } from "../Certificates.ts"

export type HookOutcome =
  | { readonly _tag: "Answered"; readonly status: number }
  | { readonly _tag: "Failed"; readonly reason: string }

export interface HookSender {
  readonly post: (url: string, body: unknown, certificate: "with" | "without") => Promise<HookOutcome>
  /**
   * Efí's check of a URL: a request without certificate must be refused, one with it answered 2xx. Returns undefined,
   * or the reason in Efí's words. The body is undocumented; receivers in the field expect this one.
   */
  readonly probe: (url: string) => Promise<string | undefined>
}

export const makeHookSender = (options: {
  readonly identity: Identity
  /** PEM of the authorities that receivers' certificates may come from. */
  readonly trusted: ReadonlyArray<string>
  readonly timeoutMs: number
}): HookSender => {
  const { identity, trusted, timeoutMs } = options

  const post: HookSender["post"] = (url, body, certificate) =>
    new Promise<HookOutcome>((resolve) => {
      const bytes = JSON.stringify(body)
      const options = {
        method: "POST",
        agent: false,
        timeout: timeoutMs,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(bytes) }
      } as const
      const sent = url.startsWith("http://")
        ? requestPlain(url, options)
        : requestTls(url, {
            ...options,
            ca: [...trusted],
            ...(certificate === "with" && { cert: identity.cert, key: identity.key })
          })
      sent.on("timeout", () => sent.destroy(new Error("timeout")))
      sent.on("error", ({ message }) => resolve({ _tag: "Failed", reason: message }))
      sent.on("response", (response) => {
        response.resume()
        response.on("end", () => resolve({ _tag: "Answered", status: response.statusCode ?? 0 }))
        response.on("error", ({ message }) => resolve({ _tag: "Failed", reason: message }))
      })
      sent.end(bytes)
    }).catch((cause: unknown) => ({ _tag: "Failed", reason: String(cause) }))

  return {
    post,
    probe: async (url) => {
      const body = { evento: "teste_webhook" }
      const stranger = await post(url, body, "without")
      if (stranger._tag === "Answered" && stranger.status < 400) {
        return "A autenticação de TLS mútuo não está configurada na URL informada"
      }
      const own = await post(url, body, "with")
      if (own._tag === "Failed") return `A requisição na URL informada falhou com o erro: ${own.reason}`
      return isDelivered(own) ? undefined : `A URL informada respondeu com o código HTTP ${own.status}`
    }
  }
}

export const isDelivered = (outcome: HookOutcome): boolean =>
  outcome._tag === "Answered" && outcome.status >= 200 && outcome.status < 300
