/**
 * Finds what a text leads to: ids, references, documents and e-mail addresses as a whole; names and parts of references by the
 * beginnings of their words; amounts, also of a day, phones and pasted codes.
 *
 * Guarantees:
 * - At most `MAX_RESULTS`, in bounded time (`SearchStatements`, `readWalked`), and of the operator's accounts only.
 * - A role that sees personal data masked cannot find out whether a document, an address, a phone or a code is known: such a
 *   text is not looked up for it.
 *
 * Rules: OPR-125, OPR-126.
 */
import type { Operator } from "@pix-payments/api/Security"
import { parseBrCode } from "@pix-payments/domain/BrCode"
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { parseDocument } from "@pix-payments/domain/Document"
import { personalDataFor } from "@pix-payments/domain/Operator"
import { idFromTxid } from "@pix-payments/domain/Txid"
import { isShortId, isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { ChargeStore } from "../payments/charges/ChargeStore.ts"
import type { ChargeWalkFilters } from "../payments/charges/ChargeWalks.ts"
import { PayoutStore } from "../payments/payouts/PayoutStore.ts"
import type { PayoutWalkFilters } from "../payments/payouts/PayoutWalks.ts"
import { amountWord, brCodeWord, phoneWord } from "../payments/words/Words.ts"
import { endsWithDay, searchedDay } from "./SearchedDay.ts"
import { type FoundRow, type SearchStatement, statements } from "./SearchStatements.ts"

export class Search extends Context.Service<
  Search,
  {
    /** Runs with the limit to accounts of the operator (`LimitedTo`). */
    readonly find: (
      text: string,
      operator: Pick<Operator, "accountIds" | "role">
    ) => Effect.Effect<ReadonlyArray<FoundRow>, Unavailable>
  }
>()("@pix-payments/server/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const charges = yield* ChargeStore
      const payouts = yield* PayoutStore

      const walked = ({ charge, payout }: WordLookup) =>
        Effect.gen(function* () {
          const ofCharges = yield* charges.listAll(undefined, charge, NEWEST)
          const ofPayouts = payout === undefined ? [] : (yield* payouts.listAll(undefined, payout, NEWEST)).rows
          return [
            ...ofCharges.rows.map((row) => found("charge", row, row.customerName)),
            ...ofPayouts.map((row) => found("payout", row, row.recipientName))
          ]
        }).pipe(Effect.catchTag("UnknownCursor", Effect.die))

      const amountsOfDay = Effect.fnUntraced(function* (text: string) {
        const [row] = yield* orUnavailable(sql<{ timezone: string }>`SELECT timezone FROM installation_settings`)
        const day = searchedDay(text, yield* Clock.currentTimeMillis, row!.timezone)
        const cents = day === undefined ? undefined : centsOf(day.rest)
        if (day === undefined || cents === undefined) return []
        const { createdAfterMs, createdBeforeMs } = day
        const { charge, payout } = ofAmount(cents)
        const created = { createdAfterMs, createdBeforeMs }
        return yield* walked({ charge: { ...charge, ...created }, payout: { ...payout, ...created } })
      })

      return Search.of({
        find: (text, { accountIds, role }) => {
          const accounts = accountIds === null ? null : `{${accountIds.join(",")}}`
          const sought = text.trim()
          const seesPersonalData = personalDataFor[role] === "clear"
          const whole = lookupsOf(sought, seesPersonalData).map(([name, value]) =>
            orUnavailable(sql.unsafe<FoundRow>(...statements[name]({ lookup: { value, accounts } })))
          )
          const inWords = wordLookupsOf(sought, seesPersonalData).map(walked)
          const onDay = endsWithDay(sought) ? [amountsOfDay(sought)] : []
          return Effect.map(Effect.all([...whole, ...inWords, ...onDay], { concurrency: 2 }), (all) =>
            distinct(all.flat()).slice(0, MAX_RESULTS)
          )
        }
      })
    })
  )
}

const MAX_RESULTS = 50
const NEWEST = { limit: 10, startingAfter: undefined }

/** What a text may be as a whole, with the value to look for. */
export const lookupsOf = (
  text: string,
  seesPersonalData: boolean
): ReadonlyArray<readonly [SearchStatement, string]> => {
  const id = isUuid(text) ? text : idFromTxid(text)
  const document = parseDocument(text)?.value
  const personal: ReadonlyArray<readonly [SearchStatement, string | undefined]> = [
    ["document", document],
    ["email", text.includes("@") ? text : undefined],
    ["email", text.includes("@") && text !== text.toLowerCase() ? text.toLowerCase() : undefined],
    ["phone", phoneOf(text)],
    ["id", idOfBrCode(text)]
  ]
  const lookups: ReadonlyArray<readonly [SearchStatement, string | undefined]> = [
    ["id", id],
    ["shortId", isShortId(text) ? text.toLowerCase() : undefined],
    ["endToEndId", endToEndId.test(text) ? text : undefined],
    ["foldedEndToEndId", endToEndId.test(text) ? text : undefined],
    ["txid", txid.test(text) ? text : undefined],
    ...(seesPersonalData ? personal : []),
    ["reference", text === "" ? undefined : text],
    ["requestId", requestId.test(text) ? text : undefined],
    ["accountName", text.length > 1 ? text : undefined]
  ]
  return lookups.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

interface WordLookup {
  readonly charge: ChargeWalkFilters
  readonly payout?: PayoutWalkFilters
}

/** What the words of a text may be. */
export const wordLookupsOf = (text: string, seesPersonalData: boolean): ReadonlyArray<WordLookup> => {
  const cents = centsOf(text)
  const phone = phoneOf(text)
  const isCode = Result.isSuccess(parseBrCode(text))
  if (isCode) return seesPersonalData ? [{ charge: { word: brCodeWord(text) } }] : []
  return [
    ...(cents === undefined ? [] : [ofAmount(cents)]),
    ...(phone === undefined || !seesPersonalData ? [] : [{ charge: { word: phoneWord(phone) } }]),
    ...(text.length > 1 && !isUuid(text) ? [{ charge: { q: text }, payout: { q: text } }] : [])
  ]
}

const ofAmount = (cents: number) => ({
  charge: { word: amountWord(cents) },
  payout: { amountMin: cents, amountMax: cents }
})

/** The cents of `352,21`, `R$ 1.352,21`, `1352.21` or `97`. */
const centsOf = (text: string): number | undefined => {
  const [, whole, cents = "0"] =
    /^(?:R\$\s*)?(\d{1,3}(?:\.\d{3})+|\d{1,10})(?:,(\d{1,2}))?$/i.exec(text) ??
    /^(?:R\$\s*)?(\d{1,10})\.(\d{1,2})$/i.exec(text) ??
    []
  if (whole === undefined) return undefined
  const amount = Number(whole.replaceAll(".", "")) * 100 + Number(cents.padEnd(2, "0"))
  return amount > 0 && amount <= MAX_CENTS ? amount : undefined
}

/** The phone of `(11) 91234-5678` or `+55 11 91234-5678`. */
const phoneOf = (text: string): string | undefined => {
  if (!/^\+?[\d\s().-]+$/.test(text)) return undefined
  const digits = text.replaceAll(/\D/g, "")
  if (/^55\d{10,11}$/.test(digits)) return `+${digits}`
  return /^\d{10,11}$/.test(digits) ? `+55${digits}` : undefined
}

/** The charge whose txid a Copia e Cola contains. */
const idOfBrCode = (text: string): string | undefined => {
  const code = parseBrCode(text)
  if (Result.isFailure(code)) return undefined
  const { payloadUrl, txid: named } = code.success
  return idFromTxid(named ?? payloadUrl?.split("/").at(-1) ?? "")
}

const endToEndId = /^[ED][0-9A-Z]{8}[0-9]{12}[A-Z0-9]{11}$/i
const txid = /^[a-zA-Z0-9]{1,35}$/
const requestId = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

const found = (
  kind: "charge" | "payout",
  row: { readonly id: string; readonly accountId: string; readonly amount: number },
  name: string | null
): FoundRow => ({ kind, id: row.id, account_id: row.accountId, label: name, amount: BigInt(row.amount) })

const distinct = (all: ReadonlyArray<FoundRow>): ReadonlyArray<FoundRow> => [
  ...new Map(all.map((row) => [`${row.kind} ${row.id}`, row])).values()
]
