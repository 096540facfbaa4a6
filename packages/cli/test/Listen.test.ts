/** `pix listen` under the oldest and the newest Node, against the real service: what a receiver gets, and restarts of everything. */
import { assert, describe, it as test, layer } from "@effect/vitest"
import { verify, attemptRefusalOf } from "@pix-payments/domain/Signature"
import { created } from "@pix-payments/server/test/ChargeRequests"
import { createMigratedDatabase, temporaryFolder } from "@pix-payments/server/test/Postgres"
import { startProcess } from "@pix-payments/server/test/Process"
import { closedPort, eventually, loopback, receiver } from "@pix-payments/server/test/Receiver"
import { clientOf, TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Http from "node:http"
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { localReceiver } from "./support/LocalReceiver.ts"
import { ends } from "./support/Nodes.ts"
import { pix, type Running, start } from "./support/Pix.ts"

const WITHIN_MS = 240_000

const listening = (running: Running) =>
  eventually(Effect.sync(running.err), (err) => err.includes("Listening to"), WITHIN_MS)

const lines = (running: Running, count: number) =>
  eventually(Effect.sync(running.lines), ({ length }) => length >= count, WITHIN_MS)

interface Page {
  readonly data: ReadonlyArray<{ readonly id: string; readonly data: { readonly id: string; readonly event: string } }>
}

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("pix listen", (it) => {
  const setup = Effect.gen(function* () {
    const { makeCaller, operatorToken, operatorUrl } = yield* TestService
    const caller = yield* makeCaller()
    return {
      ...caller,
      env: { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken, XDG_STATE_HOME: yield* temporaryFolder }
    }
  })

  it.effect(
    "CLI-10, CLI-12: gives a receiver the body and the headers of a delivery, signed with the secret of the machine",
    () =>
      Effect.gen(function* () {
        const { accountId, env, key } = yield* setup
        const endpoint = yield* receiver()
        const local = yield* receiver()
        const args = [
          "listen",
          "--forward-to",
          `${local.url}/hooks`,
          "--account",
          accountId,
          "--events",
          "charge.pix.emitted"
        ]
        const running = yield* start([...args, "--limit", "1"], { env })
        yield* listening(running)
        yield* created(key, { webhook_url: endpoint.url, webhook_secret: "whsec_c2VjcmV0LW9mLXRoZS1lbmRwb2ludA==" })
        assert.strictEqual((yield* running.ended).code, 0)
        const delivered = yield* eventually(
          Effect.sync(() => endpoint.received.find(({ body }) => body.event === "charge.pix.emitted")),
          (found) => found !== undefined,
          WITHIN_MS
        )
        const [forwarded, ...others] = local.received
        assert.deepStrictEqual(others, [])
        assert.strictEqual(forwarded!.path, "/hooks")
        assert.sameMembers(
          forwarded!.names.map((name) => name.toLowerCase()),
          delivered!.names.map((name) => name.toLowerCase())
        )
        for (const name of [
          "content-type",
          "user-agent",
          "x-webhook-event",
          "x-webhook-resource",
          "x-webhook-method"
        ]) {
          assert.strictEqual(forwarded!.headers[name], delivered!.headers[name], name)
        }
        const { id, ...body } = forwarded!.body
        const { id: deliveryId, ...deliveredBody } = delivered!.body
        assert.deepStrictEqual(body, deliveredBody)
        assert.strictEqual(forwarded!.bytes.toString().replace(id, deliveryId), delivered!.bytes.toString())

        const secrets = [(yield* pix(["listen", "--print-secret"], { env })).out.trim()]
        assert.match(secrets[0]!, /^whsec_/)
        const header = String(forwarded!.headers["x-webhook-signature"])
        assert.deepStrictEqual(yield* Effect.promise(() => verify({ body: forwarded!.bytes, header, secrets })), {
          _tag: "Valid"
        })
        const refusal = attemptRefusalOf(
          { body: forwarded!.bytes, secrets },
          (name) => String(forwarded!.headers[name]),
          Number(forwarded!.headers["webhook-timestamp"]) * 1000,
          1000
        )
        assert.isUndefined(yield* Effect.promise(() => refusal))
        const secretFile = join(env.XDG_STATE_HOME, "pix/listen.secret")
        assert.strictEqual(statSync(secretFile).mode & 0o777, 0o600)
        const [line] = running.lines()
        assert.deepInclude(line, { event: "charge.pix.emitted", event_id: id, status: 200, repeat: false })
        assert.strictEqual(line!["resource_id"], body.data.id)
      }).pipe(Effect.scoped)
  )

  for (const { isSkipped, name, program } of ends) {
    it.effect.skipIf(isSkipped)(
      `CLI-13: waits for a receiver that is away, keeps the order, marks repeats, and resumes where it ended, under ${name}`,
      () =>
        Effect.gen(function* () {
          const { accountId, env, key } = yield* setup
          const local = yield* localReceiver(yield* closedPort)
          const args = ["listen", "--forward-to", local.url, "--account", accountId]
          const first = yield* start(args, { env, node: program() })
          yield* listening(first)
          yield* created(key)
          yield* lines(first, 2)
          yield* local.close
          yield* created(key)
          yield* eventually(
            Effect.sync(first.err),
            (err) => err.includes("The receiver is away (connection refused)"),
            WITHIN_MS
          )
          yield* local.open
          yield* lines(first, 4)
          local.cutNext(1)
          yield* created(key)
          const before = yield* lines(first, 6)
          assert.deepStrictEqual(
            before.map(({ repeat }) => repeat),
            [false, false, false, false, true, false]
          )
          first.signal("SIGTERM")
          yield* first.ended
          yield* created(key)
          const second = yield* start([...args, "--resume", "--limit", "2"], { env, node: program() })
          assert.strictEqual((yield* second.ended).code, 0)
          const shown = [...before, ...second.lines()].map(({ event_id }) => String(event_id))
          // The event whose connection was cut came twice.
          assert.deepStrictEqual(
            local.ids,
            shown.flatMap((id, index) => (index === 4 ? [id, id] : [id]))
          )
          const { operate } = yield* TestService
          const all = yield* operate<Page>("GET", `/operator/v1/events?after=oldest&limit=100&account_id=${accountId}`)
          assert.deepStrictEqual(
            shown,
            all.body.data.map(({ data }) => data.id)
          )
          assert.lengthOf(readdirSync(join(env.XDG_STATE_HOME, "pix/listen")), 1)
        }).pipe(Effect.scoped)
    )
  }

  for (const { isSkipped, name, program } of ends) {
    it.effect.skipIf(isSkipped)(
      `CLI-13: an event whose forward was interrupted is forwarded again and marked, under ${name}`,
      () =>
        Effect.gen(function* () {
          const { accountId, env, key } = yield* setup
          let answers = false
          const local = yield* receiver((_, response) => void (answers && response.end("ok")))
          const args = ["listen", "--forward-to", local.url, "--account", accountId]
          const killed = yield* start(args, { env, node: program() })
          yield* listening(killed)
          yield* created(key)
          yield* eventually(
            Effect.sync(() => local.received.length),
            (count) => count === 1,
            WITHIN_MS
          )
          killed.signal("SIGKILL")
          yield* killed.ended
          answers = true
          const resumed = yield* start([...args, "--resume", "--limit", "2"], { env, node: program() })
          yield* resumed.ended
          assert.deepStrictEqual(
            resumed.lines().map(({ event, repeat }) => [event, repeat]),
            [
              ["charge.pix.created", true],
              ["charge.pix.emitted", false]
            ]
          )
          assert.strictEqual(local.received[0]!.body.id, local.received[1]!.body.id)
        }).pipe(Effect.scoped)
    )
  }

  it.effect("CLI-14: reads pages where a proxy buffers the stream", () =>
    Effect.gen(function* () {
      const { accountId, env, key } = yield* setup
      const proxy = yield* buffering(env.PIX_URL)
      const local = yield* receiver()
      const args = ["listen", "--forward-to", local.url, "--account", accountId, "--limit", "4"]
      const running = yield* start(args, { env: { ...env, PIX_URL: proxy } })
      yield* eventually(Effect.sync(running.err), (err) => err.includes("asking for pages instead"), WITHIN_MS)
      yield* created(key)
      yield* lines(running, 2)
      yield* created(key)
      assert.strictEqual((yield* running.ended).code, 0)
      const { operate } = yield* TestService
      const all = yield* operate<Page>("GET", `/operator/v1/events?after=oldest&limit=100&account_id=${accountId}`)
      assert.deepStrictEqual(
        local.received.map(({ bytes }) => bytes.toString()),
        all.body.data.map(({ data }) => JSON.stringify(data))
      )
    }).pipe(Effect.scoped)
  )

  for (const { isSkipped, name, program } of ends) {
    it.effect.skipIf(isSkipped)(`CLI-14: --poll forwards every event once, over several pages, under ${name}`, () =>
      Effect.gen(function* () {
        const { accountId, env, key } = yield* setup
        const local = yield* receiver()
        const args = ["listen", "--poll", "--forward-to", local.url, "--account", accountId, "--limit", "6"]
        const running = yield* start(args, { env, node: program() })
        yield* listening(running)
        for (const count of [2, 4, 6]) {
          yield* created(key)
          // The next charge is on a later page.
          yield* lines(running, count)
        }
        assert.strictEqual((yield* running.ended).code, 0)
        const { operate } = yield* TestService
        const all = yield* operate<Page>("GET", `/operator/v1/events?after=oldest&limit=100&account_id=${accountId}`)
        const expected = all.body.data.map(({ data }) => data.id)
        assert.lengthOf(expected, 6)
        assert.deepStrictEqual(
          local.received.map(({ body }) => body.id),
          expected
        )
        assert.deepStrictEqual(
          running.lines().map(({ event_id, repeat }) => [event_id, repeat]),
          expected.map((id) => [id, false])
        )
      }).pipe(Effect.scoped)
    )
  }
})

/** A proxy that passes an answer on once it has ended. */
const buffering = (target: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = Http.createServer((request, response) => {
          const forwarded = Http.request(`${target}${request.url}`, {
            method: request.method,
            headers: request.headers
          })
          forwarded.on("response", (answer) => {
            const chunks: Array<Buffer> = []
            answer.on("data", (chunk: Buffer) => chunks.push(chunk))
            answer.on("error", () => {})
            answer.on("end", () => {
              const { "transfer-encoding": _, ...headers } = answer.headers
              response.writeHead(answer.statusCode!, headers).end(Buffer.concat(chunks))
            })
          })
          forwarded.on("error", () => response.destroy())
          response.on("close", () => forwarded.destroy())
          request.pipe(forwarded)
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return server
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    (server) => `http://127.0.0.1:${Object(server.address()).port}`
  )

describe("pix listen", () => {
  test.live("CLI-11: forwards every event once and in order, through a kill of the service, with two processes", () =>
    Effect.gen(function* () {
      const token = "the operator's token of these tests"
      const env = {
        DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN: token,
        DATABASE_CONNECTIONS: "4"
      }
      const OPERATOR_PORT = String(yield* closedPort)
      const [killed, other] = yield* Effect.all([
        startProcess({ ...env, OPERATOR_PORT }),
        startProcess({ ...env, PROCESSES: "2" })
      ])
      const client = yield* clientOf(other, token)
      const { accountId, key } = yield* client.makeCaller()
      const create = (count: number) =>
        Effect.forEach(Array.from({ length: count }), () => created(key), { concurrency: 5 }).pipe(
          Effect.provideService(TestService, TestService.of({ ...client, databaseUrl: Redacted.make("") }))
        )
      const sessions = yield* Effect.forEach(
        ends.filter(({ isSkipped }) => !isSkipped),
        Effect.fnUntraced(function* ({ name, program }) {
          const local = yield* localReceiver(yield* closedPort)
          const running = yield* start(["listen", "--forward-to", local.url, "--account", accountId], {
            env: { PIX_URL: killed.operatorUrl, PIX_TOKEN: token },
            node: program()
          })
          yield* listening(running)
          return { local, name, running }
        })
      )
      const forwarded = (count: number) => Effect.forEach(sessions, ({ running }) => lines(running, count))
      yield* create(10)
      yield* forwarded(20)
      yield* Effect.forkChild(create(20))
      yield* forwarded(30)
      killed.signal("SIGKILL")
      for (const { running } of sessions) {
        yield* eventually(Effect.sync(running.err), (err) => err.includes("The connection is lost"), WITHIN_MS)
      }
      yield* create(10)
      yield* startProcess({ ...env, OPERATOR_PORT, PROCESSES: "2" })
      yield* forwarded(80)
      const all = yield* client.operate<Page>(
        "GET",
        `/operator/v1/events?after=oldest&limit=100&account_id=${accountId}`
      )
      const expected = all.body.data.map(({ data }) => data.id)
      assert.lengthOf(expected, 80)
      for (const { local, name, running } of sessions) {
        assert.deepStrictEqual(local.ids, expected, name)
        assert.deepStrictEqual(
          running.lines().map(({ event_id, repeat }) => [event_id, repeat]),
          expected.map((id) => [id, false]),
          name
        )
        assert.include(running.err(), "Connected again", name)
      }
    }).pipe(Effect.scoped)
  )
})
