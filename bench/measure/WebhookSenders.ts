/**
 * The contenders of the delivery job: our service, a simple worker, and the limit.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { fileURLToPath } from "node:url"
import { earlierCheckout } from "./Contenders.ts"
import { migrate, withDatabase } from "./Database.ts"
import { startEmptyServer, type StartOptions } from "./OurServer.ts"
import { type BenchError, type Child, spawnNode } from "./Processes.ts"

export interface WebhookSender {
  readonly name: string
  readonly description: string
  /** Its part of the deliveries of a turn, so that turns take about the same time. */
  readonly share: number
  /** Where it gets deliveries from: rows that fall due, or one message. */
  readonly source: "rows" | "message"
  readonly start: (options: StartOptions) => Effect.Effect<Child, BenchError, Scope.Scope>
}

const allowLoopback = { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" }

const peerPath = (file: string): string => fileURLToPath(new URL(`../peers/${file}`, import.meta.url))

const pixPayments: WebhookSender = {
  name: "pix-payments",
  description: "packages/server/dist/main.js with its default settings, loopback allowed",
  share: 1,
  source: "rows",
  start: (options) => Effect.map(startEmptyServer(options, allowLoopback), ({ child }) => child)
}

const pixPaymentsBefore: ReadonlyArray<WebhookSender> =
  earlierCheckout === undefined
    ? []
    : [
        {
          name: "pix-payments before",
          description: "the same from the checkout that BENCH_BEFORE names",
          share: 1,
          source: "rows",
          start: (options) =>
            Effect.map(startEmptyServer(options, allowLoopback, earlierCheckout), ({ child }) => child)
        }
      ]

const oneAtATime: WebhookSender = {
  name: "one at a time",
  description: "a loop with fetch and pg: one row, one POST, one record (peers/one-at-a-time.ts)",
  share: 0.1,
  source: "rows",
  start: Effect.fnUntraced(function* ({ databaseUrl, nodeArgs }) {
    yield* migrate(databaseUrl)
    // The index of its claim, in place of ours.
    yield* withDatabase(databaseUrl, (database) =>
      database.query(`DROP INDEX deliveries_first_places, deliveries_repeated_places;
        CREATE INDEX deliveries_due ON deliveries (due_at) WHERE status IN ('scheduled', 'delivering')`)
    )
    return yield* spawnNode("one at a time", [...nodeArgs, peerPath("one-at-a-time.ts")], { DATABASE_URL: databaseUrl })
  })
}

const plainUndici: WebhookSender = {
  name: "plain undici",
  description: "the limit: the same POSTs, 64 at once over one undici Pool, no database (peers/plain-undici.ts)",
  share: 5,
  source: "message",
  start: ({ nodeArgs }) => spawnNode("plain undici", [...nodeArgs, peerPath("plain-undici.ts")], {}, "ipc")
}

/** Ratios are to the first one. */
export const webhookSenders: readonly [WebhookSender, ...Array<WebhookSender>] = [
  oneAtATime,
  pixPayments,
  ...pixPaymentsBefore,
  plainUndici
]
