/** The deadlines of disputes that a bank lists. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { ReportedDispute } from "../../src/providers/Acquirer.ts"
import { Reports } from "../../src/reports/Reports.ts"
import {
  connectedBank,
  connectedServiceLayer,
  notificationsOf,
  payAll,
  pendingCharges,
  sweepNow
} from "../support/ConnectedBank.ts"
import { newPix } from "../support/Exceptions.ts"
import { assertLedgerHolds, eventStatusesOf } from "../support/Money.ts"

const DAY_MS = 86_400_000

layer(connectedServiceLayer(), { excludeTestServices: true })("The deadline of a MED", (it) => {
  it.effect("DSP-6: that the bank gives or moves after the first listing is the dispute's, until it is decided", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank({ profile: "efi" })
      const sql = yield* SqlClient
      const reports = yield* Reports
      const charges = yield* pendingCharges(bank, 2, 3000)
      const paid = payAll(bank, charges)
      yield* sweepNow(bank)
      const openedAtMs = (yield* Clock.currentTimeMillis) - DAY_MS
      const days = (count: number) => openedAtMs + count * DAY_MS
      const [first, second] = paid.map(({ endToEndId }) => ({
        externalId: newPix(),
        endToEndId,
        key: null,
        amount: 3000,
        status: "open" as ReportedDispute["status"],
        reason: "fraud",
        openedAtMs,
        defenseDeadlineAtMs: null as number | null
      }))
      /** The deadline that each dispute has by then, in days after the opening. */
      const listed = (...page: ReadonlyArray<ReportedDispute>) =>
        Effect.gen(function* () {
          yield* reports.disputes(bank.connectionId, page)
          const rows = yield* sql<{ at: Date }>`
            SELECT defense_deadline_at AS at FROM disputes WHERE connection_id = ${bank.connectionId}::uuid
            ORDER BY external_id = ${second!.externalId}`
          return rows.map(({ at }) => (at.getTime() - openedAtMs) / DAY_MS)
        })
      assert.deepStrictEqual(yield* listed(first!, { ...second!, defenseDeadlineAtMs: days(5) }), [7, 5])
      const recorded = yield* notificationsOf(bank)
      const given = { ...first!, defenseDeadlineAtMs: days(2) }
      assert.deepStrictEqual(yield* listed(given, { ...second!, defenseDeadlineAtMs: days(4) }), [2, 4])
      assert.deepStrictEqual(yield* listed(given), [2, 4])
      // A listing without one, or with one that cannot be read, takes none away.
      assert.deepStrictEqual(yield* listed(first!, second!), [2, 4])
      const [{ id } = { id: "" }] = yield* sql<{ id: string }>`
        SELECT id FROM disputes WHERE external_id = ${first!.externalId}`
      yield* sql`UPDATE disputes SET status = 'under_review' WHERE id = ${id}::uuid`
      assert.deepStrictEqual(yield* listed({ ...given, status: "under_review", defenseDeadlineAtMs: days(3) }), [3, 4])
      assert.strictEqual(yield* notificationsOf(bank), recorded)
      assert.deepStrictEqual(yield* eventStatusesOf(id), ["dispute.pix.opened open"])
      assert.deepStrictEqual(yield* listed({ ...given, status: "won", defenseDeadlineAtMs: days(6) }), [3, 4])
      assert.deepStrictEqual(yield* listed({ ...given, defenseDeadlineAtMs: days(6) }), [3, 4])
      yield* assertLedgerHolds
    })
  )
})
