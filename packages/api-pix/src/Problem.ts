/**
 * Error bodies in the shapes that providers send.
 *
 * Guarantees
 * - Any text gives a problem or undefined; nothing throws.
 * - The code is the last segment of a problem's `type`, Efí's `nome`, OAuth's `error`, Banco do Brasil's or Inter's
 *   `codigo`. A problem without `type`, as Inter sends, has the code "untyped" and the status.
 */

export interface Problem {
  readonly shape: "problem" | "efi" | "oauth" | "erros" | "gateway" | "untyped"
  readonly code: string
  readonly detail: string | undefined
}

/** Undefined for HTML, text, and JSON of another shape. */
export const problemOf = (body: unknown, status: number): Problem | undefined => {
  if (!isRecord(body)) return undefined
  const { type, title, nome, error, erro, erros } = body
  if (typeof type === "string" && type !== "") {
    const violations = Array.isArray(body["violacoes"]) ? body["violacoes"].map(reasonOf) : []
    return {
      shape: "problem",
      code: type.split(/[/#?]/).findLast((segment) => segment !== "") ?? type,
      detail: text(body["detail"], ...violations) ?? text(body["title"])
    }
  }
  if (typeof nome === "string") return { shape: "efi", code: nome, detail: text(body["mensagem"]) }
  if (Array.isArray(erros) && isRecord(erros[0])) {
    const [{ codigo, mensagem, ocorrencia }] = erros
    return { shape: "erros", code: String(codigo), detail: text(mensagem, ocorrencia) }
  }
  if (isRecord(erro)) {
    return { shape: "erros", code: String(erro["codigo"]), detail: text(erro["mensagem"], erro["mensagemDetalhe"]) }
  }
  if (typeof title === "string") {
    return { shape: "untyped", code: `untyped ${status}`, detail: text(title, body["detail"]) }
  }
  if (typeof error === "string") {
    const description = text(body["error_description"])
    return body["statusCode"] === undefined
      ? { shape: "oauth", code: error, detail: description }
      : { shape: "gateway", code: error, detail: text(body["message"]) }
  }
  return undefined
}

const LONGEST_DETAIL = 300

const reasonOf = (violation: unknown) => (isRecord(violation) ? violation["razao"] : undefined)

const text = (...parts: ReadonlyArray<unknown>): string | undefined => {
  const given = parts.filter((part): part is string => typeof part === "string" && part !== "")
  return given.length === 0 ? undefined : given.join(" ").slice(0, LONGEST_DETAIL)
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
