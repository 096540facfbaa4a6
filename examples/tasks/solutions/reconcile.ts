import { type Charge, Payments } from "@pix-payments/client"
import type { Order, Reconciled, Solution } from "../graders/reconcile.ts"

/** Reads the charges, and judges each order by those that are its own. */
const reconcile =
  (
    read: (payments: Payments, since: string) => Promise<ReadonlyArray<Charge>>,
    judge: (order: Order, charges: ReadonlyArray<Charge>) => keyof Reconciled
  ): Solution =>
  async ({ apiKey, url }, since, orders) => {
    const charges = await read(new Payments({ baseUrl: url, apiKey }), since)
    const { differs = [], paid = [], unpaid = [] } = Object.groupBy(orders, (order) => judge(order, charges))
    const numbers = (some: ReadonlyArray<Order>) => some.map(({ number }) => number)
    return { paid: numbers(paid), unpaid: numbers(unpaid), differs: numbers(differs) }
  }

const all = async (payments: Payments, since: string) => {
  const found: Array<Charge> = []
  for await (const charge of payments.charges.list({ created_after: since })) found.push(charge)
  return found
}

/** `paid_at` stays, also where the money went back. */
const paymentsOf = ({ number }: Order, charges: ReadonlyArray<Charge>) =>
  charges.filter(({ paid_at, reference }) => reference === number && paid_at !== null)

const compare = (cents: number, paid: ReadonlyArray<number>): keyof Reconciled => {
  if (paid.length === 0) return "unpaid"
  return paid.reduce((sum, amount) => sum + amount, 0) === cents ? "paid" : "differs"
}

export const right: Solution = reconcile(all, (order, charges) =>
  compare(
    order.cents,
    paymentsOf(order, charges).map(({ amount, refunded_amount }) => amount - refunded_amount)
  )
)

const amountsOf = (charges: ReadonlyArray<Charge>) =>
  charges.map(({ amount, refunded_amount }) => amount - refunded_amount)

export const wrong: Readonly<Record<string, Solution>> = {
  // The newest twenty.
  "read one page": reconcile(
    async (payments, since) => (await payments.charges.list({ created_after: since })).data,
    (order, charges) => compare(order.cents, amountsOf(paymentsOf(order, charges)))
  ),

  // Two orders can have the same amount.
  "takes another order's payment for it": reconcile(all, ({ cents }, charges) =>
    charges.some(({ amount, paid_at }) => amount === cents && paid_at !== null) ? "paid" : "unpaid"
  ),

  // A charge is a request for money.
  "takes an open charge for a paid one": reconcile(all, ({ cents, number }, charges) =>
    compare(cents, amountsOf(charges.filter(({ reference }) => reference === number)))
  ),

  // The first charge of the order, which is its newest.
  "misses that it was paid twice": reconcile(all, (order, charges) =>
    compare(order.cents, amountsOf(paymentsOf(order, charges).slice(0, 1)))
  ),

  // Paid is paid.
  "misses what went back": reconcile(all, (order, charges) =>
    compare(
      order.cents,
      paymentsOf(order, charges).map(({ amount }) => amount)
    )
  ),

  // Whether, not how much.
  "does not compare the amount": reconcile(all, (order, charges) => {
    const paid = paymentsOf(order, charges)
    if (paid.length > 1 || paid.some(({ refunded_amount }) => refunded_amount > 0)) return "differs"
    return paid.length === 1 ? "paid" : "unpaid"
  })
}
