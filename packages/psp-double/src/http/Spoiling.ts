/** Answers as faults change them. */
import type { RequestFault } from "../Faults.ts"
import type { Profile } from "./Profile.ts"
import { type Answer, efiError, json, oauthError, problem } from "./Answer.ts"

export const tooManyRequests = (retryAfterSeconds: number): Answer => {
  const { status, headers, body } = problem(
    429,
    "BaldeFichasVazio",
    "Too Many Requests",
    "O limite de requisições foi atingido."
  )
  return { status, body, headers: { ...headers, "retry-after": `${retryAfterSeconds}`, "bucket-size": "0" } }
}

export const FORBIDDEN_TOKEN = oauthError(403, "invalid_token", "The access token was revoked.")

export const PROXY_PAGE: Answer = {
  status: 200,
  headers: { "content-type": "text/html" },
  body: "<html><head><title>Login</title></head><body><h1>Login</h1></body></html>"
}

/** The answer with the fault applied. Faults that concern timing or the connection leave it as it is. */
export const spoil = (fault: RequestFault | undefined, answer: Answer, { name }: Profile): Answer => {
  switch (fault) {
    case "error-after":
      return name === "efi"
        ? efiError(500, "erro_aplicacao", "Ocorreu um erro na aplicação")
        : problem(500, "ErroInternoDoServidor", "Erro interno", "Condição inesperada ao processar requisição.")
    case "html":
      return {
        status: 502,
        headers: { "content-type": "text/html" },
        body: "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
      }
    case "ok-for-created":
      return answer.status === 201 ? { ...answer, status: 200 } : answer
    case "status-as-text":
      return rewrite(answer, (field, value) => (field === "status" && typeof value === "number" ? `${value}` : value))
    case "returns-as-object":
      return rewrite(answer, (field, value) => (field === "devolucoes" && Array.isArray(value) ? value[0] : value))
    case "null-fields":
      return rewrite(answer, (_, value) => {
        if (isObject(value) && "endToEndId" in value) return { ...NULLS_OF_A_PIX, ...value }
        return isObject(value) && "title" in value ? { ...NULLS_OF_A_PROBLEM, ...value } : value
      })
    case "unknown-entry":
      return rewrite(answer, (field, value) =>
        (field === "pix" || field === "infracoes") && Array.isArray(value) && value.length > 0
          ? [{ desconhecido: true }, ...value.slice(1)]
          : value
      )
    case "entry-as-object":
      return rewrite(answer, (field, value) =>
        (field === "pix" || field === "infracoes") && Array.isArray(value) && value.length === 1 ? value[0] : value
      )
    case "foreign-error": {
      const erros = [{ codigo: "4769515", mensagem: "Requisição inválida", ocorrencia: "PIX-0001" }]
      return answer.status < 400 ? answer : json(answer.status, { erros })
    }
    default:
      return answer
  }
}

const NULLS_OF_A_PIX = { txid: null, infoPagador: null, devolucoes: null }
const NULLS_OF_A_PROBLEM = { detail: null, correlationId: null, violacoes: null }

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

const rewrite = (answer: Answer, replace: (field: string, value: unknown) => unknown): Answer =>
  answer.body === undefined ? answer : { ...answer, body: JSON.stringify(JSON.parse(answer.body), replace) }
