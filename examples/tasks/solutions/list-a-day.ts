// @effect-diagnostics globalDate:off -- integrators have no Effect
import { type Charge, type ListChargesQuery, Payments } from "@pix-payments/client"
import type { Solution } from "../graders/list-a-day.ts"

const list = ({ apiKey, url }: Parameters<Solution>[0], query: ListChargesQuery) =>
  new Payments({ baseUrl: url, apiKey, maxRetries: 0 }).charges.list(query)

const sumOf = (charges: ReadonlyArray<Charge>) => ({
  count: charges.length,
  cents: charges.reduce((sum, { amount }) => sum + amount, 0)
})

const all = async (charges: AsyncIterable<Charge>): Promise<ReadonlyArray<Charge>> => {
  const found: Array<Charge> = []
  for await (const charge of charges) found.push(charge)
  return found
}

/** `created_after` excludes its instant: a millisecond before it, the filter includes it. */
const before = (instant: string): string => new Date(Date.parse(instant) - 1).toISOString()

export const right: Solution = async (access, from, to) => {
  const charges = await all(list(access, { created_after: before(from), created_before: to }))
  return sumOf(charges.filter(({ created_at }) => created_at >= from && created_at < to))
}

export const wrong: Readonly<Record<string, Solution>> = {
  // A list that is awaited is its first page.
  "counted one page": async (access, from, to) =>
    sumOf((await list(access, { created_after: before(from), created_before: to })).data),

  // The filter excludes the instant that it names.
  "left out the first instant": async (access, from, to) =>
    sumOf(await all(list(access, { created_after: from, created_before: to }))),

  // A day that has not ended grows.
  "counted what came after the end": async (access, from) =>
    sumOf((await all(list(access, { created_after: before(from) }))).filter(({ created_at }) => created_at >= from)),

  // Open, expired and failed charges were created too.
  "counted only what was paid": async (access, from, to) =>
    sumOf(await all(list(access, { created_after: before(from), created_before: to, status: "paid" }))),

  // Takes a page that failed for the end of the list.
  "gave a part as the sum": async (access, from, to) => {
    const found: Array<Charge> = []
    try {
      for await (const charge of list(access, { created_after: before(from), created_before: to })) found.push(charge)
    } catch {
      // There are no more.
    }
    return sumOf(found.filter(({ created_at }) => created_at >= from && created_at < to))
  }
}
