/** The judge on histories by hand, and on those of a service in memory that keeps the contract, or breaks one rule of it. */
import { describe, expect, it } from "vitest"
import { judge } from "../judge/Judge.ts"
import { svgOfConviction, textOfConviction } from "../judge/TimeLine.ts"
import { ACCOUNT, answered, charge, historyOf, unanswered } from "./Histories.ts"
import { FLAWS, history } from "./Reference.ts"

const rulesOf = (...given: Parameters<typeof historyOf>) =>
  judge(historyOf(...given)).convictions.map(({ rule }) => rule)

const creation = (calledAt: number, answeredAt: number, id: string, rest: object = {}) =>
  answered("charge.create", calledAt, answeredAt, {
    key: "a-key-of-ana",
    status: 201,
    request: { amount: 100 },
    body: charge(id),
    ...rest
  })

describe("the judge of a key", () => {
  it("IDEM-5, IDEM-9: acquits an unanswered call that created, and its replay", () => {
    const lost = unanswered("charge.create", 0, { key: "a-key-of-ana", request: { amount: 100 } })
    expect(rulesOf([lost, creation(10, 12, "c1", { replayed: true })])).toEqual([])
  })

  it("IDEM-4: convicts a key with two charges, also where the first call was late", () => {
    expect(rulesOf([creation(0, 9, "c1"), creation(1, 5, "c2", { replayed: true })])).toEqual(["IDEM-4, IDEM-9"])
  })

  it("IDEM-5: convicts two calls that both created", () => {
    expect(rulesOf([creation(0, 9, "c1"), creation(1, 5, "c1")])).toEqual(["IDEM-5"])
  })

  it("IDEM-7: convicts a refusal after the key had its charge, and none that was at the same time", () => {
    const refused = (calledAt: number) =>
      answered("charge.create", calledAt, calledAt + 1, {
        key: "a-key-of-ana",
        status: 400,
        request: { amount: 100 },
        body: {}
      })
    expect(rulesOf([creation(0, 9, "c1"), refused(5)])).toEqual([])
    expect(rulesOf([creation(0, 9, "c1"), refused(10)])).toEqual(["IDEM-4, IDEM-7"])
  })
})

describe("the judge of a resource", () => {
  const got = (calledAt: number, answeredAt: number, status: string, sequence: number) =>
    answered("charge.get", calledAt, answeredAt, { subject: "c1", body: charge("c1", status, sequence) })

  it("ADD-1: acquits two reads that overlap, and convicts one that goes back", () => {
    expect(rulesOf([got(0, 5, "canceled", 2), got(4, 9, "pending", 1)])).toEqual([])
    expect(rulesOf([got(0, 3, "canceled", 2), got(4, 9, "pending", 1)])).toEqual(["ADD-1"])
  })

  it("CHG-7: convicts a transition that the contract does not have", () => {
    expect(rulesOf([got(0, 3, "canceled", 2), got(4, 9, "pending", 3)])).toEqual(["CHG-7"])
  })

  it("CHG-5, CHG-6: acquits a charge that expires without a change, and is paid late", () => {
    const paid = { at: 5, what: "paid", account: ACCOUNT, subject: "c1", cents: 100, id: "E1" } as const
    expect(rulesOf([got(0, 1, "pending", 2), got(2, 3, "expired", 2), got(6, 9, "paid", 3)], [paid])).toEqual([])
  })

  it("CHG-19: convicts a 404 of a charge that was answered before", () => {
    const unknown = answered("charge.get", 20, 21, { subject: "c1", status: 404, body: { code: "CHARGE_NOT_FOUND" } })
    expect(rulesOf([creation(0, 9, "c1"), unknown])).toEqual(["CHG-19"])
  })
})

describe("the judge of a list", () => {
  const page = (calledAt: number, ids: ReadonlyArray<string>, more: boolean) =>
    answered("charge.list", calledAt, calledAt + 1, {
      walk: "w",
      request: { limit: 2 },
      body: { data: ids.map((id) => charge(id)), has_more: more }
    })
  const known = ["c1", "c2", "c3"].map((id, at) => creation(at, at + 1, id, { key: `the-key-of-${id}` }))

  it("LIST-2: acquits a whole walk, and convicts one that skips or repeats", () => {
    expect(rulesOf([...known, page(10, ["c3", "c2"], true), page(12, ["c1"], false)])).toEqual([])
    expect(rulesOf([...known, page(10, ["c3", "c2"], true), page(12, [], false)])).toEqual(["LIST-2, LIST-5"])
    expect(rulesOf([...known, page(10, ["c3", "c2"], true), page(12, ["c2", "c1"], false)])).toEqual(["LIST-2, LIST-4"])
  })
})

describe("the judge of an account", () => {
  const payout = (calledAt: number, answeredAt: number, key: string, amount: number, rest: object = {}) =>
    answered("payout.create", calledAt, answeredAt, {
      key,
      status: 201,
      request: { amount, pix_key: `${key}@x.test` },
      body: { id: key, object: "payout", status: "processing", sequence: 1, amount, fee: 10 },
      ...rest
    })
  const paid = { at: 1, what: "paid", account: ACCOUNT, subject: "c1", cents: 100, id: "E1" } as const
  const seen = answered("charge.get", 2, 3, { subject: "c1", body: charge("c1", "paid", 3) })
  const balance = (calledAt: number, available: number) =>
    answered("balance.get", calledAt, calledAt + 1, { body: { available, pending: 0, total: available } })
  const refused = { status: 400, body: { code: "INSUFFICIENT_BALANCE" } }

  it("PAY-1, PAY-2: acquits a payout that was refused beside one that took the money", () => {
    const calls = [seen, payout(4, 9, "one", 80), payout(5, 8, "other", 80, refused), balance(10, 10)]
    expect(rulesOf(calls, [paid])).toEqual([])
  })

  it("PAY-1: convicts two payouts that spend the same cents, and shows which", () => {
    const { convictions } = judge(historyOf([seen, payout(4, 9, "one", 80), payout(5, 8, "other", 80)], [paid]))
    expect(convictions.map(({ rule }) => rule)).toEqual(["BAL-1, BAL-4, PAY-1, PAY-2"])
    const text = textOfConviction(convictions[0]!)
    expect(text).toContain("payout one@x.test −90")
    expect(text).toContain("payout other@x.test −90")
    expect(svgOfConviction(convictions[0]!)).toMatch(/^<svg [\s\S]+payout one@x\.test[\s\S]+<\/svg>$/)
  })

  it("PAY-2: convicts a refusal although there is enough", () => {
    expect(rulesOf([seen, payout(4, 9, "one", 80, refused)], [paid])).toEqual(["BAL-1, BAL-4, PAY-1, PAY-2"])
  })

  it("PAY-2: acquits the money back of a payout that failed when nobody looked any more, and convicts it before", () => {
    const failed = {
      at: 10,
      what: "payout-failed",
      account: ACCOUNT,
      subject: "one@x.test",
      cents: 80,
      id: "E2"
    } as const
    const calls = (readAt: number) => [seen, payout(4, 6, "one", 80), balance(readAt, 100)]
    expect(rulesOf(calls(12), [paid, failed])).toEqual([])
    expect(rulesOf(calls(7), [paid, failed])).toEqual(["BAL-1, BAL-2, BAL-3"])
  })

  it("DSP-1, DSP-3: convicts a MED whose money does not move, and one that is won and gives nothing back", () => {
    const opened = { ...paid, at: 5, what: "med-opened" } as const
    const won = { ...paid, at: 15, what: "med-won" } as const
    const looks = (at: number, status: string, sequence: number) =>
      answered("charge.get", at, at + 1, { subject: "c1", body: charge("c1", status, sequence) })
    const calls = (contested: number, after: number) => [
      seen,
      looks(6, "infraction", 4),
      balance(8, contested),
      looks(16, "paid", 5),
      balance(18, after)
    ]
    expect(rulesOf(calls(0, 100), [paid, opened, won])).toEqual([])
    expect(rulesOf(calls(100, 100), [paid, opened, won])).toEqual(["BAL-1, BAL-2, BAL-3"])
    expect(rulesOf(calls(0, 0), [paid, opened, won])).toEqual(["BAL-1, BAL-2, BAL-3"])
  })

  it("CHG-9: convicts a charge that is paid before anybody paid", () => {
    expect(rulesOf([seen])).toEqual(["CHG-7, CHG-9"])
  })
})

describe("the judge of a service in memory", () => {
  it("acquits one that keeps the contract", () => {
    for (let seed = 1; seed <= 3; seed++) {
      const { convictions, operations, undecided } = judge(history(seed, 3000))
      expect(convictions.map((conviction) => textOfConviction(conviction))).toEqual([])
      expect(undecided).toEqual([])
      expect(operations).toBeGreaterThan(5000)
    }
  })

  it.each(FLAWS)("convicts %s", (flaw) => {
    expect(judge(history(7, 2000, flaw)).convictions.length).toBeGreaterThan(0)
  })
})
