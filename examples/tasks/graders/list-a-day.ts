import { type Access, demand, type World } from "../World.ts"

export interface Sum {
  readonly count: number
  readonly cents: number
}

/** Instants are as the service writes them: `2026-11-26T12:00:00.000Z`. */
export type Solution = (access: Access, from: string, to: string) => Promise<Sum>

export const grade = async (
  { access, charge, paidCharge, payments, wire }: World,
  solution: Solution
): Promise<void> => {
  // More than a page, two of them paid.
  for (let index = 0; index < 28; index++) await (index % 14 === 7 ? paidCharge : charge)({ amount: 1000 + index })
  const created = (await payments.charges.list().toArray({ limit: 100 })).toReversed()
  const from = created[1]!.created_at
  const to = created.at(-2)!.created_at
  const wanted = created.filter(({ created_at }) => created_at >= from && created_at < to)

  // A customer buys while each page is read.
  wire.answer = async (_exchange, forward) => {
    const answer = await forward()
    await charge({ amount: 5000 })
    return answer
  }
  const { cents, count } = await solution(access, from, to)
  demand(count > 2, "counted only what was paid")
  demand(count !== 20, "counted one page")
  demand(count <= wanted.length, "counted what came after the end")
  demand(count === wanted.length, "left out the first instant")
  demand(cents === wanted.reduce((sum, { amount }) => sum + amount, 0), "the sum is another")

  wire.answer = async () => ({ status: 503, body: "{}" })
  const partial = await solution(access, from, to).catch(() => undefined)
  demand(partial === undefined, "gave a part as the sum")
}
