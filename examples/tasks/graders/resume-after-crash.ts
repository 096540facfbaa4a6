import { type Access, demand, type World } from "../World.ts"

export interface Database {
  readonly get: (key: string) => Promise<string | undefined>
  readonly set: (key: string, value: string) => Promise<void>
}

export type Solution = (
  access: Access,
  database: Database,
  order: { readonly number: string; readonly cents: number; readonly email: string }
) => Promise<string | null>

export const grade = async ({ access, payments, wire }: World, solution: Solution): Promise<void> => {
  const rows = new Map<string, string>()
  /** How many steps the server does before it is killed. */
  let stepsLeft = Infinity
  const step = () => {
    if (stepsLeft-- <= 0) throw new Error("the server was killed")
  }
  const database: Database = {
    get: async (key) => rows.get(key),
    set: async (key, value) => {
      step()
      rows.set(key, value)
    }
  }
  // A killed server sends nothing; one that is killed after it has sent gets no answer.
  wire.answer = async (_exchange, forward) => {
    step()
    const answer = await forward()
    step()
    return answer
  }
  const chargesOf = async (amount: number) =>
    (await payments.charges.list().toArray({ limit: 100 })).filter((charge) => charge.amount === amount)

  for (const cents of [3000, 4000]) {
    await solution(access, database, { number: `order-${cents}`, cents, email: "bia@example.com" }).catch(
      () => undefined
    )
  }
  const two = [...(await chargesOf(3000)), ...(await chargesOf(4000))]
  demand(two.length === 2, "has two orders of a customer as one")

  for (let steps = 0; steps < 6; steps++) {
    const order = { number: `order-${steps}`, cents: 1000 + steps, email: "ana@example.com" }
    stepsLeft = steps
    await solution(access, database, order).catch(() => undefined)
    stepsLeft = Infinity
    const code = await solution(access, database, order).catch(() => undefined)
    const charges = await chargesOf(order.cents)
    demand(charges.length > 0, "has no charge after a crash")
    demand(charges.length === 1, "has two charges after a crash")
    demand(code === charges[0]!.pix.br_code, "has no QR code after a crash")
    const again = await solution(access, database, order)
    demand((await chargesOf(order.cents)).length === 1, "charges each look")
    demand(again === code, "has no QR code at the next look")
  }

  const changed = { number: "order-0", cents: 7000, email: "ana@example.com" }
  const code = await solution(access, database, changed).catch(() => undefined)
  const [charge] = await chargesOf(7000)
  demand(charge !== undefined && charge.pix.br_code === code, "asks for the old amount of a changed order")
}
