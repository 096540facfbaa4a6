/**
 * The acquirer of the installation: that of its first start.
 *
 * Guarantee: no start makes real money of simulated money, or the other way round: another acquirer is refused while a charge,
 * payout or transfer of the first one exists.
 *
 * Rules: OPR-221.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { Settings } from "../base/Settings.ts"
import { withReportPlanner } from "../database/Database.ts"

/** The installation has another acquirer. */
export class AnotherAcquirer extends Schema.TaggedError<AnotherAcquirer>()("AnotherAcquirer", {
  message: Schema.String
}) {}

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { acquirer } = yield* Settings
    yield* sql`UPDATE installation_settings SET acquirer = ${acquirer} WHERE id AND acquirer IS NULL`
    const [row] = yield* sql<{ acquirer: string }>`SELECT acquirer FROM installation_settings WHERE id`
    if (row === undefined || row.acquirer === acquirer) return
    const { find, mixing, of } = row.acquirer === "simulator" ? simulated : real
    const [{ exists } = { exists: true }] = yield* withReportPlanner(
      sql.unsafe<{ readonly exists: boolean }>(`SELECT ${find} AS exists`)
    )
    if (exists) {
      return yield* new AnotherAcquirer({
        message:
          `This installation began with ACQUIRER=${row.acquirer}, and has charges or transfers of ${of}. ` +
          `ACQUIRER=${acquirer} would ${mixing}. Start it with ACQUIRER=${row.acquirer}, or begin with another database.`
      })
    }
    yield* sql`UPDATE installation_settings SET acquirer = ${acquirer} WHERE id`
    yield* Effect.logWarning(`the acquirer of this installation was ${row.acquirer}, and is ${acquirer} from now on`)
  })
)

const simulated = {
  of: "the simulator",
  mixing: "mix them with real money",
  // Of an account that has a connection, a payout has none before it is sent.
  find: `EXISTS (SELECT FROM charges WHERE connection_id IS NULL)
    OR EXISTS (SELECT FROM payouts WHERE connection_id IS NULL AND processed_at IS NOT NULL)
    OR EXISTS (SELECT FROM ledger_transfers WHERE account_id = '${SIMULATOR_CONNECTION}' AND position > 0)`
}

const real = {
  of: "banks",
  mixing: "settle them without money",
  find: `EXISTS (SELECT FROM charges WHERE connection_id IS NOT NULL)
    OR EXISTS (SELECT FROM payouts WHERE connection_id IS NOT NULL)
    OR EXISTS (
      SELECT FROM acquirer_connections c JOIN ledger_transfers t ON t.account_id = c.id AND t.position > 0
      WHERE c.id <> '${SIMULATOR_CONNECTION}'
    )`
}
