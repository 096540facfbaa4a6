/**
 * Disputes of the MED, at providers that have them in their API. Efí calls them infrações.
 *
 * Guarantees
 * - A defence is submitted once, however often it is ordered. One that was submitted in the same words counts as done,
 *   and so does one whose words the provider does not show. Other words are a `Duplicate`.
 * - An order whose answer is unclear is looked up in the list, because Efí has no look-up by id.
 */
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Connection } from "./Connection.ts"
import { absent, At, atMs, centsOf, decoder, entriesOf, PageParameters, RawEntries, Reais, Text } from "./Decoding.ts"
import { checkedId, inOtherTerms, repeated, settledBy } from "./Lookup.ts"
import { type Failure, NotFound, type Operation, Unclear } from "./Outcome.ts"
import { type PageRange, pageOf } from "./Pages.ts"

export type DisputeStatus = "open" | "under_review" | "won" | "lost"

export interface Dispute {
  readonly id: string
  readonly endToEndId: string
  /** May be less than the Pix. */
  readonly cents: number
  readonly status: DisputeStatus
  readonly reason: string
  readonly openedAtMs: number
  /** Until when it can be defended. */
  readonly deadlineMs: number
  readonly closedAtMs: number | undefined
  /** Undefined until one was submitted. Its text is undefined where the provider does not show it. */
  readonly defense: { readonly text: string | undefined; readonly atMs: number | undefined } | undefined
  /** The analyst's reason for the outcome. */
  readonly outcomeReason: string | undefined
}

export interface DisputePage {
  readonly disputes: ReadonlyArray<Dispute>
  /** The number of entries that are left out because they cannot be decoded. */
  readonly unreadable: number
  readonly page: number
  readonly pages: number
}

export interface Disputes {
  /** By the instant at which they were opened. No hook reports them. */
  readonly list: (range: PageRange) => Effect.Effect<DisputePage, Failure>
  /** `openedAtMs` is the dispute's; the look-up needs it. */
  readonly defend: (dispute: Pick<Dispute, "id" | "openedAtMs">, text: string) => Effect.Effect<void, Failure>
}

const LIST: Operation = {
  name: "list-disputes",
  scope: "gn.infractions.read",
  refusals: ["InfracoesConsultaInvalida"],
  notFound: []
}
const DEFEND: Operation = {
  name: "defend-dispute",
  scope: "gn.infractions.write",
  refusals: ["InfracaoOperacaoInvalida"],
  notFound: ["InfracaoNaoEncontrada"]
}

/** The documentation names no unit; an example has `100`. Read as reais, as everywhere else in this API. */
const DisputedReais = Schema.Union([Schema.Finite, Reais])

const DisputeMessage = Schema.Struct({
  idInfracao: Text,
  endToEndId: Text,
  valor: DisputedReais,
  status: Schema.Literals(["ABERTA", "EM_DEFESA", "ACEITA", "REJEITADA", "CANCELADA_EFI"]),
  razao: absent(Schema.String),
  defesa: absent(Schema.String),
  justificativaAnalista: absent(Schema.String),
  dadosAnalise: Schema.Struct({
    abertura: At,
    prazoFinalizacao: At,
    recebimentoDefesa: absent(At),
    finalizacao: absent(At)
  })
})

const DisputesMessage = Schema.Struct({ parametros: PageParameters, infracoes: RawEntries })

const DISPUTE_STATUS = {
  ABERTA: "open",
  EM_DEFESA: "under_review",
  ACEITA: "lost",
  REJEITADA: "won",
  CANCELADA_EFI: "won"
} as const satisfies Record<(typeof DisputeMessage.Type)["status"], DisputeStatus>

const disputeFrom = (of: typeof DisputeMessage.Type): Dispute => {
  const { abertura, prazoFinalizacao, recebimentoDefesa, finalizacao } = of.dadosAnalise
  const text = of.defesa ?? undefined
  const isDefended = text !== undefined || of.status === "EM_DEFESA" || (recebimentoDefesa ?? undefined) !== undefined
  return {
    id: of.idInfracao,
    endToEndId: of.endToEndId,
    cents: typeof of.valor === "number" ? Math.round(of.valor * 100) : centsOf(of.valor),
    status: DISPUTE_STATUS[of.status],
    reason: of.razao ?? "",
    openedAtMs: atMs(abertura)!,
    deadlineMs: atMs(prazoFinalizacao)!,
    closedAtMs: atMs(finalizacao),
    defense: isDefended ? { text, atMs: atMs(recebimentoDefesa) } : undefined,
    outcomeReason: of.justificativaAnalista ?? undefined
  }
}

const disputeEntries = entriesOf(DisputeMessage, disputeFrom)

const disputesFrom = ({ parametros: { paginacao }, infracoes }: typeof DisputesMessage.Type): DisputePage => {
  const { items, unreadable } = disputeEntries(infracoes)
  return {
    disputes: items,
    unreadable,
    page: Number(paginacao.paginaAtual),
    pages: Number(paginacao.quantidadeDePaginas)
  }
}

const decodeDisputePage = decoder(DisputesMessage, disputesFrom)

const ID = /^[a-zA-Z0-9-]{1,64}$/
const DAY_MS = 24 * 3_600_000
const PAGE_SIZE = 1000
const MOST_PAGES = 20

/** Undefined if the provider has none in its API. */
export const makeDisputes = (connection: Connection): Disputes | undefined => {
  if (connection.profile.disputes === null) return undefined
  const { limits } = connection

  const list: Disputes["list"] = (range) =>
    repeated(
      limits,
      connection
        .call(LIST, { ...pageOf(connection, range), below: "origin", path: "/v2/gn/infracoes" })
        .pipe(Effect.flatMap((answer) => decodeDisputePage(LIST, answer)))
    )

  /** Looks a day around the opening, because the document does not say by which instant the list filters. */
  const find = Effect.fnUntraced(function* ({ id, openedAtMs }: Pick<Dispute, "id" | "openedAtMs">) {
    const range = { fromMs: openedAtMs - DAY_MS, toMs: openedAtMs + DAY_MS, pageSize: PAGE_SIZE }
    let missed = 0
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const { disputes, pages, unreadable } = yield* list({ ...range, page })
      const found = disputes.find((dispute) => dispute.id === id)
      if (found !== undefined) return found
      missed += unreadable
      if (page + 1 >= pages) break
    }
    // One of them may be the dispute.
    if (missed > 0) {
      return yield* new Unclear({
        operation: DEFEND.name,
        kind: "unknown-answer",
        reason: `${missed} disputes of an unknown form`
      })
    }
    const reason = `no dispute ${id} from ${formatInstant(range.fromMs)} on`
    return yield* new NotFound({ operation: DEFEND.name, code: reason })
  })

  return {
    list,
    defend: (dispute, text) =>
      checkedId(DEFEND, ID, dispute.id).pipe(
        Effect.andThen(
          connection.call(DEFEND, {
            method: "POST",
            below: "origin",
            path: `/v2/gn/infracoes/${dispute.id}/defesa`,
            body: { analise: "rejeitado", justificativa: text }
          })
        ),
        Effect.as<Dispute | undefined>(undefined),
        settledBy<Dispute | undefined>(DEFEND, find(dispute), (found, failure) => problemWith(found, failure, text)),
        Effect.asVoid
      )
  }
}

const problemWith = (found: Dispute | undefined, failure: Failure, text: string): Failure | undefined => {
  if (found?.defense !== undefined) {
    return found.defense.text === undefined || found.defense.text === text ? undefined : inOtherTerms(DEFEND)
  }
  return failure._tag === "Refused"
    ? failure
    : new Unclear({ operation: DEFEND.name, kind: "not-found-yet", reason: "the dispute has no defence yet" })
}
