/** Balances that banks say by API, beside those of the books. */
import { assert, layer } from "@effect/vitest"
import type { Reconciliation } from "@pix-payments/api/operator/Reconciliations"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { bacen, inter } from "@pix-payments/psp-double/http/Profiles"
import type { PspDoubleOptions } from "@pix-payments/psp-double/PspDouble"
import { bankDay } from "@pix-payments/psp-double/statement/StatementFile"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TODAY } from "../../src/database/statements/Days.ts"
import { BankBalances } from "../../src/statements/BankBalances.ts"
import { ReconciliationStore } from "../../src/statements/ReconciliationStore.ts"
import { startDouble } from "../support/Bank.ts"
import { connectedServiceLayer, sweepNow } from "../support/ConnectedBank.ts"
import { connectTo, operatorCredentials } from "../support/Connections.ts"
import { operated } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"

const DAY_MS = 86_400_000

let doubles = 700

const connected = Effect.fnUntraced(function* (profile: "efi" | "inter", options: PspDoubleOptions = {}) {
  const double = yield* startDouble({
    seed: ++doubles,
    ...(profile === "efi" ? { profile } : { variant: inter }),
    settings: { openingCents: 100_000 },
    ...options
  })
  const credentials = { ...operatorCredentials(double), ...(profile === "inter" && { current_account: "1" }) }
  const { id: connectionId } = yield* connectTo(double, { profile, credentials })
  const sql = yield* SqlClient
  yield* sql`UPDATE acquirer_connections SET created_at = now() - interval '40 days' WHERE id = ${connectionId}::uuid`
  return { double, connectionId }
})

/** Yesterday's row, after a reading. */
const readAgain = (connectionId: string) =>
  Effect.gen(function* () {
    const day = bankDay((yield* Clock.currentTimeMillis) - DAY_MS - 600_000)
    const asked = yield* operated<Reconciliation>("POST", "/reconciliations", { connection_id: connectionId, day }, 202)
    return yield* eventually(
      operated<Reconciliation>("GET", `/reconciliations/${asked.id}`),
      ({ status }) => status !== "requested"
    )
  })

const figuresOf = ({ balance }: Reconciliation) =>
  balance && [balance.bank, balance.books, balance.difference, balance.change]

layer(connectedServiceLayer(), { excludeTestServices: true })("balances of banks", (it) => {
  it.effect("OPR-281: the simulator says no balance, and that is no problem", () =>
    Effect.gen(function* () {
      assert.isNull((yield* readAgain(SIMULATOR_CONNECTION)).balance)
    })
  )

  for (const profile of ["efi", "inter"] as const) {
    it.effect(
      `OPR-280, OPR-281: what ${profile} has is compared with the books each night; what changed is shown and counted as unmatched`,
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const { connectionId, double } = yield* connected(profile)
          yield* (yield* BankBalances).requestNightly
          const [night] = yield* eventually(
            Effect.map(
              operated<{ data: ReadonlyArray<Reconciliation> }>(
                "GET",
                `/reconciliations?connection_id=${connectionId}`
              ),
              ({ data }) => data.filter(({ status }) => status !== "requested")
            ),
            ({ length }) => length === 1
          )
          assert.deepStrictEqual(figuresOf(night!), [100_000, 0, 100_000, null])
          // Without a statement only the balance is known.
          assert.strictEqual(night!.reason, "no statement of the bank has this day")

          // Another night: 42.00 arrived and is known, 7.00 is not yet.
          yield* sql`UPDATE reconciliations SET day = day - 9 WHERE id = ${night!.id}::uuid`
          double.provider.receipts.receive({ key: double.key, cents: 4200 })
          yield* sweepNow({ connectionId })
          yield* sql`UPDATE acquirer_connections SET due_at = now() + interval '1 minute' WHERE id = ${connectionId}::uuid`
          double.provider.receipts.receive({ key: double.key, cents: 700 })
          const before = yield* readAgain(connectionId)
          assert.deepStrictEqual(figuresOf(before), [104_900, 4200, 100_700, 700])
          const { unmatched } = yield* ReconciliationStore
          const young = yield* unmatched
          assert.deepStrictEqual([young.lines, young.cents], [1, 700])
          assert.isBelow(young.oldestSeconds, 86_400 + 600)
          // A day later the gauges still have it, now for longer than a day. The night after, it is money of the owner.
          const isOfDay = (day: string) =>
            sql`UPDATE reconciliations SET day = ${sql.literal(day)} WHERE id = ${before.id}::uuid`
          const isOldAs = (days: number) =>
            sql`UPDATE acquirer_connections SET created_at = now() - ${days}::integer * interval '1 day'
                WHERE id = ${connectionId}::uuid`
          // The service's own night asks for nothing of a new connection.
          yield* isOldAs(0)
          yield* isOfDay(`${TODAY} - 2`)
          const old = yield* unmatched
          assert.deepStrictEqual([old.lines, old.cents], [1, 700])
          assert.isAtLeast(old.oldestSeconds, 86_400)
          yield* isOfDay(`${TODAY} - 3`)
          assert.deepStrictEqual(yield* unmatched, { lines: 0, cents: 0, oldestSeconds: 0 })
          yield* isOfDay(`'${before.day}'::date`)
          yield* isOldAs(40)
          const dueIn = yield* sql<{ hours: number }>`
          SELECT round(extract(epoch FROM due_at - now()) / 3600)::integer AS hours FROM reconciliations WHERE id = ${before.id}::uuid`
          assert.deepStrictEqual(
            dueIn.map(({ hours }) => hours),
            [1]
          )
          yield* sweepNow({ connectionId })
          assert.deepStrictEqual(figuresOf(yield* readAgain(connectionId)), [104_900, 4900, 100_000, 0])
          assert.deepStrictEqual(yield* unmatched, { lines: 0, cents: 0, oldestSeconds: 0 })
          // It is read: the night has no more to do.
          yield* (yield* BankBalances).requestNightly
          const open = yield* sql`
          SELECT FROM reconciliations WHERE connection_id = ${connectionId}::uuid AND status = 'requested'`
          assert.lengthOf(open, 0)
        })
    )

    it.effect.each([
      ["unreadable-amount", /cannot be read/],
      ["hang", /no answer|time/],
      ["html", /status 502/]
    ] as const)(`OPR-281: %s of ${profile} is a problem with its reason, and no balance`, ([fault, reason]) =>
      Effect.gen(function* () {
        const { connectionId, double } = yield* connected(profile)
        const end = double.faults.always(fault, { path: /\/saldo$/ })
        const { balance } = yield* readAgain(connectionId)
        assert.deepStrictEqual([balance?.bank, balance?.difference], [null, null])
        assert.match(balance?.problem ?? "", reason)
        end()
        assert.deepStrictEqual(figuresOf(yield* readAgain(connectionId)), [100_000, 0, 100_000, null])
      })
    )

    it.effect(`OPR-281: a token of ${profile} without the scope reads no balance, and does everything else`, () =>
      Effect.gen(function* () {
        const { connectionId, double } = yield* connected(profile, {
          scopes: [...bacen.scopes, "pix.send", "gn.pix.send.read", "pagamento-pix.write", "pagamento-pix.read"]
        })
        const { balance } = yield* readAgain(connectionId)
        assert.match(balance?.problem ?? "", /ScopeMissing|scope/i)
        double.provider.receipts.receive({ key: double.key, cents: 100 })
        yield* sweepNow({ connectionId })
        const { data } = yield* operated<{ data: ReadonlyArray<unknown> }>(
          "GET",
          `/connections/${connectionId}/transactions`
        )
        assert.lengthOf(data, 1)
      })
    )
  }
})
