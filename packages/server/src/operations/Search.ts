/**
 * Finds what a text leads to: ids, references, documents and e-mail addresses, as a whole.
 *
 * Guarantees:
 * - At most `MAX_RESULTS`, in bounded time (`SearchStatements`), and of the operator's accounts only.
 * - A role that sees personal data masked cannot find out whether a document or an e-mail address is known: such a text is
 *   not looked up for it.
 *
 * Rules: OPR-125, OPR-126.
 */
import type { Operator } from "@pix-payments/api/Security"
import { parseDocument } from "@pix-payments/domain/Document"
import { personalDataFor } from "@pix-payments/domain/Operator"
import { idFromTxid } from "@pix-payments/domain/Txid"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { type FoundRow, type SearchStatement, statements } from "./SearchStatements.ts"

export class Search extends Context.Service<
  Search,
  {
    readonly find: (
      text: string,
      operator: Pick<Operator, "accountIds" | "role">
    ) => Effect.Effect<ReadonlyArray<FoundRow>, Unavailable>
  }
>()("@pix-payments/server/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.map(SqlClient, (sql) =>
      Search.of({
        find: (text, { accountIds, role }) => {
          const accounts = accountIds === null ? null : `{${accountIds.join(",")}}`
          return Effect.forEach(
            lookupsOf(text.trim(), personalDataFor[role] === "clear"),
            ([name, value]) => sql.unsafe<FoundRow>(...statements[name]({ lookup: { value, accounts } })),
            { concurrency: 2 }
          ).pipe(
            Effect.map((found) => distinct(found.flat()).slice(0, MAX_RESULTS)),
            orUnavailable
          )
        }
      })
    )
  )
}

const MAX_RESULTS = 50

/** What a text may be, with the value to look for. */
export const lookupsOf = (
  text: string,
  seesPersonalData: boolean
): ReadonlyArray<readonly [SearchStatement, string]> => {
  const id = isUuid(text) ? text : idFromTxid(text)
  const document = parseDocument(text)?.value
  const personal: ReadonlyArray<readonly [SearchStatement, string | undefined]> = [
    ["document", document],
    ["email", text.includes("@") ? text : undefined],
    ["email", text.includes("@") && text !== text.toLowerCase() ? text.toLowerCase() : undefined]
  ]
  const lookups: ReadonlyArray<readonly [SearchStatement, string | undefined]> = [
    ["id", id],
    ["endToEndId", endToEndId.test(text) ? text : undefined],
    ["txid", txid.test(text) ? text : undefined],
    ...(seesPersonalData ? personal : []),
    ["reference", text === "" ? undefined : text],
    ["requestId", requestId.test(text) ? text : undefined]
  ]
  return lookups.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

const endToEndId = /^[ED][0-9A-Z]{8}[0-9]{12}[A-Za-z0-9]{11}$/
const txid = /^[a-zA-Z0-9]{1,35}$/
const requestId = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

const distinct = (found: ReadonlyArray<FoundRow>): ReadonlyArray<FoundRow> => [
  ...new Map(found.map((row) => [`${row.kind} ${row.id}`, row])).values()
]
