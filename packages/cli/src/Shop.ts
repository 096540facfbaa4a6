/**
 * The shop's own key: `/v1` as an integrator calls it. CLI-30, CLI-31.
 *
 * Guarantees: the key is sent over TLS or to this machine only, is in no message, and follows no redirect.
 */
import { Payments, PaymentsError } from "@pix-payments/client"
import * as Effect from "effect/Effect"
import { exitCodes, Failure, usage } from "./Failure.ts"
import { isPrivate, variable } from "./Profile.ts"

export interface Shop {
  readonly url: string
  readonly key: string
}

/** URL and key of `/v1`, from the variables that the client reads too; `undefined` without a key. */
export const shopOf = (): Shop | undefined => {
  const key = variable("PAYMENTS_API_KEY")
  return key === undefined ? undefined : { key, url: variable("PAYMENTS_URL") ?? "http://127.0.0.1:3000" }
}

/** Why the key must not be sent there, or `undefined`. */
export const unsafe = ({ url }: Shop): string | undefined =>
  isPrivate(url) || variable("PIX_ALLOW_HTTP") === "1"
    ? undefined
    : `${url} is not encrypted: everybody on the way to it can read the key. Use https.`

/** A call of `/v1` with the shop's key. */
export const shopCall = (
  shop: Shop,
  method: string,
  path: string,
  body?: unknown
): Effect.Effect<{ readonly status: number; readonly body: unknown }, Failure> =>
  Effect.flatMap(
    Effect.sync(() => unsafe(shop)),
    (problem) =>
      problem === undefined
        ? Effect.tryPromise({
            try: async () => {
              const payments = new Payments({ baseUrl: shop.url, apiKey: shop.key })
              const idempotencyKey = method === "POST" ? crypto.randomUUID() : undefined
              const { data, response } = await payments.request(method, path, { body, idempotencyKey }).withResponse()
              return { status: response.status, body: data }
            },
            catch: failureOf
          })
        : Effect.fail(usage(problem))
  )

const failureOf = (error: unknown): Failure => {
  const { code, message, status } = Object(error) as { code?: string; message?: string; status?: number }
  const exitCode =
    status === undefined
      ? error instanceof PaymentsError && error.name !== "UsageError"
        ? exitCodes.unreachable
        : exitCodes.usage
      : status === 401 || status === 403
        ? exitCodes.denied
        : status >= 500 || status === 429
          ? exitCodes.unavailable
          : exitCodes.refused
  return new Failure({ message: String(message), exitCode, ...(code === undefined ? {} : { code }) })
}
