/**
 * A service in memory that keeps the contract, its callers, bank and receivers, in simulated time: histories that are right, of any
 * length, by seed. With a flaw it breaks one rule, and the judge must see it.
 */
import { signatureOf } from "../judge/Webhooks.ts"
import type { Call, Delivery, Fact, Fields, History } from "../judge/History.ts"

export const FLAWS = [
  "a lost debit",
  "an overdraft",
  "a stale balance",
  "a key with two charges",
  "a key that is forgotten",
  "another amount under the key",
  "a payout that is sent twice",
  "a failed payout that gives nothing back",
  "a failed payout that gives back twice",
  "a payment that credits twice",
  "a payment that is lost",
  "a state that goes back",
  "a list that skips",
  "a list that repeats",
  "an event that is lost",
  "an event that comes twice",
  "readers that disagree",
  "a delivery with other bytes",
  "a delivery that never comes",
  "two deliveries of one event",
  "a wrong signature",
  "a release before its time",
  "a refusal although there is enough",
  "a resource of another account",
  "a 500"
] as const
export type Flaw = (typeof FLAWS)[number]

interface Resource {
  fields: Record<string, unknown> & { id: string; status: string; sequence: number }
  account: string
  key: string
}

const FEE = 35
const SECRET = "the secret of an endpoint"
const EVENTS = ["created", "emitted", "paid"].map((action) => `charge.pix.${action}`)
const PAYMENTS = ["created", "processing", "failed"].map((action) => `payment.pix.${action}`)

export const history = (seed: number, operations: number, flaw?: Flaw): History => {
  const random = randomFrom(seed)
  const queue: Array<{ at: number; run: (at: number) => void }> = []
  const later = (at: number, run: (at: number) => void) => {
    let low = 0
    let high = queue.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (queue[middle]!.at >= at) low = middle + 1
      else high = middle
    }
    queue.splice(low, 0, { at, run })
  }
  const calls: Array<Call> = []
  const facts: Array<Fact> = []
  const deliveries: Array<Delivery> = []
  const events: Array<Fields> = []
  const accounts = Array.from({ length: Math.max(2, Math.round(operations / 2000)) }, (_, index) => ({
    id: `account-${index}`,
    feeFixed: FEE,
    feeBasisPoints: 0,
    releaseDelayMs: index % 4 === 1 ? 300 : 0,
    available: 0,
    pending: 0,
    resources: [] as Array<Resource>
  }))
  const keys = new Map<string, Resource>()
  let ids = 0
  let flawed = 0
  /** A flaw shows itself a few times, once the history is under way. */
  const flaws = (name: Flaw) => flaw === name && calls.length > operations / 4 && random() < 0.2 && flawed++ < 3
  const newId = () => `id-${String(++ids).padStart(9, "0")}`

  const emit = (resource: Resource, names: ReadonlyArray<string>, at: number) => {
    for (const event of names) {
      const body = { id: newId(), object: "event", event, data: { ...resource.fields } }
      if (!flaws("an event that is lost")) events.push({ id: body.id, data: body })
      if (flaws("an event that comes twice")) events.push({ id: body.id, data: body })
      deliver(resource.account, event, body, at)
      if (flaws("two deliveries of one event")) deliver(resource.account, event, body, at)
    }
  }
  const deliver = (account: string, event: string, data: Fields, at: number) => {
    if (event === "payment.pix.completed" || flaws("a delivery that never comes")) return
    const id = newId()
    const bytes = JSON.stringify({ ...data, id })
    const attempt = (time: number, nth: number) =>
      later(time, (now) => {
        const answered = random() < 0.2 && nth < 4 ? (random() < 0.5 ? undefined : 503) : 200
        const sent = nth > 0 && flaws("a delivery with other bytes") ? `${bytes} ` : bytes
        const signature = flaws("a wrong signature") ? "sha256=00" : signatureOf({ secret: SECRET }, sent)
        deliveries.push({ at: now, path: `/${account}`, id, signature, bytes: sent, answered })
        if (answered !== 200 || random() < 0.02) attempt(now + 50, nth + 1)
      })
    attempt(at + random() * 50, 0)
  }
  const change = (resource: Resource, status: string, names: ReadonlyArray<string>, at: number) => {
    resource.fields = { ...resource.fields, status, sequence: resource.fields.sequence + 1 }
    emit(resource, names, at)
  }

  const create = (
    account: (typeof accounts)[number],
    kind: "charge" | "payout",
    key: string,
    request: Fields,
    at: number
  ): Answer => {
    const name = `${kind} ${account.id} ${key}`
    const known = keys.get(name)
    if (
      known !== undefined &&
      !(kind === "charge" && flaws("a key with two charges")) &&
      !flaws("a key that is forgotten")
    ) {
      const fields = flaws("another amount under the key") ? { ...known.fields, amount: 1 } : known.fields
      return { status: 201, replayed: true, body: fields }
    }
    const amount = Number(request["amount"])
    if (kind === "payout") {
      const hasEnough = account.available >= amount + FEE
      if (hasEnough ? flaws("a refusal although there is enough") : !flaws("an overdraft")) {
        return { status: 400, body: { code: "INSUFFICIENT_BALANCE" } }
      }
      if (!flaws("a lost debit")) account.available -= amount + FEE
    }
    const fields = { id: newId(), object: kind, status: "processing", sequence: 1, ...request }
    const resource: Resource = { fields, account: account.id, key }
    keys.set(name, resource)
    account.resources.push(resource)
    if (kind === "charge") startCharge(account, resource, amount, at)
    else startPayout(account, resource, amount, at)
    return { status: 201, body: resource.fields }
  }

  const startCharge = (account: (typeof accounts)[number], resource: Resource, amount: number, at: number) => {
    change(resource, "pending", ["charge.pix.created", "charge.pix.emitted"], at)
    if (random() < 0.3) return
    later(at + 20 + random() * 100, (paidAt) => {
      facts.push({
        at: paidAt,
        what: "paid",
        account: account.id,
        subject: resource.fields.id,
        cents: amount,
        id: newId()
      })
      if (flaws("a payment that is lost")) return
      later(paidAt + random() * 80, (now) => {
        change(resource, "paid", ["charge.pix.paid"], now)
        const credit = flaws("a payment that credits twice") ? 2 * amount : amount
        if (account.releaseDelayMs === 0) return void (account.available += credit)
        account.pending += credit
        const wait = flaws("a release before its time") ? 0 : account.releaseDelayMs + random() * 60
        later(now + wait, () => {
          account.pending -= credit
          account.available += credit
        })
      })
    })
  }

  const startPayout = (account: (typeof accounts)[number], resource: Resource, amount: number, at: number) => {
    const pixKey = String((resource.fields["recipient"] as Fields)["pix_key"])
    const fact = (what: Fact["what"], time: number, id: string) =>
      facts.push({ at: time, what, account: account.id, subject: pixKey, cents: amount, id })
    emit(resource, ["payment.pix.created", "payment.pix.processing"], at)
    later(at + random() * 60, (sentAt) => {
      const id = newId()
      fact("payout-sent", sentAt, id)
      if (flaws("a payout that is sent twice")) fact("payout-sent", sentAt + 1, newId())
      later(sentAt + random() * 60, (endedAt) => {
        const fails = random() < 0.3
        fact(fails ? "payout-failed" : "payout-done", endedAt, id)
        later(endedAt + random() * 60, (now) => {
          resource.fields = { ...resource.fields, end_to_end_id: fails ? null : id }
          change(resource, fails ? "failed" : "completed", [`payment.pix.${fails ? "failed" : "completed"}`], now)
          if (!fails || flaws("a failed payout that gives nothing back")) return
          account.available += (amount + FEE) * (flaws("a failed payout that gives back twice") ? 2 : 1)
        })
      })
    })
  }

  /** A call happens at some moment between its beginning and its end, and may stay without an answer. */
  const call = (
    given: Omit<Call, "calledAt" | "server">,
    at: number,
    act: (at: number) => Answer,
    then: (answer: Answer | undefined, at: number) => void
  ) => {
    const happensAt = at + random() * 20
    const endsAt = happensAt + random() * 20
    const isLost = random() < 0.05
    const happens = !isLost || random() < 0.5
    later(happensAt, (now) => {
      const answer = happens ? act(now) : { status: 503, body: {} }
      later(endsAt, (end) => {
        const made = { ...given, calledAt: at, server: 0 }
        if (flaws("a 500")) calls.push({ ...made, answeredAt: end, status: 500, body: {} })
        if (isLost) calls.push(made)
        else calls.push({ ...made, answeredAt: end, ...answer })
        then(isLost ? undefined : answer, end)
      })
    })
  }

  const settle = (
    given: Omit<Call, "calledAt" | "server">,
    at: number,
    act: (at: number) => Answer,
    then: (at: number, answer: Answer) => void
  ) =>
    call(given, at, act, (answer, end) =>
      answer === undefined || answer.status >= 500 ? settle(given, end + 5, act, then) : then(end, answer)
    )

  const caller = (account: (typeof accounts)[number], name: string, at: number): void => {
    if (calls.length >= operations) return
    const next = (end: number) => caller(account, name, end + random() * 15)
    const shared = { caller: name, account: account.id }
    const draw = random()
    const key = `${name}-${calls.length}`
    // Payouts are larger than payments, so that some are refused.
    const amount = 100 + Math.floor(random() * 100_000) * (draw < 0.3 ? 1 : 3)
    if (draw < 0.3) {
      const request = { amount, reference: key }
      return settle(
        { ...shared, op: "charge.create", key, request },
        at,
        (now) => create(account, "charge", key, request, now),
        (end, { body }) => {
          if (random() < 0.3)
            settle(
              { ...shared, op: "charge.create", key, request },
              end,
              (now) => create(account, "charge", key, request, now),
              () => {}
            )
          void body
          next(end)
        }
      )
    }
    if (draw < 0.5) {
      const request = { amount, reference: key, pix_key: `${key}@x.test`, recipient: { pix_key: `${key}@x.test` } }
      return settle(
        { ...shared, op: "payout.create", key, request },
        at,
        (now) => create(account, "payout", key, request, now),
        next
      )
    }
    if (draw < 0.75)
      return call(
        { ...shared, op: "balance.get" },
        at,
        () => balanceOf(account),
        (_, end) => next(end)
      )
    if (draw < 0.9 && account.resources.length > 0) {
      const from = flaws("a resource of another account")
        ? accounts[(accounts.indexOf(account) + 1) % accounts.length]!
        : account
      const resource = from.resources[Math.floor(random() * from.resources.length)]
      if (resource === undefined) return next(at)
      const op = resource.fields["object"] === "charge" ? "charge.get" : "payout.get"
      const read = () => ({
        status: 200,
        body: flaws("a state that goes back")
          ? { ...resource.fields, status: "processing", sequence: 0 }
          : resource.fields
      })
      return call({ ...shared, op, subject: resource.fields.id }, at, read, (_, end) => next(end))
    }
    walk(account, name, `${name}-${calls.length}`, at, undefined, next)
  }

  const balanceOf = ({ available, pending }: { available: number; pending: number }): Answer => {
    const shown = flaws("a stale balance") ? available - 1 : available
    return { status: 200, body: { available: shown, pending, total: shown + pending } }
  }

  const walk = (
    account: (typeof accounts)[number],
    caller: string,
    name: string,
    at: number,
    after: string | undefined,
    next: (at: number) => void,
    limit = 20,
    pages = 200
  ) => {
    const read = (): Answer => {
      const list = account.resources.filter(({ fields }) => fields["object"] === "charge").toReversed()
      const begin = after === undefined ? 0 : list.findIndex(({ fields }) => fields.id === after) + 1
      const shift = begin > 0 && flaws("a list that skips") ? 1 : begin > 0 && flaws("a list that repeats") ? -1 : 0
      const page = list.slice(begin + shift, begin + shift + limit).map(({ fields }) => fields)
      return { status: 200, body: { object: "list", data: page, has_more: begin + shift + limit < list.length } }
    }
    settle(
      { caller, account: account.id, op: "charge.list", walk: name, request: { limit } },
      at,
      read,
      (end, { body }) => {
        const rows = body["data"] as ReadonlyArray<Fields>
        if (body["has_more"] !== true || rows.length === 0 || pages === 0) return next(end)
        walk(account, caller, name, end, String(rows.at(-1)!["id"]), next, limit, pages - 1)
      }
    )
  }

  for (const account of accounts)
    for (let index = 0; index < 3; index++) caller(account, `${account.id}-caller-${index}`, random())
  let now = 0
  const run = () => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      now = next.at
      next.run(now)
    }
  }
  run()
  const restedAt = now
  // At rest: all is read once more, and two readers read every event.
  for (const account of accounts) {
    settle(
      { caller: "the end", account: account.id, op: "balance.get" },
      now,
      () => balanceOf(account),
      () => {}
    )
    walk(account, "the end", `end-${account.id}`, now, undefined, () => {}, 100)
  }
  run()
  for (const reader of ["one", "other"]) {
    const turned =
      reader === "other" && flaw === "readers that disagree" ? [events[1]!, events[0]!, ...events.slice(2)] : events
    calls.push({
      op: "events.page",
      caller: reader,
      server: 0,
      account: "",
      calledAt: now,
      answeredAt: now,
      status: 200,
      body: { data: turned }
    })
  }
  return {
    setup: {
      seed,
      accounts: accounts.map(({ feeBasisPoints, feeFixed, id, releaseDelayMs }) => ({
        id,
        feeFixed,
        feeBasisPoints,
        releaseDelayMs
      })),
      endpoints: accounts.map(({ id }) => ({
        id,
        account: id,
        path: `/${id}`,
        secret: SECRET,
        events: [...EVENTS, ...PAYMENTS]
      })),
      clocksShifted: false,
      restedAt
    },
    calls,
    facts,
    deliveries,
    faults: []
  }
}

interface Answer {
  readonly status: number
  readonly replayed?: boolean
  readonly body: Fields
}

/** mulberry32 */
const randomFrom = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
