import { assert, describe, it } from "@effect/vitest"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import { type Disputes, makeDisputes } from "../src/Disputes.ts"
import { type Bank, outcomeOf, withBank } from "./support/Bank.ts"

const DAY_MS = 24 * 3_600_000
const TEXT = "Entregue em 12/03"

const rangeOf = (double: PspDouble) => ({ fromMs: double.now() - 60_000, toMs: double.now() + 60_000 })

const opened = (double: PspDouble, cents = 300) =>
  Effect.gen(function* () {
    const { endToEndId } = double.provider.receipts.receive({ key: double.key, cents: 1000 })
    return yield* Effect.fromResult(double.provider.infractions.open(endToEndId, { cents }))
  })

const withDisputes = <E>(
  options: Parameters<typeof withBank>[0],
  use: (disputes: Disputes, bank: Bank) => Effect.Effect<void, E>
) => withBank({ profile: "efi", ...options }, (bank) => use(makeDisputes(bank.connection)!, bank))

const posts = ({ exchanges }: PspDouble) => exchanges.filter(({ path }) => path.endsWith("/defesa")).length

describe("disputes", () => {
  it.live("are listed in pages, with part of an amount, deadline, defence and outcome", () =>
    withDisputes({}, (disputes, { double, client }) =>
      Effect.gen(function* () {
        const { infractions } = double.provider
        const [lost, won, canceled, open] = [
          yield* opened(double),
          yield* opened(double),
          yield* opened(double),
          yield* opened(double, 1000)
        ]
        yield* disputes.defend(lost, TEXT)
        yield* Effect.fromResult(infractions.close(lost.id, "ACEITA", "Fraude confirmada"))
        yield* Effect.fromResult(infractions.close(won.id, "REJEITADA"))
        yield* Effect.fromResult(infractions.close(canceled.id, "CANCELADA_EFI"))
        const range = { ...rangeOf(double), pageSize: 3 }
        const first = yield* disputes.list(range)
        const second = yield* disputes.list({ ...range, page: 1 })
        assert.deepStrictEqual([first.page, first.pages, second.page], [0, 2, 1])
        const all = new Map([...first.items, ...second.items].map((dispute) => [dispute.id, dispute]))
        assert.deepStrictEqual(
          [lost, won, canceled, open].map(({ id }) => all.get(id)?.status),
          ["lost", "won", "won", "open"]
        )
        const { openedAtMs, deadlineMs, endToEndId } = lost
        assert.deepInclude(all.get(lost.id), {
          endToEndId,
          cents: 300,
          reason: "Solicitacao de devolução",
          openedAtMs,
          deadlineMs,
          outcomeReason: "Fraude confirmada"
        })
        assert.strictEqual(all.get(lost.id)?.defense?.text, TEXT)
        assert.isDefined(all.get(lost.id)?.closedAtMs)
        assert.deepInclude(all.get(open.id), { cents: 1000, closedAtMs: undefined, defense: undefined })

        // A lost dispute returns the money: the Pix says so.
        const { returns } = yield* client.findReceived(endToEndId)
        assert.deepStrictEqual(
          returns.map(({ cents, nature, status }) => [cents, nature, status]),
          [[300, "MED_FRAUDE", "DEVOLVIDO"]]
        )
      })
    )
  )

  it.live("one that is defended in the same words is done; in others it is a duplicate", () =>
    withDisputes({}, (disputes, { double }) =>
      Effect.gen(function* () {
        const dispute = yield* opened(double)
        yield* disputes.defend(dispute, TEXT)
        yield* disputes.defend(dispute, TEXT)
        assert.strictEqual(yield* outcomeOf(disputes.defend(dispute, "Outra")), "Duplicate")
        const [listed] = (yield* disputes.list(rangeOf(double))).items
        assert.deepInclude(listed, { status: "under_review" })
      })
    )
  )

  it.live("a defence of several lines is done when it is submitted again", () =>
    withDisputes({}, (disputes, { double }) =>
      Effect.gen(function* () {
        const dispute = yield* opened(double)
        const lines = `${TEXT}\nAssinado por Ana\n`
        yield* disputes.defend(dispute, lines)
        yield* disputes.defend(dispute, lines)
        assert.strictEqual(yield* outcomeOf(disputes.defend(dispute, `${lines}.`)), "Duplicate")
      })
    )
  )

  it.live("what cannot be read beside the core is absent, and the opening is then that of seeing", () =>
    withDisputes({}, (disputes, { double }) =>
      Effect.gen(function* () {
        const { id } = yield* opened(double)
        double.faults.once("wrong-types", { path: /infracoes/ })
        const [dispute] = (yield* disputes.list(rangeOf(double))).items
        assert.deepInclude(dispute, {
          id,
          key: double.key,
          cents: 300,
          status: "open",
          reason: "",
          outcomeReason: undefined
        })
        assert.deepInclude(dispute, { deadlineMs: undefined, closedAtMs: undefined })
        assert.isAtMost(Math.abs(dispute!.openedAtMs - double.now()), 60_000)
      })
    )
  )

  it.live("a defence after the deadline, and one of an unknown dispute, are refused", () =>
    withDisputes({}, (disputes, { double }) =>
      Effect.gen(function* () {
        const dispute = yield* opened(double)
        yield* Effect.promise(() => double.advance(7 * DAY_MS + 1))
        assert.strictEqual(yield* outcomeOf(disputes.defend(dispute, TEXT)), "Refused")
        assert.strictEqual(yield* outcomeOf(disputes.defend({ ...dispute, id: "unknown" }, TEXT)), "NotFound")
        // A list that may have more pages does not say that it is not there.
        double.faults.always("no-page", { path: /infracoes$/ })
        const elsewhere = { ...dispute, openedAtMs: dispute.openedAtMs - 30 * DAY_MS }
        assert.strictEqual(yield* outcomeOf(disputes.defend(elsewhere, TEXT)), "Unclear: unknown-answer")
      })
    )
  )

  it.live.each([
    ["dropped-before", "Unclear: not-found-yet"],
    ["dropped-after", "done"],
    ["error-after", "done"],
    ["html", "done"],
    ["proxy-page", "Unclear: not-found-yet"],
    ["expired-token", "done"],
    ["too-many-requests", "RateLimited"]
  ] as const)("a defence whose answer is spoiled is looked up: %s", ([fault, expected]) =>
    withDisputes({}, (disputes, { double }) =>
      Effect.gen(function* () {
        const dispute = yield* opened(double)
        double.faults.once(fault, { method: "POST", path: /defesa/ })
        assert.strictEqual(yield* outcomeOf(disputes.defend(dispute, TEXT)), expected)
        const { defense } = yield* Effect.fromResult(double.provider.infractions.get(dispute.id))
        assert.strictEqual(defense?.text, expected === "done" ? TEXT : undefined)
        assert.strictEqual(posts(double), fault === "expired-token" ? 2 : 1)
      })
    )
  )

  it.live("without their scopes the other operations go on", () =>
    withDisputes({ scopes: ["cob.read", "cob.write", "pix.read", "pix.write"] }, (disputes, { double }) =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(disputes.list(rangeOf(double)))
        assert.deepInclude(failure, { _tag: "ScopeMissing", missing: ["gn.infractions.read"] })
      })
    )
  )

  it.live("a provider without them has none", () =>
    withBank({ profile: "bacen" }, ({ connection }) => Effect.sync(() => assert.isUndefined(makeDisputes(connection))))
  )
})
