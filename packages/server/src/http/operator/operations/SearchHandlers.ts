/** The operator route of the search. */
import type { SearchResults } from "@pix-payments/api/operator/Search"
import * as Effect from "effect/Effect"
import { Search } from "../../../operations/Search.ts"
import type { FoundRow } from "../../../operations/SearchStatements.ts"
import { answer } from "../../pipeline/Answer.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"

export const searchHandlers = Effect.gen(function* () {
  const search = yield* Search

  const handlers: OperatorHandlers<"search"> = {
    find: ({ caller, query }) =>
      Effect.map(search.find(query.q, caller), (found) =>
        answer(200, { object: "search" as const, data: found.map(toResult) })
      )
  }
  return handlers
})

const toResult = ({ account_id, amount, id, kind, label }: FoundRow): SearchResults["data"][number] => ({
  kind,
  id,
  account_id,
  title: [amount === null ? null : reais.format(Number(amount) / 100), label].filter(Boolean).join(" · ")
})

const reais = new Intl.NumberFormat("pt-BR", { style: "currency", currency: "BRL" })
