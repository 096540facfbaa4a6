/**
 * The money of one paid charge by the rules of the contract: where each cent is after refunds, returns and MEDs.
 *
 * Written again from the contract; none of it goes through the service.
 */

type MedStatus = "open" | "won" | "lost"

export interface Med {
  readonly externalId: string
  readonly amount: number
  status: MedStatus
}

/** A MED's loss that was reported before the return of its money. */
interface Loss {
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
  if (model.status !== "paid" || model.order !== undefined || amount <= 0 || amount > inAccount(model)) return "state"
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
  const { pending } = model.order!
  const open = model.meds.find(({ status }) => status === "open")
  if (model.status === "infraction" && open !== undefined) {
    moveTo(model, "blocked", Math.max(0, Math.min(model.inTransit, open.amount - model.blocked)), ["inTransit"])
  }
  for (const loss of model.losses) {
    const taken = Math.min(loss.claim, model.inTransit)
    moveTo(model, "returned", taken, ["inTransit"])
    loss.taken += taken
    loss.claim = 0
  }
  moveTo(model, "pending", Math.min(pending, model.inTransit), ["inTransit"])
  moveTo(model, "available", model.inTransit, ["inTransit"])
  model.order = undefined
}

/** A return that the provider made by itself. False where it changes nothing. */
export const giveBack = (
  model: RefundModel,
  requested: number | undefined,
  { as, isMed }: { readonly as: "refunded" | "charged_back"; readonly isMed: boolean }
): boolean => {
  // A loss that has taken nothing yet says nothing of the amount.
  const known = isMed ? model.losses.find(({ taken }) => taken > 0) : undefined
  const wanted = requested ?? known?.taken ?? leftOf(model)
  if (model.order !== undefined && wanted - (known?.taken ?? 0) > inAccount(model) + model.blocked) fail(model)
  const loss = isMed ? model.losses.find(({ taken }) => taken > 0) : undefined
  if (loss !== undefined) {
    model.losses = model.losses.filter((other) => other !== loss)
    const amount = requested ?? loss.taken
    const more = Math.max(0, amount - loss.taken)
    const missing = moveTo(model, "returned", more, ["blocked", "pending", "available"])
    const less = Math.max(0, loss.taken - amount)
    moveTo(model, "available", less, ["returned"])
    if (leftOf(model) === 0) loseOpen(model)
    return more - missing + less > 0
  }
  if (Math.min(wanted, inAccount(model) + model.blocked) <= 0) return false
  moveTo(model, "returned", wanted, ["blocked", "pending", "available"])
  if (isMed && model.status === "infraction") {
    moveTo(model, "available", model.blocked, ["blocked"])
    model.status = as === "refunded" && leftOf(model) === 0 ? "refunded" : "charged_back"
    loseOpen(model)
  } else if (isMed && as === "charged_back" && model.status === "paid") {
    model.status = "charged_back"
  }
  endIfEmpty(model)
  return true
}

export const openMed = (model: RefundModel, externalId: string, requested: number | undefined, paid: number) => {
  if (model.status !== "paid") return false
  const amount = Math.min(requested ?? paid, leftOf(model))
  moveTo(model, "blocked", amount, ["pending", "available"])
  model.status = "infraction"
  model.meds.push({ externalId, amount, status: "open" })
  return true
}

export const win = (model: RefundModel, med: Med): boolean => {
  if (med.status !== "open") return false
  const isOver = model.status !== "infraction"
  moveTo(model, "available", isOver ? Math.min(med.amount, model.blocked) : model.blocked, ["blocked"])
  if (!isOver) model.status = "paid"
  med.status = "won"
  return true
}

export const lose = (model: RefundModel, med: Med): boolean => {
  if (med.status === "lost") return false
  const wasOpen = med.status === "open"
  const isOver = model.status === "refunded" || model.status === "charged_back"
  if (!wasOpen && isOver && inAccount(model) + model.blocked === 0) return false
  const places: ReadonlyArray<Place> = wasOpen
    ? ["blocked", "pending", "available"]
    : ["pending", "available", "blocked"]
  const missing = moveTo(model, "returned", med.amount, places)
  model.losses.push({ taken: med.amount - missing, claim: model.order === undefined ? 0 : missing })
  med.status = "lost"
  if (!isOver) model.status = "charged_back"
  if (leftOf(model) === 0) loseOpen(model)
  return true
}

export const release = (model: RefundModel): void => {
  moveTo(model, "available", model.pending, ["pending"])
}
