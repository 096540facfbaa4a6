/** Handlers by operation, and what they share: amounts, ranges, pages, filters. */
import { parseInstant } from "@pix-payments/domain/Instant"
import * as Result from "effect/Result"
import type { Page, PageRequest, Range } from "../provider/Page.ts"
import type { Refusal } from "../provider/Refusal.ts"
import type { Answer } from "./Answer.ts"

export interface Input {
  readonly params: Readonly<Record<string, string>>
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Coerced to the declared types. */
  readonly query: Readonly<Record<string, unknown>>
  /** Validated against the document. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the document has checked it
  readonly body: any
}

export interface Overrides {
  readonly takenTxid: "conflict" | "updates"
}

export type Handler = (input: Input, overrides: Overrides) => Result.Result<Answer, Refusal>

/** By operation: `put /v2/cob/{txid}`. */
export type Routes = Readonly<Record<string, Handler>>

/** `"12.34"` is 1234. */
export const centsOf = (reais: string): number => Number(reais.replace(".", ""))

export const documentOf = (person: { readonly cpf?: string; readonly cnpj?: string }): string | undefined =>
  person.cpf ?? person.cnpj

export const rangeOf = (
  { query }: Input,
  { acceptsFractions }: { readonly acceptsFractions: boolean }
): Result.Result<Range, Refusal> => {
  const fromMs = parseInstant(String(query["inicio"]))
  const toMs = parseInstant(String(query["fim"]))
  const hasFractions = /:\d\d\./.test(`${String(query["inicio"])} ${String(query["fim"])}`)
  if (fromMs === undefined || toMs === undefined || (hasFractions && !acceptsFractions)) {
    return Result.fail({ _tag: "InvalidValue", property: "inicio, fim", reason: "não respeita o schema" })
  }
  if (toMs < fromMs) {
    return Result.fail({ _tag: "InvalidValue", property: "fim", reason: "deve ser maior ou igual ao campo inicio" })
  }
  if (query["cpf"] !== undefined && query["cnpj"] !== undefined) {
    return Result.fail({ _tag: "InvalidValue", property: "cpf, cnpj", reason: "ambos estão preenchidos" })
  }
  return Result.succeed({ fromMs, toMs })
}

export const pageRequestOf = ({ query }: Input, newestFirst: boolean): PageRequest => ({
  page: Number(query["paginacao.paginaAtual"]),
  size: Number(query["paginacao.itensPorPagina"]),
  newestFirst
})

/** `parametros` of a list: the filters as received, and the page. */
export const parametrosOf = ({ query }: Input, page: Page<unknown>) => {
  const filters = Object.entries(query).filter(([name]) => !name.startsWith("paginacao."))
  return {
    ...Object.fromEntries(filters),
    paginacao: {
      paginaAtual: page.page,
      itensPorPagina: page.size,
      quantidadeDePaginas: page.pages,
      quantidadeTotalDeItens: page.total
    }
  }
}

/** True where the filter is absent. */
export const matches = (asked: unknown, value: unknown): boolean => asked === undefined || asked === value
