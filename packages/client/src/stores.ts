/**
 * Stores for `webhookReceiver`, for any number of processes: in your PostgreSQL, or in your Redis. They take your own client, and
 * import nothing.
 *
 * Guarantees:
 * - A delivery has at most one claim at a time. A claim expires after 30 seconds, before the service's first retry (DLV-3): that of a
 *   process that died, and that of an attempt that took longer.
 * - A delivery that was handled stays handled, also if an attempt that took longer than its claim fails afterwards.
 *
 * @module
 */
import type { Claim, DeliveryStore } from "./receiver.ts"

export type { Claim, ClaimedDelivery, DeliveryStore } from "./receiver.ts"

/** A pool or client of `pg`, or anything with the same `query`. */
export interface Queryable {
  /** Runs a statement with its parameters. */
  query(text: string, values?: Array<unknown>): Promise<{ readonly rows: ReadonlyArray<{ readonly claim?: string }> }>
}

/**
 * The tables of `postgresStore`: run it in a migration. Delete rows of `webhook_deliveries` after a few days: the service stops
 * retrying after 22 hours.
 */
export const postgresTables = `
  CREATE TABLE IF NOT EXISTS webhook_deliveries (
    id text PRIMARY KEY,
    handled boolean NOT NULL DEFAULT false,
    claimed_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE IF NOT EXISTS webhook_resources (id text PRIMARY KEY, sequence bigint NOT NULL)`

/**
 * A store in PostgreSQL, in the tables of `postgresTables`.
 *
 * @example
 * ```ts
 * import { webhookReceiver } from "@pix-payments/client/receiver"
 * import { postgresStore, type Queryable } from "@pix-payments/client/stores"
 *
 * declare const pool: Queryable // new Pool() of pg
 *
 * export const receive = webhookReceiver({
 *   secrets: process.env["WEBHOOK_SECRET"],
 *   store: postgresStore(pool),
 *   on: { "charge.pix.paid": ({ data }) => console.log(data.reference) }
 * })
 * ```
 */
export const postgresStore = (database: Queryable): DeliveryStore => ({
  claim: async ({ id, resource, sequence }) => {
    const { rows } = await database.query(CLAIM, [id, resource, sequence])
    // No row: another process inserted the delivery during this statement.
    return (rows[0]?.claim ?? "busy") as Claim
  },
  release: async ({ id }, isHandled) => {
    await database.query(
      isHandled
        ? "UPDATE webhook_deliveries SET handled = true WHERE id = $1"
        : "DELETE FROM webhook_deliveries WHERE id = $1 AND NOT handled",
      [id]
    )
  }
})

const CLAIM = `
  WITH claimed AS (
    INSERT INTO webhook_deliveries (id) VALUES ($1)
    ON CONFLICT (id) DO UPDATE SET claimed_at = now()
      WHERE NOT webhook_deliveries.handled AND webhook_deliveries.claimed_at < now() - interval '30 seconds'
    RETURNING id
  ), latest AS (
    INSERT INTO webhook_resources (id, sequence) SELECT $2, $3::bigint FROM claimed
    ON CONFLICT (id) DO UPDATE SET sequence = greatest(webhook_resources.sequence, excluded.sequence)
    RETURNING sequence
  )
  SELECT CASE WHEN sequence > $3::bigint THEN 'stale' ELSE 'new' END AS claim FROM latest
  UNION ALL
  SELECT CASE WHEN handled THEN 'done' ELSE 'busy' END FROM webhook_deliveries
    WHERE id = $1 AND NOT EXISTS (SELECT FROM claimed)`

/** Sends a command to Redis 6.2 or later, or to a server that speaks its protocol, and resolves to the reply. */
export type RedisSend = (command: Array<string>) => Promise<unknown>

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /** The beginning of each key. Default: `webhooks:`. */
  readonly prefix?: string | undefined
}

/**
 * A store in Redis or Valkey. Its keys expire by themselves, a week after their last use. A server that may lose its data, or evict keys
 * that have not expired, may let a delivery be handled twice.
 *
 * @example
 * ```ts
 * import { webhookReceiver } from "@pix-payments/client/receiver"
 * import { redisStore, type RedisSend } from "@pix-payments/client/stores"
 *
 * declare const redis: { sendCommand: RedisSend } // createClient() of redis, connected
 *
 * export const receive = webhookReceiver({
 *   secrets: process.env["WEBHOOK_SECRET"],
 *   // ioredis: ([name = "", ...rest]) => redis.call(name, ...rest)
 *   store: redisStore((command) => redis.sendCommand(command)),
 *   on: { "charge.pix.paid": ({ data }) => console.log(data.reference) }
 * })
 * ```
 */
export const redisStore = (send: RedisSend, { prefix = "webhooks:" }: RedisStoreOptions = {}): DeliveryStore => {
  const handled = (id: string) => `${prefix}handled:${id}`
  const busy = (id: string) => `${prefix}busy:${id}`
  return {
    claim: async ({ id, resource, sequence }) => {
      const isClaimed = (await send(["SET", busy(id), "1", "NX", "EX", "30"])) !== null
      // Read after the claim: whoever handled it meanwhile had written it before its claim ended.
      if ((await send(["GET", handled(id)])) !== null) return "done"
      if (!isClaimed) return "busy"
      const latest = `${prefix}latest:${resource}`
      await send(["ZADD", latest, "GT", `${sequence}`, "sequence"])
      await send(["EXPIRE", latest, WEEK])
      return Number(await send(["ZSCORE", latest, "sequence"])) > sequence ? "stale" : "new"
    },
    release: async ({ id }, isHandled) => {
      if (isHandled) await send(["SET", handled(id), "1", "EX", WEEK])
      await send(["DEL", busy(id)])
    }
  }
}

const WEEK = "604800"
