/** Walks through the pages of a list: nothing twice, nothing left out, nothing of others (LIST-1 to LIST-5, API-9). */
import { type Call, type Conviction, type History, numberOf, rowsOf, spanOf, textOf } from "./History.ts"

export const judgeLists = ({ calls, setup }: History): ReadonlyArray<Conviction> => {
  const convictions: Array<Conviction> = []
  const pages = calls.filter(({ op, walk }) => (op === "charge.list" || op === "payout.list") && walk !== undefined)
  const known = Map.groupBy(created(calls), ({ account, list }) => `${account} ${list}`)
  for (const [walk, ofWalk] of Map.groupBy(pages, (call) => call.walk!)) {
    // A page that was asked for again counts once, as it was answered.
    const answered = ofWalk.filter(({ status }) => status === 200)
    const { account, op } = ofWalk[0]!
    const convict = (rule: string, says: string) =>
      convictions.push({
        rule,
        subject: `${op} of ${account}, walk ${walk}`,
        says,
        spans: ofWalk.map((call) => spanOf(call))
      })

    const ids = answered.flatMap(({ body }) => rowsOf(body).map((row) => textOf(row, "id")))
    const seen = new Set<string>()
    for (const id of ids) {
      if (seen.has(id)) convict("LIST-2, LIST-4", `${id} is on two pages`)
      seen.add(id)
    }
    if (!setup.clocksShifted && ids.some((id, index) => index > 0 && id > ids[index - 1]!)) {
      convict("LIST-2", "an item is newer than the one before it")
    }
    for (const { body, request } of answered) {
      const limit = numberOf(request, "limit")
      const count = rowsOf(body).length
      if (count > limit) convict("LIST-3", `${count} items on a page of ${limit}`)
      if (body?.["has_more"] === true && count === 0) convict("LIST-5", "has_more on a page without an item")
    }
    const last = answered.at(-1)
    if (last === undefined || last.body?.["has_more"] !== false) continue
    const began = Math.min(...ofWalk.map(({ calledAt }) => calledAt))
    const left = (known.get(`${account} ${op}`) ?? []).filter(({ id, knownAt }) => knownAt < began && !seen.has(id))
    if (left.length > 0)
      convict("LIST-2, LIST-5", `${left.length} items were there before the walk began, and on no page: ${left[0]!.id}`)
  }
  return convictions
}

interface Created {
  readonly account: string
  readonly list: Call["op"]
  readonly id: string
  readonly knownAt: number
}

const created = (calls: ReadonlyArray<Call>): ReadonlyArray<Created> =>
  calls.flatMap(({ account, answeredAt, body, op, status }) => {
    if (status !== 201 || answeredAt === undefined) return []
    const list = op === "charge.create" ? "charge.list" : op === "payout.create" ? "payout.list" : undefined
    return list === undefined ? [] : [{ account, list, id: textOf(body, "id"), knownAt: answeredAt }]
  })
