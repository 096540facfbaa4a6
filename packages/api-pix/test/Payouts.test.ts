import { assert, describe, it } from "@effect/vitest"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as profiles from "../src/Profiles.ts"
import { outcomeOf, payout, until, withBank } from "./support/Bank.ts"

const EFI = { profile: "efi", settings: { openingCents: 10_000 } } as const

const settled = (double: PspDouble) => Effect.promise(() => double.settle())

const sends = ({ exchanges }: PspDouble) => exchanges.filter(({ method }) => method === "PUT").length

describe("Efí's payouts", () => {
  it.live("are sent, settled and found; a repeated order gives the state of the first", () =>
    withBank(EFI, ({ double, payouts }) =>
      Effect.gen(function* () {
        const order = payout(double)
        assert.strictEqual(yield* outcomeOf(payouts.find(order)), "NotFound")
        const sent = yield* payouts.send(order)
        assert.deepInclude(sent, { id: order.id, cents: 300, status: "EM_PROCESSAMENTO", reason: undefined })
        yield* settled(double)
        assert.deepInclude(yield* payouts.send(order), { status: "REALIZADO", endToEndId: sent.endToEndId })
        assert.strictEqual((yield* payouts.find(order)).status, "REALIZADO")
        assert.strictEqual(double.provider.balanceCents(), 10_000 - 300)
        const account = {
          name: "Ana",
          document: "52998224725",
          bankCode: "09089356",
          branch: "1",
          number: "1",
          type: "cacc"
        } as const
        yield* payouts.send({ ...order, id: "p3", payee: { account } })
      })
    )
  )

  it.live("a documented refusal is one; an id in other terms is unclear; a failed payout is NAO_REALIZADO", () =>
    withBank(
      {
        ...EFI,
        settings: {
          ...EFI.settings,
          payoutFate: ({ cents }) =>
            cents === 13
              ? { _tag: "Failed", afterMs: 0, with: { code: "AC03", origin: "PSP", reason: "Conta inexistente" } }
              : { _tag: "Done", afterMs: 0 }
        }
      },
      ({ double, payouts }) =>
        Effect.gen(function* () {
          const order = payout(double)
          yield* payouts.send(order)
          assert.strictEqual(yield* outcomeOf(payouts.send({ ...order, cents: 400 })), "Unclear: unknown-answer")
          double.provider.payouts.describePayee("nobody@example.com", { _tag: "NotFound" })
          const refused = yield* Effect.flip(
            payouts.send({ ...order, id: "p2", payee: { key: "nobody@example.com", document: "52998224725" } })
          )
          assert.deepInclude(refused, { _tag: "Refused", code: "chave_favorecido_nao_encontrada" })
          const failing = { ...order, id: "p4", cents: 13 }
          yield* payouts.send(failing)
          yield* settled(double)
          assert.strictEqual((yield* payouts.send(failing)).status, "NAO_REALIZADO")
        })
    )
  )

  it.live("are listed in pages, with what the payee's bank sent back", () =>
    withBank(EFI, ({ double, payouts }) =>
      Effect.gen(function* () {
        for (const id of ["p1", "p2", "p3"]) yield* payouts.send({ ...payout(double), id })
        yield* settled(double)
        yield* Effect.fromResult(double.provider.payouts.receiveReturn("p1", 100))
        const range = { fromMs: double.now() - 60_000, toMs: double.now() + 60_000, pageSize: 2 }
        const first = yield* payouts.listSent!(range)
        const second = yield* payouts.listSent!({ ...range, page: 1 })
        assert.deepStrictEqual([first.page, first.pages, second.page], [0, 2, 1])
        const listed = [...first.items, ...second.items]
        assert.deepStrictEqual(listed.map(({ id }) => id).toSorted(), ["p1", "p2", "p3"])
        const sentBack = listed.find(({ id }) => id === "p1")!
        assert.deepStrictEqual(
          sentBack.returns.map(({ cents }) => cents),
          [100]
        )
      })
    )
  )

  it.effect("one is sent at a time; beyond those that wait an order is not sent", () =>
    withBank({ ...EFI, connection: { limits: { maxWaitingPayouts: 2 } } }, ({ double, payouts, client }) =>
      Effect.gen(function* () {
        double.faults.once("hang", { method: "PUT" })
        const send = (id: string) => outcomeOf(payouts.send({ ...payout(double), id }))
        const first = yield* Effect.forkChild(send("p0"))
        yield* until(() => sends(double) === 1)
        const waiting = yield* Effect.forkChild(Effect.all([send("p1"), send("p2")], { concurrency: 2 }))
        yield* Effect.yieldNow
        const beyond = yield* Effect.flip(payouts.send({ ...payout(double), id: "p3" }))
        assert.deepInclude(beyond, { _tag: "NotSent", reason: "saturated" })
        // Other operations do not wait.
        assert.strictEqual(yield* outcomeOf(client.findWebhook(double.key)), "NotFound")
        assert.strictEqual(sends(double), 1)

        yield* TestClock.adjust("59 seconds")
        assert.strictEqual(sends(double), 1)
        yield* Fiber.interrupt(first)
        assert.deepStrictEqual(yield* Fiber.join(waiting), ["done", "done"])
        assert.strictEqual(sends(double), 3)
      })
    )
  )

  it.effect("an order that waits longer than the time limit is not sent", () =>
    withBank(EFI, ({ double, payouts }) =>
      Effect.gen(function* () {
        double.faults.once("hang", { method: "PUT" })
        double.faults.once("hang", { method: "GET" })
        const send = (id: string) => outcomeOf(payouts.send({ ...payout(double), id }))
        const first = yield* Effect.forkChild(send("p0"))
        yield* until(() => sends(double) === 1)
        const second = yield* Effect.forkChild(send("p1"))
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual(yield* Fiber.join(second), "NotSent")
        yield* until(() => double.exchanges.some(({ method }) => method === "GET"))
        yield* TestClock.adjust("61 seconds")
        assert.strictEqual(yield* Fiber.join(first), "done")
        assert.strictEqual(yield* send("p1"), "done")
      })
    )
  )
})

describe("a rail", () => {
  it("is that of the profile; others have none", () => {
    assert.deepStrictEqual(
      profiles.profiles.filter(({ payouts }) => payouts !== null).map(({ name, payouts }) => [name, payouts]),
      [
        ["efi", "efi"],
        ["sicoob", "sicoob"],
        ["inter", "inter"]
      ]
    )
  })
})
