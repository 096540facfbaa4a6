// @effect-diagnostics globalDate:off -- integrators have no Effect
import { type Access, demand, type World } from "../World.ts"

export interface Order {
  readonly number: string
  readonly cents: number
}

export interface Reconciled {
  readonly paid: ReadonlyArray<string>
  readonly unpaid: ReadonlyArray<string>
  readonly differs: ReadonlyArray<string>
}

export type Solution = (access: Access, since: string, orders: ReadonlyArray<Order>) => Promise<Reconciled>

export const grade = async ({ access, charge, operate, paidCharge }: World, solution: Solution): Promise<void> => {
  // The oldest is on the second page.
  const { created_at: first } = await paidCharge({ amount: 1000, reference: "oldest" })
  for (let index = 0; index < 22; index++) await charge({ amount: 700 + index, reference: `visitor-${index}` })
  await paidCharge({ amount: 1990, reference: "kept" })
  await charge({ amount: 1990, reference: "open" })
  await charge({ amount: 2500, reference: "twice-asked" })
  await paidCharge({ amount: 2500, reference: "twice-asked" })
  await paidCharge({ amount: 3000, reference: "twice" })
  await paidCharge({ amount: 3000, reference: "twice" })
  const { id } = await paidCharge({ amount: 4000, reference: "returned" })
  await operate("POST", `/charges/${id}/refund`, { amount: 1500 })
  await paidCharge({ amount: 5000, reference: "other-amount" })

  const orders = [
    { number: "oldest", cents: 1000 },
    { number: "kept", cents: 1990 },
    { number: "open", cents: 1990 },
    { number: "twice-asked", cents: 2500 },
    { number: "twice", cents: 3000 },
    { number: "returned", cents: 4000 },
    { number: "other-amount", cents: 5500 },
    { number: "never-asked", cents: 1990 }
  ]
  const since = new Date(Date.parse(first) - 1).toISOString()
  const { differs, paid, unpaid } = await solution(access, since, orders)
  demand(paid.includes("oldest"), "read one page")
  demand(!paid.includes("never-asked"), "takes another order's payment for it")
  demand(unpaid.includes("open"), "takes an open charge for a paid one")
  demand(paid.includes("twice-asked"), "misses a payment beside an open charge")
  demand(differs.includes("twice"), "misses that it was paid twice")
  demand(differs.includes("returned"), "misses what went back")
  demand(differs.includes("other-amount"), "does not compare the amount")
  const listed = [...paid, ...unpaid, ...differs]
  demand(
    listed.toSorted().join() ===
      orders
        .map(({ number }) => number)
        .toSorted()
        .join(),
    "leaves orders out"
  )
}
