/**
 * Callers and receivers of a drill, which record everything: callers repeat with their key what is not answered
 * 201, receivers keep every delivery. Afterwards `verdict` compares it with what a database knows.
 */
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { randomUUID } from "node:crypto"
import type { Receiver } from "../../support/Receiver.ts"
import { ask } from "./Replication.ts"

export interface Verdict {
  readonly answered: number
  /** The longest time between two answers with 201, in seconds. */
  readonly secondsWithout201: number
  readonly firstTriesFailed: number
  /** The slowest answer of any kind, in seconds. */
  readonly slowestAnswer: number
  /** Answered 201, and unknown to the database. */
  readonly lost: number
  /** Deliveries of a change that the database does not know. */
  readonly announcedButLost: number
  /** Keys with two resources, and events with two delivery ids. */
  readonly twice: number
  /** Answers other than 201 and 503. */
  readonly wrong: ReadonlyArray<string>
}

interface Operation {
  readonly key: string
  readonly path: string
  readonly body: unknown
  readonly ids: Set<string>
  tries: number
}

/** Starts callers that share these servers. */
export const startCallers = (
  publicUrls: ReadonlyArray<string>,
  apiKey: string,
  receiver: Receiver,
  callers: number
) => {
  const operations: Array<Operation> = []
  const wrong: Array<string> = []
  const answeredAt: Array<number> = [performance.now()]
  let slowest = 0
  let refused = 0
  let turn = 0
  const over = new AbortController()

  /** Whether the operation is over. */
  const attempt = async (operation: Operation): Promise<boolean> => {
    const startedAt = performance.now()
    operation.tries++
    const base = publicUrls[turn++ % publicUrls.length]!
    const answer = await fetch(base + operation.path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": apiKey, "idempotency-key": operation.key },
      body: JSON.stringify(operation.body),
      signal: AbortSignal.timeout(20_000)
    })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch((error: unknown) => ({ status: 0, text: String(error) }))
    slowest = Math.max(slowest, performance.now() - startedAt)
    if (answer.status === 201) {
      answeredAt.push(performance.now())
      operation.ids.add(JSON.parse(answer.text).id)
      return true
    }
    refused++
    if (answer.status !== 503 && answer.status !== 0) wrong.push(`${operation.path}: ${answer.status} ${answer.text}`)
    // Repeating it would change nothing.
    return answer.status >= 400 && answer.status < 500
  }

  const insist = async (operation: Operation) => {
    while (!(await attempt(operation))) await new Promise((resolve) => setTimeout(resolve, 50))
  }

  const caller = async (index: number) => {
    for (let i = index; !over.signal.aborted; i++) {
      const operation = newOperation(i, receiver.url)
      operations.push(operation)
      await insist(operation)
    }
  }
  const calling = Promise.all(Array.from({ length: callers }, (_, index) => caller(index)))

  return {
    answered: () => answeredAt.length - 1,
    wrong: (): ReadonlyArray<string> => wrong,
    refused: () => refused,
    /** No new operations; done when all are answered. */
    stop: Effect.promise(() => {
      over.abort()
      return calling
    }),
    /** Looks at the database that the installation has now. Every operation is repeated once more. */
    verdict: (url: Redacted.Redacted<string>) =>
      Effect.gen(function* () {
        const first = { answered: answeredAt.length - 1, tries: operations.filter(({ tries }) => tries > 1).length }
        const gaps = answeredAt.slice(1).map((at, index) => at - answeredAt[index]!)
        yield* Effect.forEach(operations, (operation) => Effect.promise(() => insist(operation)), {
          concurrency: 8,
          discard: true
        })
        const resources = yield* ask(
          url,
          "SELECT id, reference FROM charges UNION ALL SELECT id, reference FROM payouts"
        )
        const changes = yield* ask(url, "SELECT resource_id || ' ' || sequence AS change FROM changes")
        const known = new Set(resources.map(({ id }) => String(id)))
        const knownChanges = new Set(changes.map(({ change }) => String(change)))
        const byReference = Map.groupBy(resources, ({ reference }) => String(reference))
        const deliveryIds = Map.groupBy(receiver.received, ({ body }) => `${body.data.id} ${body.event}`)
        const verdict: Verdict = {
          answered: first.answered,
          secondsWithout201: Math.max(...gaps) / 1000,
          firstTriesFailed: first.tries,
          slowestAnswer: slowest / 1000,
          lost: operations.flatMap(({ ids }) => [...ids]).filter((id) => !known.has(id)).length,
          announcedButLost: new Set(
            receiver.received
              .map(({ body }) => `${body.data.id} ${body.sequence}`)
              .filter((change) => !knownChanges.has(change))
          ).size,
          twice:
            operations.filter(({ ids, key }) => ids.size > 1 || (byReference.get(key)?.length ?? 0) > 1).length +
            [...deliveryIds.values()].filter((all) => new Set(all.map(({ body }) => body.id)).size > 1).length,
          wrong
        }
        return verdict
      })
  }
}

const newOperation = (index: number, webhookUrl: string): Operation => {
  const key = randomUUID()
  const shared = { reference: key, webhook_url: webhookUrl, webhook_secret: "a secret" }
  const customer = { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
  const isPayout = index % 4 === 3
  return {
    key,
    path: isPayout ? "/v1/payouts" : "/v1/charges",
    body: isPayout
      ? { amount: 700, pix_key_type: "email", pix_key: "ana@example.com", ...shared }
      : { amount: 1990, customer, ...shared },
    ids: new Set(),
    tries: 0
  }
}
