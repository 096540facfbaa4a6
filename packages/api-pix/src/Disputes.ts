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
import * as Result from "effect/Result"
import { ask } from "./Ask.ts"
import type { Connection } from "./Connection.ts"
import {
  amount,
  type Decode,
  field,
  id,
  instant,
  instantOrNow,
  isAbsent,
  oneOf,
  optional,
  type Page,
  pageOf,
  pixKey,
  reason,
  required,
  text
} from "./Decoding.ts"
import { checkedId, repeated, settledBy } from "./Lookup.ts"
import { Duplicate, type Failure, NotFound, type Operation, Unclear } from "./Outcome.ts"
import { callForPage, type PageRange } from "./Pages.ts"

export type DisputeStatus = "open" | "under_review" | "won" | "lost"

export interface Dispute {
  readonly id: string
  readonly endToEndId: string
  /** The key that was paid: a list has the disputes of all keys of the client. */
  readonly key: string | undefined
  /** May be less than the Pix; 0 where the provider names none. */
  readonly cents: number
  readonly status: DisputeStatus
  readonly reason: string
  readonly openedAtMs: number
  /** Until when it can be defended. */
  readonly deadlineMs: number | undefined
  readonly closedAtMs: number | undefined
  /** Undefined until one was submitted. Its text is undefined where the provider does not show it. */
  readonly defense: { readonly text: string | undefined; readonly atMs: number | undefined } | undefined
  /** The analyst's reason for the outcome. */
  readonly outcomeReason: string | undefined
}

export interface Disputes {
  /** By the instant at which they were opened. No hook reports them. */
  readonly list: (range: PageRange) => Effect.Effect<Page<Dispute>, Failure>
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

const DISPUTE_STATUS = {
  ABERTA: "open",
  EM_DEFESA: "under_review",
  ACEITA: "lost",
  REJEITADA: "won",
  CANCELADA_EFI: "won"
} as const satisfies Record<string, DisputeStatus>

/** The defence is compared with ours. */
const defenseText = text(20_000)

const decodeDispute: Decode<Dispute> = (message, reading) =>
  Result.gen(function* () {
    const status = yield* required(
      message,
      "status",
      oneOf("ABERTA", "EM_DEFESA", "ACEITA", "REJEITADA", "CANCELADA_EFI")
    )
    const defendedAtMs = instant(field(message, "dadosAnalise.recebimentoDefesa"), reading)
    const isDefended = status === "EM_DEFESA" || defendedAtMs !== undefined || !isAbsent(field(message, "defesa"))
    return {
      id: yield* required(message, "idInfracao", id),
      endToEndId: yield* required(message, "endToEndId", id),
      key: yield* optional(message, "chave", pixKey),
      // The documentation names no unit; an example has `100`. Read as reais, as everywhere else in this API.
      cents: (yield* optional(message, "valor", amount)) ?? 0,
      status: DISPUTE_STATUS[status],
      reason: reason(field(message, "razao")) ?? "",
      openedAtMs: instantOrNow(field(message, "dadosAnalise.abertura"), reading),
      deadlineMs: instant(field(message, "dadosAnalise.prazoFinalizacao"), reading),
      closedAtMs: instant(field(message, "dadosAnalise.finalizacao"), reading),
      defense: isDefended ? { text: defenseText(field(message, "defesa")), atMs: defendedAtMs } : undefined,
      outcomeReason: reason(field(message, "justificativaAnalista"))
    }
  })

const decodeDisputePage = pageOf("infracoes", decodeDispute)

const ID = /^[a-zA-Z0-9-]{1,64}$/
const DAY_MS = 24 * 3_600_000
const PAGE_SIZE = 1000
const MOST_PAGES = 20

/** Undefined if the provider has none in its API. */
export const makeDisputes = (connection: Connection): Disputes | undefined => {
  if (connection.profile.disputes === null) return undefined
  const { limits } = connection

  const list: Disputes["list"] = (range) => {
    const call = { ...callForPage(connection, range), below: "origin", path: "/v2/gn/infracoes" } as const
    return repeated(limits, ask(connection, LIST, call, decodeDisputePage))
  }

  /** Looks a day around the opening, because the document does not say by which instant the list filters. */
  const find = Effect.fnUntraced(function* ({ id: asked, openedAtMs }: Pick<Dispute, "id" | "openedAtMs">) {
    const range = { fromMs: openedAtMs - DAY_MS, toMs: openedAtMs + DAY_MS, pageSize: PAGE_SIZE }
    let missed = 0
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const { items, page: number, pages, unreadable } = yield* list({ ...range, page })
      const found = items.find((dispute) => dispute.id === asked)
      if (found !== undefined) return found
      missed += unreadable.length
      if (number === undefined) {
        return yield* new Unclear({
          operation: DEFEND.name,
          kind: "unknown-answer",
          reason: "a page of disputes whose numbers cannot be read"
        })
      }
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
    const code = `no dispute ${asked} from ${formatInstant(range.fromMs)} on`
    return yield* new NotFound({ operation: DEFEND.name, code })
  })

  return {
    list,
    defend: (dispute, ours) =>
      checkedId(DEFEND, ID, dispute.id).pipe(
        Effect.andThen(
          connection.call(DEFEND, {
            method: "POST",
            below: "origin",
            path: `/v2/gn/infracoes/${dispute.id}/defesa`,
            body: { analise: "rejeitado", justificativa: ours }
          })
        ),
        Effect.as<Dispute | undefined>(undefined),
        settledBy<Dispute | undefined>(DEFEND, find(dispute), (found, failure) => problemWith(found, failure, ours)),
        Effect.asVoid
      )
  }
}

const problemWith = (found: Dispute | undefined, failure: Failure, ours: string): Failure | undefined => {
  if (found?.defense !== undefined) {
    const isOurs = found.defense.text === undefined || found.defense.text === defenseText(ours)
    return isOurs ? undefined : new Duplicate({ operation: DEFEND.name, code: "in-other-terms" })
  }
  return failure._tag === "Refused"
    ? failure
    : new Unclear({ operation: DEFEND.name, kind: "not-found-yet", reason: "the dispute has no defence yet" })
}
