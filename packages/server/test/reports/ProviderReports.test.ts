/** What a provider reports, as notifications. */
import { assert, describe, it } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import type { ReceivedPix, ReportedReturn, SentPayout } from "../../src/providers/Acquirer.ts"
import { keysOf } from "../../src/providers/AcquirerNotification.ts"
import { disputeDecided, notificationsOfPayout, notificationsOfPix } from "../../src/reports/ProviderReports.ts"

const CONNECTION = "0199a000-0000-7000-8000-000000000001"
const ORDER = "0199a000-0000-7000-8000-000000000002"
const PAYOUT = "0199a000-0000-7000-8000-000000000003"

const pix: ReceivedPix = {
  endToEndId: "E12345678202601010000abcdefghijk",
  txid: null,
  amount: 1000,
  atMs: 1,
  payer: null,
  key: "key",
  returns: []
}

const returned = (changes: Partial<ReportedReturn>): ReportedReturn => ({
  id: "other",
  providerId: "D1",
  amount: 400,
  nature: "original",
  status: "completed",
  atMs: 2,
  reason: null,
  ...changes
})

const tagsOf = (returns: ReadonlyArray<ReportedReturn>) =>
  notificationsOfPix(CONNECTION, { ...pix, returns }, { of: (id) => (id === ORDER ? "ours" : "not-ours") }).map(
    ({ _tag }) => _tag
  )

const payout: SentPayout = {
  id: PAYOUT,
  key: null,
  endToEndId: pix.endToEndId,
  amount: 500,
  progress: { _tag: "Completed", endToEndId: undefined },
  returns: [{ providerId: "D2", amount: 500, atMs: 3 }]
}

describe("Reports of a provider", () => {
  it("DSP-10: the payment comes before its returns, and these in the order in which they happened", () => {
    const returns = [
      returned({ providerId: "D3", atMs: 9, nature: "dispute" }),
      returned({ id: txidFromId(ORDER), atMs: 5 }),
      returned({ providerId: "D4", atMs: 4 })
    ]
    assert.deepStrictEqual(tagsOf(returns), ["charge.paid", "charge.refunded", "return.completed", "charge.returned"])
  })

  it("OPR-95: only a final return is reported, and one of somebody else only where money moved", () => {
    assert.deepStrictEqual(tagsOf([returned({ status: "processing" }), returned({ status: "failed" })]), [
      "charge.paid"
    ])
    assert.deepStrictEqual(tagsOf([returned({ id: txidFromId(ORDER), status: "failed", reason: "x" })]), [
      "charge.paid",
      "return.failed"
    ])
    assert.deepStrictEqual(tagsOf([returned({ id: txidFromId(ORDER), status: "processing" })]), ["charge.paid"])
    // An id that only looks like ours.
    assert.deepStrictEqual(tagsOf([returned({ id: txidFromId(PAYOUT) })]), ["charge.paid", "charge.refunded"])
  })

  it("CHG-8: a copy has the key of the first; other facts have other keys", () => {
    const facts = notificationsOfPix(
      CONNECTION,
      {
        ...pix,
        returns: [returned({}), returned({ id: "R5", providerId: "D5" }), returned({ id: txidFromId(ORDER) })]
      },
      { of: (id) => (id === ORDER ? "ours" : "not-ours") }
    )
    const copies = notificationsOfPix(
      CONNECTION,
      {
        ...pix,
        payer: { name: "Ana", document: null },
        returns: [returned({}), returned({ id: "R5", providerId: "D5" }), returned({ id: txidFromId(ORDER) })]
      },
      { of: (id) => (id === ORDER ? "ours" : "not-ours") }
    )
    const keys = facts.flatMap(keysOf)
    assert.deepStrictEqual(copies.flatMap(keysOf), keys)
    // The payment has none: its settlement is unique. Nor has the outcome of an order, which knows its copies.
    assert.deepStrictEqual(
      facts.map((fact) => keysOf(fact).length),
      [0, 2, 2, 0]
    )
    assert.strictEqual(new Set(keys).size, 4)
    const [other] = notificationsOfPix(
      "0199a000-0000-7000-8000-000000000009",
      { ...pix, returns: [returned({})] },
      { of: () => "not-ours" }
    ).slice(1)
    for (const key of keysOf(other!)) assert.notInclude(keys, key)
  })

  it("PAY-4, BAL-17: a payout of the connection gets its outcome; what its payee's bank sent back is named by it", () => {
    const open = notificationsOfPayout(CONNECTION, payout, (id) => id === PAYOUT)
    assert.deepStrictEqual(
      open.map(({ _tag }) => _tag),
      ["payout.completed", "payout.returned"]
    )
    assert.deepInclude(open[1], { payoutId: PAYOUT, amount: 500, externalId: "D2" })
    const foreign = notificationsOfPayout(CONNECTION, { ...payout, id: null }, () => false)
    assert.deepInclude(foreign[0], { _tag: "charge.paid", txid: "", amount: 500, externalId: "D2" })
    assert.lengthOf(foreign, 1)
    const settled = notificationsOfPayout(CONNECTION, payout, () => false)
    assert.deepStrictEqual(
      settled.map(({ _tag }) => _tag),
      ["charge.paid"]
    )
    assert.deepStrictEqual(
      notificationsOfPayout(CONNECTION, { ...payout, progress: { _tag: "Accepted" }, returns: [] }, () => true),
      []
    )
  })

  it("DSP-2: a dispute has an outcome once it is won or lost", () => {
    const of = (status: "open" | "under_review" | "won" | "lost") =>
      disputeDecided(CONNECTION, ORDER, { externalId: "m", status })?._tag
    assert.deepStrictEqual(
      [of("open"), of("under_review"), of("won"), of("lost")],
      [undefined, undefined, "med.won", "med.lost"]
    )
  })
})
