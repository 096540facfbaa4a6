/** What a run has seen so far, and calls that are recorded as they are made. */
import type { Call, Delivery, Fact, Fields } from "../judge/History.ts"

export interface Record_ {
  readonly calls: Array<Call>
  readonly facts: Array<Fact>
  readonly deliveries: Array<Delivery>
  readonly faults: Array<{ readonly at: number; readonly what: string }>
}

export const newRecord = (): Record_ => ({ calls: [], facts: [], deliveries: [], faults: [] })

export interface Answer {
  readonly status: number
  readonly replayed: boolean
  readonly body: Fields
}

/** Calls and records; `about` may say more of the request than its body. Without an answer, or with one that was cut, it is undefined. */
export const recorded = async (
  record: Record_,
  about: Omit<Call, "calledAt" | "answeredAt" | "status" | "replayed" | "body">,
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: Fields = about.request ?? {}
): Promise<Answer | undefined> => {
  const calledAt = performance.now()
  const answer = await send(url, method, headers, method === "GET" ? undefined : body)
  record.calls.push(
    answer === undefined ? { ...about, calledAt } : { ...about, calledAt, answeredAt: performance.now(), ...answer }
  )
  return answer
}

export const send = (
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: Fields
): Promise<Answer | undefined> =>
  fetch(url, {
    method,
    headers: { "content-type": "application/json", ...headers },
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
    .then(
      async (response) => {
        const text = await response.text()
        return {
          status: response.status,
          replayed: response.headers.get("idempotent-replayed") === "true",
          body: text === "" ? {} : (JSON.parse(text) as Fields)
        }
      },
      () => undefined
    )
    .catch(() => undefined)

const CALL_TIMEOUT_MS = 30_000
