/** Ranges of lists, and their pages, as the central bank's API and Efí's name them. */
import { formatInstant } from "@pix-payments/domain/Instant"
import type { Connection } from "./Connection.ts"
import type { Profile } from "./Profile.ts"

export interface PageRange {
  readonly fromMs: number
  readonly toMs: number
  /** From 0. */
  readonly page?: number
  /** At most 1,000; 100 when absent. */
  readonly pageSize?: number
}

const PAGE_SIZE = 100

/** In whole seconds the range grows, so that it loses nothing. */
const pageQuery = (
  { instants }: Pick<Profile, "instants">,
  { fromMs, toMs, page = 0, pageSize = PAGE_SIZE }: PageRange
) => ({
  inicio: instants === "ms" ? formatInstant(fromMs) : inSeconds(fromMs),
  fim: instants === "ms" ? formatInstant(toMs) : inSeconds(Math.ceil(toMs / 1000) * 1000),
  "paginacao.paginaAtual": `${page}`,
  "paginacao.itensPorPagina": `${pageSize}`
})

/** The part of a call that asks for a page, which may take longer than other calls. */
export const callForPage = (
  { limits, profile }: Pick<Connection, "limits" | "profile">,
  range: PageRange,
  filter: Readonly<Record<string, string>> = {}
) => ({
  method: "GET" as const,
  query: { ...pageQuery(profile, range), ...filter },
  timeoutMs: limits.pageTimeoutMs
})

const inSeconds = (ms: number) => formatInstant(ms).replace(/\.\d+Z$/, "Z")
