/**
 * Callers of `/v1` and of the operators' interface. A creation that is not answered is repeated with its key until it is, at any server,
 * sometimes at two at once. Payers, and the bank's MEDs, are beside them.
 */
import { type Call, type Fields, numberOf, rowsOf, textOf } from "../judge/History.ts"
import { type Bank, type PaidCharge, payoutKey } from "./Bank.ts"
import { type Account, operator } from "./Installation.ts"
import type { Random } from "./Random.ts"
import { type Answer, type Record_, recorded } from "./Record.ts"
import type { Server } from "./Servers.ts"

export interface CallerOptions {
  readonly record: Record_
  readonly random: Random
  readonly bank: Bank
  readonly servers: ReadonlyArray<Server>
  readonly account: Account
  readonly name: string
  /** What all callers have created. */
  readonly everybody: Array<Owned>
}

export interface Owned {
  readonly kind: "charge" | "payout"
  readonly id: string
  readonly account: string
}

/** A creation is repeated for five minutes. */
const MOST_TRIES = 300

type About = Pick<Call, "op"> & Partial<Pick<Call, "key" | "subject" | "request" | "walk">>

export const makeCaller = (options: CallerOptions) => {
  const { account, bank, everybody, name, random, record, servers } = options
  const known: Array<Owned> = []
  const knows = (kind: Owned["kind"], id: string) => {
    known.push({ kind, id, account: account.id })
    everybody.push({ kind, id, account: account.id })
  }
  const paid: Array<PaidCharge & { endToEndId: string; isContested: boolean }> = []
  const contested: Array<{ readonly id: string; readonly decide: (outcome: "med-won" | "med-lost") => void }> = []
  const refunded = new Map<string, number>()
  let count = 0
  const newKey = (what: string) => `${name.replaceAll(" ", "-")}-${what}-${count++}-${random.between(0, 1e9)}`

  const once = (about: About, method: string, path: string, headers: Readonly<Record<string, string>> = {}) => {
    const server = random.oneOf(servers)
    const isOperator = path.startsWith("/operator")
    return recorded(
      record,
      { caller: name, account: account.id, server: server.index, ...about },
      `${isOperator ? server.operatorUrl : server.publicUrl}${path}`,
      method,
      {
        ...(isOperator ? operator : { "x-api-key": account.apiKey }),
        ...(about.key !== undefined && { "idempotency-key": about.key }),
        ...headers
      }
    )
  }

  /** Until there is an answer that is one. */
  const settled = async (about: About, method: string, path: string): Promise<Answer> => {
    for (let tries = 0; ; tries++) {
      const twin = about.op.endsWith(".create") && random.chance(0.08) ? once(about, method, path) : undefined
      const answer = await once(about, method, path)
      await twin
      if (answer !== undefined && answer.status < 500 && answer.status !== 429) return answer
      if (tries > MOST_TRIES) {
        // A service that answers so every time is for the judge.
        if (answer !== undefined) return answer
        throw new Error(`${about.op} is not answered`)
      }
      await pause(Math.min(1000, 20 * 2 ** tries))
    }
  }

  const create = async (amount = random.between(500, 90_000), isCertain = false) => {
    const key = newKey("new")
    const request = {
      amount,
      reference: key,
      customer: { name: "Ana", email: "ana@example.com", document: "52998224725" }
    }
    const { body, status } = await settled({ op: "charge.create", key, request }, "POST", "/v1/charges")
    if (status !== 201) return
    const id = textOf(body, "id")
    knows("charge", id)
    if (random.chance(0.1)) await settled({ op: "charge.create", key, request }, "POST", "/v1/charges")
    if (!isCertain && random.chance(0.25)) return
    const brCode = await brCodeOf(id)
    if (brCode === undefined) return
    const charge = { account: account.id, id, amount, brCode }
    const endToEndId = bank.pay(charge)
    if (endToEndId === undefined) return
    paid.push({ ...charge, endToEndId, isContested: false })
    // Which of two payments pays the charge is the service's choice: a MED of one of them may be about the other.
    if (!isCertain && random.chance(0.05)) {
      paid.pop()
      bank.pay(charge, "paid-again")
    }
  }

  /** Waits until the charge can be paid. */
  const brCodeOf = async (id: string): Promise<string | undefined> => {
    for (let tries = 0; tries < 40; tries++) {
      const answer = await once({ op: "charge.get", subject: id }, "GET", `/v1/charges/${id}`)
      const pix = answer?.body["pix"]
      const brCode = typeof pix === "object" && pix !== null ? textOf(pix as Fields, "br_code") : ""
      if (brCode !== "") return brCode
      if (textOf(answer?.body, "status") === "failed") return undefined
      await pause(100)
    }
    return undefined
  }

  const payOut = async () => {
    const key = newKey("new")
    const request = {
      amount: random.chance(0.3) ? random.between(100_000, 500_000) : random.between(500, 120_000),
      reference: key,
      pix_key_type: "email",
      pix_key: payoutKey(account.id, random.between(0, 1e12))
    }
    const { body, status } = await settled({ op: "payout.create", key, request }, "POST", "/v1/payouts")
    if (status !== 201) return
    const id = textOf(body, "id")
    knows("payout", id)
    if (random.chance(0.15)) await settled({ op: "payout.create", key, request }, "POST", "/v1/payouts")
    if (account.isAutomatic) return
    const decision = random.chance(0.3) ? "cancel" : "approve"
    const decide = (op: typeof decision) =>
      settled({ op: `payout.${op}`, subject: id }, "POST", `/operator/v1/payouts/${id}/${op}`)
    if (random.chance(0.2)) await Promise.all([decide("cancel"), decide("approve")])
    else await decide(decision)
  }

  const refund = async () => {
    const charge = paid.find((one) => !one.isContested && (refunded.get(one.id) ?? 0) < one.amount)
    if (charge === undefined || account.releaseDelayMs > 0) return
    const left = charge.amount - (refunded.get(charge.id) ?? 0)
    const amount = random.chance(0.5) ? left : random.between(1, left)
    refunded.set(charge.id, (refunded.get(charge.id) ?? 0) + amount)
    const key = newKey("refund")
    const about = { op: "charge.refund", key, subject: charge.id, request: { amount } } as const
    await settled(about, "POST", `/operator/v1/charges/${charge.id}/refund`)
  }

  const contest = async () => {
    const charge = paid.find((one) => !one.isContested && !refunded.has(one.id))
    if (charge === undefined || account.releaseDelayMs > 0 || contested.length >= 2) return
    charge.isContested = true
    contested.push({ id: charge.id, decide: bank.contest(charge, charge.endToEndId) })
  }

  /** A MED is decided once somebody has seen it. */
  const decideMeds = async () => {
    const [next] = contested
    if (next === undefined) return
    const answer = await once({ op: "charge.get", subject: next.id }, "GET", `/v1/charges/${next.id}`)
    if (textOf(answer?.body, "status") !== "infraction") return
    // Now its money is blocked.
    await balance()
    contested.shift()
    next.decide(random.chance(0.5) ? "med-won" : "med-lost")
  }

  const look = async () => {
    if (known.length === 0) return
    // What belongs to others is unknown (API-9).
    const { id, kind } = random.oneOf(random.chance(0.1) ? everybody.slice(-40) : known.slice(-40))
    await once({ op: `${kind}.get`, subject: id }, "GET", `/v1/${kind}s/${id}`)
  }

  const balance = () => once({ op: "balance.get" }, "GET", "/v1/balance")

  /** All pages of a list; a page without an answer is asked for again. */
  const walk = async (kind: "charge" | "payout", limit: number) => {
    const walkName = `${name}-${count++}`
    for (let after = ""; ;) {
      const about = { op: `${kind}.list`, walk: walkName, request: { limit } } as const
      const { body, status } = await settled(about, "GET", `/v1/${kind}s?limit=${limit}${after}`)
      if (status !== 200 || body["has_more"] !== true) return
      after = `&starting_after=${textOf(rowsOf(body).at(-1), "id")}`
    }
  }

  const act = async () => {
    const draw = random.next()
    if (draw < 0.3) return create()
    if (draw < 0.5) return payOut()
    if (draw < 0.75) return balance()
    if (draw < 0.86) return look()
    if (draw < 0.9) return refund()
    if (draw < 0.92) return contest()
    if (draw < 0.96) return decideMeds()
    return walk(random.chance(0.5) ? "charge" : "payout", random.between(3, 100))
  }

  return {
    /** Gives the account money, before anything goes wrong. */
    fund: async () => {
      await create(500_000, true)
      for (let tries = 0; tries < 600; tries++) {
        const { available, pending } = (await balance())?.body ?? {}
        if (Number(available) + Number(pending) > 0) return
        await pause(200)
      }
    },
    /** Calls until it is told to stop, and ends what it has begun. */
    run: async (isOver: () => boolean) => {
      while (!isOver()) {
        await act()
        await pause(random.between(1, 40))
      }
    },
    /** Once everything is calm: open MEDs are decided. */
    finish: async (isLate: () => boolean) => {
      while (contested.length > 0 && !isLate()) {
        await decideMeds()
        await pause(500)
      }
    },
    balance,
    walk
  }
}

/** The operator who accepts what the bank has twice, and repeats what is not answered. It says how much is not. */
export const makeAccepter = ({
  name,
  random,
  record,
  servers
}: Omit<CallerOptions, "bank" | "account" | "everybody">) => {
  const unanswered = new Map<string, Fields>()
  return async (): Promise<number> => {
    const server = random.oneOf(servers)
    const base = `${server.operatorUrl}/operator/v1`
    const page = await fetch(`${base}/exceptions?status=open&limit=100`, {
      headers: operator,
      signal: AbortSignal.timeout(30_000)
    })
      .then(async (response) => (await response.json()) as Fields)
      .catch(() => undefined)
    for (const exception of rowsOf(page)) {
      if (textOf(exception, "kind") === "second_payment" && textOf(exception, "action") === "")
        unanswered.set(textOf(exception, "id"), exception)
    }
    for (const [id, exception] of unanswered) {
      const about = {
        op: "exception.accept",
        caller: name,
        server: server.index,
        account: textOf(exception, "account_id"),
        subject: id,
        key: `accept-${id}`,
        // What it is worth is in the exception, not in the request.
        request: { action: "accept", amount: numberOf(exception, "amount") }
      } as const
      const headers = { ...operator, "idempotency-key": about.key }
      const answer = await recorded(record, about, `${base}/exceptions/${id}/resolve`, "POST", headers, {
        action: "accept"
      })
      if (answer !== undefined && answer.status < 500 && answer.status !== 429) unanswered.delete(id)
    }
    return unanswered.size
  }
}

/** Reads every event from the first on, at any server. */
export const readEvents = async (
  { name, random, record, servers }: Pick<CallerOptions, "name" | "random" | "record" | "servers">,
  isOver: () => boolean
) => {
  for (let after = "oldest"; ;) {
    const wasOver = isOver()
    const server = random.oneOf(servers)
    const url = `${server.operatorUrl}/operator/v1/events?limit=100&wait=${wasOver ? 3 : 2}&after=${encodeURIComponent(after)}`
    const answer = await recorded(
      record,
      { op: "events.page", caller: name, account: "", server: server.index },
      url,
      "GET",
      operator
    )
    if (answer?.status !== 200) {
      if (answer !== undefined && answer.status < 429)
        throw new Error(`events after ${after}: ${JSON.stringify(answer)}`)
      await pause(200)
      continue
    }
    after = textOf(answer.body, "next_after")
    if (wasOver && rowsOf(answer.body).length === 0) return
  }
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
