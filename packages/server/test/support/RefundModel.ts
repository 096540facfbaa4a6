/**
 * The money of one paid charge by the rules of the contract: where each cent is after refunds, returns and MEDs.
 *
 * Written again from the contract; none of it goes through the service.
 */

type MedStatus = "open" | "won" | "lost"

export interface Med {
  readonly externalId: string
  readonly amount: number
  /** When it was opened. */
  readonly at: number
  status: MedStatus
}

/** A MED's loss that was reported before the return of its money. */
interface Loss {
  readonly med: Med
  taken: number
  /** What it has to take of the open refund, should that fail. */
  claim: number
}

export type ModelStatus = "paid" | "infraction" | "refunded" | "charged_back"

export interface RefundModel {
  status: ModelStatus
  pending: number
  available: number
  blocked: number
  inTransit: number
  returned: number
  /** What else the account has spent of `available`. */
  spent: number
  order: { readonly amount: number; readonly pending: number } | undefined
  readonly meds: Array<Med>
  /** The returns of MEDs that no MED is known for. */
  arrived: Array<{ readonly cents: number; readonly at: number }>
  losses: Array<Loss>
}

export const newModel = (amount: number, isDelayed: boolean): RefundModel => ({
  status: "paid",
  pending: isDelayed ? amount : 0,
  available: isDelayed ? 0 : amount,
  blocked: 0,
  inTransit: 0,
  returned: 0,
  spent: 0,
  order: undefined,
  meds: [],
  arrived: [],
  losses: []
})

const inAccount = ({ available, pending }: RefundModel) => pending + available
export const leftOf = (model: RefundModel) => inAccount(model) + model.blocked + model.inTransit

type Place = "pending" | "available" | "blocked" | "inTransit" | "returned"

/** Moves up to `amount`, from the first place first; gives what is missing. */
const moveTo = (model: RefundModel, to: Place, amount: number, places: ReadonlyArray<Place>): number =>
  places.reduce((missing, place) => {
    const moved = Math.min(missing, Math.max(0, model[place]))
    model[place] -= moved
    model[to] += moved
    return missing - moved
  }, amount)

/** Cents that open MEDs contest, without one. */
const contested = ({ meds }: RefundModel, but?: Med): number =>
  meds.reduce((sum, med) => sum + (med.status === "open" && med !== but ? med.amount : 0), 0)

/** What goes back with a MED: first what is blocked for no other, then the account's, then what is blocked for others. */
const takeFor = (model: RefundModel, amount: number, others: number): number => {
  const free = Math.min(amount, Math.max(0, model.blocked - others))
  moveTo(model, "returned", free, ["blocked"])
  return moveTo(model, "returned", amount - free, ["pending", "available", "blocked"])
}

/** What no MED contests is available again. */
const unblock = (model: RefundModel) =>
  moveTo(model, "available", Math.max(0, model.blocked - contested(model)), ["blocked"])

const loseOpen = (model: RefundModel) => {
  for (const med of model.meds) if (med.status === "open") med.status = "lost"
}

const endIfEmpty = (model: RefundModel) => {
  if (leftOf(model) > 0) return
  if (model.status === "paid" || model.status === "infraction") model.status = "refunded"
  loseOpen(model)
}

/** An operator's refund: why it is refused, or undefined where it is ordered. */
export const order = (model: RefundModel, requested: number | undefined): "state" | "balance" | undefined => {
  const amount = requested ?? inAccount(model)
  const isOver = model.status === "refunded" || model.status === "charged_back"
  if (isOver || model.order !== undefined || amount <= 0 || amount > inAccount(model)) return "state"
  const pending = Math.min(amount, model.pending)
  if (amount > pending && amount - pending > model.available - model.spent) return "balance"
  moveTo(model, "inTransit", amount, ["pending", "available"])
  model.order = { amount, pending }
  return undefined
}

export const complete = (model: RefundModel): void => {
  moveTo(model, "returned", model.order!.amount, ["inTransit"])
  model.order = undefined
  for (const loss of model.losses) loss.claim = 0
  endIfEmpty(model)
}

/** OPR-73: MEDs take what they claim, the rest goes back where it was. */
export const fail = (model: RefundModel): void => {
  const { amount, pending } = model.order!
  const age = ({ med }: Loss) => model.meds.indexOf(med)
  for (const loss of model.losses.toSorted((a, b) => age(a) - age(b))) {
    const taken = Math.min(loss.claim, model.inTransit)
    moveTo(model, "returned", taken, ["inTransit"])
    loss.taken += taken
    loss.claim = 0
  }
  moveTo(model, "blocked", Math.max(0, Math.min(model.inTransit, contested(model) - model.blocked)), ["inTransit"])
  // BAL-6: what MEDs claim of the refund is of `pending` first.
  const claimed = amount - model.inTransit
  moveTo(model, "pending", Math.min(model.inTransit, Math.max(0, pending - claimed)), ["inTransit"])
  moveTo(model, "available", model.inTransit, ["inTransit"])
  model.order = undefined
  if (leftOf(model) === 0) loseOpen(model)
}

/** A return that the provider made by itself. False where it changes nothing. */
export const giveBack = (
  model: RefundModel,
  requested: number | undefined,
  { as, isMed }: { readonly as: "refunded" | "charged_back"; readonly isMed: boolean },
  at: number
): { readonly isApplied: boolean; readonly unmatched: number } => {
  // A loss that has taken nothing yet says nothing of the amount.
  const known = isMed ? meantBy(model, requested).loss : undefined
  const wanted = requested ?? known?.taken ?? leftOf(model)
  const endsOrder = model.order !== undefined && wanted - (known?.taken ?? 0) > inAccount(model) + model.blocked
  if (endsOrder) fail(model)
  const meant = isMed && known === undefined ? meantBy(model, requested) : {}
  const loss = known ?? meant.loss
  if (loss !== undefined) {
    model.losses = model.losses.filter((other) => other !== loss)
    const amount = requested ?? loss.taken
    const more = Math.max(0, amount - loss.taken)
    const missing = takeFor(model, more, contested(model))
    const less = Math.max(0, loss.taken - amount)
    moveTo(model, "available", less, ["returned"])
    moveTo(model, "blocked", Math.min(less, Math.max(0, contested(model) - model.blocked)), ["pending", "available"])
    if (leftOf(model) === 0) loseOpen(model)
    return { isApplied: true, unmatched: missing }
  }
  const given = Math.min(wanted, inAccount(model) + model.blocked)
  const unmatched = requested === undefined ? 0 : requested - given
  if (given <= 0) return { isApplied: endsOrder, unmatched }
  // Which MED it is of, the provider says later; where nothing is left, every MED is over.
  if (isMed && (meant.open === undefined || given < leftOf(model))) model.arrived.push({ cents: given, at })
  if (!isMed) moveTo(model, "returned", wanted, ["blocked", "pending", "available"])
  else takeFor(model, wanted, contested(model, meant.open))
  if (meant.open !== undefined) {
    if (model.status === "paid" || model.status === "infraction")
      model.status = as === "refunded" && leftOf(model) === 0 ? "refunded" : "charged_back"
  } else if (isMed && as === "charged_back" && model.status === "paid") {
    model.status = "charged_back"
  }
  endIfEmpty(model)
  return { isApplied: true, unmatched }
}

/** The MED that a return is of: one of its amount, then the largest; one that is lost sooner than an open one. */
const meantBy = (model: RefundModel, amount: number | undefined): { loss?: Loss; open?: Med } => {
  const losses = model.losses.filter(({ taken }) => taken > 0).toSorted((a, b) => b.taken - a.taken)
  const open = model.meds.filter(({ status }) => status === "open").toSorted((a, b) => b.amount - a.amount)
  const exact = losses.find(({ taken }) => taken === amount)
  if (exact !== undefined) return { loss: exact }
  const meant = open.find((med) => med.amount === amount)
  if (meant !== undefined) return { open: meant }
  if (losses[0] !== undefined) return { loss: losses[0] }
  return open[0] === undefined ? {} : { open: open[0] }
}

/** A MED that is lost takes a return since its opening, one of its amount first: what others contest is blocked again. */
const isReturned = (model: RefundModel, amount: number | undefined, openedAt: number, but?: Med): boolean => {
  const since = model.arrived.filter(({ at }) => at >= openedAt).toSorted((a, b) => b.cents - a.cents)
  const taken = since.find(({ cents }) => cents === amount) ?? since[0]
  if (taken === undefined) return false
  model.arrived = model.arrived.filter((each) => each !== taken)
  const others = contested(model, but)
  moveTo(model, "available", Math.max(0, model.blocked - others), ["blocked"])
  moveTo(model, "blocked", Math.max(0, others - model.blocked), ["pending", "available"])
  if (model.status === "paid" || model.status === "infraction") model.status = "charged_back"
  return true
}

/** False of a MED of which nothing is left that no other contests. One that is lost may have its return already. */
export const openMed = (
  model: RefundModel,
  externalId: string,
  requested: number | undefined,
  { at, isLost }: { readonly at: number; readonly isLost: boolean }
): boolean => {
  if (isLost && isReturned(model, requested, at)) return true
  const free = leftOf(model) - contested(model)
  if (free <= 0) return false
  const amount = Math.min(requested ?? free, free)
  moveTo(model, "blocked", amount, ["pending", "available"])
  if (model.status === "paid") model.status = "infraction"
  model.meds.push({ externalId, amount, at, status: "open" })
  return true
}

export const win = (model: RefundModel, med: Med): boolean => {
  if (med.status !== "open") return false
  med.status = "won"
  unblock(model)
  if (model.status === "infraction" && contested(model) === 0) model.status = "paid"
  return true
}

export const lose = (model: RefundModel, med: Med): boolean => {
  if (med.status === "lost") return false
  const wasOpen = med.status === "open"
  if (isReturned(model, med.amount, med.at, med)) {
    med.status = "lost"
    return true
  }
  const isOver = model.status === "refunded" || model.status === "charged_back"
  if (!wasOpen && isOver && inAccount(model) + model.blocked === 0) return false
  const missing = takeFor(model, med.amount, contested(model, med))
  model.losses.push({ med, taken: med.amount - missing, claim: model.order === undefined ? 0 : missing })
  med.status = "lost"
  unblock(model)
  if (!isOver) model.status = "charged_back"
  if (leftOf(model) === 0) loseOpen(model)
  return true
}

export const release = (model: RefundModel): void => {
  moveTo(model, "available", model.pending, ["pending"])
}
