/** The balance by API: what the double says, also where it lies, and what answers of any form give. */
import { assert, describe, it } from "@effect/vitest"
import { inter as interVariant } from "@pix-payments/psp-double/http/Profiles"
import type { Variant } from "@pix-payments/psp-double/http/Profile"
import { makePspMachine, type PspMachine } from "@pix-payments/psp-double/http/PspMachine"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { makeBalance } from "../src/Balance.ts"
import type { Profile } from "../src/Profile.ts"
import { efi, inter, profiles } from "../src/Profiles.ts"
import { answerOf, type Transport } from "../src/Transport.ts"
import { machineTransport, uncheckedCredentials } from "./support/MachineTransport.ts"

const machineOf = ({ name }: Profile, scopes?: ReadonlyArray<string>) =>
  makePspMachine({
    now: () => 1_790_000_000_000,
    profile: name === "efi" ? "efi" : "bacen",
    ...(name === "inter" && { variant: interVariant satisfies Partial<Variant> }),
    ...(scopes !== undefined && { scopes }),
    settings: { openingCents: 100_000 }
  })

const asked = (profile: Profile, machine: PspMachine, transport: Transport = machineTransport(machine)) =>
  Effect.gen(function* () {
    const balance = yield* makeBalance({
      profile,
      credentials: uncheckedCredentials(machine.clientId, machine.clientSecret),
      baseUrl: `https://double${machine.profile.basePath}`,
      tokenUrl: `https://double${machine.profile.tokenPath}`,
      settings: { "x-conta-corrente": Redacted.make("1") },
      limits: { lookupRetries: 0 },
      transport
    })
    return yield* Effect.result(balance!)
  }).pipe(Effect.scoped)

/** The token is the double's, the balance is this. */
const answering =
  (machine: PspMachine, body: unknown): Transport =>
  (request) =>
    request.url.endsWith("/saldo")
      ? Effect.succeed(answerOf(200, undefined, JSON.stringify(body)))
      : machineTransport(machine)(request)

it("two providers have one", () => {
  assert.deepStrictEqual(
    profiles.filter(({ balance }) => balance !== null).map(({ name }) => name),
    ["efi", "inter"]
  )
})

describe.each([efi, inter])("the balance at $name", (profile) => {
  const { available, blocked } = profile.balance!
  const partsOf = (path: string, value: unknown): object =>
    path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object

  it.effect("has what is blocked", () =>
    Effect.gen(function* () {
      const machine = machineOf(profile)
      const { infractions, receipts, settings } = machine.provider
      const { endToEndId } = receipts.receive({ key: settings.keys[0]!, cents: 5000 })
      Result.getOrThrow(infractions.open(endToEndId, { cents: 300 }))
      assert.deepStrictEqual(yield* asked(profile, machine), Result.succeed(105_000))
    })
  )

  it.effect("needs its own scope alone, and says that it lacks it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* asked(profile, machineOf(profile, [profile.balance!.scope])),
        Result.succeed(100_000)
      )
      const lacking = yield* asked(profile, machineOf(profile, ["cob.read"]))
      assert.strictEqual(Result.isFailure(lacking) && lacking.failure._tag, "ScopeMissing")
    })
  )

  it.effect.each([
    ["number-amount", Result.succeed(100_000)],
    ["short-amount", Result.succeed(100_000)],
    // The question does not name it: it is believed, and differs.
    ["other-amount", Result.succeed(100_001)],
    ["unreadable-amount", "Unclear"],
    ["html", "Unclear"],
    ["error-after", "Unclear"]
  ] as const)("a lie of the double: %s", ([wrong, expected]) =>
    Effect.gen(function* () {
      const machine = machineOf(profile)
      machine.faults.always(wrong, { path: /\/saldo$/ })
      const found = yield* asked(profile, machine)
      if (typeof expected !== "string") assert.deepStrictEqual(found, expected)
      else assert.strictEqual(Result.isFailure(found) && found.failure._tag, expected)
    })
  )

  it.effect.each([
    [partsOf(available, "-12.34"), -1234],
    [partsOf(available, -12.34), -1234],
    [partsOf(available, "0.00"), 0],
    [{ ...partsOf(available, "10.00"), ...partsOf(blocked[0]!, "2.50") }, 1250],
    [{ ...partsOf(available, "10.00"), ...partsOf(blocked[0]!, "2.505") }, undefined],
    [{ ...partsOf(available, "10.00"), ...partsOf(blocked[0]!, ["1"]) }, undefined],
    [partsOf(available, "1.234"), undefined],
    [partsOf(available, "1.234,56"), undefined],
    [partsOf(available, "--1"), undefined],
    [partsOf(available, { valor: "1.00" }), undefined],
    [partsOf(available, 1e300), undefined],
    [partsOf(available, null), undefined],
    [{}, undefined],
    [[], undefined],
    ["1.00", undefined]
  ] as const)("an answer: %j", ([body, cents]) =>
    Effect.gen(function* () {
      const machine = machineOf(profile)
      const found = yield* asked(profile, machine, answering(machine, body))
      if (cents !== undefined) assert.deepStrictEqual(found, Result.succeed(cents))
      else assert.strictEqual(Result.isFailure(found) && found.failure._tag, "Unclear")
    })
  )
})
