/** For each alert of `deploy/prometheus/rules.yml`: how its fault is put into a running installation. */
import { txidFromId } from "@pix-payments/domain/Txid"
import { bankDay, statementFile, tidy } from "@pix-payments/psp-double/statement/StatementFile"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { readFileSync } from "node:fs"
import * as Net from "node:net"
import { operatorCredentials } from "../../support/Connections.ts"
import { holding, somePayout } from "../../support/Money.ts"
import { asService, onServer } from "../../support/Postgres.ts"
import { eventually } from "../../support/Receiver.ts"
import { newKey } from "../../support/TestService.ts"
import {
  asked,
  charged,
  every,
  expecting,
  hold,
  type Installation,
  locked,
  paid,
  run,
  times,
  withEndpoint
} from "./FaultyInstallation.ts"

export interface Fault {
  readonly what: string
  readonly env?: Readonly<Record<string, string>>
  /** What Prometheus knows of before, as OpenMetrics, at this moment. */
  readonly history?: (nowMs: number) => string
  /** Its database archives its WAL, in vain. */
  readonly archives?: boolean
  /** Its role may not make partitions, and those of the next months are gone. */
  readonly lacksPartitions?: boolean
  /** Before Prometheus looks. */
  readonly prepare?: (installation: Installation) => Effect.Effect<unknown, unknown, Scope.Scope>
  readonly inject: (installation: Installation) => Effect.Effect<unknown, unknown, Scope.Scope>
  /** Until the expression may hold: an age, a window, the interval of a check. */
  readonly takesSeconds?: number
  /** Other alerts that the fault rightly raises. */
  readonly also?: ReadonlyArray<string>
}

/** Everything that was booked was booked days ago. */
const daysBack = (days: number) =>
  run(`DO $$ BEGIN
    SET LOCAL session_replication_role = replica;
    UPDATE ledger_transfers SET day = day - ${days};
    UPDATE ledger_accounts SET day = day - ${days}, open_day = open_day - ${days};
  END $$`)

export const faults: Readonly<Record<string, Fault>> = {
  PixDown: { what: "`kill -9`", inject: ({ service }) => Effect.sync(() => service.signal("SIGKILL")) },
  PixDatabase: {
    what: "the database takes no connections",
    inject: ({ url }) => {
      const name = new URL(Redacted.value(url)).pathname.slice(1)
      return Effect.andThen(
        onServer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`),
        onServer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
      )
    },
    takesSeconds: 15
  },
  PixDatabaseSlow: {
    what: "each answer of PostgreSQL takes 1.05 s",
    inject: ({ delayDatabase }) => Effect.sync(() => delayDatabase(1050)),
    takesSeconds: 15,
    // Queries then wait for connections as well.
    also: ["PixDatabase"]
  },
  PixOldTransaction: {
    what: "a transaction of the service's role stays open",
    inject: ({ url }) => hold(asService(url), "SELECT pg_current_xact_id()"),
    takesSeconds: 315
  },
  PixLoopStalled: {
    what: "a lock on the table that one loop writes",
    prepare: locked("charge_words", "EXCLUSIVE"),
    inject: charged,
    takesSeconds: 130
  },
  PixWorkerRestarted: {
    what: "`kill -9` of one of two workers",
    env: { PROCESSES: "2", DATABASE_CONNECTIONS: "4" },
    inject: ({ service: { pid } }) =>
      Effect.sync(() => {
        const [worker] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")
        process.kill(Number(worker), "SIGKILL")
      })
  },
  PixEventLoop: {
    what: "SIGSTOP for 1.2 s every 4 s",
    inject: ({ service }) =>
      every(
        2.8,
        Effect.andThen(
          Effect.sync(() => service.signal("SIGSTOP")),
          Effect.ensuring(
            Effect.sleep(1200),
            Effect.sync(() => service.signal("SIGCONT"))
          )
        )
      ),
    takesSeconds: 15
  },
  PixOutwardOff: { what: "`OUTWARD=off`", env: { OUTWARD: "off" }, inject: () => Effect.void },
  PixInternalErrors: {
    what: "a table is gone",
    prepare: run("ALTER TABLE bank_statements RENAME TO gone"),
    inject: ({ adminToken, operate }) =>
      operate("GET", "/operator/v1/bank-statements", { headers: { "x-operator-token": adminToken } })
  },
  PixUnavailable: {
    what: "a lock on the keys of creations",
    prepare: locked("idempotency_keys"),
    inject: (installation) => every(2, Effect.forkDetach(asked(installation))),
    takesSeconds: 30
  },
  PixChargesSlow: {
    what: "the keys of creations are locked for 2.5 s, again and again",
    inject: (installation) =>
      Effect.gen(function* () {
        yield* every(1, asked(installation))
        yield* every(1, Effect.andThen(locked("idempotency_keys")(installation), Effect.sleep(2500)))
      }),
    takesSeconds: 45
  },
  PixAccountShed: {
    what: "150 calls of one caller, of which 35 wait",
    env: { MAX_REQUESTS_IN_FLIGHT: "40" },
    prepare: locked("idempotency_keys"),
    inject: (installation) =>
      Effect.gen(function* () {
        yield* Effect.forkScoped(times(36, asked(installation)))
        yield* Effect.sleep(1000)
        yield* Effect.forEach(Array.from({ length: 150 }), () => asked(installation), { discard: true })
      }),
    takesSeconds: 15,
    also: ["PixUnavailable"]
  },
  PixConnectionsCut: {
    what: "80 connections where 20 are allowed",
    env: { MAX_CONNECTIONS: "20" },
    inject: ({ service }) =>
      Effect.acquireRelease(
        Effect.sync(() =>
          Array.from({ length: 80 }, () => {
            const socket = Net.connect(Number(new URL(service.publicUrl).port), "127.0.0.1")
            return socket.on("error", () => {})
          })
        ),
        (sockets) => Effect.sync(() => sockets.forEach((socket) => socket.destroy()))
      )
  },
  PixUnauthorized: {
    what: "150 calls with a wrong key",
    inject: ({ call }) => times(150, call("GET", "/v1/account", { key: "pk_live_wrong" }))
  },
  PixRateLimited: {
    what: "100 calls a minute where 20 are allowed",
    env: { RATE_LIMIT_PER_MINUTE: "20" },
    inject: ({ call, key }) => every(0.6, call("GET", "/v1/account", { key })),
    takesSeconds: 75
  },
  PixSignInsRefused: {
    what: "20 calls with a wrong operator token",
    inject: ({ operate }) =>
      times(20, operate("GET", "/operator/v1/accounts", { headers: { "x-operator-token": "a guess" } }))
  },
  PixInstallationToken: {
    what: "a call with the installation's token",
    inject: ({ operate }) => operate("GET", "/operator/v1/accounts")
  },
  PixBankAway: {
    what: "the bank ends",
    inject: (installation) =>
      Effect.andThen(
        Effect.promise(() => installation.double.close()),
        every(2, asked(installation))
      ),
    takesSeconds: 60
  },
  PixBankUnclear: {
    what: "every third call is never answered",
    inject: (installation) =>
      Effect.gen(function* () {
        yield* every(1, asked(installation))
        yield* every(
          3,
          Effect.sync(() => installation.double.faults.once("hang", { path: /\/cob\// }))
        )
      }),
    takesSeconds: 60
  },
  PixCertificateEnds: {
    what: "the client's certificate of a bank ends in five days",
    inject: ({ adminToken, connectionId, double, operate }) =>
      Effect.gen(function* () {
        const validToMs = (yield* Clock.currentTimeMillis) + 5 * 86_400_000
        const { cert, key } = yield* Effect.promise(() =>
          double.authority.issue({ name: "merchant", usage: "client", validToMs })
        )
        return yield* expecting(
          200,
          operate("PATCH", `/operator/v1/connections/${connectionId}`, {
            headers: { "x-operator-token": adminToken },
            body: { credentials: { ...operatorCredentials(double), certificate: cert, private_key: key } }
          })
        )
      }),
    takesSeconds: 30
  },
  PixSweepLate: {
    what: "the bank's list of payments is never answered",
    inject: ({ double }) => Effect.sync(() => double.faults.always("hang", { path: /\/pix(\?|$)/ })),
    takesSeconds: 330,
    also: ["PixBankUnclear", "PixBankAway"]
  },
  PixChargesProcessing: {
    what: "the bank never answers a creation",
    inject: (installation) =>
      Effect.sync(() => installation.double.faults.always("hang", { path: /\/cob\// })).pipe(
        Effect.andThen(asked(installation))
      ),
    takesSeconds: 315,
    also: ["PixBankUnclear", "PixBankAway"]
  },
  PixPayoutsProcessing: {
    what: "a payout was sent 31 minutes ago",
    prepare: (installation) =>
      Effect.gen(function* () {
        yield* paid(installation, { amount: 100_000 })
        const options = { key: installation.key, idempotencyKey: newKey(), body: { ...somePayout, ...holding } }
        yield* expecting(201, installation.call("POST", "/v1/payouts", options))
      }),
    inject: run(`UPDATE payouts SET created_at = now() - interval '31 minutes' WHERE status = 'processing'`),
    takesSeconds: 20
  },
  PixOrdersUnanswered: {
    what: "a refund was ordered 31 minutes ago",
    prepare: (installation) =>
      Effect.gen(function* () {
        const id = yield* paid(installation)
        const body = { amount: 1000, description: holding.pix_key }
        yield* expecting(200, installation.operate("POST", `/operator/v1/charges/${id}/refund`, { body }))
      }),
    inject: run(`UPDATE acquirer_orders SET created_at = now() - interval '31 minutes' WHERE state = 'ordered'`),
    takesSeconds: 20
  },
  PixLedgerDiffers: {
    what: "a balance is changed by hand",
    inject: run(`UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'available'`),
    takesSeconds: 660
  },
  PixLedgerUnverified: {
    what: "the closed days are locked by somebody else",
    // The first verification is after a minute.
    inject: (installation) => Effect.andThen(Effect.sleep(75_000), locked("closes")(installation)),
    takesSeconds: 3675,
    also: ["PixLoopStalled"]
  },
  PixPartitions: { what: "nobody made those of the next months", lacksPartitions: true, inject: () => Effect.void },
  PixWebhooksLate: {
    what: "deliveries are locked by somebody else",
    prepare: withEndpoint,
    inject: (installation) =>
      Effect.gen(function* () {
        yield* charged(installation)
        yield* Effect.sleep(4000)
        yield* run(`UPDATE deliveries SET due_at = now() WHERE status = 'scheduled'`)(installation)
        yield* hold(installation.url, "SELECT id FROM deliveries WHERE status = 'scheduled' FOR UPDATE")
      }),
    takesSeconds: 135
  },
  PixOutboxLate: {
    what: "an endpoint is locked by somebody else",
    prepare: (installation) =>
      Effect.andThen(withEndpoint(installation), hold(installation.url, "SELECT id FROM webhook_endpoints FOR UPDATE")),
    inject: charged,
    takesSeconds: 135
  },
  PixSetAside: {
    what: "PostgreSQL refuses one delivery",
    prepare: (installation) =>
      Effect.gen(function* () {
        yield* withEndpoint(installation)
        yield* run(
          `CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'poisoned'; END $$`
        )(installation)
        yield* run(`CREATE TRIGGER poison BEFORE INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION poison()`)(
          installation
        )
      }),
    inject: charged,
    takesSeconds: 30
  },
  PixDisputeDeadline: {
    what: "the deadline of a dispute is in five hours",
    prepare: (installation) =>
      Effect.flatMap(paid(installation), (id) =>
        expecting(
          201,
          installation.operate("POST", `/operator/v1/simulator/charges/${id}/infraction`, {
            body: { reason: "fraude" }
          })
        )
      ),
    inject: run(`UPDATE disputes SET defense_deadline_at = now() + interval '5 hours'`),
    takesSeconds: 20
  },
  PixCallbacksRefused: {
    what: "ten callbacks with a wrong secret",
    inject: ({ callBack }) => times(10, callBack("/wrong/pix"))
  },
  PixCallbacksMissing: {
    what: "payments that the bank calls back about nowhere",
    inject: (installation) =>
      every(
        40,
        Effect.map(charged(installation), ({ id }) => installation.double.provider.receipts.payCob(txidFromId(id)))
      ),
    takesSeconds: 200
  },
  PixExceptionsOpen: {
    what: "a charge is paid twice",
    inject: (installation) =>
      Effect.gen(function* () {
        const { receipts } = installation.double.provider
        const txid = txidFromId((yield* charged(installation)).id)
        const first = receipts.payCob(txid)
        if (first._tag === "Failure") throw new Error(first.failure._tag)
        const { cents, key } = first.success
        receipts.receive({ cents, key, txid })
      }),
    takesSeconds: 120
  },
  PixWebhooksFail: {
    what: "nobody answers at the endpoint",
    prepare: withEndpoint,
    inject: (installation) => every(5, asked(installation)),
    takesSeconds: 60
  },
  PixCloseOverdue: {
    what: "a day cannot be closed",
    prepare: (installation) => Effect.andThen(paid(installation), locked("closes", "EXCLUSIVE")(installation)),
    inject: daysBack(3),
    takesSeconds: 60,
    also: ["PixLoopStalled"]
  },
  PixRequestLogLost: {
    what: "110,000 calls while nobody can write the log",
    prepare: locked("requests"),
    inject: ({ call, key }) =>
      Effect.forkScoped(
        Effect.forEach(Array.from({ length: 110_000 }), () => Effect.exit(call("GET", "/v1/account", { key })), {
          concurrency: 32,
          discard: true
        })
      ),
    takesSeconds: 300,
    also: ["PixLoopStalled", "PixRateLimited"]
  },
  PixPaymentsMissing: {
    what: "100 payments an hour a week ago, and none now",
    history: (nowMs) => {
      const minutes = Array.from({ length: 180 }, (_, minute) => minute)
      const startSeconds = Math.floor(nowMs / 1000) - 7 * 86_400 - 90 * 60
      return [
        "# HELP pix_payments_charges Charges by status.",
        "# TYPE pix_payments_charges counter",
        ...minutes.map(
          (minute) => `pix_payments_charges_total{status="paid"} ${minute * 2} ${startSeconds + minute * 60}`
        ),
        "# EOF\n"
      ].join("\n")
    },
    inject: () => Effect.void
  },
  PixBankDiffers: {
    what: "a line of the bank, three days old, that the books lack",
    inject: (installation) =>
      Effect.gen(function* () {
        const { adminToken, connectionId, operate, url } = installation
        const options = { headers: { "x-operator-token": adminToken } }
        const yesterdayMs = (yield* Clock.currentTimeMillis) - 86_400_000
        const day = bankDay(yesterdayMs)
        const line = { atMs: yesterdayMs, cents: 100, endToEndId: "", text: "PIX RECEBIDO" }
        const of = { bank: "364", branch: "1", account: "12345-6", from: day, to: day, openingCents: 0, lines: [line] }
        const content = Buffer.from(statementFile(of, tidy)).toString("base64")
        const body = { connection_id: connectionId, content }
        yield* expecting(201, operate("POST", "/operator/v1/bank-statements", { ...options, body }))
        const found = operate<{ data: ReadonlyArray<{ status: string }> }>(
          "GET",
          `/operator/v1/reconciliations?connection_id=${connectionId}`,
          options
        )
        yield* eventually(found, (list) => list.body.data.some(({ status }) => status === "done"))
        yield* run(`UPDATE reconciliation_lines SET day = day - 2`)({ url })
      }),
    takesSeconds: 60
  },
  PixStatementMissing: {
    what: "a payment of six days ago, after the last day of the statements",
    prepare: (installation) =>
      Effect.gen(function* () {
        const { call, double, key } = installation
        const { id } = yield* charged(installation)
        double.provider.receipts.payCob(txidFromId(id))
        yield* eventually(
          call<{ readonly status: string }>("GET", `/v1/charges/${id}`, { key }),
          ({ body }) => body.status === "paid"
        )
      }),
    inject: (installation) =>
      Effect.gen(function* () {
        const { adminToken, connectionId, operate } = installation
        const options = { headers: { "x-operator-token": adminToken } }
        const day = bankDay((yield* Clock.currentTimeMillis) - 7 * 86_400_000)
        const of = { bank: "364", branch: "1", account: "12345-6", from: day, to: day, openingCents: 0, lines: [] }
        const content = Buffer.from(statementFile(of, tidy)).toString("base64")
        const body = { connection_id: connectionId, content }
        yield* expecting(201, operate("POST", "/operator/v1/bank-statements", { ...options, body }))
        // The day is closed within a minute.
        yield* daysBack(6)(installation)
      }),
    takesSeconds: 420
  },
  PixArchiveFailing: {
    what: "`archive_command=false`",
    archives: true,
    inject: run("SELECT pg_switch_wal()::text"),
    takesSeconds: 90
  }
}
