/**
 * The settings of the installation: one row.
 *
 * Guarantee: a change and its entry in the audit log are one commit, and the entry has the values that it replaced.
 *
 * Rules: OPR-120, OPR-223.
 */
import type { FourEyes } from "@pix-payments/domain/Installation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { ApprovalRequired, Authority, isAuthorized, isAutomaticallyOn, isFourEyesOn } from "./approvals/Authority.ts"
import { InvalidStateError } from "../base/Errors.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"

export interface InstallationSettings {
  readonly name: string
  readonly payouts_paused: boolean
  readonly charges_paused: boolean
  readonly four_eyes: FourEyes
  /** Whether four eyes is on now. */
  readonly four_eyes_on: boolean
  /** The time zone of days. */
  readonly timezone: string
  /** Whether the database is in another cluster than the one that was confirmed last. */
  readonly system_identifier_changed: boolean
}

export type InstallationChanges = Partial<Omit<InstallationSettings, "four_eyes_on" | "system_identifier_changed">>

/** The identifier of the cluster that the database is in, in SQL. */
export const clusterIdentifier = "(SELECT c.system_identifier::text FROM pg_control_system() c)"

/** Whether it is another one than that of `installation_settings`. */
export const isAnotherCluster = `(system_identifier <> ${clusterIdentifier}) IS TRUE`

export class Installation extends Context.Service<
  Installation,
  {
    readonly get: Effect.Effect<InstallationSettings, Unavailable>
    /** The settings, where `update` would not refuse these changes for their state. It reads only. */
    readonly getFor: (
      changes: InstallationChanges
    ) => Effect.Effect<InstallationSettings, InvalidStateError | Unavailable>
    /**
     * `audited` runs in the transaction of the change, with the settings before it. A change that switches four eyes off needs
     * the `Authority` around it.
     */
    readonly update: <R>(
      changes: InstallationChanges,
      audited: (before: InstallationSettings) => Effect.Effect<void, SqlError, R>
    ) => Effect.Effect<InstallationSettings, ApprovalRequired | InvalidStateError | Unavailable, R>
    /** Confirms that this database calls others. It needs the `Authority` around it. `audited` runs in its transaction. */
    readonly confirmOutward: <R>(
      audited: Effect.Effect<void, SqlError, R>
    ) => Effect.Effect<InstallationSettings, ApprovalRequired | InvalidStateError | Unavailable, R>
  }
>()("@pix-payments/server/Installation") {
  static readonly layer = Layer.effect(
    Installation,
    Effect.map(SqlClient, (sql) => {
      const read = (lock: "" | "FOR UPDATE") =>
        sql
          .unsafe<InstallationSettings>(`SELECT ${columns} FROM installation_settings WHERE id ${lock}`)
          .pipe(Effect.flatMap(([row]) => (row === undefined ? missing : Effect.succeed(row))))

      /** A transfer that was dated in the earlier zone keeps its day; a closed day has its bounds for good. */
      const assertTimezone = Effect.fnUntraced(function* (before: InstallationSettings, after: InstallationChanges) {
        if (after.timezone === undefined || after.timezone === before.timezone) return
        const closed = yield* sql`SELECT FROM closes LIMIT 1`
        if (closed.length > 0) return yield* new InvalidStateError({ status: "closed" })
      })

      return Installation.of({
        get: orUnavailable(read("")),
        getFor: (changes) => orUnavailable(Effect.tap(read(""), (before) => assertTimezone(before, changes))),
        update: (changes, audited) =>
          Effect.gen(function* () {
            const before = yield* read("FOR UPDATE")
            yield* assertTimezone(before, changes)
            const authority = yield* Authority
            const fourEyes = sql`coalesce(${changes.four_eyes ?? null}::text, four_eyes)`
            const changed = yield* sql`UPDATE installation_settings SET
              name = coalesce(${changes.name ?? null}::text, name),
              payouts_paused = coalesce(${changes.payouts_paused ?? null}::boolean, payouts_paused),
              charges_paused = coalesce(${changes.charges_paused ?? null}::boolean, charges_paused),
              timezone = coalesce(${changes.timezone ?? null}::text, timezone),
              four_eyes = ${fourEyes}
              WHERE id AND (${fourEyes} = 'on' OR ${fourEyes} = four_eyes
                OR (${fourEyes} = 'auto' AND ${sql.literal(isAutomaticallyOn)})
                OR ${isAuthorized(sql, authority, "installation.update", "NULL::uuid")})
              RETURNING id`
            if (changed.length === 0) return yield* new ApprovalRequired()
            yield* audited(before)
            return yield* read("")
          }).pipe(sql.withTransaction, runToCompletion(sql)),
        confirmOutward: (audited) =>
          Effect.gen(function* () {
            const { system_identifier_changed: isChanged } = yield* read("FOR UPDATE")
            if (!isChanged) return yield* new InvalidStateError({ status: "confirmed" })
            const authority = yield* Authority
            const confirmed =
              yield* sql`UPDATE installation_settings SET system_identifier = ${sql.literal(clusterIdentifier)}
              WHERE id AND ${isAuthorized(sql, authority, "installation.confirm_outward", "NULL::uuid")} RETURNING id`
            if (confirmed.length === 0) return yield* new ApprovalRequired()
            yield* audited
            return yield* read("")
          }).pipe(sql.withTransaction, runToCompletion(sql))
      })
    })
  )
}

const columns = `name, timezone, payouts_paused, charges_paused, four_eyes, ${isFourEyesOn} AS four_eyes_on,
  ${isAnotherCluster} AS system_identifier_changed`

const missing = Effect.die(new Error("installation_settings has no row"))
