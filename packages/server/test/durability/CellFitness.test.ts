/** An account that may not move to another cell stays where it is, and works there. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { undoMove } from "../../src/cells/AccountMove.ts"
import { CannotMove } from "../../src/cells/Fitness.ts"
import { startDouble } from "../support/Bank.ts"
import { accountAt, moved, startCell, sweepNow } from "../support/Cells.ts"
import { assertRefused, create, created } from "../support/ChargeRequests.ts"
import { assertLedgerHolds, operated } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("An account that may not move", (it) => {
  it.effect("OPR-391, OPR-392: does not move where something would stay behind, and says what", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* startCell("a"), yield* startCell("b")]
      const bank = yield* startDouble({ profile: "efi" })
      yield* Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const shared = yield* makeCaller()
        const own = yield* accountAt(bank)
        const refused = (accountId: string, to = b) =>
          Effect.map(Effect.flip(moved(a, to, accountId)), ({ message }) => message)
        assert.include(yield* refused(shared.accountId), "no connection of its own")
        assert.include(yield* refused(own.accountId, a), "of the cell a")
        yield* operated("PATCH", `/accounts/${shared.accountId}`, { connection_id: own.connectionId })
        assert.include(yield* refused(own.accountId), "Other accounts use the connection")
        yield* operated("PATCH", `/accounts/${shared.accountId}`, { connection_id: null })
        yield* created(own.key)
        yield* operated("PATCH", `/accounts/${own.accountId}`, { connection_id: null })
        yield* created(own.key)
        yield* operated("PATCH", `/accounts/${own.accountId}`, { connection_id: own.connectionId })
        assert.include(yield* refused(own.accountId), "charges of another connection")
        const second = yield* accountAt(bank, { pix_key: "segunda@example.com" })
        assert.include(yield* refused(second.accountId), "the same client of the bank")

        const move = (target: string) =>
          operate("POST", `/operator/v1/accounts/${shared.accountId}/move`, { body: { target } })
        assertRefused(yield* move("a"), "VALIDATION_ERROR", ["target"])
        const frozen = yield* operated<{ status: string; moved_to: string }>(
          "POST",
          `/accounts/${shared.accountId}/move`,
          { target: "b" },
          202
        )
        assert.deepInclude(frozen, { status: "moved", moved_to: "b" })
        assert.strictEqual((yield* move("b")).status, 202)
        assertRefused(yield* move("c"), "INVALID_STATE")
        assertRefused(
          yield* operate("PATCH", `/operator/v1/accounts/${shared.accountId}`, { body: { name: "B" } }),
          "SERVICE_UNAVAILABLE",
          ["b"]
        )
        assertRefused(yield* create(shared.key), "SERVICE_UNAVAILABLE")
        // Books that leave, or have left, are not taken for empty.
        for (const books of [
          `accounts/${shared.accountId}/transactions`,
          `accounts/${shared.accountId}/closes`,
          `accounts/${shared.accountId}/statement?from=2026-10-01&to=2026-10-31&format=csv`,
          `closes/2026-10/package?account_id=${shared.accountId}`
        ]) {
          assertRefused(yield* operate("GET", `/operator/v1/${books}`), "SERVICE_UNAVAILABLE", ["b"])
        }
        yield* moved(a, b, shared.accountId, undefined, undoMove)
        yield* created(shared.key)
      }).pipe(a.inside)
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-391, OPR-392: ends where an operator makes it unfit meanwhile", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* startCell("a"), yield* startCell("b")]
      const [bank, another] = [yield* startDouble({ profile: "efi" }), yield* startDouble({ profile: "efi" })]
      const [{ accountId, connectionId, key }, exceptionId] = yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const account = yield* accountAt(bank)
        yield* accountAt(another)
        another.provider.receipts.receive({ key: another.key, cents: 1234 })
        const [row] = yield* eventually(
          Effect.andThen(sweepNow, sql<{ id: string }>`SELECT id FROM acquirer_exceptions`),
          (rows) => rows.length === 1
        )
        return [account, row!.id] as const
      }).pipe(a.inside)
      const body = { action: "accept", account_id: accountId, reason: "they agreed" }
      const accept = TestService.use(({ operate }) =>
        operate("POST", `/operator/v1/exceptions/${exceptionId}/resolve`, { body })
      ).pipe(a.inside)
      const makeDefault = (isDefault: boolean) =>
        operated("PATCH", `/connections/${connectionId}`, { is_default: isDefault }).pipe(a.inside)
      /** Why a move ends during which this is done as soon as it says this. The account works here again then. */
      const endedBy = (word: string, meanwhile: Effect.Effect<unknown, CannotMove>) =>
        Effect.gen(function* () {
          const run = moved(a, b, accountId, (line) => (line.startsWith(word) ? Effect.asVoid(meanwhile) : Effect.void))
          const { message } = yield* Effect.flip(run)
          yield* moved(a, b, accountId, undefined, undoMove)
          yield* created(key).pipe(a.inside)
          return message
        })

      const refused = Effect.gen(function* () {
        assertRefused(yield* accept, "VALIDATION_ERROR", ["account_id"])
        return yield* new CannotMove({ message: "refused" })
      })
      assert.strictEqual(yield* endedBy("Frozen", refused), "refused")
      assert.include(yield* endedBy("Rows", makeDefault(true)), "default one")
      yield* makeDefault(false)
      assert.include(
        yield* endedBy("Rows", accept),
        "exceptions of another connection, which would stay behind. The account stays frozen"
      )
      yield* assertLedgerHolds.pipe(a.inside)
    }).pipe(Effect.scoped)
  )
})
