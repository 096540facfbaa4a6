/**
 * The body of a provider's callback, as facts to ask the provider about.
 *
 * Guarantees
 * - A fact names ids, never an amount or a state: these are read from the provider's API.
 * - Any text gives a `Hook` or an `UnknownHook`; nothing throws. At most 1,000 entries are read.
 * - Entries of an unknown shape are counted and skipped. A body with no known entry is an `UnknownHook`.
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import type { Profile } from "./Profile.ts"

export type HookFact =
  | {
      readonly _tag: "PixReceived"
      readonly endToEndId: string
      readonly txid: string | undefined
      /** The key that was paid. It must be ours. */
      readonly key: string | undefined
      /** Efí names the payer here alone, and only if its application asks for it. */
      readonly payer: HookPayer | undefined
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

export interface HookPayer {
  readonly name: string | undefined
  readonly document: string | undefined
}

export type Hook =
  /** Efí's check of a URL at its registration. It reports nothing and wants a 2xx. */
  | { readonly _tag: "Check" }
  | { readonly _tag: "Facts"; readonly facts: ReadonlyArray<HookFact>; readonly skipped: number }

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
  const entries = entriesOf(profile, body)
  if (entries === undefined) return unknown("the body has no list of Pix")
  if (entries.length > MOST_ENTRIES) return unknown(`the body has more than ${MOST_ENTRIES} entries`)
  const facts = entries.map((entry) => factOf(profile, entry)).filter((fact) => fact !== undefined)
  return facts.length === 0
    ? unknown("the body has no entry of a known shape")
    : Result.succeed({ _tag: "Facts", facts, skipped: entries.length - facts.length })
}

const unknown = (reason: string) => Result.fail(new UnknownHook({ reason }))

/** The list `pix` of the central bank's document; Sicoob and Inter report payouts without it. */
const entriesOf = ({ payouts }: Pick<Profile, "payouts">, body: unknown): ReadonlyArray<unknown> | undefined => {
  if (isRecord(body) && Array.isArray(body["pix"])) return body["pix"]
  if (payouts !== "sicoob" && payouts !== "inter") return undefined
  if (Array.isArray(body)) return body
  if (!isRecord(body) || body["pix"] !== undefined) return undefined
  return [payouts === "sicoob" && isRecord(body["payload"]) ? body["payload"] : body]
}

const factOf = ({ payouts }: Pick<Profile, "payouts">, entry: unknown): HookFact | undefined => {
  if (!isRecord(entry)) return undefined
  if (payouts === "efi" && entry["tipo"] !== undefined) return efiPayout(entry)
  if (payouts === "sicoob" && entry["endToEndId"] === undefined) return sicoobPayout(entry)
  if (payouts === "inter" && interCode(entry) !== undefined) return interPayout(entry)
  return received(entry)
}

const END_TO_END_ID = /^[a-zA-Z0-9]{32}$/
const TXID = /^[a-zA-Z0-9]{1,35}$/
const KEY = /^.{1,77}$/
const ID = /^[a-zA-Z0-9]{1,35}$/
const REFERENCE = /^[a-zA-Z0-9-]{1,64}$/

const received = (entry: Entry): HookFact | undefined => {
  const endToEndId = matching(END_TO_END_ID, entry["endToEndId"])
  if (endToEndId === undefined) return undefined
  const returns = Array.isArray(entry["devolucoes"]) ? entry["devolucoes"] : [entry["devolucoes"]]
  return {
    _tag: "PixReceived",
    endToEndId,
    txid: matching(TXID, entry["txid"]),
    key: matching(KEY, entry["chave"]),
    payer: payerOf(entry),
    returnIds: returns
      .slice(0, MOST_ENTRIES)
      .map((each) => (isRecord(each) ? matching(ID, each["id"]) : undefined))
      .filter((id) => id !== undefined)
  }
}

const efiPayout = (entry: Entry): HookFact | undefined => {
  const extras = entry["gnExtras"]
  const id = isRecord(extras) ? matching(ID, extras["idEnvio"]) : undefined
  if (entry["tipo"] !== "SOLICITACAO" || id === undefined) return undefined
  return { _tag: "PayoutChanged", id, reference: undefined, endToEndId: matching(END_TO_END_ID, entry["endToEndId"]) }
}

const sicoobPayout = (entry: Entry): HookFact | undefined => {
  const reference = matching(END_TO_END_ID, entry["id"])
  return reference === undefined
    ? undefined
    : { _tag: "PayoutChanged", id: undefined, reference, endToEndId: reference }
}

/** The documentation calls the code `codigoSolicitacao`, the SDK `codigoTransacao`. */
const interCode = (entry: Entry): unknown => entry["codigoSolicitacao"] ?? entry["codigoTransacao"]

const interPayout = (entry: Entry): HookFact | undefined => {
  const reference = matching(REFERENCE, interCode(entry))
  return reference === undefined
    ? undefined
    : {
        _tag: "PayoutChanged",
        id: undefined,
        reference,
        endToEndId: matching(END_TO_END_ID, entry["endToEnd"])
      }
}

const NAME = /^.{1,140}$/
const DOCUMENT = /^(\d{11}|[0-9A-Z]{12}\d{2})$/

/** `pagador`, or Efí's `gnExtras.pagador`. A masked document is left out. */
const payerOf = (entry: Entry): HookPayer | undefined => {
  const extras = entry["gnExtras"]
  const payer = entry["pagador"] ?? (isRecord(extras) ? extras["pagador"] : undefined)
  if (!isRecord(payer)) return undefined
  const name = matching(NAME, payer["nome"])
  const document = matching(DOCUMENT, payer["cpf"] ?? payer["cnpj"])
  return name === undefined && document === undefined ? undefined : { name, document }
}

type Entry = Readonly<Record<string, unknown>>

const matching = (pattern: RegExp, value: unknown): string | undefined =>
  typeof value === "string" && pattern.test(value) ? value : undefined

const isRecord = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
