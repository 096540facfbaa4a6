/**
 * Callers that continue through every fault, and check the service afterwards, over HTTP only.
 *
 * A caller that gets no answer, or 503, repeats its call with its key until it is answered, as the contract says. What
 * it may not get (a 500, no answer within 20 s) is recorded.
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { eventually, type Receiver } from "./Receiver.ts"

/** Where the service is now; it moves when it is started again. */
export interface Target {
  publicUrl: string
  operatorUrl: string
}

export interface Load {
  /** How many operations are answered so far. */
  readonly answered: () => number
  /** The answers so far, with times of `performance.now()`. */
  readonly answers: () => ReadonlyArray<{ readonly askedAt: number; readonly answeredAt: number }>
  /** A summary of the answers, in one line. */
  readonly summary: () => string
  /** Starts no new operations, and ends when all are answered. The faults must be over. */
  readonly stop: Effect.Effect<void>
  /** Checks that every answered resource exists once, with its events and its transfers. */
  readonly assertNothingLost: Effect.Effect<void>
}

interface Operation {
  readonly kind: "charges" | "payouts"
  readonly key: string
  readonly body: Readonly<Record<string, unknown>>
  id: string | undefined
}

/** Fails when there is no answer. */
const call = async (
  base: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown
): Promise<{ readonly status: number; readonly replayed: boolean; readonly body: Fields }> => {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    signal: AbortSignal.timeout(DATABASE_TIMEOUT_MS),
    ...(body === undefined ? undefined : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return {
    status: response.status,
    replayed: response.headers.get("idempotent-replayed") === "true",
    body: text === "" ? {} : (JSON.parse(text) as Fields)
  }
}

type Fields = Readonly<Record<string, unknown>>

const DATABASE_TIMEOUT_MS = 20_000
const FUNDS = 50_000_000
const FEE = 35
export const OPERATOR_TOKEN = "the operator's token of these tests"

/** Creates a funded account and starts to call. */
export const startLoad = (target: Target, receiver: Receiver, callers = 8) =>
  Effect.promise(async (): Promise<Load> => {
    const operations: Array<Operation> = []
    const wrong: Array<string> = []
    const statuses = new Map<number, number>()
    const answers: Array<{ readonly askedAt: number; readonly answeredAt: number }> = []
    const startedAt = performance.now()
    const over = new AbortController()

    const operate = async (method: string, path: string, body?: unknown, status = 200) => {
      const token = { "x-operator-token": OPERATOR_TOKEN }
      const answer = await call(target.operatorUrl, method, `/operator/v1${path}`, token, body)
      assert.strictEqual(answer.status, status, `${path}: ${JSON.stringify(answer.body)}`)
      return answer.body
    }

    const account = await operate(
      "POST",
      "/accounts",
      {
        name: "Loja",
        legal_name: "Loja Ltda",
        document: "11222333000181",
        phone: "+5511999990000",
        payout_fee: { fixed: FEE, basis_points: 0 }
      },
      201
    )
    const application = await operate("POST", `/accounts/${String(account["id"])}/applications`, { name: "Loja" }, 201)
    const applicationId = String(application["id"])
    const scopes = ["charge:read", "charge:write", "payout:read", "payout:write", "balance:read"]
    const made = await operate("POST", `/applications/${applicationId}/keys`, { name: "test", scopes }, 201)
    const apiKey = { "x-api-key": String(made["key"]) }
    const funding = { amount: FUNDS, customer }
    const funds = await operate("POST", `/applications/${applicationId}/checkout-charges`, funding, 201)
    await operate("POST", `/simulator/charges/${String(funds["id"])}/pay`, {})

    const ask = (operation: Operation) =>
      call(
        target.publicUrl,
        "POST",
        `/v1/${operation.kind}`,
        { ...apiKey, "idempotency-key": operation.key },
        operation.body
      )

    const settle = async (operation: Operation) => {
      while (operation.id === undefined) {
        const askedAt = performance.now()
        const answer = await ask(operation).catch(() => undefined)
        answers.push({ askedAt, answeredAt: performance.now() })
        if (answer !== undefined) statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        if (answer?.status === 201) operation.id = String(answer.body["id"])
        else if (answer === undefined && performance.now() - askedAt >= DATABASE_TIMEOUT_MS) wrong.push("a call hangs")
        else if (answer !== undefined && answer.status !== 503) {
          wrong.push(`a call is answered with ${answer.status}: ${JSON.stringify(answer.body)}`)
          if (answer.status < 500) return
        }
        if (operation.id === undefined) await new Promise((resolve) => setTimeout(resolve, 25))
      }
    }

    const caller = async (index: number) => {
      for (let i = index; !over.signal.aborted; i++) {
        const operation = newOperation(i, receiver.url)
        operations.push(operation)
        await settle(operation)
      }
    }
    const calling = Promise.all(Array.from({ length: callers }, (_, index) => caller(index)))

    const statesOf = async (kind: Operation["kind"]) => {
      const states = new Map<string, Fields>()
      for (let after = ""; ;) {
        const page = await call(target.publicUrl, "GET", `/v1/${kind}?limit=100${after}`, apiKey)
        assert.strictEqual(page.status, 200)
        const data = page.body["data"] as ReadonlyArray<Fields>
        for (const each of data) {
          assert.isFalse(states.has(String(each["id"])), "once in the list")
          states.set(String(each["id"]), each)
        }
        if (page.body["has_more"] !== true) return states
        after = `&starting_after=${String(data.at(-1)?.["id"])}`
      }
    }

    const assertNothingLost = Effect.gen(function* () {
      assert.deepStrictEqual(wrong.slice(0, 5), [])
      // Each key names what it was answered with.
      yield* Effect.forEach(
        operations,
        (operation) =>
          Effect.promise(async () => {
            const { body, replayed, status } = await ask(operation)
            assert.deepStrictEqual([status, replayed, body["id"]], [201, true, operation.id])
          }),
        { concurrency: 16, discard: true }
      )
      // Everything finishes.
      const isFinished = ({ reference, status }: Fields) => status === expected[kindOf(String(reference))]
      let charges = new Map<string, Fields>()
      let payouts = new Map<string, Fields>()
      yield* eventually(
        Effect.promise(async () => {
          ;[charges, payouts] = await Promise.all([statesOf("charges"), statesOf("payouts")])
          return [...charges.values(), ...payouts.values()].filter((each) => !isFinished(each))
        }),
        (unfinished) => unfinished.length === 0
      )
      // One resource for each key, and none besides.
      const all = new Map([...charges, ...payouts])
      assert.strictEqual(all.size, operations.length)
      for (const { id, key } of operations) assert.strictEqual(all.get(id!)?.["reference"], key)
      // Balances match the states.
      const sum = (states: ReadonlyMap<string, Fields>, status: string, fee: number) =>
        [...states.values()].reduce(
          (total, each) => (each["status"] === status ? total + Number(each["amount"]) + fee : total),
          0
        )
      const balance = yield* Effect.promise(() => call(target.publicUrl, "GET", "/v1/balance", apiKey))
      assert.strictEqual(balance.body["available"], FUNDS + sum(charges, "paid", 0) - sum(payouts, "completed", FEE))
      const verified = yield* Effect.promise(() => operate("GET", "/ledger/verify"))
      assert.deepStrictEqual([verified["consistent"], verified["differences"]], [true, []])
      // Every event came, under one id, with the same bytes.
      const wanted = [...all.values()].reduce(
        (count, { reference }) => count + events[kindOf(String(reference))].length,
        0
      )
      yield* eventually(
        Effect.sync(() => new Set(receiver.received.map(({ body }) => `${body.event} ${body.data.id}`)).size),
        (count) => count >= wanted
      )
      const deliveries = new Map<string, { readonly id: string; readonly bytes: Buffer }>()
      for (const { body, bytes } of receiver.received) {
        const event = `${body.event} ${body.data.id}`
        const first = deliveries.get(event) ?? { id: body.id, bytes }
        deliveries.set(event, first)
        assert.strictEqual(body.id, first.id, event)
        assert.isTrue(bytes.equals(first.bytes), event)
      }
      for (const { id, reference } of all.values()) {
        for (const event of events[kindOf(String(reference))]) {
          assert.isTrue(deliveries.delete(`${event} ${String(id)}`), `${event} of ${String(reference)}`)
        }
      }
      assert.deepStrictEqual([...deliveries.keys()], [])
    })

    return {
      summary: () => {
        const seconds = Math.round((performance.now() - startedAt) / 1000)
        const answers = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${count} x ${status}`)
        return `${operations.length} operations in ${seconds} s, ${answers.join(", ")}, ${receiver.received.length} deliveries`
      },
      answers: () => answers,
      answered: () => operations.filter(({ id }) => id !== undefined).length,
      stop: Effect.promise(async () => {
        over.abort()
        await calling
      }),
      assertNothingLost
    }
  })

const customer = { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }

/** What the simulated acquirer does with an operation, by its index. */
const kinds = ["charge ana", "payout ana", "charge timeout", "charge pay", "payout timeout", "payout fail"] as const
type Kind = (typeof kinds)[number]

const expected: Readonly<Record<Kind, string>> = {
  "charge ana": "pending",
  "charge timeout": "pending",
  "charge pay": "paid",
  "payout ana": "completed",
  "payout timeout": "completed",
  "payout fail": "failed"
}

const events: Readonly<Record<Kind, ReadonlyArray<string>>> = {
  "charge ana": ["charge.pix.created", "charge.pix.emitted"],
  "charge timeout": ["charge.pix.created", "charge.pix.emitted"],
  "charge pay": ["charge.pix.created", "charge.pix.emitted", "charge.pix.paid"],
  "payout ana": ["payment.pix.created", "payment.pix.processing"],
  "payout timeout": ["payment.pix.created", "payment.pix.processing"],
  "payout fail": ["payment.pix.created", "payment.pix.processing", "payment.pix.failed"]
}

const kindOf = (reference: string): Kind => kinds.find((kind) => reference.startsWith(kind.replace(" ", "-")))!

const newOperation = (index: number, webhookUrl: string): Operation => {
  const kind = kinds[index % kinds.length]!
  const [what, who = ""] = kind.split(" ")
  const email = who === "ana" ? "ana@example.com" : `${who}@simulator.test`
  const key = `${what}-${who}-${randomUUID()}`
  const shared = { reference: key, webhook_url: webhookUrl, webhook_secret: "a secret" }
  return what === "charge"
    ? { kind: "charges", key, id: undefined, body: { amount: 1990, customer: { ...customer, email }, ...shared } }
    : { kind: "payouts", key, id: undefined, body: { amount: 700, pix_key_type: "email", pix_key: email, ...shared } }
}
