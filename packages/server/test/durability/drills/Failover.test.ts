/**
 * `pnpm run drill:failover`: a primary is killed, its synchronous standby is promoted and the address moves, under callers
 * with idempotency keys and receivers of webhooks. Nothing that was answered and nothing that was announced may be lost.
 *
 * `npm test` runs the first two cases once with a small load; the drill runs `FAILOVER_ROUNDS` of each and prints a table.
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { OPERATOR_TOKEN } from "../../support/Load.ts"
import { temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { eventually, receiver } from "../../support/Receiver.ts"
import { clientOf } from "../../support/TestService.ts"
import { failOver, replicated } from "./Replication.ts"
import { startCallers, type Verdict } from "./Witness.ts"

const isDrill = process.env["FAILOVER_ROUNDS"] !== undefined
const rounds = Number(process.env["FAILOVER_ROUNDS"] ?? 1)
const size = isDrill ? { servers: 2, callers: 32, answers: 1000 } : { servers: 1, callers: 8, answers: 60 }
const patienceMs = rounds * 600_000

layer(Layer.empty, { excludeTestServices: true })("A failover", (it) => {
  it.effect(
    "of a primary that is killed while its standby is attached loses nothing",
    () =>
      drilled("primary killed", ({ callers, database }) =>
        Effect.gen(function* () {
          yield* answers(callers)
          yield* failOver(database.address, { from: database.primary, to: database.standby })
          yield* answers(callers)
          return database.standby
        })
      ),
    patienceMs
  )

  it.effect(
    "while the standby is away announces nothing that it then erases",
    () =>
      drilled("standby away, then primary killed", ({ callers, database }) =>
        Effect.gen(function* () {
          yield* answers(callers)
          yield* database.standby.kill
          yield* refusals(callers)
          // What is committed on the primary alone is erased with it.
          database.address.moveTo(undefined)
          yield* database.primary.kill
          const standby = yield* database.startStandby
          yield* failOver(database.address, { from: { ...database.primary, kill: Effect.void }, to: standby })
          yield* answers(callers)
          return standby
        })
      ),
    patienceMs
  )

  if (!isDrill) return

  it.effect(
    "is not needed when the standby comes back: waiting writes continue",
    () =>
      drilled("standby away and back", ({ callers, database }) =>
        Effect.gen(function* () {
          yield* answers(callers)
          yield* database.standby.kill
          yield* refusals(callers)
          yield* database.startStandby
          yield* answers(callers)
          return database.primary
        })
      ),
    patienceMs
  )
})

type Installation = Effect.Success<ReturnType<typeof installation>>

/** Runs a case `rounds` times and prints its table; the case returns the server that is the primary at its end. */
const drilled = <E, R>(
  name: string,
  run: (installation: Installation) => Effect.Effect<{ readonly url: Redacted.Redacted<string> }, E, R>
) =>
  Effect.gen(function* () {
    const verdicts: Array<Verdict> = []
    for (let round = 0; round < rounds; round++) {
      verdicts.push(
        yield* Effect.scoped(
          Effect.gen(function* () {
            const installed = yield* installation()
            const { url } = yield* run(installed)
            yield* installed.callers.stop
            const verdict = yield* installed.callers.verdict(url)
            yield* installed.assertBooks
            return verdict
          })
        )
      )
    }
    if (isDrill) process.stdout.write(tableOf(name, verdicts))
    for (const { announcedButLost, lost, slowestAnswer, twice, wrong } of verdicts) {
      assert.deepStrictEqual({ lost, announcedButLost, twice }, { lost: 0, announcedButLost: 0, twice: 0 })
      assert.deepStrictEqual(wrong.slice(0, 3), [])
      assert.isBelow(slowestAnswer, 20)
    }
  })

/** Servers on a replicated database, with callers that have begun. */
const installation = Effect.fnUntraced(function* () {
  const folder = yield* temporaryFolder
  const database = yield* replicated(folder)
  yield* database.isReplicating
  const env = {
    DATABASE_URL: Redacted.value(database.url),
    MIGRATIONS_DATABASE_URL: Redacted.value(database.url),
    DATA_DIR: yield* temporaryFolder,
    OPERATOR_TOKEN,
    SECRETS_KEYS: Buffer.alloc(32, 7).toString("base64"),
    SIMULATOR_SETTLE_MS: "50",
    WEBHOOK_RETRY_DELAYS: "1s,1s,1s,1s,1s,1s,1s",
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
  }
  const servers = [yield* startProcess(env)]
  while (servers.length < size.servers) servers.push(yield* startProcess(env))
  const { makeCaller, operate } = yield* clientOf(servers[0]!, OPERATOR_TOKEN)
  const { applicationId, key } = yield* makeCaller()
  const funds = yield* operate("POST", `/operator/v1/applications/${applicationId}/checkout-charges`, {
    body: { amount: 50_000_000, customer: { name: "Ana", email: "ana@example.com", document: "52998224725" } }
  })
  assert.strictEqual(funds.status, 201, funds.text)
  const paid = yield* operate("POST", `/operator/v1/simulator/charges/${String(funds.body["id"])}/pay`, { body: {} })
  assert.strictEqual(paid.status, 200, paid.text)
  const callers = startCallers(
    servers.map(({ publicUrl }) => publicUrl),
    key,
    yield* receiver(),
    size.callers
  )
  return {
    database,
    callers,
    assertBooks: Effect.map(operate("GET", "/operator/v1/ledger/verify"), ({ body }) =>
      assert.deepStrictEqual([body["consistent"], body["differences"]], [true, []])
    )
  }
})

const answers = ({ answered, wrong }: Installation["callers"]) => {
  const from = answered()
  return eventually(
    Effect.sync(() => ({ count: answered(), wrong: wrong().slice(0, 3) })),
    ({ count }) => count >= from + size.answers
  )
}

/** Every caller was refused twice: work of the first attempt has had time to be announced. */
const refusals = ({ refused }: Installation["callers"]) => {
  const from = refused()
  return eventually(Effect.sync(refused), (count) => count >= from + 2 * size.callers)
}

const tableOf = (name: string, verdicts: ReadonlyArray<Verdict>): string =>
  [
    "",
    `${name}`,
    "| 201 | seconds without a 201 | first tries failed | slowest answer (s) | lost | announced but lost | twice |",
    "|---|---|---|---|---|---|---|",
    ...verdicts.map(
      (each) =>
        `| ${each.answered} | ${each.secondsWithout201.toFixed(1)} | ${each.firstTriesFailed} | ` +
        `${each.slowestAnswer.toFixed(1)} | ${each.lost} | ${each.announcedButLost} | ${each.twice} |`
    ),
    ""
  ].join("\n")
