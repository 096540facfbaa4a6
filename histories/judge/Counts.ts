/** What happened in a history, counted: whether it shows anything. */
import type { History } from "./History.ts"

export const countsOf = ({ calls, deliveries, facts }: History): string => {
  const names = [
    ...calls.map(({ op, status }) => `${op} ${status ?? "unanswered"}`),
    ...facts.map(({ what }) => `bank ${what}`),
    ...deliveries.map(({ answered }) => `delivery ${answered ?? "cut"}`)
  ]
  return [...Map.groupBy(names, (name) => name)]
    .map(([name, { length }]) => `${length} ${name}`)
    .toSorted((a, b) => (a.replace(/\d+ /, "") < b.replace(/\d+ /, "") ? -1 : 1))
    .join(", ")
}
