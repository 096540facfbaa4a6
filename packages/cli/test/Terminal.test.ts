/** `pix` on a terminal: keys, questions, and a token that is typed. */
import { assert, layer } from "@effect/vitest"
import { created } from "@pix-payments/server/test/ChargeRequests"
import { operated, paidCharge } from "@pix-payments/server/test/Money"
import { temporaryFolder } from "@pix-payments/server/test/Postgres"
import { eventually, receiver } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { hasTerminal, type Running, start } from "./support/Pix.ts"

if (!hasTerminal) process.stderr.write("pix is not tested on a terminal: script (util-linux) is not installed\n")

const WITHIN_MS = 240_000

const shows = (running: Running, text: string) =>
  eventually(Effect.sync(running.out), (out) => out.includes(text), WITHIN_MS)

/** The arguments of every process of this machine. */
const processList = (): string =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8")
      } catch {
        return "" // It has ended.
      }
    })
    .join("\n")

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })(
  "pix on a terminal",
  (it) => {
    const setup = Effect.gen(function* () {
      const { makeCaller, operatorToken, operatorUrl } = yield* TestService
      const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken, TERM: "xterm-256color" }
      return { ...(yield* makeCaller()), env, operatorToken, operatorUrl }
    })

    it.effect.skipIf(!hasTerminal)("CLI-8: y does what the question asks; n, and Enter alone, do nothing", () =>
      Effect.gen(function* () {
        const { env, key } = yield* setup
        const { id } = yield* paidCharge(key, 5000)
        const answered = Effect.fnUntraced(function* (keys: string) {
          const running = yield* start(["charges", "refund", id, "--amount", "1234"], { env, onTerminal: true })
          yield* shows(running, "Refund R$ 12,34 (twelve reais and thirty-four centavos)")
          running.type(keys)
          const { code, out } = yield* running.ended
          const charge = yield* operated<{ readonly refunded_amount: number }>("GET", `/charges/${id}`)
          return [code, out.includes("Nothing was done."), charge.refunded_amount]
        })
        assert.deepStrictEqual(yield* answered("n"), [2, true, 0])
        assert.deepStrictEqual(yield* answered("\r"), [2, true, 0])
        assert.deepStrictEqual(yield* answered("y"), [0, false, 1234])
        // The question is not in a file that gets the answer.
        const outFile = join(yield* temporaryFolder, "refund.json")
        const refund = ["charges", "refund", id, "--amount", "66"]
        const running = yield* start(refund, { env, onTerminal: true, outFile })
        yield* shows(running, "Refund R$ 0,66 (sixty-six centavos)")
        running.type("y")
        assert.strictEqual((yield* running.ended).code, 0)
        assert.deepInclude(JSON.parse(readFileSync(outFile, "utf8")), { refunded_amount: 1300 })
      }).pipe(Effect.scoped)
    )

    it.effect.skipIf(!hasTerminal)("CLI-8, CLI-20: a fixture asks once, before the first step that moves money", () =>
      Effect.gen(function* () {
        const { accountId, env, key } = yield* setup
        const { id } = yield* paidCharge(key, 5000)
        const file = join(yield* temporaryFolder, "refunds.json")
        const refund = (amount: number) => ({ call: "POST /charges/${charge.id}/refund", body: { amount } })
        const steps = [{ name: "charge", call: `GET /charges/${id}` }, refund(1234), refund(66)]
        writeFileSync(file, JSON.stringify({ steps }))
        const answered = Effect.fnUntraced(function* (answer: string) {
          const running = yield* start(["fixtures", "run", file, "--account", accountId], { env, onTerminal: true })
          yield* shows(
            running,
            "Refund R$ 12,34 (twelve reais and thirty-four centavos) to Maria Silva; then: " +
              "Refund R$ 0,66 (sixty-six centavos) to Maria Silva?"
          )
          assert.include(running.out(), `200  GET /charges/${id}`)
          running.type(answer)
          const { code } = yield* running.ended
          const charge = yield* operated<{ readonly refunded_amount: number }>("GET", `/charges/${id}`)
          return [code, charge.refunded_amount]
        })
        assert.deepStrictEqual(yield* answered("n"), [2, 0])
        assert.deepStrictEqual(yield* answered("y"), [0, 1300])
      }).pipe(Effect.scoped)
    )

    it.effect.skipIf(!hasTerminal)("CLI-13: r replays the last event of listen and marks it, q ends", () =>
      Effect.gen(function* () {
        const { accountId, env, key } = yield* setup
        const local = yield* receiver()
        const args = ["listen", "--forward-to", local.url, "--account", accountId]
        const running = yield* start(args, { env, onTerminal: true })
        yield* shows(running, "Keys: r replays the last event, q ends.")
        yield* created(key)
        yield* shows(running, "charge.pix.emitted")
        assert.notInclude(running.out(), "replay\u001b")
        running.type("r")
        yield* shows(running, "replay\u001b")
        assert.deepStrictEqual(
          local.received.map(({ body }) => body.event),
          ["charge.pix.created", "charge.pix.emitted", "charge.pix.emitted"]
        )
        assert.deepStrictEqual(local.received[2]!.bytes, local.received[1]!.bytes)
        running.type("q")
        assert.strictEqual((yield* running.ended).code, 130)
      }).pipe(Effect.scoped)
    )

    it.effect.skipIf(!hasTerminal)(
      "CLI-2, CLI-6: reads no token from a terminal that would show it, because standard error is a file",
      () =>
        Effect.gen(function* () {
          const { operatorUrl } = yield* setup
          const errFile = join(yield* temporaryFolder, "log")
          for (const also of [[], ["--token-file", "-"]]) {
            const env = { XDG_CONFIG_HOME: yield* temporaryFolder, TERM: "xterm" }
            const login = yield* start(["login", "--url", operatorUrl, ...also], { env, onTerminal: true, errFile })
            login.type("a token\r\u0004")
            assert.strictEqual((yield* login.ended).code, 2)
            assert.strictEqual(
              readFileSync(errFile, "utf8"),
              "This terminal would show the token. Do not redirect standard error, or use --token-file FILE.\n"
            )
          }
        }).pipe(Effect.scoped)
    )

    it.effect.skipIf(!hasTerminal)("CLI-6: a token that is typed is neither shown nor in the list of processes", () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* setup
        const options = { env: { XDG_CONFIG_HOME: yield* temporaryFolder, TERM: "xterm" }, onTerminal: true }
        const login = yield* start(["login", "--url", operatorUrl], options)
        yield* shows(login, "Token (it is not shown; without one, use pix login --browser):")
        login.type(operatorToken)
        const during = processList()
        assert.include(during, operatorUrl)
        login.type("\r")
        const { code, out } = yield* login.ended
        assert.strictEqual(code, 0, out)
        const listen = yield* start(["listen"], options)
        yield* shows(listen, `Listening to ${operatorUrl}`)
        for (const text of [during, processList(), out, listen.out()]) assert.notInclude(text, operatorToken)
      }).pipe(Effect.scoped)
    )

    it.effect.skipIf(!hasTerminal)("CLI-8: long work shows its progress on the terminal, and not in the output", () =>
      Effect.gen(function* () {
        const answers = { verification: () => {} }
        const port = yield* serving((path, answer) => {
          if (path.includes("/ledger/verify")) {
            answers.verification = () =>
              answer({ object: "ledger_verification", consistent: true, accounts: [], differences: [] })
          } else if (path.includes("starting_after=")) answer({ object: "list", data: [someRow(200)], has_more: false })
          else answer({ object: "list", data: Array.from({ length: 100 }, (_, n) => someRow(n)), has_more: true })
        })
        const env = { PIX_URL: `http://127.0.0.1:${port}`, PIX_TOKEN: "a token", TERM: "xterm" }
        const outFile = join(yield* temporaryFolder, "out")
        const verifying = yield* start(["ledger", "verify"], { env, onTerminal: true, outFile })
        yield* shows(verifying, "Waiting for the service: 1 s")
        answers.verification()
        assert.strictEqual((yield* verifying.ended).code, 0)
        assert.isTrue(JSON.parse(readFileSync(outFile, "utf8")).consistent)
        const listing = yield* start(["charges", "list", "--all"], { env, onTerminal: true, outFile })
        assert.strictEqual((yield* listing.ended).code, 0)
        assert.include(listing.out(), "100 items")
        assert.lengthOf(readFileSync(outFile, "utf8").trim().split("\n"), 101)
      }).pipe(Effect.scoped)
    )
  }
)

const someRow = (n: number) => ({ id: `01a203e1-a1a9-7264-9704-${String(n).padStart(12, "0")}`, object: "charge" })

/** The port of a server that answers with JSON once `answer` is called. */
const serving = (handle: (path: string, answer: (body: unknown) => void) => void) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer((request, response) =>
          handle(request.url ?? "", (body) => {
            response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
          })
        )
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return server
      }),
      (server) =>
        Effect.promise(async () => {
          server.closeAllConnections()
          await new Promise<void>((resolve) => server.close(() => resolve()))
        })
    ),
    (server) => (server.address() as AddressInfo).port
  )
