import { Payments } from "@pix-payments/client"
import type { Database, Solution } from "../graders/resume-after-crash.ts"

type Access = Parameters<Solution>[0]
type Order = Parameters<Solution>[2]

const create = async ({ apiKey, url }: Access, { cents, email, number }: Order, idempotencyKey: string) => {
  const payments = new Payments({ baseUrl: url, apiKey, maxRetries: 0 })
  const customer = { name: "Ana Souza", email, document: "529.982.247-25" }
  const charge = await payments.charges.create({ amount: cents, customer, reference: number }, { idempotencyKey })
  return charge.pix.br_code
}

/** The service remembers what the key made: nothing needs to be written. */
export const right: Solution = (access, _database, order) =>
  create(access, order, `order-${order.number}-${order.cents}`)

/** Shows what is stored, and stores what `make` gives. */
const storing =
  (make: (access: Access, database: Database, order: Order) => Promise<string | null>): Solution =>
  async (access, database, order) => {
    const name = `code of ${order.number} for ${order.cents}`
    const stored = await database.get(name)
    if (stored !== undefined) return stored
    const code = await make(access, database, order)
    await database.set(name, code ?? "")
    return code
  }

export const wrong: Readonly<Record<string, Solution>> = {
  // The key is made for the call, and gone with it.
  "has two charges after a crash": storing((access, _database, order) => create(access, order, crypto.randomUUID())),

  // Written before the call: the order counts as charged.
  "has no charge after a crash": async (access, database, order) => {
    const name = `code of ${order.number} for ${order.cents}`
    const stored = await database.get(name)
    if (stored !== undefined) return stored
    await database.set(name, "")
    const code = await create(access, order, `order-${order.number}-${order.cents}`)
    await database.set(name, code ?? "")
    return code
  },

  // One key for each customer: the second order is another body under the key.
  "has two orders of a customer as one": storing((access, _database, { cents, email, number }) =>
    create(access, { cents, email, number }, `customer-${email}`)
  ),

  // Counts the looks, so that a key is never used again.
  "charges each look": async (access, database, order) => {
    const looks = Number((await database.get(order.number)) ?? 0) + 1
    await database.set(order.number, `${looks}`)
    return create(access, order, `order-${order.number}-${order.cents}-${looks}`)
  },

  // The charge is known, its code is not.
  "has no QR code at the next look": async (access, database, order) => {
    const name = `asked ${order.number} for ${order.cents}`
    const isKnown = (await database.get(name)) !== undefined
    const code = await create(access, order, `order-${order.number}-${order.cents}`)
    await database.set(name, "yes")
    return isKnown ? null : code
  },

  // The number alone: the service says that the amount is another.
  "asks for the old amount of a changed order": (access, _database, order) =>
    create(access, order, `order-${order.number}`)
}
