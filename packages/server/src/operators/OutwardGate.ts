/**
 * Opens this process to the outside: at once, never (`OUTWARD=off`), or once an operator has confirmed a copied database.
 *
 * Guarantees:
 * - The installation keeps the identifier of the database cluster of its first start. A start on another cluster (a copy, a logical
 *   restore, `pg_upgrade`) is closed until an operator confirms, and then opens in every process without a restart.
 * - A standby that takes over has the identifier of its primary: nothing is to be confirmed. So has a physical copy, which only
 *   `OUTWARD=off` keeps closed.
 *
 * Rules: OPR-222, OPR-223.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { Outward, type OutwardState } from "../base/Outward.ts"
import { Settings } from "../base/Settings.ts"
import { orUnavailable } from "../database/Unavailable.ts"
import { clusterIdentifier, isAnotherCluster } from "./Installation.ts"

export const layer = Layer.effect(
  Outward,
  Effect.gen(function* () {
    const { outward } = yield* Settings
    const sql = yield* SqlClient
    yield* sql.unsafe(
      `UPDATE installation_settings SET system_identifier = ${clusterIdentifier} WHERE id AND system_identifier IS NULL`
    )
    if (outward === "off") {
      yield* Effect.logWarning(
        "OUTWARD=off: nobody is called. Nothing is ordered, submitted, swept or delivered; callbacks and creations are answered 503"
      )
      return gate(() => "off", Effect.never)
    }
    const isCopy = Effect.map(
      sql.unsafe<{ readonly is_copy: boolean }>(
        `SELECT ${isAnotherCluster} AS is_copy FROM installation_settings WHERE id`
      ),
      ([row]) => row?.is_copy === true
    )
    if (!(yield* isCopy)) return gate(() => "on", Effect.void)
    yield* Effect.logError(
      "the database is a copy, or was restored into another cluster: nobody is called until an operator confirms it with POST /operator/v1/installation/confirm-outward. Read docs/operations/backup-restore.md first"
    )
    const opened = Latch.makeUnsafe()
    let state: OutwardState = "unconfirmed"
    const look = Effect.gen(function* () {
      if (yield* orUnavailable(isCopy)) return 0
      yield* Effect.logWarning("an operator has confirmed this database: others are called from now on")
      state = "on"
      opened.openUnsafe()
      return 0
    })
    yield* Effect.forkScoped(
      Effect.raceFirst(BackgroundLoop.run("outward", look, Effect.sleep("2 seconds")), opened.await)
    )
    return gate(() => state, opened.await)
  })
)

const gate = (state: () => OutwardState, opened: Effect.Effect<void>) => ({ state, opened })
