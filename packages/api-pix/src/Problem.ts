/**
 * Error bodies in the shapes that providers send.
 *
 * Guarantees
 * - Any text gives a problem or undefined; nothing throws.
 * - Code and detail are bounded, without control characters.
 * - The code is the last segment of a problem's `type`, Efí's `nome`, OAuth's `error`, Banco do Brasil's or Inter's
 *   `codigo`. A problem without `type`, as Inter sends, has the code "untyped" and the status.
 */
import { isRecord, reason, text } from "./Decoding.ts"

export interface Problem {
  readonly shape: "problem" | "efi" | "oauth" | "erros" | "gateway" | "untyped"
  readonly code: string
  readonly detail: string | undefined
}

/** Undefined for HTML, text, and JSON of another shape. */
export const problemOf = (body: unknown, status: number): Problem | undefined => {
  if (!isRecord(body)) return undefined
  const { error, erro, erros, nome, title, type } = body
  if (isText(type)) {
    const violations = Array.isArray(body["violacoes"]) ? body["violacoes"].slice(0, MOST_VIOLATIONS).map(reasonOf) : []
    const detail = detailOf(body["detail"], ...violations) ?? detailOf(body["title"])
    return { shape: "problem", code: codeOf(lastSegment(type)), detail }
  }
  if (typeof nome === "string") return { shape: "efi", code: codeOf(nome), detail: detailOf(body["mensagem"]) }
  if (Array.isArray(erros) && isRecord(erros[0])) {
    const [{ codigo, mensagem, ocorrencia }] = erros
    return { shape: "erros", code: codeOf(codigo), detail: detailOf(mensagem, ocorrencia) }
  }
  if (isRecord(erro)) {
    const { codigo, mensagem, mensagemDetalhe } = erro
    return { shape: "erros", code: codeOf(codigo), detail: detailOf(mensagem, mensagemDetalhe) }
  }
  if (typeof title === "string") {
    return { shape: "untyped", code: `untyped ${status}`, detail: detailOf(title, body["detail"]) }
  }
  if (typeof error === "string") {
    return body["statusCode"] === undefined
      ? { shape: "oauth", code: codeOf(error), detail: detailOf(body["error_description"]) }
      : { shape: "gateway", code: codeOf(error), detail: detailOf(body["message"]) }
  }
  return undefined
}

const MOST_VIOLATIONS = 10

const isText = (value: unknown): value is string => typeof value === "string" && value !== ""

const lastSegment = (type: string) => type.split(/[/#?]/).findLast((segment) => segment !== "")

const code = text(64)

/** A number is one as well. */
const codeOf = (value: unknown): string => code(typeof value === "number" ? `${value}` : value) ?? "unknown"

const reasonOf = (violation: unknown) => (isRecord(violation) ? violation["razao"] : undefined)

const detailOf = (...parts: ReadonlyArray<unknown>): string | undefined => reason(parts.filter(isText).join(" "))
