/**
 * Channels that alert operators: e-mail, a signed webhook, Slack.
 *
 * Guarantees:
 * - A secret, and the URL of Slack, are sealed, and never returned.
 * - A URL may be called as a webhook's may (URL-1 to URL-6), at its registration and at each attempt.
 * - At most `MAX_CHANNELS`.
 *
 * Rules: OPR-315, OPR-316.
 */
import type { CreateAlertChannel, UpdateAlertChannel } from "@pix-payments/api/operator/AlertChannels"
import type { AlertChannelKind } from "@pix-payments/domain/Alert"
import { Email } from "@pix-payments/domain/Customer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { InvalidStateError, NotFoundError, RequestRefused, type UnknownCursor } from "../base/Errors.ts"
import { Ids } from "../base/Ids.ts"
import { PublicAddress } from "../base/network/PublicAddress.ts"
import { Secrets } from "../base/Secrets.ts"
import { Settings } from "../base/Settings.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { type Page, readPage } from "../database/statements/Paging.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"

export interface AlertChannelRow {
  readonly id: string
  readonly name: string
  readonly kind: AlertChannelKind
  readonly target: string
  readonly events: ReadonlyArray<string>
  /** `22:00:00`. */
  readonly quiet_from: string | null
  readonly quiet_until: string | null
  readonly active: boolean
  readonly has_secret: boolean
  readonly last_sent_at: Date | null
  readonly last_error: string | null
  readonly created_at: Date
}

type Audited<R> = (row: AlertChannelRow) => Effect.Effect<void, SqlError, R>

export class AlertChannels extends Context.Service<
  AlertChannels,
  {
    /** `audited` runs in the transaction of the change. */
    readonly create: <R>(
      input: CreateAlertChannel,
      audited: Audited<R>
    ) => Effect.Effect<AlertChannelRow, RequestRefused | InvalidStateError | Unavailable, R>
    readonly update: <R>(
      id: string,
      changes: UpdateAlertChannel,
      audited: Audited<R>
    ) => Effect.Effect<AlertChannelRow, NotFoundError | RequestRefused | Unavailable, R>
    readonly remove: <R>(id: string, audited: Audited<R>) => Effect.Effect<void, NotFoundError | Unavailable, R>
    /** Stores a test message, which quiet hours do not hold back. */
    readonly test: (id: string) => Effect.Effect<AlertChannelRow, NotFoundError | Unavailable>
    readonly get: (id: string) => Effect.Effect<AlertChannelRow, NotFoundError | Unavailable>
    readonly list: (page: Page) => Effect.Effect<ReadonlyArray<AlertChannelRow>, UnknownCursor | Unavailable>
  }
>()("@pix-payments/server/AlertChannels") {
  static readonly layer = Layer.effect(
    AlertChannels,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const secrets = yield* Secrets
      const addresses = yield* PublicAddress
      const { smtpUrl } = yield* Settings

      const check = Effect.fnUntraced(function* (id: string, kind: AlertChannelKind, target: string) {
        if (kind === "email" && Option.isNone(smtpUrl)) return yield* refused("kind")
        const isGood = kind === "email" ? isEmail(target) : yield* addresses.mayReceive(target, id)
        if (!isGood) return yield* refused("target")
      })
      /** Target and secret as they are stored: the URL of Slack is a secret. */
      const stored = (id: string, kind: AlertChannelKind, target: string, secret: string | null | undefined) => {
        const sealed = kind === "slack" ? target : secret
        return {
          target: kind === "slack" ? (URL.parse(target)?.origin ?? "") : target,
          secret: typeof sealed === "string" ? secrets.seal(sealed, { kind: "alert-channel", id }) : sealed
        }
      }
      const found = Effect.fnUntraced(function* (id: string, lock: "" | "FOR UPDATE") {
        const [row] = yield* sql.unsafe<AlertChannelRow>(
          `SELECT ${columns} FROM alert_channels WHERE id = $1::uuid AND deleted_at IS NULL ${lock}`,
          [id]
        )
        return row ?? (yield* new NotFoundError())
      })

      return AlertChannels.of({
        create: Effect.fn("AlertChannels.create")(function* <R>(input: CreateAlertChannel, audited: Audited<R>) {
          const { events, kind, name, quiet_hours: quiet } = input
          const { id } = ids.next()
          if (kind !== "webhook" && typeof input.secret === "string") return yield* refused("secret")
          yield* check(id, kind, input.target)
          const { secret = null, target } = stored(id, kind, input.target, input.secret)
          return yield* Effect.gen(function* () {
            const [row] = yield* sql.unsafe<AlertChannelRow>(
              `INSERT INTO alert_channels (id, name, kind, target, secret, events, quiet_from, quiet_until, created_at)
               SELECT $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text[], $7::time, $8::time, now()
               WHERE (SELECT count(*) FROM alert_channels WHERE deleted_at IS NULL) < ${MAX_CHANNELS}
               RETURNING ${columns}`,
              [id, name, kind, target, secret, arrayOf(events), quiet?.from ?? null, quiet?.until ?? null]
            )
            if (row === undefined) return yield* new InvalidStateError({ status: "full" })
            yield* audited(row)
            return row
          }).pipe(sql.withTransaction, runToCompletion(sql))
        }),
        update: Effect.fn("AlertChannels.update")(function* <R>(
          id: string,
          changes: UpdateAlertChannel,
          audited: Audited<R>
        ) {
          const before = yield* orUnavailable(found(id, ""))
          if (before.kind !== "webhook" && changes.secret !== undefined) return yield* refused("secret")
          if (changes.target !== undefined) yield* check(id, before.kind, changes.target)
          const { secret, target } =
            changes.target === undefined && before.kind === "slack"
              ? { secret: undefined, target: undefined }
              : stored(id, before.kind, changes.target ?? before.target, changes.secret)
          const { quiet_hours: quiet } = changes
          return yield* Effect.gen(function* () {
            yield* found(id, "FOR UPDATE")
            const [row] = yield* sql.unsafe<AlertChannelRow>(
              `UPDATE alert_channels SET name = coalesce($2::text, name), target = coalesce($3::text, target),
                 secret = CASE WHEN $4::boolean THEN $5::text ELSE secret END, events = coalesce($6::text[], events),
                 quiet_from = CASE WHEN $7::boolean THEN $8::time ELSE quiet_from END,
                 quiet_until = CASE WHEN $7::boolean THEN $9::time ELSE quiet_until END,
                 active = coalesce($10::boolean, active)
               WHERE id = $1::uuid RETURNING ${columns}`,
              [
                id,
                changes.name ?? null,
                target ?? null,
                secret !== undefined,
                secret ?? null,
                changes.events === undefined ? null : arrayOf(changes.events),
                quiet !== undefined,
                quiet?.from ?? null,
                quiet?.until ?? null,
                changes.active ?? null
              ]
            )
            if (row === undefined) return yield* new NotFoundError()
            yield* audited(before)
            return row
          }).pipe(sql.withTransaction, runToCompletion(sql))
        }),
        remove: Effect.fn("AlertChannels.remove")(function* <R>(id: string, audited: Audited<R>) {
          yield* Effect.gen(function* () {
            const row = yield* found(id, "FOR UPDATE")
            // What it had to say ends with it, and its secret goes.
            yield* sql`UPDATE alert_channels SET deleted_at = now(), active = false, secret = NULL WHERE id = ${id}::uuid`
            yield* sql`UPDATE alert_messages SET due_at = NULL WHERE channel_id = ${id}::uuid AND due_at IS NOT NULL`
            yield* sql`DELETE FROM alerts WHERE channel_id = ${id}::uuid`
            yield* audited(row)
          }).pipe(sql.withTransaction, runToCompletion(sql))
        }),
        test: Effect.fn("AlertChannels.test")(
          function* (id) {
            const row = yield* found(id, "")
            yield* sql`INSERT INTO alerts (channel_id, key, event, title, path, is_urgent)
              VALUES (${id}::uuid, ${`test:${ids.next().id}`}, 'test', 'A test of this channel', '/settings', true)`
            return row
          },
          sql.withTransaction,
          runToCompletion(sql)
        ),
        get: (id) => orUnavailable(found(id, "")),
        list: (page) =>
          readPage<AlertChannelRow>(
            { table: "alert_channels", columns, scope: [() => "deleted_at IS NULL"] },
            page
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
      })
    })
  )
}

export const MAX_CHANNELS = 20

const columns = `id, name, kind, target, events, quiet_from::text AS quiet_from, quiet_until::text AS quiet_until, active,
  secret IS NOT NULL AS has_secret, last_sent_at, last_error, created_at`

const isEmail = Schema.is(Email)

const refused = (field: string) => new RequestRefused({ code: "VALIDATION_ERROR", details: [field] })

/** Names of events have no character that an array would quote. */
const arrayOf = (names: ReadonlyArray<string>) => `{${names.join(",")}}`
