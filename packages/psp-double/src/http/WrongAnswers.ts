/**
 * Answers that are false, or hostile: each wrong answer as what it does to the fields of an answer of 2xx.
 *
 * Guarantees
 * - A list is wrong in its first entry alone, so that the others are as they were.
 */
import { buildBrCode } from "@pix-payments/domain/BrCode"
import * as Result from "effect/Result"
import type { WrongAnswer, RequestFault } from "../Faults.ts"
import { type Answer, json } from "./Answer.ts"
import { localTime } from "./Views.ts"

/** The value of a field instead of its own; undefined leaves the field out. */
type Rewrite = (field: string, value: unknown) => unknown

const AMOUNTS = new Set(["valor", "original", "saldo", "disponivel"])
const KEYS = new Set(["chave"])
const TXIDS = new Set(["txid"])
const IDS = new Set(["endToEndId", "e2eId", "endToEnd", "id", "rtrId", "idEnvio", "codigoSolicitacao", "idInfracao"])
const STATES = new Set(["status", "estado"])
const BR_CODES = new Set(["pixCopiaECola", "brcode"])
const RETURNS = new Set(["devolucoes"])

/** Fields that nobody needs, with a value of another type than theirs. */
const DECORATIONS: Readonly<Record<string, unknown>> = {
  nome: 7,
  cpf: {},
  cnpj: [],
  infoPagador: { texto: "Pedido 1001" },
  descricao: ["x"],
  motivo: 7,
  natureza: 7,
  horario: 7,
  pagador: "Ana",
  devedor: [],
  favorecido: "Ana",
  gnExtras: "x",
  calendario: 3600,
  loc: "x",
  location: { url: 1 },
  revisao: {},
  solicitacaoPagador: 7,
  infoAdicionais: "x",
  origem: 1,
  destino: 1,
  detalheRejeicao: { codigo: "AC03" },
  erros: "x",
  dataHoraSolicitacao: 7,
  dataHoraMovimento: [],
  razao: 7,
  comentario: {},
  defesa: 7,
  justificativaAnalista: ["x"],
  dadosAnalise: "x"
}

const TEXTS = new Set([
  "nome",
  "infoPagador",
  "descricao",
  "motivo",
  "solicitacaoPagador",
  "detalheRejeicao",
  "descricaoErro",
  "razao",
  "comentario",
  "justificativaAnalista"
])

const texts =
  (fields: ReadonlySet<string>, change: (text: string) => unknown): Rewrite =>
  (field, value) =>
    fields.has(field) && typeof value === "string" && value !== "" ? change(value) : value

const amounts =
  (change: (cents: number, value: string | number) => unknown): Rewrite =>
  (field, value) =>
    AMOUNTS.has(field) && (typeof value === "string" || typeof value === "number")
      ? change(Math.round(Number(value) * 100), value)
      : value

const instants =
  (change: (ms: number) => string): Rewrite =>
  (_, value) =>
    typeof value === "string" && INSTANT.test(value) ? change(Date.parse(value)) : value

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/

/** An id of the same form, for ids differ in their last characters. */
const another = (id: string) => `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`
const inTheMiddle = (id: string, what: string) => `${id.slice(0, 4)}${what}${id.slice(4)}`
const OTHER = { merchantName: "Other", merchantCity: "SAO PAULO", singleUse: true }
const PRICED = Result.getOrThrow(buildBrCode({ ...OTHER, payloadUrl: "pix.example.com/qr/v2/of-another", amount: 1 }))
const STRANGER = "stranger@example.com"
const OF_STRANGER = Result.getOrThrow(buildBrCode({ ...OTHER, pixKey: STRANGER }))
const LONG = 10_000

const same: Rewrite = (_, value) => value
const both = (...sets: ReadonlyArray<ReadonlySet<string>>): ReadonlySet<string> =>
  new Set(sets.flatMap((set) => [...set]))

const REWRITES: Readonly<Record<WrongAnswer, Rewrite>> = {
  "other-amount": amounts((cents, value) => {
    const other = (cents + 1) / 100
    return typeof value === "string" ? other.toFixed(2) : other
  }),
  "other-key": texts(KEYS, () => STRANGER),
  "other-txid": texts(TXIDS, another),
  "other-id": texts(IDS, another),
  "unknown-state": texts(STATES, () => "EM_ANALISE"),
  "unreadable-amount": amounts((cents) => (cents / 100 + 0.001).toFixed(3)),
  "number-amount": amounts((cents) => cents / 100),
  "short-amount": amounts((cents) => `${cents / 100}`),
  "nul-in-id": texts(both(IDS, TXIDS), (id) => inTheMiddle(id, "\u0000")),
  "surrogate-in-id": texts(both(IDS, TXIDS), (id) => inTheMiddle(id, "\ud83d")),
  "long-id": texts(both(IDS, TXIDS), (id) => id.padEnd(LONG, "x")),
  "control-in-text": texts(TEXTS, (text) => `\u0000\u001b[31m${text}\ud83d`),
  "long-text": texts(TEXTS, (text) => text.padEnd(LONG, "x")),
  "wrong-types": (field, value) => (value === undefined ? undefined : (DECORATIONS[field] ?? value)),
  "unreadable-returns": (field, value) => (RETURNS.has(field) ? [{ valor: "1.00" }, 7] : value),
  "local-instant": instants(localTime),
  "unreadable-instant": instants(() => "ontem"),
  "first-instant": instants(() => "0001-01-01T00:00:00"),
  "foreign-entry": same,
  "missing-entry": same,
  "no-page": same,
  "empty-br-code": texts(BR_CODES, () => ""),
  "long-br-code": texts(BR_CODES, (code) => code.padEnd(1_000_000, "0")),
  "escaped-br-code": texts(BR_CODES, (code) => inTheMiddle(code, "\u001b[2J")),
  "other-br-code": texts(BR_CODES, () => PRICED),
  "stranger-br-code": texts(BR_CODES, () => OF_STRANGER),
  "odd-unauthorized": same
}

/** Bodies of 401 as banks and their gateways send them. */
export const UNAUTHORIZED_BODIES: ReadonlyArray<string> = [
  `{"fault":{"faultstring":"Access Token expired","detail":{"errorcode":"keymanagement.service.access_token_expired"}}}`,
  "",
  "<html><body>Unauthorized</body></html>",
  `{"message":"Unauthorized"}`,
  `{"codigo":401,"mensagem":"Token inválido"}`,
  "null",
  `["Unauthorized"]`
]

/** The answer as a wrong answer makes it. */
export const wrongAnswer = (fault: RequestFault | undefined, answer: Answer): Answer => {
  const rewrite = (REWRITES as Readonly<Partial<Record<RequestFault, Rewrite>>>)[fault!]
  if (rewrite === undefined || answer.body === undefined || answer.status >= 300) return answer
  const body: unknown = JSON.parse(answer.body)
  return { ...answer, body: JSON.stringify(isPage(body) ? ofPage(fault, body, rewrite) : rewritten(body, rewrite)) }
}

/** 401 with the body of this number. */
export const oddUnauthorized = (number: number): Answer => {
  const body = UNAUTHORIZED_BODIES[number % UNAUTHORIZED_BODIES.length]!
  return { ...json(401, null), body }
}

type Page = Readonly<Record<string, unknown>> & { readonly parametros: unknown }

const isPage = (body: unknown): body is Page => typeof body === "object" && body !== null && "parametros" in body

const ofPage = (fault: RequestFault | undefined, page: Page, rewrite: Rewrite): unknown => {
  if (fault === "no-page") return { ...page, parametros: "x" }
  const field = ["pix", "infracoes"].find((name) => Array.isArray(page[name]))
  if (field === undefined) return page
  const [first, ...others] = page[field] as ReadonlyArray<object | undefined>
  if (first === undefined) return page
  if (fault === "missing-entry") return { ...page, [field]: others }
  const foreign =
    fault === "foreign-entry" ? [rewritten(rewritten(first, REWRITES["other-id"]), REWRITES["other-key"])] : []
  return { ...page, [field]: [...foreign, rewritten(first, rewrite), ...others] }
}

const rewritten = (value: unknown, rewrite: Rewrite): unknown => JSON.parse(JSON.stringify(value, rewrite))
