/**
 * The body of a provider's callback, as facts to ask the provider about.
 *
 * Guarantees
 * - A fact names ids, never an amount or a state: these are read from the provider's API.
 * - A byte order mark is ignored.
 * - Any text gives a `Hook` or an `UnknownHook`; nothing throws. At most 1,000 entries are read.
 * - Ids are the core of an entry, and the rest is read field by field: see `Decoding.ts`. Unreadable entries are set apart. A
 *   body with no readable entry is an `UnknownHook`.
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import {
  type Decode,
  entriesOf,
  field,
  isAbsent,
  isRecord,
  matching,
  nested,
  type Payer,
  payerOf,
  pixKey,
  required,
  type Unreadable
} from "./Decoding.ts"
import type { Profile } from "./Profile.ts"

export type HookFact =
  | {
      readonly _tag: "PixReceived"
      readonly endToEndId: string
      readonly txid: string | undefined
      /** The key that was paid. It must be ours. */
      readonly key: string | undefined
      /** Efí names the payer here alone, and only if its application asks for it. */
      readonly payer: Payer | undefined
      /** Returns that the entry mentions, by the ids that their requesters chose. */
      readonly returnIds: ReadonlyArray<string>
    }
  | {
      /** A payout has a new state. At least one of the names is present. */
      readonly _tag: "PayoutChanged"
      /** Ours. */
      readonly id: string | undefined
      /** The provider's. */
      readonly reference: string | undefined
      readonly endToEndId: string | undefined
    }

type PayoutChanged = Extract<HookFact, { readonly _tag: "PayoutChanged" }>

export type Hook =
  /** Efí's check of a URL at its registration. It reports nothing and wants a 2xx. */
  | { readonly _tag: "Check" }
  | { readonly _tag: "Facts"; readonly facts: ReadonlyArray<HookFact>; readonly unreadable: ReadonlyArray<Unreadable> }

export class UnknownHook extends Data.TaggedError("UnknownHook")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

const MOST_ENTRIES = 1000

export const decodeHook = (profile: Pick<Profile, "payouts">, text: string): Result.Result<Hook, UnknownHook> => {
  const body = parsed(text)
  if (body === undefined) return unknown("the body is not JSON")
  if (isRecord(body) && body["pix"] === undefined && typeof body["evento"] === "string") {
    return profile.payouts === "efi"
      ? Result.succeed({ _tag: "Check" })
      : unknown("the body is a check of another provider")
  }
  const entries = listOf(profile, body)
  if (entries === undefined) return unknown("the body has no list of Pix")
  if (entries.length > MOST_ENTRIES) return unknown(`the body has more than ${MOST_ENTRIES} entries`)
  const reading = { nowMs: 0, zone: "UTC", unreadable: [] }
  const facts = entriesOf(entries, decodeFact(profile), reading)
  return facts.length === 0
    ? unknown("the body has no entry of a known shape")
    : Result.succeed({ _tag: "Facts", facts, unreadable: reading.unreadable })
}

const unknown = (reason: string) => Result.fail(new UnknownHook({ reason }))

/** The list `pix` of the central bank's document; Sicoob and Inter report payouts without it. */
const listOf = ({ payouts }: Pick<Profile, "payouts">, body: unknown): ReadonlyArray<unknown> | undefined => {
  if (isRecord(body) && Array.isArray(body["pix"])) return body["pix"]
  if (payouts !== "sicoob" && payouts !== "inter") return undefined
  if (Array.isArray(body)) return body
  if (!isRecord(body) || body["pix"] !== undefined) return undefined
  return [payouts === "sicoob" && isRecord(body["payload"]) ? body["payload"] : body]
}

/** The core of a fact is the id to ask about. */
const decodeFact =
  ({ payouts }: Pick<Profile, "payouts">): Decode<HookFact> =>
  (entry, reading) => {
    if (payouts === "efi" && !isAbsent(field(entry, "tipo"))) return efiPayout(entry)
    if (payouts === "sicoob" && isAbsent(field(entry, "endToEndId"))) return sicoobPayout(entry)
    if (payouts === "inter" && interCode(entry) !== undefined) return interPayout(entry)
    return Result.map(required(entry, "endToEndId", endToEnd), (endToEndId) => ({
      _tag: "PixReceived",
      endToEndId,
      txid: txid(field(entry, "txid")),
      key: pixKey(field(entry, "chave")),
      payer: payerOf(entry),
      returnIds: nested(entry, "devolucoes", (each) => required(each, "id", orderId), reading)
    }))
  }

const endToEnd = matching(/^[a-zA-Z0-9]{32}$/)
const txid = matching(/^[a-zA-Z0-9]{1,35}$/)
const orderId = matching(/^[a-zA-Z0-9]{1,35}$/)
const reference = matching(/^[a-zA-Z0-9-]{1,64}$/)

const payoutChanged = (names: Partial<Omit<PayoutChanged, "_tag">>): HookFact => ({
  _tag: "PayoutChanged",
  id: undefined,
  reference: undefined,
  endToEndId: undefined,
  ...names
})

const efiPayout = (entry: unknown): Result.Result<HookFact, string> =>
  field(entry, "tipo") === "SOLICITACAO"
    ? Result.map(required(entry, "gnExtras.idEnvio", orderId), (id) =>
        payoutChanged({ id, endToEndId: endToEnd(field(entry, "endToEndId")) })
      )
    : Result.fail("tipo is not SOLICITACAO")

const sicoobPayout = (entry: unknown): Result.Result<HookFact, string> =>
  Result.map(required(entry, "id", endToEnd), (id) => payoutChanged({ reference: id, endToEndId: id }))

/** The documentation calls the code `codigoSolicitacao`, the SDK `codigoTransacao`. */
const interCode = (entry: unknown): unknown => field(entry, "codigoSolicitacao") ?? field(entry, "codigoTransacao")

const interPayout = (entry: unknown): Result.Result<HookFact, string> => {
  const code = reference(interCode(entry))
  return code === undefined
    ? Result.fail("codigoSolicitacao cannot be read")
    : Result.succeed(payoutChanged({ reference: code, endToEndId: endToEnd(field(entry, "endToEnd")) }))
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""))
  } catch {
    return undefined
  }
}
