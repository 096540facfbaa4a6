/**
 * A model of the rules about money (CHG, PAY, BAL, DSP of the contract), as plain as possible: accounts with four
 * amounts, charges, payouts and disputes with a status, and the effect of each command. It shares no code with the
 * service: the tests drive both with the same commands and compare.
 */

interface ModelAccount {
  readonly releaseDelay: boolean
  readonly feeFixed: number
  readonly feeBasisPoints: number
  readonly guarded: boolean
  auto: boolean
  available: number
  pending: number
  blocked: number
  inTransit: number
  fees: number
}

interface ModelCharge {
  readonly account: number
  readonly amount: number
  readonly method: "pix" | "boleto" | "card"
  status: string
  awaitsRelease: boolean
  /** A MED took it, and no return was reported. */
  lacksReturn: boolean
  readonly events: Array<string>
}

interface ModelPayout {
  readonly account: number
  readonly amount: number
  readonly fee: number
  readonly recipient: Recipient
  readonly duplicateOf: number | undefined
  status: string
  /** The answers of the simulated acquirer. */
  known: "completed" | "failed" | undefined
  isContradicted: boolean
  readonly events: Array<string>
}

interface ModelDispute {
  readonly charge: number
  readonly arrivedResolved: boolean
  /** No MED is known for its return. */
  isUnnamed?: boolean
  status: string
  readonly events: Array<string>
}

export interface World {
  readonly accounts: ReadonlyArray<ModelAccount>
  readonly charges: Array<ModelCharge>
  readonly payouts: Array<ModelPayout>
  readonly disputes: Array<ModelDispute>
  /** The payments that have arrived, each by the charge whose settlement it has: the charge that it pays, or an exception. */
  readonly settlements: Map<number, { readonly pays: number } | { hasMoney: boolean }>
  /** Returns and MEDs that came before their payment. */
  readonly early: Array<Extract<Command, { kind: "charge" }> & { readonly of: number }>
}

type Payer = "ordinary" | "refuse" | "timeout"
export type Recipient = "ordinary" | "fail" | "hold" | "timeout"
type ChargeAction = "pay" | "fail" | "cancel" | "refund" | "refunded" | "infraction" | "return" | "expire"
type PayoutAction = "approve" | "cancel" | "complete" | "fail"
type DisputeAction = "won" | "lost" | "defend" | "message"

export type Command =
  | {
      readonly kind: "create-charge"
      readonly account: number
      readonly amount: number
      readonly payer: Payer
      readonly method: ModelCharge["method"]
    }
  | {
      readonly kind: "charge"
      readonly charge: number
      readonly action: ChargeAction
      readonly as: "refunded" | "charged_back"
      /** A payment claims the settlement of this charge. */
      readonly settlement: number
      readonly times: number
    }
  | {
      readonly kind: "create-payout"
      readonly account: number
      readonly amount: number
      readonly recipient: Recipient
      /** Repeats the key of this payout. */
      readonly repeats: number | undefined
    }
  | { readonly kind: "payout"; readonly payout: number; readonly action: PayoutAction; readonly times: number }
  | { readonly kind: "dispute"; readonly dispute: number; readonly action: DisputeAction; readonly times: number }
  | { readonly kind: "toggle-auto"; readonly account: number }

/** Background loops, for all accounts at once. */
export type Loop = "submit" | "release" | "recover" | "notify"

/** Numbers below 1 that follow from a seed alone. */
export type Random = () => number

export const randomFrom = (seed: number): Random => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const below = (random: Random, bound: number) => Math.floor(random() * bound)

const oneOf = <A>(random: Random, ...values: ReadonlyArray<A>): A => values[below(random, values.length)]!

export const newWorld = (random: Random): World => ({
  accounts: Array.from({ length: 2 }, () => ({
    releaseDelay: random() < 0.35,
    feeFixed: oneOf(random, 0, 0, 35),
    feeBasisPoints: oneOf(random, 0, 99, 250),
    guarded: random() < 0.3,
    auto: random() < 0.6,
    available: 0,
    pending: 0,
    blocked: 0,
    inTransit: 0,
    fees: 0
  })),
  charges: [],
  payouts: [],
  disputes: [],
  settlements: new Map(),
  early: []
})

const open: Readonly<Record<ChargeAction, ReadonlyArray<string>>> = {
  pay: ["processing", "pending", "expired"],
  fail: ["processing", "pending"],
  cancel: ["pending"],
  refund: ["paid"],
  refunded: ["paid", "infraction"],
  infraction: ["paid"],
  return: ["paid", "infraction"],
  expire: ["pending"]
}

/** Any command, sensible or not; more often one that can be done. */
export const nextCommand = (world: World, random: Random): Command => {
  /** The index of one of these, mostly of one in one of these states. */
  const pick = (all: ReadonlyArray<{ readonly status: string }>, states: ReadonlyArray<string>) => {
    const fitting = [...all.keys()].filter((index) => states.includes(all[index]!.status))
    return fitting.length > 0 && random() < 0.7 ? fitting[below(random, fitting.length)]! : below(random, all.length)
  }
  const times = random() < 0.25 ? 3 : 1
  const account = below(random, world.accounts.length)
  const dice = random()
  if (dice < 0.02) return { kind: "toggle-auto", account }
  if (world.charges.length < 2 || dice < 0.15) {
    return {
      kind: "create-charge",
      account,
      amount: oneOf(random, 1000, 2500, 4999, 10_000),
      payer: oneOf<Payer>(random, "ordinary", "ordinary", "ordinary", "ordinary", "ordinary", "refuse", "timeout"),
      method: oneOf(random, "pix", "pix", "pix", "pix", "pix", "boleto", "card")
    }
  }
  if (dice < 0.3 && world.disputes.length > 0) {
    const action = oneOf<DisputeAction>(random, "won", "won", "lost", "lost", "defend", "message")
    return {
      kind: "dispute",
      dispute: pick(world.disputes, action === "lost" ? ["open", "under_review", "won"] : ["open", "under_review"]),
      action,
      times: action === "message" ? 1 : times
    }
  }
  if (dice < 0.42 && world.payouts.length > 0) {
    const action = oneOf<PayoutAction>(random, "approve", "approve", "cancel", "complete", "fail")
    const states = action === "approve" || action === "cancel" ? ["pending"] : ["processing"]
    return { kind: "payout", payout: pick(world.payouts, states), action, times }
  }
  const rich = world.accounts.findIndex(({ available }) => available >= 1000)
  if (dice < 0.65 && (rich !== -1 || random() < 0.2)) {
    const payer = rich === -1 || random() < 0.3 ? account : rich
    const { available } = world.accounts[payer]!
    return {
      kind: "create-payout",
      account: payer,
      amount: Math.max(500, oneOf(random, 500, 500, 500, 800, available, available + 1, Math.floor(available / 3))),
      recipient: oneOf<Recipient>(random, "ordinary", "fail", "hold", "hold", "timeout"),
      repeats: world.payouts.length > 0 && random() < 0.12 ? below(random, world.payouts.length) : undefined
    }
  }
  const action =
    rich === -1 && random() < 0.6
      ? "pay"
      : oneOf<ChargeAction>(
          random,
          "pay",
          "pay",
          "pay",
          "fail",
          "cancel",
          "refund",
          "refunded",
          "infraction",
          "infraction",
          "infraction",
          "return",
          "expire"
        )
  const charge = pick(world.charges, open[action])
  return {
    kind: "charge",
    charge,
    action,
    as: oneOf(random, "refunded", "charged_back"),
    settlement: random() < 0.1 ? below(random, world.charges.length) : charge,
    // A repeated operator's call has its own answer.
    times: action === "refund" ? 1 : times
  }
}

/** Runs a command, and returns the answers, in any order. */
export const apply = (world: World, command: Command): ReadonlyArray<string> => {
  switch (command.kind) {
    case "create-charge":
      return [createCharge(world, command)]
    case "charge":
      return repeat(command.times, () => actOnCharge(world, command))
    case "create-payout":
      return [createPayout(world, command)]
    case "payout":
      return repeat(command.times, () => actOnPayout(world, command.payout, command.action))
    case "dispute":
      return repeat(command.times, () => actOnDispute(world, command.dispute, command.action))
    case "toggle-auto": {
      const account = world.accounts[command.account]!
      account.auto = !account.auto
      return ["done"]
    }
  }
}

const repeat = (times: number, act: () => string) => Array.from({ length: times }, act).toSorted()

// The catalog's gaps.
const withoutEvent = new Set([
  "charge.card.emitted",
  "charge.card.infraction",
  "charge.boleto.infraction",
  "charge.boleto.charged_back"
])

const addEvents = (charge: ModelCharge, ...actions: ReadonlyArray<string>) => {
  for (const action of actions) {
    const event = `charge.${charge.method}.${action}`
    if (!withoutEvent.has(event)) charge.events.push(event)
  }
}

const emitted = (charge: ModelCharge) => {
  charge.status = "pending"
  addEvents(charge, "created", "emitted")
}

const createCharge = (world: World, command: Extract<Command, { kind: "create-charge" }>): string => {
  const { account, amount, method, payer } = command
  const charge: ModelCharge = {
    account,
    amount,
    method,
    status: "processing",
    awaitsRelease: false,
    lacksReturn: false,
    events: []
  }
  world.charges.push(charge)
  if (payer === "timeout") return "processing"
  if (payer === "refuse") {
    charge.status = "failed"
    addEvents(charge, "failed")
    return "ChargeRejected"
  }
  emitted(charge)
  return "pending"
}

const actOnCharge = (world: World, command: Extract<Command, { kind: "charge" }>): string => {
  const charge = world.charges[command.charge]!
  const account = world.accounts[charge.account]!
  switch (command.action) {
    case "expire":
      if (charge.status === "pending") charge.status = "expired"
      return "done"
    case "pay":
      if (charge.status === "processing") emitted(charge)
      // One settlement pays one charge, or is one exception.
      if (world.settlements.has(command.settlement)) return "ignored"
      if (charge.status !== "pending" && charge.status !== "expired") {
        world.settlements.set(command.settlement, { hasMoney: true })
        for (const each of world.early.filter(({ action, of }) => of === command.settlement && action !== "infraction"))
          reverseUnpaid(world, each)
        return "exception"
      }
      world.settlements.set(command.settlement, { pays: command.charge })
      charge.status = "paid"
      addEvents(charge, "paid")
      if (account.releaseDelay) {
        account.pending += charge.amount
        charge.awaitsRelease = true
      } else {
        account.available += charge.amount
      }
      // Notifications that overtook it are applied with it, in their order.
      for (const each of world.early) {
        if (each.of === command.settlement) actOnCharge(world, { ...each, charge: command.charge })
      }
      return "applied"
    case "fail":
      if (charge.status === "processing") emitted(charge)
      if (charge.status !== "pending") return "ignored"
      charge.status = "failed"
      addEvents(charge, "failed")
      return "applied"
    case "cancel":
      if (charge.status !== "pending") return "InvalidStateError"
      charge.status = "canceled"
      addEvents(charge, "canceled")
      return "canceled"
    case "refund":
      if (charge.status !== "paid") return "InvalidStateError"
      if (!charge.awaitsRelease && account.available < charge.amount) return "InsufficientBalanceError"
      goesBack(world, command.charge, "refunded")
      return "refunded"
    case "refunded":
      if (!isSettled(world, command.charge)) return reverseUnpaid(world, command)
      if (charge.status !== "paid" && charge.status !== "infraction") return "ignored"
      goesBack(world, command.charge, "refunded")
      return "applied"
    case "infraction":
      if (!isSettled(world, command.charge)) return reverseUnpaid(world, command)
      // DSP-7: nothing is left that another MED does not contest.
      if (charge.method !== "pix") return "ignored"
      if (["infraction", "refunded", "charged_back"].includes(charge.status)) return "exception"
      if (charge.status !== "paid") return "ignored"
      charge.status = "infraction"
      addEvents(charge, "infraction")
      leaves(account, charge)
      account.blocked += charge.amount
      world.disputes.push({
        charge: command.charge,
        arrivedResolved: false,
        status: "open",
        events: ["dispute.pix.opened"]
      })
      return "applied"
    case "return": {
      if (!isSettled(world, command.charge)) return reverseUnpaid(world, command)
      if (charge.status !== "paid" && charge.status !== "infraction") {
        // The return of a MED that was lost before, which gets a name.
        if (!charge.lacksReturn) return "ignored"
        charge.lacksReturn = false
        return "applied"
      }
      const unannounced = charge.status === "paid" && charge.method === "pix"
      goesBack(world, command.charge, command.as)
      if (unannounced) {
        world.disputes.push({
          charge: command.charge,
          arrivedResolved: true,
          isUnnamed: true,
          status: "lost",
          events: ["dispute.pix.lost"]
        })
      }
      return "applied"
    }
  }
}

const isSettled = (world: World, index: number): boolean =>
  [...world.settlements.values()].some((settled) => "pays" in settled && settled.pays === index)

/** A return or a MED of a Pix that does not pay the charge that it names: it waits, or is of another charge or an exception. */
const reverseUnpaid = (
  world: World,
  command: Extract<Command, { kind: "charge" }> & { readonly of?: number }
): string => {
  const { action, of = command.charge } = command
  const settled = world.settlements.get(of)
  if (settled === undefined || (action === "infraction" && "hasMoney" in settled)) {
    if (settled === undefined) world.early.push({ ...command, of })
    return "exception"
  }
  if ("pays" in settled) return actOnCharge(world, { ...command, charge: settled.pays })
  if (!settled.hasMoney) return "exception"
  settled.hasMoney = false
  return "applied"
}

/** The money of a charge leaves the balance: unreleased money first. */
const leaves = (account: ModelAccount, charge: ModelCharge) => {
  if (charge.awaitsRelease) account.pending -= charge.amount
  else account.available -= charge.amount
  charge.awaitsRelease = false
}

/** The money returns to the payer; no dispute of the charge can be decided otherwise afterwards. */
const goesBack = (world: World, index: number, as: "refunded" | "charged_back") => {
  const charge = world.charges[index]!
  const account = world.accounts[charge.account]!
  if (charge.status === "infraction") account.blocked -= charge.amount
  else leaves(account, charge)
  charge.status = as
  addEvents(charge, as)
  for (const dispute of world.disputes) {
    if (dispute.charge === index && (dispute.status === "open" || dispute.status === "under_review")) lose(dispute)
  }
}

const lose = (dispute: ModelDispute) => {
  dispute.status = "lost"
  dispute.events.push("dispute.pix.lost")
}

const actOnDispute = (world: World, index: number, action: DisputeAction): string => {
  const dispute = world.disputes[index]!
  const charge = world.charges[dispute.charge]!
  const account = world.accounts[charge.account]!
  const undecided = dispute.status === "open" || dispute.status === "under_review"
  switch (action) {
    case "defend":
      if (dispute.status !== "open") return "InvalidStateError"
      dispute.status = "under_review"
      return "under_review"
    case "message":
      dispute.events.push("dispute.pix.message")
      return "applied"
    case "won":
      if (!undecided) return "ignored"
      dispute.status = "won"
      dispute.events.push("dispute.pix.won")
      charge.status = "paid"
      account.blocked -= charge.amount
      account.available += charge.amount
      return "applied"
    case "lost": {
      if (!undecided && dispute.status !== "won") return "ignored"
      // DSP-7: a return without a word before was that of this MED.
      const arrived = world.disputes.find((one) => one.charge === dispute.charge && one.isUnnamed === true)
      if (arrived !== undefined) {
        arrived.isUnnamed = false
        lose(dispute)
        return "applied"
      }
      // After a `won` the money may have gone back another way.
      if (charge.status !== "paid" && charge.status !== "infraction") return "ignored"
      if (dispute.status === "won") lose(dispute)
      goesBack(world, dispute.charge, "charged_back")
      charge.lacksReturn = true
      return "applied"
    }
  }
}

const feeOf = (account: ModelAccount, amount: number) =>
  account.feeFixed + Math.floor((amount * account.feeBasisPoints + 5000) / 10_000)

const createPayout = (world: World, command: Extract<Command, { kind: "create-payout" }>): string => {
  const { amount, recipient, repeats } = command
  if (repeats !== undefined) return `replayed ${world.payouts[repeats]!.status}`
  const account = world.accounts[command.account]!
  const fee = feeOf(account, amount)
  if (account.available < amount + fee) return "InsufficientBalanceError"
  const duplicateOf = account.guarded
    ? world.payouts.findLastIndex(
        (other) =>
          other.account === command.account &&
          other.amount === amount &&
          other.recipient === recipient &&
          other.status !== "failed" &&
          other.status !== "canceled"
      )
    : -1
  const status = account.auto && duplicateOf === -1 ? "processing" : "pending"
  account.available -= amount + fee
  account.inTransit += amount + fee
  world.payouts.push({
    account: command.account,
    amount,
    fee,
    recipient,
    duplicateOf: duplicateOf === -1 ? undefined : duplicateOf,
    status,
    known: undefined,
    isContradicted: false,
    events: status === "processing" ? ["payment.pix.created", "payment.pix.processing"] : ["payment.pix.created"]
  })
  return status
}

const actOnPayout = (world: World, index: number, action: PayoutAction): string => {
  const payout = world.payouts[index]!
  switch (action) {
    case "approve":
      if (payout.status !== "pending") return "InvalidStateError"
      payout.status = "processing"
      payout.events.push("payment.pix.processing")
      return "processing"
    case "cancel":
      if (payout.status !== "pending") return "InvalidStateError"
      comesBack(world, payout, "canceled")
      return "canceled"
    case "complete":
    case "fail": {
      const outcome = action === "complete" ? "completed" : "failed"
      if (payout.status === "pending") return "ignored"
      if (payout.status !== "processing") return contradict(payout, outcome)
      payout.known ??= outcome
      settle(world, payout, outcome)
      return "applied"
    }
  }
}

/** BAL-16: an outcome that contradicts the books is one exception, until the acquirer agrees with them again. */
const contradict = (payout: ModelPayout, outcome: "completed" | "failed"): string => {
  const was = payout.isContradicted
  payout.isContradicted = (outcome === "completed") !== (payout.status === "completed")
  if (was === payout.isContradicted) return "ignored"
  return payout.isContradicted ? "exception" : "applied"
}

const comesBack = (world: World, payout: ModelPayout, status: "failed" | "canceled") => {
  const account = world.accounts[payout.account]!
  payout.status = status
  payout.events.push(`payment.pix.${status}`)
  account.inTransit -= payout.amount + payout.fee
  account.available += payout.amount + payout.fee
}

const settle = (world: World, payout: ModelPayout, outcome: "completed" | "failed") => {
  if (outcome === "failed") {
    comesBack(world, payout, "failed")
    return
  }
  const account = world.accounts[payout.account]!
  payout.status = "completed"
  payout.events.push("payment.pix.completed")
  account.inTransit -= payout.amount + payout.fee
  account.fees += payout.fee
}

/** Runs everything that is due, until nothing is left. */
export const applyLoop = (world: World, loop: Loop): void => {
  switch (loop) {
    case "submit":
      for (const payout of world.payouts) {
        if (payout.status !== "processing") continue
        if (payout.known === undefined && payout.recipient !== "hold") {
          payout.known = payout.recipient === "fail" ? "failed" : "completed"
        }
        if (payout.known !== undefined) settle(world, payout, payout.known)
      }
      return
    case "release":
      for (const charge of world.charges) {
        if (!charge.awaitsRelease) continue
        const account = world.accounts[charge.account]!
        charge.awaitsRelease = false
        account.pending -= charge.amount
        account.available += charge.amount
      }
      return
    case "recover":
      for (const charge of world.charges) if (charge.status === "processing") emitted(charge)
      return
    case "notify":
      // The acquirer's notification of an operator's refund changes nothing.
      return
  }
}
