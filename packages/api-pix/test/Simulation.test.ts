import { assert, describe, it } from "@effect/vitest"
import { WRONG_ANSWERS, REQUEST_FAULTS } from "@pix-payments/psp-double/Faults"
import { makePspMachine } from "@pix-payments/psp-double/http/PspMachine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as TestClock from "effect/testing/TestClock"
import { makeApiPixClient } from "../src/ApiPixClient.ts"
import { makeConnection } from "../src/Connection.ts"
import { makePayouts } from "../src/PayoutRails.ts"
import * as profiles from "../src/Profiles.ts"
import type { Transport, TransportRequest } from "../src/Transport.ts"
import { machineTransport, uncheckedCredentials } from "./support/MachineTransport.ts"

const START_MS = 1_790_000_000_000
const ORDERS = 3

const storm = Object.fromEntries([
  ...REQUEST_FAULTS.map((fault) => [fault, 0.04]),
  ...WRONG_ANSWERS.map((wrong) => [wrong, 0.01])
])

/** Orders three charges, returns and payouts, each until its outcome is certain, with faults by seed. */
const history = (seed: number) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    yield* TestClock.setTime(START_MS)
    const machine = makePspMachine({
      now: () => clock.currentTimeMillisUnsafe(),
      seed,
      profile: "efi",
      faults: storm,
      settings: { openingCents: 10_000 }
    })
    const { provider, profile } = machine
    const requests: Array<TransportRequest> = []
    const transport: Transport = (request) => {
      requests.push(request)
      return machineTransport(machine)(request)
    }
    const connection = yield* makeConnection({
      profile: { ...profiles.efi, headers: { "x-correlationid": "correlation-id" } },
      credentials: uncheckedCredentials(machine.clientId, machine.clientSecret),
      baseUrl: `https://double${profile.basePath}`,
      tokenUrl: `https://double${profile.tokenPath}`,
      transport
    })
    const client = makeApiPixClient(connection)
    const payouts = makePayouts(connection)!
    const key = provider.settings.keys[0]!
    const payout = {
      cents: 100,
      payerKey: key,
      payee: { key: "ana@example.com" },
      reference: undefined,
      keepReference: () => Effect.void
    }
    const untilDone = <A, E>(order: Effect.Effect<A, E>) =>
      Effect.retry(Effect.andThen(Effect.sleep("1 second"), order), { times: 200 })

    const orders = Effect.gen(function* () {
      for (let n = 0; n < ORDERS; n += 1) {
        const txid = `${n}`.padStart(26, "c")
        yield* untilDone(client.emit({ txid, cents: 1000, key, expiresInSeconds: 60 }))
        const { endToEndId } = provider.receipts.receive({ key, cents: 1000, txid })
        yield* untilDone(client.returnPix({ endToEndId, id: "r1", cents: 400 }))
        yield* untilDone(payouts.send({ ...payout, id: `p${n}` }))
      }
    })
    const running = yield* Effect.forkChild(orders)
    while (running.pollUnsafe() === undefined) yield* TestClock.adjust("1 second")
    yield* Fiber.join(running)
    machine.settleDue()
    return { machine, requests }
  }).pipe(Effect.scoped, Random.withSeed(`${seed}`), (simulated) =>
    Effect.scoped(Effect.flatMap(TestClock.make(), (clock) => Effect.provideService(simulated, Clock.Clock, clock)))
  )

describe("without a socket", () => {
  it.effect(
    "100 seeds of faults and wrong answers: everything is done once, and every request keeps the contract",
    () =>
      Effect.gen(function* () {
        for (let seed = 1; seed <= 100; seed += 1) {
          const { machine } = yield* history(seed)
          const { provider, api } = machine
          assert.deepStrictEqual([api.violations, api.defects], [[], []], `seed ${seed}`)
          assert.strictEqual(provider.balanceCents(), 10_000 + ORDERS * (1000 - 400 - 100), `seed ${seed}`)
        }
      })
  )

  it.effect("the same seed is the same history, to the correlation ids and the delays of retries", () =>
    Effect.gen(function* () {
      const trace = (seed: number) =>
        Effect.map(history(seed), ({ requests }) =>
          requests.map(({ method, url, headers }) => `${method} ${url} ${headers["x-correlationid"]}`)
        )
      const first = yield* trace(5)
      assert.match(first[1]!, / [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.deepStrictEqual(yield* trace(5), first)
      assert.notDeepEqual(yield* trace(6), first)
    })
  )
})
