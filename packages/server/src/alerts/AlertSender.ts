/**
 * Makes one attempt to send a message of alerts.
 *
 * Guarantees:
 * - It ends within `TIMEOUT_MS`, and never fails: the outcome is an error in words, or undefined.
 * - The id of a message is its Message-ID, its `webhook-id` and its idempotency for whoever receives it twice.
 * - Beyond loopback, mail goes over TLS only.
 * - A webhook is signed as Standard Webhooks says, and goes to an address that was checked, as a tenant's does.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { createTransport } from "nodemailer"
import { loopbackHosts } from "../base/AllowedHosts.ts"
import { PublicAddress } from "../base/network/PublicAddress.ts"
import { Secrets } from "../base/Secrets.ts"
import { Settings } from "../base/Settings.ts"
import { makeReceiverClient } from "../webhooks/sending/ReceiverClient.ts"
import { standardHeaders } from "../webhooks/sending/WebhookSender.ts"
import type { DueMessage } from "./AlertMessages.ts"

const TIMEOUT_MS = 10_000

export class AlertSender extends Context.Service<
  AlertSender,
  { readonly send: (message: DueMessage) => Effect.Effect<string | undefined> }
>()("@pix-payments/server/AlertSender") {
  static readonly layer = Layer.effect(
    AlertSender,
    Effect.gen(function* () {
      const { smtpFrom, smtpUrl } = yield* Settings
      const secrets = yield* Secrets
      const addresses = yield* PublicAddress
      const client = yield* makeReceiverClient({ lookup: addresses.lookup, timeoutMs: TIMEOUT_MS, connections: 4 })

      const mail = (message: DueMessage): Effect.Effect<string | undefined> =>
        Option.match(smtpUrl, {
          onNone: () => Effect.succeed("SMTP_URL is not set"),
          onSome: (url) =>
            Effect.match(
              Effect.tryPromise({
                try: async () => {
                  const transport = createTransport({
                    url: Redacted.value(url),
                    requireTLS: !isLoopback(Redacted.value(url)),
                    connectionTimeout: TIMEOUT_MS,
                    greetingTimeout: TIMEOUT_MS,
                    socketTimeout: TIMEOUT_MS
                  })
                  await transport.sendMail({
                    from: smtpFrom,
                    to: message.target,
                    subject: titleOf(message),
                    text: textOf(message),
                    date: message.created_at,
                    messageId: `<${message.id}@pix-payments>`
                  })
                },
                catch: (error) => (error instanceof Error ? error.message : "unknown")
              }),
              { onFailure: (reason) => reason, onSuccess: () => undefined }
            )
        })

      const post = (message: DueMessage, url: string, body: string, secret: string | undefined) =>
        addresses
          .withPinnedAddress(url, message.channel_id, (parsed) =>
            Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
              client.post({
                id: message.id,
                url: parsed,
                headers: {
                  "content-type": "application/json",
                  "user-agent": "pix-payments-alerts/1",
                  ...(secret !== undefined &&
                    standardHeaders({ id: message.id, body }, secret, Math.floor(nowMs / 1000)))
                },
                body
              })
            )
          )
          .pipe(
            Effect.match({
              onFailure: (error) => (error._tag === "NotReachable" ? error.reason : "no connection"),
              onSuccess: () => "not HTTP"
            }),
            Effect.map((problem) => {
              const { statusCode } = client.take(message.id)
              if (statusCode === null) return problem
              return statusCode >= 200 && statusCode < 300 ? undefined : `status ${statusCode}`
            })
          )

      const send = (message: DueMessage): Effect.Effect<string | undefined> => {
        if (message.kind === "email") return mail(message)
        const secret =
          message.secret === null
            ? undefined
            : Redacted.value(secrets.open(message.secret, { kind: "alert-channel", id: message.channel_id }))
        if (message.kind === "webhook") return post(message, message.target, JSON.stringify(bodyOf(message)), secret)
        return post(message, secret ?? "", JSON.stringify({ text: textOf(message) }), undefined)
      }

      return AlertSender.of({
        send: (message) =>
          Effect.suspend(() => send(message)).pipe(
            Effect.timeoutOrElse({
              duration: TIMEOUT_MS,
              orElse: () => Effect.sync(() => (client.take(message.id), "timeout"))
            }),
            Effect.catchCause(() => Effect.succeed("the message cannot be made"))
          )
      })
    })
  )
}

const isLoopback = (url: string): boolean => loopbackHosts.includes(new URL(url).hostname)

const titleOf = ({ alerts, count }: DueMessage): string =>
  count === 1 ? `Pix: ${alerts[0]?.title ?? ""}` : `Pix: ${count} alerts`

const textOf = ({ alerts, count, id }: DueMessage): string =>
  [
    ...alerts.map(({ path, title }) => `${title} (${path})`),
    ...(count > alerts.length ? [`and ${count - alerts.length} more`] : []),
    "",
    `Message ${id}. Paths are pages of the dashboard.`
  ].join("\n")

const bodyOf = ({ alerts, count, created_at: createdAt, id }: DueMessage) => ({
  id,
  object: "alert_message",
  created_at: createdAt.toISOString(),
  count,
  alerts
})
