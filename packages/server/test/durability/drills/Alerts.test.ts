/**
 * `pnpm run drill:alerts`: each alert's fault is put into an installation of its own, which a Prometheus of its own scrapes with the
 * shipped rules: exactly its alert fires, within 60 s of its `for`. Prints a table.
 *
 * `ALERTS_FOR` is the longest `for` in minutes (5; 60 has all), `ALERTS_ONLY` names some, and `ALERTS_QUIET` is for how many
 * minutes an installation under normal load is watched, whose alerts stay silent, and of which every query of Grafana has data.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import * as Https from "node:https"
import * as Net from "node:net"
import { join } from "node:path"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import { startDouble } from "../../support/Bank.ts"
import { connectedAccount } from "../../support/ConnectedProcess.ts"
import { OPERATOR_TOKEN } from "../../support/Load.ts"
import { asService, createMigratedDatabase, onServer, temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { prometheus, root, runPromtool } from "../../support/Prometheus.ts"
import { closedPort } from "../../support/Receiver.ts"
import { someCharge } from "../../support/ChargeRequests.ts"
import { newKey } from "../../support/TestService.ts"
import { type Fault, faults } from "./AlertFaults.ts"
import { type Installation, simulated } from "./FaultyInstallation.ts"

const longestForMinutes = Number(process.env["ALERTS_FOR"] ?? 0)
const only = process.env["ALERTS_ONLY"]?.split(",")
const quietMinutes = Number(process.env["ALERTS_QUIET"] ?? 0)
const AT_ONCE = Number(process.env["ALERTS_AT_ONCE"] ?? 10)
const SCRAPE_SECONDS = 15
const SLACK_SECONDS = 60

/** The `for` of each shipped alert, in seconds. */
const waits: ReadonlyMap<string, number> = new Map(
  [
    ...readFileSync(join(root, "deploy/prometheus/rules.yml"), "utf8").matchAll(/- alert: (\w+)\n.*\n +for: (\w+)/g)
  ].map(([, name = "", time = ""]) => [name, Duration.toSeconds(Duration.fromInputUnsafe(units(time)))])
)

function units(time: string): Duration.Input {
  const unit = { s: "seconds", m: "minutes", h: "hours" }[time.at(-1)!]
  return `${parseInt(time)} ${unit}` as Duration.Input
}

const grafanaQueries = (
  JSON.parse(readFileSync(join(root, "deploy/grafana/pix-payments.json"), "utf8")) as {
    readonly panels: ReadonlyArray<{ readonly targets: ReadonlyArray<{ readonly expr: string }> }>
  }
).panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))

interface Row {
  readonly alert: string
  readonly what: string
  readonly waitSeconds: number
  /** Since the fault; undefined: it did not fire. */
  readonly firedAfter: number | undefined
  readonly expectedWithin: number
  readonly others: ReadonlyArray<string>
}

const chosen = Object.entries(faults).filter(
  ([name]) => only?.includes(name) ?? (waits.get(name) ?? Infinity) <= longestForMinutes * 60
)

describe("The drill", () => {
  it("OPR-314: has a fault for each alert", () => {
    assert.sameMembers(Object.keys(faults), [...waits.keys()])
  })
})

if (longestForMinutes > 0) {
  layer(Layer.empty, { excludeTestServices: true })("The drill", (it) => {
    it.effect(
      "OPR-314: each fault fires its alert, and no other",
      () =>
        Effect.gen(function* () {
          const rows = yield* Effect.forEach(
            chosen,
            ([alert, fault]) =>
              Effect.catchCause(Effect.scoped(injected(alert, fault)), (cause) =>
                Effect.as(Effect.logError(`the fault of ${alert} could not be injected`, cause), failed(alert, fault))
              ),
            { concurrency: AT_ONCE }
          )
          process.stdout.write(`${table(rows)}\n`)
          for (const { alert, expectedWithin, firedAfter, others } of rows) {
            assert.isDefined(firedAfter, `${alert} did not fire within ${expectedWithin} s`)
            assert.deepStrictEqual(others, [], `others than ${alert}`)
          }
        }),
      { timeout: 3 * 3_600_000 }
    )
  })
}

if (quietMinutes > 0) {
  layer(Layer.empty, { excludeTestServices: true })("Under normal load", (it) => {
    it.effect(
      "OPR-314, OPR-311: no alert fires, and each query of Grafana returns data",
      () =>
        Effect.scoped(
          Effect.gen(function* () {
            const installation = yield* installed({ what: "nothing", inject: () => Effect.void })
            yield* simulated(installation)
            const weekAgo = faults["PixPaymentsMissing"]!.history!(yield* Clock.currentTimeMillis)
            const { alerts, count } = yield* startPrometheus(installation.service.operatorUrl, weekAgo)
            const { adminToken, call, key, operate } = installation
            const paid = Effect.gen(function* () {
              const { body } = yield* call<{ id: string }>("POST", "/v1/charges", {
                key,
                idempotencyKey: newKey(),
                body: someCharge
              })
              yield* call("GET", `/v1/charges/${body.id}`, { key })
              yield* call("GET", "/v1/charges?limit=10", { key })
              yield* operate("POST", `/operator/v1/simulator/charges/${body.id}/pay`, {
                headers: { "x-operator-token": adminToken }
              })
            })
            for (let n = 0; n < 4; n++)
              yield* Effect.forkScoped(Effect.forever(Effect.andThen(paid, Effect.sleep(250))))
            const until = performance.now() + quietMinutes * 60_000
            const fired = new Set<string>()
            while (performance.now() < until) {
              for (const name of yield* alerts) fired.add(name)
              yield* Effect.sleep(5000)
            }
            assert.deepStrictEqual([...fired], [])
            const counts = yield* Effect.forEach(grafanaQueries, (query) => count(query))
            assert.deepStrictEqual(
              grafanaQueries.filter((_, index) => counts[index] === 0),
              []
            )
          })
        ),
      { timeout: 2 * 3_600_000 }
    )
  })
}

const failed = (alert: string, { what }: Fault): Row => ({
  alert,
  what,
  waitSeconds: waits.get(alert)!,
  firedAfter: undefined,
  expectedWithin: 0,
  others: []
})

/** One installation starts at a time. */
const starting = Semaphore.makeUnsafe(1)

/** Puts a fault into an installation of its own, and waits for its alert. */
const injected = (alert: string, fault: Fault) =>
  Effect.gen(function* () {
    const installation = yield* starting.withPermit(installed(fault))
    yield* fault.prepare?.(installation) ?? Effect.void
    const history = fault.history?.(yield* Clock.currentTimeMillis)
    const { alerts } = yield* startPrometheus(installation.service.operatorUrl, history)
    // Counters are compared with what they were before.
    yield* Effect.sleep((2 * SCRAPE_SECONDS + 5) * 1000)
    const startedAt = performance.now()
    const seconds = () => Math.round((performance.now() - startedAt) / 1000)
    yield* fault.inject(installation)
    const waitSeconds = waits.get(alert)!
    const expectedWithin = (fault.takesSeconds ?? 0) + waitSeconds + SLACK_SECONDS
    const fired = new Set<string>()
    let firedAfter: number | undefined
    while (seconds() < expectedWithin && firedAfter === undefined) {
      for (const name of yield* alerts) fired.add(name)
      if (fired.has(alert)) firedAfter = seconds()
      else yield* Effect.sleep(2000)
    }
    const others = [...fired].filter((name) => name !== alert && !fault.also?.includes(name))
    process.stdout.write(`${alert}: ${firedAfter ?? "not"} (${expectedWithin}) ${others.join(" ")}\n`)
    return { alert, what: fault.what, waitSeconds, firedAfter, expectedWithin, others } satisfies Row
  }).pipe(Effect.orDie)

/** A service with a bank and an account on it, whose database answers through a wire that can be slow. */
const installed = Effect.fnUntraced(function* (fault: Fault) {
  const url = yield* fault.archives === true ? archivingDatabase : createMigratedDatabase
  if (fault.lacksPartitions === true) yield* onServer(dropFuturePartitions, url)
  const wire = yield* slowWire(fault.lacksPartitions === true ? asService(url) : url)
  const double = yield* startDouble({ seed: ++doubles })
  const folder = yield* temporaryFolder
  const { ca, cert, key } = yield* Effect.promise(() => double.authority.issue({ name: "callbacks", usage: "server" }))
  for (const [name, text] of Object.entries({ ca, cert, key })) {
    yield* Effect.promise(() => writeFile(join(folder, name), text))
  }
  const acquirerPort = yield* closedPort
  const service = yield* startProcess({
    DATABASE_URL: Redacted.value(wire.url),
    DATA_DIR: yield* temporaryFolder,
    DATABASE_CONNECTIONS: "8",
    OPERATOR_TOKEN,
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
    ACQUIRER_PORT: String(acquirerPort),
    ACQUIRER_TLS_CA: join(folder, "ca"),
    ACQUIRER_TLS_CERT: join(folder, "cert"),
    ACQUIRER_TLS_KEY: join(folder, "key"),
    ...fault.env
  })
  const connected = yield* connectedAccount(service, OPERATOR_TOKEN, double)
  const { body: operator } = yield* connected.operate<{ id: string }>("POST", "/operator/v1/operators", {
    body: { name: "Ana", email: "ana@example.com", role: "admin" }
  })
  const { body: made } = yield* connected.operate<{ token: string }>(
    "POST",
    `/operator/v1/operators/${operator.id}/tokens`,
    { body: { name: "drill" } }
  )
  return {
    ...connected,
    service,
    url,
    double,
    delayDatabase: wire.delay,
    adminToken: made.token,
    callBack: (path) =>
      Effect.callback<void>((resume) => {
        Https.request(`https://127.0.0.1:${acquirerPort}/${connected.connectionId}${path}`, {
          method: "POST",
          ca: double.authority.cert,
          cert: double.client.cert,
          key: double.client.key
        })
          .on("response", (response) => response.resume().on("end", () => resume(Effect.void)))
          .on("error", () => resume(Effect.void))
          .end("{}")
      })
  } satisfies Installation
})

let doubles = 0

const archivingDatabase = Effect.flatMap(temporaryFolder, (dataDir) =>
  Effect.map(
    EmbeddedPostgres.start({ dataDir, settings: { archive_mode: "on", archive_command: "false", fsync: "off" } }),
    ({ url }) => url
  )
)

const dropFuturePartitions = `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT inhrelid::regclass FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
    WHERE inhparent = 'requests'::regclass AND pg_get_expr(relpartbound, c.oid) <> 'DEFAULT'
    ORDER BY pg_get_expr(relpartbound, c.oid) OFFSET 1
  LOOP EXECUTE 'DROP TABLE ' || name; END LOOP;
END $$`

/** A wire to PostgreSQL whose answers can be delayed. */
const slowWire = (to: Redacted.Redacted<string>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const target = new URL(Redacted.value(to))
      let delayMs = 0
      const sockets = new Set<Net.Socket>()
      const server = Net.createServer((inner) => {
        const outer = Net.connect(Number(target.port), target.hostname)
        for (const [from, into] of [
          [inner, outer],
          [outer, inner]
        ] as const) {
          sockets.add(from)
          from.setNoDelay(true)
          from.on("error", () => {})
          from.on("close", () => into.destroy())
          from.on("data", (bytes) => {
            if (from === inner || delayMs === 0) into.write(bytes)
            else setTimeout(() => into.write(bytes), delayMs)
          })
        }
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const url = new URL(target)
      url.port = String((server.address() as Net.AddressInfo).port)
      return {
        url: Redacted.make(url.href),
        delay: (ms: number) => {
          delayMs = ms
        },
        close: () => {
          server.close()
          for (const socket of sockets) socket.destroy()
        }
      }
    }),
    ({ close }) => Effect.sync(close)
  )

/** Prometheus with the shipped rules: the alerts that fire, and queries. */
const startPrometheus = Effect.fnUntraced(function* (operatorUrl: string, history?: string) {
  if (prometheus === undefined) throw new Error("prometheus is missing: pnpm run runtimes:prometheus")
  const folder = yield* temporaryFolder
  const port = yield* closedPort
  const file = join(folder, "prometheus.yml")
  const data = join(folder, "data")
  if (history !== undefined) {
    yield* Effect.promise(() => writeFile(join(folder, "history"), history))
    runPromtool(["tsdb", "create-blocks-from", "openmetrics", join(folder, "history"), data])
  }
  yield* Effect.promise(() =>
    writeFile(
      file,
      JSON.stringify({
        global: { scrape_interval: `${SCRAPE_SECONDS}s`, evaluation_interval: `${SCRAPE_SECONDS}s` },
        rule_files: [join(root, "deploy/prometheus/rules.yml")],
        scrape_configs: [{ job_name: "pix-payments", static_configs: [{ targets: [new URL(operatorUrl).host] }] }]
      })
    )
  )
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(
        prometheus!,
        [
          `--config.file=${file}`,
          `--storage.tsdb.path=${data}`,
          `--web.listen-address=127.0.0.1:${port}`,
          "--log.level=error"
        ],
        { stdio: "ignore" }
      )
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  interface Found {
    readonly data: {
      readonly alerts: ReadonlyArray<{ readonly state: string; readonly labels: { alertname: string } }>
    }
  }
  const alerts = Effect.promise(async (): Promise<ReadonlyArray<string>> => {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/alerts`)
      const { data } = (await answer.json()) as Found
      return data.alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname)
    } catch {
      return []
    }
  })
  /** How many series a query returns. */
  const count = (query: string) =>
    Effect.promise(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?${new URLSearchParams({ query })}`)
      const { data } = (await answer.json()) as { readonly data: { readonly result: ReadonlyArray<unknown> } }
      return data.result.length
    })
  return { alerts, count }
})

const table = (rows: ReadonlyArray<Row>): string =>
  [
    "| alert | fault | `for`, s | fired after, s | others |",
    "|---|---|---|---|---|",
    ...rows.map(
      ({ alert, firedAfter, others, waitSeconds, what }) =>
        `| ${alert} | ${what} | ${waitSeconds} | ${firedAfter ?? "not"} | ${others.join(", ") || "none"} |`
    )
  ].join("\n")
