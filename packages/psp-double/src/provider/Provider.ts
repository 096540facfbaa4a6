/**
 * A Pix provider as a state machine: charges, payments, returns, payouts, disputes and one balance.
 *
 * Guarantees
 * - No I/O, no timer, no wall clock: time is `now`, randomness is `random`, every call is synchronous. The same calls
 *   with the same clock and seed give the same state and ids.
 * - `balance = opening + received - returned - sent + sent back`, after every call. Orders in process count as done.
 * - Due work runs in `settleDue` only.
 */
import * as Result from "effect/Result"
import type { Random } from "../Random.ts"
import { type Cobs, makeCobs } from "./Cobs.ts"
import { type Infractions, makeInfractions } from "./Infractions.ts"
import { isWithin, type Page, type PageRequest, pageOf, type Range } from "./Page.ts"
import { makePayouts, type Payouts } from "./Payouts.ts"
import { makeReceipts, type Receipts } from "./Receipts.ts"
import type { Refusal } from "./Refusal.ts"
import { blockedCents, type Notification, type Settings, type State, type Webhook } from "./State.ts"

export interface Provider {
  readonly settings: Settings
  readonly now: () => number
  readonly cobs: Cobs
  readonly receipts: Receipts
  readonly payouts: Payouts
  readonly infractions: Infractions
  readonly webhooks: Webhooks
  /** The URL that receives the notifications of a key. */
  readonly webhookUrl: (key: string) => string | undefined
  readonly balanceCents: () => number
  /** The part of the balance that open disputes block. */
  readonly blockedCents: () => number
  /** Runs what is due, in the order of its due times. */
  readonly settleDue: () => void
  readonly nextDueAtMs: () => number | undefined
  /** The notifications since the last call. */
  readonly takeNotifications: () => ReadonlyArray<Notification>
  /** Notifies again, with the current state. `DEVOLUCAO_RECEBIDA` sends nothing: its body is undocumented. */
  readonly reportAgain: (kind: ReportKind, endToEndIds: ReadonlyArray<string>) => void
  /** Calls back when there is a notification, or something to settle later. */
  readonly onActivity: (listener: () => void) => void
}

export interface Webhooks {
  readonly put: (key: string, url: string) => Result.Result<Webhook, Refusal>
  readonly get: (key: string) => Result.Result<Webhook, Refusal>
  readonly delete: (key: string) => Result.Result<Webhook, Refusal>
  readonly list: (range: Range, page: PageRequest) => Page<Webhook>
}

/** What `POST /v2/gn/webhook/reenviar` sends again. */
export type ReportKind = "PIX_RECEBIDO" | "PIX_ENVIADO" | "DEVOLUCAO_RECEBIDA" | "DEVOLUCAO_ENVIADA"

export interface ProviderOptions {
  readonly now: () => number
  readonly random: Random
  readonly settings?: Partial<Settings>
}

export const DEFAULT_SETTINGS: Settings = {
  keys: ["7d9f0335-8dcc-4054-9bf9-0dbd61d36906"],
  holder: { name: "Loja Exemplo Ltda", document: "11222333000181", city: "SAO PAULO" },
  ispb: "12345678",
  locationBase: "pix.example.com/qr/v2",
  openingCents: 0,
  acceptsHttpWebhooks: false,
  returnFate: () => ({ _tag: "Done", afterMs: 0 }),
  payoutFate: () => ({ _tag: "Done", afterMs: 0 }),
  deniesPayout: () => false,
  takenBack: () => undefined,
  sentBack: () => undefined
}

export const makeProvider = (options: ProviderOptions): Provider => {
  const settings = { ...DEFAULT_SETTINGS, ...options.settings }
  const due: Array<{ readonly atMs: number; readonly run: () => void }> = []
  let notifications: Array<Notification> = []
  let listener = () => {}

  const state: State = {
    settings,
    now: options.now,
    random: options.random,
    cobs: new Map(),
    pix: new Map(),
    payouts: new Map(),
    begunPayouts: new Map(),
    infractions: new Map(),
    webhooks: new Map(),
    balanceCents: settings.openingCents,
    notify: (notification) => {
      notifications.push(notification)
      listener()
    },
    after: (delayMs, run) => {
      due.push({ atMs: options.now() + delayMs, run })
      due.sort((a, b) => a.atMs - b.atMs)
      listener()
    }
  }
  const receipts = makeReceipts(state)

  return {
    settings,
    now: options.now,
    cobs: makeCobs(state),
    receipts,
    payouts: makePayouts(state),
    infractions: makeInfractions(state, receipts),
    webhooks: makeWebhooks(state),
    webhookUrl: (key) => state.webhooks.get(key)?.url,
    balanceCents: () => state.balanceCents,
    blockedCents: () => blockedCents(state),
    settleDue: () => {
      for (let next = due[0]; next !== undefined && next.atMs <= options.now(); next = due[0]) {
        due.shift()
        next.run()
      }
    },
    nextDueAtMs: () => due[0]?.atMs,
    takeNotifications: () => {
      const taken = notifications
      notifications = []
      return taken
    },
    reportAgain: (kind, endToEndIds) => {
      for (const pix of state.pix.values()) {
        if (!endToEndIds.includes(pix.endToEndId) || pix.txid === undefined) continue
        if (kind === "PIX_RECEBIDO") state.notify({ _tag: "PixReceived", key: pix.key, pix: { ...pix } })
        if (kind === "DEVOLUCAO_ENVIADA") state.notify({ _tag: "ReturnSettled", key: pix.key, pix: { ...pix } })
      }
      for (const payout of state.payouts.values()) {
        if (kind !== "PIX_ENVIADO" || payout.status === "EM_PROCESSAMENTO") continue
        if (!endToEndIds.includes(payout.endToEndId)) continue
        state.notify({ _tag: "PayoutSettled", key: payout.payerKey, payout: { ...payout } })
      }
    },
    onActivity: (wake) => {
      listener = wake
    }
  }
}

const makeWebhooks = (state: State): Webhooks => {
  const { settings } = state
  const find = (key: string): Result.Result<Webhook, Refusal> => {
    const webhook = state.webhooks.get(key)
    return webhook === undefined ? Result.fail({ _tag: "WebhookNotFound" }) : Result.succeed(webhook)
  }
  return {
    put: (key, url) => {
      if (!settings.keys.includes(key)) return Result.fail({ _tag: "KeyNotOurs", key })
      if (!url.startsWith("https://") && !(settings.acceptsHttpWebhooks && url.startsWith("http://"))) {
        return Result.fail({ _tag: "InvalidValue", property: "webhookUrl", reason: "deve usar o protocolo HTTPS" })
      }
      const webhook = { key, url, createdAtMs: state.now() }
      state.webhooks.set(key, webhook)
      return Result.succeed(webhook)
    },
    get: find,
    delete: (key) =>
      Result.map(find(key), (webhook) => {
        state.webhooks.delete(key)
        return webhook
      }),
    list: (range, page) =>
      pageOf(
        [...state.webhooks.values()].filter(({ createdAtMs }) => isWithin(range, createdAtMs)),
        page
      )
  }
}
