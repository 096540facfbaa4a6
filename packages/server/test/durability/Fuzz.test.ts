/**
 * Fuzzing of every route of both listeners with requests from its schemas, then broken: never a 500, never a hang,
 * every answer in the contract's form and in the committed OpenAPI document for that route and status.
 *
 * `FUZZ_INPUTS` (5000) says how many for each listener, `FUZZ_SEED` (1) which. A failure prints the seed, the number of
 * the input and its bytes; the same seed makes the same inputs.
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { judgeBy } from "./fuzz/Contract.ts"
import { inputsFor, type Listener } from "./fuzz/Inputs.ts"
import { randomFrom } from "./fuzz/Random.ts"
import { exchange } from "./fuzz/Wire.ts"
import { created } from "../support/ChargeRequests.ts"
import { type DeclaredRoute, operatorRoutes, paymentsRoutes } from "../support/Declared.ts"
import { assertLedgerHolds } from "../support/Money.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { startProcess } from "../support/Process.ts"
import { receiver } from "../support/Receiver.ts"
import { clientOf, TestService } from "../support/TestService.ts"
import { makeWorld, type World } from "../support/World.ts"

const inputs = Number(process.env["FUZZ_INPUTS"] ?? 5000)
const seed = Number(process.env["FUZZ_SEED"] ?? 1)

/** The time limit for a 503. */
const DATABASE_TIMEOUT_MS = 20_000
// Streams, and a read that waits for events, have tests of their own.
const isAnsweredAtOnce = ({ template }: { readonly template: string }) =>
  !["/operator/v1/audit/export", "/operator/v1/events", "/operator/v1/events/stream"].includes(template)

/** The brakes of the installation stop all accounts, so that nothing else would be accepted meanwhile. */
const stopsAllAccounts = ({ method, template }: { readonly method: string; readonly template: string }) =>
  method === "PATCH" && template === "/operator/v1/installation"

const AT_ONCE = 12
const WORLD_LASTS = 250
const INPUTS_THAT_STOP = 100

layer(Layer.empty, { excludeTestServices: true })("Fuzz", (it) => {
  it.effect.each(["openapi.json", "operator-openapi.json"])(
    "never a 500, never a hang, every answer in the contract's form and in %s",
    (document) =>
      Effect.gen(function* () {
        const databaseUrl = yield* createMigratedDatabase
        const service = yield* startProcess({
          DATABASE_URL: Redacted.value(databaseUrl),
          DATA_DIR: yield* temporaryFolder,
          OPERATOR_TOKEN: "the-token-of-this-operator",
          SIMULATOR_SETTLE_MS: "0",
          LOG_LEVEL: "info",
          WEBHOOK_RETRY_DELAYS: "10ms",
          WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8,::1/128"
        })
        const client = TestService.of({
          ...(yield* clientOf(service, "the-token-of-this-operator")),
          databaseUrl
        })
        const { url } = yield* receiver()
        const releaseBrakes = client.operate("PATCH", "/operator/v1/installation", {
          body: { payouts_paused: false, charges_paused: false }
        })
        const isPublic = document === "openapi.json"
        const judge = judgeBy(document)
        const listenerOf = (world: World, routes: ReadonlyArray<DeclaredRoute>): Listener => ({
          routes,
          credential: isPublic
            ? { name: "x-api-key", values: [world.key] }
            : { name: "x-operator-token", values: [client.operatorToken] }
        })
        const routes = isPublic
          ? paymentsRoutes
          : operatorRoutes.filter((route) => isAnsweredAtOnce(route) && !stopsAllAccounts(route))
        const newWorld = Effect.provideService(makeWorld(url), TestService, client)
        let world = yield* newWorld
        const counted = new Map<string, number>()

        const send = Effect.fnUntraced(function* (index: number, listener: Listener) {
          const input = inputsFor(listener, world, url)(randomFrom(seed * 1_000_003 + index))
          const answer = yield* exchange(
            isPublic ? service.publicUrl : service.operatorUrl,
            input.bytes,
            DATABASE_TIMEOUT_MS
          )
          const complaint =
            answer === "hangs"
              ? "it hangs"
              : answer === undefined
                ? input.isHttp && "no answer"
                : judge(answer, input.route, input.isHttp)
          const status = typeof answer === "object" ? String(answer.status) : String(answer)
          counted.set(status, (counted.get(status) ?? 0) + 1)
          if (complaint === undefined || complaint === false) return
          assert.fail(
            [
              `FUZZ_SEED=${seed}, input ${index}: ${complaint}`,
              input.bytes.subarray(0, 3000).toString("latin1"),
              typeof answer === "object" ? answer.body.slice(0, 1000) : "",
              service.written().slice(-3000)
            ].join("\n\n")
          )
        })

        yield* Effect.forEach(
          Array.from({ length: inputs }, (_, index) => index),
          Effect.fnUntraced(function* (index) {
            // Requests use up the states of a world, so that a new one is made from time to time.
            if (index % WORLD_LASTS === WORLD_LASTS - 1) world = yield* newWorld
            yield* send(index, listenerOf(world, routes))
          }),
          { concurrency: AT_ONCE, discard: true }
        )
        if (!isPublic) {
          const stopping = listenerOf(world, operatorRoutes.filter(stopsAllAccounts))
          yield* Effect.forEach(
            Array.from({ length: INPUTS_THAT_STOP }, (_, index) => inputs + index),
            (index) => send(index, stopping),
            { concurrency: AT_ONCE, discard: true }
          )
          assert.strictEqual((yield* releaseBrakes).status, 200)
        }

        // It reached both what is accepted and what is refused.
        for (const status of ["200", "201", "400", "401", "404"]) assert.isAbove(counted.get(status) ?? 0, 5, status)
        assert.notMatch(service.written(), /failed unexpectedly|a round failed|"level":"ERROR"|logLevel":"ERROR/)
        // Other accounts and the ledger are unaffected.
        yield* Effect.gen(function* () {
          const other = yield* client.makeCaller()
          yield* created(other.key)
          yield* assertLedgerHolds
        }).pipe(Effect.provideService(TestService, client))
        service.signal("SIGTERM")
        assert.strictEqual(yield* service.ended, 0)
        if (process.env["FUZZ_INPUTS"] !== undefined) {
          process.stdout.write(
            `${document}: seed ${seed}, ${inputs} inputs: ${JSON.stringify(Object.fromEntries(counted))}\n`
          )
        }
      }).pipe(Effect.scoped)
  )
})
