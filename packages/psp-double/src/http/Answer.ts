/** HTTP answers, and the error shapes that providers use. */

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON text, or nothing. */
  readonly body: string | undefined
}

export interface Violation {
  readonly razao: string
  readonly propriedade: string
}

export const json = (status: number, body: unknown, contentType = "application/json"): Answer => ({
  status,
  headers: { "content-type": contentType },
  body: JSON.stringify(body)
})

export const empty = (status: number): Answer => ({ status, headers: {}, body: undefined })

/** RFC 7807 with a type of the central bank's. */
export const problem = (
  status: number,
  type: string,
  title: string,
  detail: string,
  violacoes?: ReadonlyArray<Violation>
): Answer =>
  json(
    status,
    { type: `https://pix.bcb.gov.br/api/v2/error/${type}`, title, status, detail, violacoes },
    "application/problem+json"
  )

/** Efí's own shape. */
export const efiError = (status: number, nome: string, mensagem: string): Answer => json(status, { nome, mensagem })

/** RFC 6749 section 5.2. */
export const oauthError = (status: number, error: string, description: string): Answer =>
  json(status, { error, error_description: description })
