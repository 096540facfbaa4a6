/** What the client makes of a bank whose answers are wrong: every wrong answer of the double, over every operation of every profile. */
import { assert, describe, it } from "@effect/vitest"
import { WRONG_ANSWERS, type WrongAnswer } from "@pix-payments/psp-double/Faults"
import { UNAUTHORIZED_BODIES } from "@pix-payments/psp-double/http/WrongAnswers"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type Failure, Unclear } from "../src/Outcome.ts"
import { profiles } from "../src/Profiles.ts"
import { executions, LISTS, lyingBank, NOW, SINGLE, type Single } from "./support/LyingBank.ts"

type Names = ReadonlyArray<Single>

const EMISSIONS: Names = ["emit", "emit-again"]
const COBS: Names = [...EMISSIONS, "find", "cancel"]
const RETURNS: Names = ["return", "find-return"]
const PAYOUTS: Names = ["send-payout", "find-payout"]
const ALL: Names = [...COBS, "find-received", ...RETURNS, ...PAYOUTS]

/** The operations that a wrong answer makes unclear, and the fields that the reason may name. every other one changes nothing there. */
const UNCLEAR: Partial<Record<WrongAnswer, readonly [Names, RegExp]>> = {
  "other-amount": [[...EMISSIONS, "return", ...PAYOUTS], /valor(\.original)? is not that/],
  "other-key": [EMISSIONS, /chave is not that/],
  "other-txid": [COBS, /txid is not that/],
  "other-id": [["find-received", ...RETURNS, ...PAYOUTS], /(endToEndId|id|idEnvio|codigoSolicitacao) is not that/],
  "unknown-state": [[...COBS, ...RETURNS, ...PAYOUTS], /status cannot be read/],
  "unreadable-amount": [ALL, /valor(\.original)? cannot be read/],
  "nul-in-id": [ALL, ID_UNREADABLE()],
  "surrogate-in-id": [ALL, ID_UNREADABLE()],
  "long-id": [ALL, ID_UNREADABLE()],
  "empty-br-code": [EMISSIONS, BR_CODE()],
  "long-br-code": [EMISSIONS, BR_CODE()],
  "escaped-br-code": [EMISSIONS, BR_CODE()],
  "other-br-code": [EMISSIONS, BR_CODE()],
  "stranger-br-code": [EMISSIONS, BR_CODE()]
}

function ID_UNREADABLE() {
  return /(txid|endToEndId|e2eId|id|rtrId|idEnvio|codigoSolicitacao) cannot be read/
}
function BR_CODE() {
  return /(pixCopiaECola|brcode) is not that/
}

/** Wrong answers of fields that the question does not name: the answer is believed, and its reader decides. */
const BELIEVED: Partial<Record<WrongAnswer, Names>> = {
  "other-amount": ["find", "cancel", "find-received", "find-return"],
  "other-key": ["find", "cancel", "find-received"],
  "other-txid": ["find-received"],
  "other-id": ["find-return"]
}

/** What a rail cannot know, because its answer does not repeat it or its states are open. */
const UNKNOWABLE: Readonly<Record<string, Partial<Record<Single, ReadonlyArray<WrongAnswer>>>>> = {
  sicoob: { "send-payout": ["unknown-state", "other-id"], "find-payout": ["unknown-state"] },
  inter: {
    "send-payout": ["unknown-state", "other-id", "other-amount", "unreadable-amount"],
    "find-payout": ["unknown-state"]
  }
}

const LASTING = WRONG_ANSWERS.filter((wrong) => wrong !== "odd-unauthorized")

const run = <A>(effect: Effect.Effect<A, Failure> | undefined) => Effect.exit(effect ?? Effect.die("not offered"))

describe.each(profiles)("$name", (profile) => {
  it.effect("an answer is that of its question, or unclear with the field's name; an order is done once", () =>
    Effect.gen(function* () {
      for (const name of Object.keys(SINGLE) as ReadonlyArray<Single>) {
        const honest = yield* lyingBank(profile)
        const offered = SINGLE[name](honest)
        if (offered === undefined) continue
        const truth: unknown = yield* offered
        const done = executions(honest)
        for (const wrong of LASTING) {
          const what = `${name}: ${wrong}`
          if (UNKNOWABLE[profile.name]?.[name]?.includes(wrong) === true) continue
          const bank = yield* lyingBank(profile)
          const end = bank.machine.faults.always(wrong)
          const exit = yield* run<unknown>(SINGLE[name](bank))
          const [names, field] = UNCLEAR[wrong] ?? [[], /never/]
          if (names.includes(name)) {
            const failure = Exit.isFailure(exit) ? yield* Effect.flip(exit) : undefined
            assert.instanceOf(failure, Unclear, what)
            assert.match(failure?.message ?? "", field, what)
          } else if (BELIEVED[wrong]?.includes(name) !== true) {
            assert.deepStrictEqual(exit, Exit.succeed(truth), what)
          }
          end()
          // The order is asked again, and was carried out once.
          assert.deepStrictEqual(yield* run<unknown>(SINGLE[name](bank)), Exit.succeed(truth), what)
          assert.deepStrictEqual(executions(bank), done, what)
          assert.deepStrictEqual([bank.machine.api.violations, bank.machine.api.defects], [[], []], what)
        }
      }
    }).pipe(Effect.scoped)
  )

  it.effect("an order whose first answer alone is a wrong answer is done in the same call", () =>
    Effect.gen(function* () {
      for (const name of ["emit", "return", "send-payout"] as const) {
        for (const wrong of ["other-amount", "nul-in-id", "wrong-types", "unreadable-amount", "long-text"] as const) {
          if (UNKNOWABLE[profile.name]?.[name]?.includes(wrong) === true) continue
          // The phase that names a payout of Sicoob moves nothing: it is asked again by the next order.
          if (profile.name === "sicoob" && name === "send-payout") continue
          const bank = yield* lyingBank(profile)
          bank.machine.faults.once(wrong)
          const exit = yield* run<unknown>(SINGLE[name](bank) ?? Effect.void)
          // An answer that does not name Inter's payout leaves nothing to look it up by.
          const isNamed = profile.name !== "inter" || name !== "send-payout" || wrong !== "nul-in-id"
          assert.strictEqual(Exit.isSuccess(exit), isNamed, `${name}: ${wrong}`)
        }
      }
    }).pipe(Effect.scoped)
  )

  it.effect("a page gives what can be read, and sets the rest apart", () =>
    Effect.gen(function* () {
      for (const [name, list] of Object.entries(LISTS)) {
        const offered = list(yield* lyingBank(profile))
        if (offered === undefined) continue
        const truth = yield* offered
        assert.deepStrictEqual([truth.items.length, truth.unreadable], [2, []], name)
        for (const wrong of LASTING) {
          const bank = yield* lyingBank(profile)
          bank.machine.faults.always(wrong)
          const { items, unreadable } = yield* list(bank)!
          const what = `${name}: ${wrong}`
          assert.deepStrictEqual(items.at(-1), truth.items.at(-1), what)
          assert.strictEqual(items.length, lengthOf(name, wrong), what)
          assert.isTrue(unreadable.length > 0 === isSetApart(name, wrong), `${what}: ${JSON.stringify(unreadable)}`)
          for (const { reason, text } of unreadable) {
            assert.match(reason, /^[a-zA-Z0-9]+ (cannot be read|is missing)$/, what)
            assert.isAtMost(Buffer.byteLength(text), 4096, what)
            // oxlint-disable-next-line no-control-regex -- that is what is looked for
            assert.notMatch(text, /[\u0000-\u001f]|\p{Cs}/u, what)
          }
        }
      }
    }).pipe(Effect.scoped)
  )

  it.effect("401, or 403 with invalid_token, renews the token once and repeats the call, and is no loop", () =>
    Effect.gen(function* () {
      for (const [name, operation] of Object.entries(SINGLE)) {
        const bank = yield* lyingBank(profile)
        const offered: Effect.Effect<unknown, Failure> | undefined = operation(bank)
        if (offered === undefined) continue
        const { counts } = bank.machine.faults
        for (const body of UNAUTHORIZED_BODIES) {
          bank.machine.faults.once("odd-unauthorized")
          assert.isTrue(Exit.isSuccess(yield* Effect.exit(offered)), `${name}: ${body}`)
        }
        bank.machine.faults.once("forbidden-token")
        assert.isTrue(Exit.isSuccess(yield* Effect.exit(offered)), name)
        for (const fault of ["odd-unauthorized", "forbidden-token"] as const) {
          const end = bank.machine.faults.always(fault)
          const before = counts.get(fault) ?? 0
          const failure = yield* Effect.flip(bank.client.find("x".repeat(26)))
          assert.strictEqual(failure._tag, "CredentialsRejected")
          assert.strictEqual((counts.get(fault) ?? 0) - before, 2)
          end()
        }
      }
    }).pipe(Effect.scoped)
  )
})

/** Wrong answers that make the first entry of a list unreadable. */
const HIDING: ReadonlySet<WrongAnswer> = new Set(["unreadable-amount", "nul-in-id", "surrogate-in-id", "long-id"])

const lengthOf = (name: string, wrong: WrongAnswer): number => {
  if (wrong === "foreign-entry") return 3
  if (wrong === "missing-entry") return 1
  const isOpenState = wrong === "unknown-state" && (name === "list-sent" || name === "list-disputes")
  return HIDING.has(wrong) || isOpenState ? 1 : 2
}

const isSetApart = (name: string, wrong: WrongAnswer): boolean =>
  HIDING.has(wrong) || wrong === "unknown-state" || (wrong === "unreadable-returns" && name !== "list-disputes")

describe("decorations", () => {
  const [, efi] = profiles
  const found = Effect.fnUntraced(function* (wrong: WrongAnswer) {
    const bank = yield* lyingBank(efi!)
    bank.machine.faults.always(wrong)
    return yield* bank.client.findReceived(bank.endToEndIds[0])
  }, Effect.scoped)

  it.effect("of another type are absent, and an instant that cannot be read is that of seeing", () =>
    Effect.gen(function* () {
      const pix = yield* found("wrong-types")
      assert.deepInclude(pix, { payer: undefined, payerInfo: undefined, atMs: NOW })
      assert.deepInclude(pix.returns[0], { nature: "ORIGINAL", requestedAtMs: undefined, settledAtMs: undefined })
      for (const wrong of ["unreadable-instant", "first-instant"] as const)
        assert.strictEqual((yield* found(wrong)).atMs, NOW)
      assert.deepStrictEqual((yield* found("unreadable-returns")).returns, [])
    })
  )

  it.effect("an instant without an offset is one of the profile's zone", () =>
    Effect.map(found("local-instant"), (pix) => assert.strictEqual(pix.atMs, NOW))
  )

  it.effect("text has no control character and no half of a character, and is cut", () =>
    Effect.gen(function* () {
      const clean = yield* found("control-in-text")
      assert.deepStrictEqual([clean.payer?.name, clean.payerInfo], ["[31mFulano de Tal", "[31mPedido 7"])
      const long = yield* found("long-text")
      assert.deepStrictEqual([long.payer?.name?.length, long.payerInfo?.length], [200, 300])
    })
  )
})
