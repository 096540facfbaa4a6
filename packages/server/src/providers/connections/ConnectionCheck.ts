/**
 * Tries a connection, and says what was found in plain words.
 *
 * Guarantees:
 * - A check uses a connection opened for it, so that it needs no cached token and no closed circuit. The webhook alone is asked for
 *   through the connection in use where that may send, so that a token of it that the provider revoked is renewed.
 * - No detail contains a credential. What the provider says is named by its code, and by its text where it refuses the key.
 * - It moves no money: the charge that proves the key is of one cent, and is removed.
 *
 * Rules: OPR-65, OPR-66.
 */
import type { ApiPixClient } from "@pix-payments/api-pix/ApiPixClient"
import type { Disputes } from "@pix-payments/api-pix/Disputes"
import type { Failure } from "@pix-payments/api-pix/Outcome"
import { counted } from "@pix-payments/domain/Reason"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { CheckStep } from "./ConnectionStore.ts"
import type { OpenConnection } from "./OpenConnection.ts"
import { webhookPath } from "./WebhookUrl.ts"

export interface Checked {
  readonly id: string
  readonly pixKey: string
  /** Of its webhook; undefined where none was registered from here. */
  readonly webhookSecret: Redacted.Redacted<string> | undefined
  /** A new UUID. */
  readonly chargeId: string
}

/** The steps up to the one that the others depend on, or all. */
export const checkConnection = (
  { client, certificateExpiresAtMs, disputes }: OpenConnection,
  /** That of this process, or the opened one where it has none. */
  inUse: ApiPixClient,
  checked: Checked
): Effect.Effect<ReadonlyArray<CheckStep>> =>
  Effect.gen(function* () {
    const certificate = certificateStep(certificateExpiresAtMs, yield* Clock.currentTimeMillis)
    const token = yield* Effect.match(client.connection.authenticate, {
      onFailure: (failure): CheckStep =>
        failure._tag === "ScopeMissing" ? HAS_TOKEN : { step: "token", ok: false, detail: describeFailure(failure) },
      onSuccess: () => HAS_TOKEN
    })
    if (!token.ok) return [certificate, token]
    const status = yield* client.connection.status
    return [
      certificate,
      token,
      scopesStep(status.missingScopes, disputes === undefined ? [] : yield* missingForDisputes(disputes)),
      clockStep(status.clockDifferenceMs),
      yield* keyStep(client, checked),
      yield* webhookStep(
        // What it may not send now says nothing of the webhook.
        inUse
          .findWebhook(checked.pixKey)
          .pipe(Effect.catchTag(["NotSent", "RateLimited"], () => client.findWebhook(checked.pixKey))),
        checked
      )
    ]
  })

const HAS_TOKEN: CheckStep = { step: "token", ok: true, detail: "The provider issued a token." }
const DAY_MS = 86_400_000
const TRIED_MS = 60_000
/** A token, and the ranges of a sweep, depend on the clock. */
const CLOCK_TOLERANCE_MS = 10_000

const certificateStep = (endsAtMs: number, nowMs: number): CheckStep => {
  const days = Math.floor((endsAtMs - nowMs) / DAY_MS)
  return endsAtMs <= nowMs
    ? { step: "certificate", ok: false, detail: "The client certificate has expired." }
    : { step: "certificate", ok: true, detail: `The client certificate is valid for ${counted(days, "day")}.` }
}

/** Sweeps read no disputes without their scope, and are complete all the same. */
const missingForDisputes = (disputes: Disputes): Effect.Effect<ReadonlyArray<string>> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    Effect.match(disputes.list({ fromMs: nowMs - TRIED_MS, toMs: nowMs, page: 0, pageSize: 1 }), {
      onFailure: (failure) => (failure._tag === "ScopeMissing" ? failure.missing : []),
      onSuccess: () => []
    })
  )

const scopesStep = (missing: ReadonlyArray<string> | undefined, forDisputes: ReadonlyArray<string>): CheckStep => {
  if (missing === undefined)
    return { step: "scopes", ok: false, detail: "The provider grants none of the needed scopes." }
  const all = [...missing, ...forDisputes]
  if (all.length === 0) return { step: "scopes", ok: true, detail: "Every scope that is needed was granted." }
  const detail = `Not granted: ${all.join(", ")}.`
  return { step: "scopes", ok: false, detail: forDisputes.length === 0 ? detail : `${detail} MEDs are not read.` }
}

const clockStep = (differenceMs: number | undefined): CheckStep => {
  if (differenceMs === undefined) return { step: "clock", ok: true, detail: "The provider does not name its time." }
  const seconds = Math.abs(Math.round(differenceMs / 1000))
  return Math.abs(differenceMs) < CLOCK_TOLERANCE_MS
    ? { step: "clock", ok: true, detail: "This clock and the provider's agree." }
    : {
        step: "clock",
        ok: false,
        detail: `This clock is ${seconds} s ${differenceMs > 0 ? "ahead of" : "behind"} the provider's.`
      }
}

const keyStep = (client: ApiPixClient, { chargeId, pixKey }: Checked): Effect.Effect<CheckStep> => {
  const txid = txidFromId(chargeId)
  return client.emit({ txid, cents: 1, key: pixKey, expiresInSeconds: 60 }).pipe(
    Effect.andThen(
      Effect.match(client.cancel(txid), {
        onFailure: () => "It was not removed, and expires within a minute.",
        onSuccess: () => "It was removed."
      })
    ),
    Effect.match({
      onFailure: (failure) => ({
        step: "pix_key" as const,
        ok: false,
        detail:
          failure._tag === "Refused"
            ? `The provider refuses a charge with this Pix key: ${failure.detail ?? failure.code}`
            : `No charge with this Pix key was emitted. ${describeFailure(failure)}`
      }),
      onSuccess: (removal) => ({
        step: "pix_key" as const,
        ok: true,
        detail: `A charge of one cent was emitted with this Pix key. ${removal}`
      })
    })
  )
}

/** Whether the provider has the URL of this connection's webhook. */
const webhookStep = (found: Effect.Effect<string, Failure>, { id, webhookSecret }: Checked): Effect.Effect<CheckStep> =>
  Effect.match(found, {
    onFailure: (failure) => ({
      step: "webhook",
      ok: false,
      detail: failure._tag === "NotFound" ? "No webhook is registered for this Pix key." : describeFailure(failure)
    }),
    onSuccess: (url) =>
      webhookSecret !== undefined && url.includes(webhookPath(id, webhookSecret))
        ? { step: "webhook", ok: true, detail: "The webhook of this connection is registered." }
        : { step: "webhook", ok: false, detail: `Another URL is registered, at ${hostOf(url)}.` }
  })

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "an unknown place")

/** A failure in plain words, without what was sent. */
export const describeFailure = (failure: Failure): string => {
  switch (failure._tag) {
    case "CertificateRejected":
      if (failure.whose === "theirs") {
        return `The provider's certificate is not trusted (${failure.code}). Check credentials.ca and the URL.`
      }
      return failure.evidence === "alert"
        ? `The provider rejects the client certificate (${failure.code}).`
        : "The provider closes the connection without an answer, as it does where it rejects the client certificate."
    case "CredentialsRejected":
      return `The provider rejects client id and secret (${failure.code}).`
    case "ScopeMissing":
      return `The scope ${failure.missing.join(", ")} was not granted.`
    case "RateLimited":
      return `The provider refuses further calls for ${Math.ceil(failure.retryAfterMs / 1000)} s.`
    case "NotSent":
      return failure.reason === "no-connection"
        ? `The provider cannot be reached (${failure.detail ?? "no connection"}).`
        : `Nothing was sent: ${failure.reason}${failure.detail === undefined ? "" : `, ${failure.detail}`}.`
    case "Unclear":
      return `The answer is unclear: ${failure.reason}.`
    case "Refused":
      return `The provider refuses: ${failure.detail ?? failure.code}`
    case "Duplicate":
    case "NotFound":
      return `The provider answers ${failure.code}.`
  }
}
