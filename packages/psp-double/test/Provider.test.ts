import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { makeProvider, type Provider } from "../src/provider/Provider.ts"
import { returnableCents } from "../src/provider/Receipts.ts"
import type { PayoutError, Settings } from "../src/provider/State.ts"
import { randomFrom } from "../src/Random.ts"

const START = 1_790_000_000_000
const TXID = "a".repeat(26)
const DAY = 24 * 3_600_000
const REJECTED: PayoutError = { code: "AC03", origin: "PSP do usuário recebedor", reason: "Conta inexistente" }

const providerAt = (settings: Partial<Settings> = {}, seed = 1) => {
  const clock = { now: START }
  const provider = makeProvider({ now: () => clock.now, random: randomFrom(seed), settings })
  const key = provider.settings.keys[0]!
  const terms = (cents = 1000) => ({ key, cents, expiresInSeconds: 3600 })
  const pay = (cents: number) => provider.receipts.receive({ key, cents, txid: TXID })
  return { provider, clock, key, terms, pay }
}

const refusalOf = (result: Result.Result<unknown, { readonly _tag: string }>): string | undefined =>
  Result.match(result, { onSuccess: () => undefined, onFailure: ({ _tag }) => _tag })

const everything = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
const firstPage = { page: 0, size: 1000 }

describe("cobs", () => {
  it("a taken txid is refused, or revised while it is active, by the rule of the provider", () => {
    const { provider, terms } = providerAt()
    const first = Result.getOrThrow(provider.cobs.put(TXID, terms(), "conflict"))
    assert.strictEqual(refusalOf(provider.cobs.put(TXID, terms(2000), "conflict")), "TxidTaken")
    Result.getOrThrow(provider.cobs.put(TXID, terms(2000), "updates"))
    assert.deepStrictEqual(
      first.revisions.map(({ cents }) => cents),
      [1000, 2000]
    )
    Result.getOrThrow(provider.cobs.put(TXID, terms(2000), "updates"))
    assert.strictEqual(first.revisions.length, 2, "the same terms make no revision")
    Result.getOrThrow(provider.cobs.remove(TXID, false))
    assert.strictEqual(refusalOf(provider.cobs.put(TXID, terms(), "updates")), "CobNotActive")
  })

  it("removal is alone, once, and of an active cob", () => {
    const { provider, terms } = providerAt()
    assert.strictEqual(refusalOf(provider.cobs.remove(TXID, false)), "CobNotFound")
    Result.getOrThrow(provider.cobs.put(TXID, terms(), "updates"))
    assert.strictEqual(refusalOf(provider.cobs.remove(TXID, true)), "RemovalNotAlone")
    assert.strictEqual(Result.getOrThrow(provider.cobs.remove(TXID, false)).status, "REMOVIDA_PELO_USUARIO_RECEBEDOR")
    assert.strictEqual(refusalOf(provider.cobs.remove(TXID, false)), "CobNotActive")
  })

  it("an expired cob stays ATIVA and can be paid", () => {
    const { provider, clock, terms } = providerAt()
    Result.getOrThrow(provider.cobs.put(TXID, terms(), "updates"))
    clock.now += 2 * DAY
    assert.strictEqual(Result.getOrThrow(provider.cobs.get(TXID)).status, "ATIVA")
    Result.getOrThrow(provider.receipts.payCob(TXID))
    assert.strictEqual(Result.getOrThrow(provider.cobs.get(TXID)).status, "CONCLUIDA")
  })

  it("a key of somebody else, no money and no time are refused", () => {
    const { provider, terms } = providerAt()
    for (const [changed, expected] of [
      [{ key: "somebody@else.com" }, "KeyNotOurs"],
      [{ cents: 0 }, "InvalidValue"],
      [{ expiresInSeconds: 0 }, "InvalidValue"]
    ] as const) {
      assert.strictEqual(refusalOf(provider.cobs.put(TXID, { ...terms(), ...changed }, "updates")), expected)
      assert.strictEqual(refusalOf(provider.cobs.post({ ...terms(), ...changed })), expected)
    }
  })
})

describe("payments", () => {
  it("money that fits nothing arrives all the same: another amount, twice, after removal, an unknown txid", () => {
    const { provider, terms, pay } = providerAt()
    Result.getOrThrow(provider.cobs.put(TXID, terms(1000), "updates"))
    Result.getOrThrow(provider.receipts.payCob(TXID, { cents: 999 }))
    Result.getOrThrow(provider.receipts.payCob(TXID))
    assert.deepStrictEqual(
      provider.receipts.ofTxid(TXID).map(({ cents }) => cents),
      [999, 1000]
    )
    const removed = "b".repeat(26)
    Result.getOrThrow(provider.cobs.put(removed, terms(500), "updates"))
    Result.getOrThrow(provider.cobs.remove(removed, false))
    Result.getOrThrow(provider.receipts.payCob(removed))
    assert.strictEqual(Result.getOrThrow(provider.cobs.get(removed)).status, "REMOVIDA_PELO_USUARIO_RECEBEDOR")
    provider.receipts.receive({ key: terms().key, cents: 7, txid: "unknown" })
    pay(1)
    assert.strictEqual(provider.balanceCents(), 999 + 1000 + 500 + 7 + 1)
  })

  it("only Pix with a txid are reported; a payment to the bare key is found by listing alone", () => {
    const { provider, key, pay } = providerAt()
    const bare = provider.receipts.receive({ key, cents: 100 })
    pay(200)
    assert.deepStrictEqual(
      provider.takeNotifications().map((reported) => "pix" in reported && reported.pix.cents),
      [200]
    )
    const { items } = provider.receipts.list(everything, () => true, firstPage)
    assert.strictEqual(items[0]?.endToEndId, bare.endToEndId)
    assert.deepStrictEqual(provider.takeNotifications(), [])
  })

  it("a reported Pix is a copy: what happens later does not change it", () => {
    const { provider, pay } = providerAt()
    const { endToEndId } = pay(200)
    const [reported] = provider.takeNotifications()
    Result.getOrThrow(provider.receipts.orderReturn(endToEndId, "r1", { cents: 200 }))
    assert.deepStrictEqual(reported?._tag === "PixReceived" && reported.pix.returns, [])
  })
})

describe("returns", () => {
  it("several up to the amount received, each id once, within 90 days", () => {
    const { provider, clock, pay } = providerAt()
    const { endToEndId } = pay(1000)
    const order = (id: string, cents: number) => refusalOf(provider.receipts.orderReturn(endToEndId, id, { cents }))
    assert.strictEqual(order("r1", 400), undefined)
    assert.strictEqual(order("r1", 400), "ReturnIdTaken")
    assert.strictEqual(order("r2", 601), "ReturnExceedsPix")
    assert.strictEqual(order("r2", 0), "InvalidValue")
    assert.strictEqual(order("r2", 600), undefined)
    assert.strictEqual(provider.balanceCents(), 0)
    const late = pay(1000)
    clock.now += 90 * DAY + 1
    assert.strictEqual(
      refusalOf(provider.receipts.orderReturn(late.endToEndId, "r3", { cents: 1 })),
      "ReturnWindowClosed"
    )
  })

  it("is in process until its time, then DEVOLVIDO and reported", () => {
    const { provider, clock, pay } = providerAt({ returnFate: () => ({ _tag: "Done", afterMs: 5000 }) })
    const { endToEndId } = pay(1000)
    provider.takeNotifications()
    Result.getOrThrow(provider.receipts.orderReturn(endToEndId, "r1", { cents: 1000 }))
    provider.settleDue()
    assert.strictEqual(Result.getOrThrow(provider.receipts.getReturn(endToEndId, "r1")).status, "EM_PROCESSAMENTO")
    clock.now = provider.nextDueAtMs()!
    provider.settleDue()
    const settled = Result.getOrThrow(provider.receipts.getReturn(endToEndId, "r1"))
    assert.deepStrictEqual([settled.status, settled.settledAtMs], ["DEVOLVIDO", START + 5000])
    assert.deepStrictEqual(
      provider.takeNotifications().map(({ _tag }) => _tag),
      ["ReturnSettled"]
    )
  })

  it("one that fails gives the money back, and its part of the Pix", () => {
    const { provider, pay } = providerAt({ returnFate: () => ({ _tag: "Held" }) })
    const pix = pay(1000)
    Result.getOrThrow(provider.receipts.orderReturn(pix.endToEndId, "r1", { cents: 1000 }))
    assert.strictEqual(provider.balanceCents(), 0)
    const outcome = { failedBecause: "Negado por timeout" }
    const failed = Result.getOrThrow(provider.receipts.settleReturn(pix.endToEndId, "r1", outcome))
    assert.deepStrictEqual([failed.status, failed.reason], ["NAO_REALIZADO", "Negado por timeout"])
    assert.deepStrictEqual([provider.balanceCents(), returnableCents(pix)], [1000, 1000])
    Result.getOrThrow(provider.receipts.settleReturn(pix.endToEndId, "r1", {}))
    assert.strictEqual(failed.status, "NAO_REALIZADO", "an outcome is final")
  })

  it("one without money in the account is accepted and then fails", () => {
    const { provider, key, pay } = providerAt()
    const { endToEndId } = pay(1000)
    Result.getOrThrow(
      provider.payouts.send("p1", { cents: 600, payerKey: key, payee: { key: "x", document: undefined } })
    )
    Result.getOrThrow(provider.receipts.orderReturn(endToEndId, "r1", { cents: 500 }))
    provider.settleDue()
    assert.strictEqual(Result.getOrThrow(provider.receipts.getReturn(endToEndId, "r1")).status, "NAO_REALIZADO")
    assert.strictEqual(provider.balanceCents(), 400)
  })
})

describe("payouts", () => {
  const order = (key: string, cents: number, payee = "ana@example.com", document?: string) => ({
    cents,
    payerKey: key,
    payee: { key: payee, document }
  })

  it("an id is used once; the outcome is reported; what fails gives the money back", () => {
    const fates = [{ _tag: "Done", afterMs: 0 } as const, { _tag: "Failed", afterMs: 0, with: REJECTED } as const]
    const { provider, key } = providerAt({ openingCents: 1000, payoutFate: () => fates.shift()! })
    assert.strictEqual(Result.getOrThrow(provider.payouts.send("p1", order(key, 300))).status, "EM_PROCESSAMENTO")
    assert.strictEqual(refusalOf(provider.payouts.send("p1", order(key, 300))), "PayoutIdTaken")
    Result.getOrThrow(provider.payouts.send("p2", order(key, 400)))
    assert.strictEqual(provider.balanceCents(), 300)
    provider.settleDue()
    assert.deepStrictEqual(
      provider
        .takeNotifications()
        .map((reported) => "payout" in reported && [reported.payout.id, reported.payout.status]),
      [
        ["p1", "REALIZADO"],
        ["p2", "NAO_REALIZADO"]
      ]
    )
    assert.strictEqual(Result.getOrThrow(provider.payouts.get("p2")).error?.code, "AC03")
    assert.strictEqual(provider.balanceCents(), 700)
  })

  it("without money it is accepted and then fails with AM04; what a dispute blocks cannot be sent", () => {
    const { provider, key, pay } = providerAt()
    const { endToEndId } = pay(1000)
    Result.getOrThrow(provider.infractions.open(endToEndId, { cents: 600 }))
    Result.getOrThrow(provider.payouts.send("p1", order(key, 401)))
    provider.settleDue()
    assert.strictEqual(Result.getOrThrow(provider.payouts.get("p1")).error?.code, "AM04")
    assert.strictEqual(provider.balanceCents(), 1000)
  })

  it("the payee's key may be unknown, somebody else's, or denied", () => {
    const { provider, key } = providerAt({ openingCents: 1000 })
    provider.payouts.describePayee("nobody", { _tag: "NotFound" })
    provider.payouts.describePayee("denied", { _tag: "Denied" })
    provider.payouts.describePayee("ana", { _tag: "Owner", document: "52998224725" })
    const send = (payee: string, document?: string) =>
      refusalOf(provider.payouts.send(`to${payee}${document}`, order(key, 1, payee, document)))
    assert.strictEqual(send("nobody"), "PayeeNotFound")
    assert.strictEqual(send("denied"), "PayoutDenied")
    assert.strictEqual(send("ana", "11144477735"), "PayeeDocumentDiffers")
    assert.strictEqual(send("ana", "52998224725"), undefined)
    assert.strictEqual(refusalOf(provider.payouts.get("tonobodyundefined")), "PayoutNotFound", "a refusal keeps no id")
  })

  it("the payee's bank sends back up to the amount", () => {
    const { provider, key } = providerAt({ openingCents: 1000 })
    Result.getOrThrow(provider.payouts.send("p1", order(key, 500)))
    provider.settleDue()
    Result.getOrThrow(provider.payouts.receiveReturn("p1", 200))
    assert.strictEqual(refusalOf(provider.payouts.receiveReturn("p1", 301)), "ReturnExceedsPix")
    assert.strictEqual(provider.balanceCents(), 700)
  })
})

describe("disputes", () => {
  it("block their amount; accepted, they take back what is left of it", () => {
    const { provider, pay } = providerAt()
    const pix = pay(1000)
    Result.getOrThrow(provider.receipts.orderReturn(pix.endToEndId, "r1", { cents: 700 }))
    const { id } = Result.getOrThrow(provider.infractions.open(pix.endToEndId))
    assert.strictEqual(provider.blockedCents(), 1000)
    Result.getOrThrow(provider.infractions.close(id, "ACEITA"))
    assert.deepStrictEqual([provider.blockedCents(), provider.balanceCents(), returnableCents(pix)], [0, 0, 0])
    assert.deepStrictEqual([pix.returns[1]?.nature, pix.returns[1]?.cents], ["MED_FRAUDE", 300])
  })

  it("are defended once and in time", () => {
    const { provider, clock, pay } = providerAt()
    const { endToEndId } = pay(1000)
    const open = () => Result.getOrThrow(provider.infractions.open(endToEndId)).id
    const [first, second] = [open(), open()]
    assert.strictEqual(Result.getOrThrow(provider.infractions.defend(first, "sold")).status, "EM_DEFESA")
    assert.strictEqual(refusalOf(provider.infractions.defend(first, "again")), "DefenseTaken")
    clock.now += 7 * DAY + 1
    assert.strictEqual(refusalOf(provider.infractions.defend(second, "late")), "DefenseTooLate")
    assert.strictEqual(refusalOf(provider.infractions.defend("unknown", "")), "InfractionNotFound")
    assert.strictEqual(Result.getOrThrow(provider.infractions.close(first, "REJEITADA")).status, "REJEITADA")
    assert.strictEqual(provider.balanceCents(), 1000)
  })
})

const Step = Schema.Struct({
  action: Schema.Literals(["cob", "pay", "stray", "return", "send", "open", "close", "settle", "wait", "sent-back"]),
  cents: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3000 })),
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
  fate: Schema.Literals(["Done", "Failed", "Held"])
})
type Step = typeof Step.Type

const Steps = Arbitrary.array(Arbitrary.schema(Step), { minLength: 40, maxLength: 60 })

/** Does the steps and returns the history: what each did, and the balance after it. */
const play = (steps: ReadonlyArray<Step>, check: (provider: Provider) => void = () => {}) => {
  let fate: Step["fate"] = "Done"
  const { provider, clock, key, terms } = providerAt({
    openingCents: 500,
    returnFate: () => ({ _tag: fate, afterMs: 10, with: "Negado" }),
    payoutFate: () => ({ _tag: fate, afterMs: 10, with: REJECTED })
  })
  const at = <A>(items: ReadonlyArray<A>, which: number): A | undefined => items[which % Math.max(1, items.length)]
  const pixAt = (which: number) => at(provider.receipts.list(everything, () => true, firstPage).items, which)
  const history = steps.map((step, i) => {
    fate = step.fate
    const { cents, which } = step
    const done = (() => {
      switch (step.action) {
        case "cob":
          return provider.cobs.put(`${which}`.repeat(26), terms(cents), which % 2 === 0 ? "conflict" : "updates")
        case "pay":
          return provider.receipts.payCob(`${which}`.repeat(26))
        case "stray":
          return provider.receipts.receive({ key, cents })
        case "return":
          return provider.receipts.orderReturn(pixAt(which)?.endToEndId ?? "", `r${i % 7}`, { cents })
        case "send":
          return provider.payouts.send(`p${which}`, { cents, payerKey: key, payee: { key: "x", document: undefined } })
        case "open":
          return provider.infractions.open(pixAt(which)?.endToEndId ?? "", { cents })
        case "close": {
          const open = at(provider.infractions.list(everything, firstPage).items, which)
          return provider.infractions.close(open?.id ?? "", which % 2 === 0 ? "ACEITA" : "REJEITADA")
        }
        case "settle": {
          const pix = pixAt(which)
          const inProcess = pix?.returns.find(({ status }) => status === "EM_PROCESSAMENTO")
          return provider.receipts.settleReturn(
            pix?.endToEndId ?? "",
            inProcess?.id ?? "",
            which % 2 === 0 ? {} : { failedBecause: "Negado" }
          )
        }
        case "sent-back":
          return provider.payouts.receiveReturn(`p${which}`, cents)
        case "wait":
          clock.now += 10
          return provider.settleDue()
      }
    })()
    check(provider)
    return { done, balance: provider.balanceCents() }
  })
  return { history, provider }
}

describe("any history", () => {
  const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((a, b) => a + b, 0)

  it.prop(
    "balance = opening + received - returned - sent + sent back, and no Pix is returned beyond its amount",
    [Steps],
    ([steps]) => {
      play(steps, (provider) => {
        const pix = provider.receipts.list(everything, () => true, firstPage).items
        const payouts = provider.payouts.list(everything, () => true, firstPage).items
        const counts = ({ status }: { readonly status: string }) => status !== "NAO_REALIZADO"
        const expected =
          500 +
          sum(pix.map(({ cents }) => cents)) -
          sum(pix.flatMap(({ returns }) => returns.filter(counts).map(({ cents }) => cents))) -
          sum(payouts.filter(counts).map(({ cents }) => cents)) +
          sum(payouts.flatMap(({ returned }) => returned.map(({ cents }) => cents)))
        assert.strictEqual(provider.balanceCents(), expected)
        for (const each of pix) assert.isAtLeast(returnableCents(each), 0)
      })
    },
    { arbitrary: { runs: 300 } }
  )

  it.prop("the same calls, clock and seed give the same history, ids included", [Steps], ([steps]) => {
    assert.deepStrictEqual(play(steps).history, play(steps).history)
  })
})
