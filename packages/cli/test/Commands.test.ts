/** Resources on the command line, against the real service. */
import { assert, describe, it as test, layer } from "@effect/vitest"
import { makeApprovers, payoutAboveLimit } from "@pix-payments/server/test/Approvals"
import { startDouble } from "@pix-payments/server/test/Bank"
import { created } from "@pix-payments/server/test/ChargeRequests"
import { connectTo } from "@pix-payments/server/test/Connections"
import { holding, operated } from "@pix-payments/server/test/Money"
import { closedPort, eventually, loopback, receiver } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Http from "node:http"
import { pix, start } from "./support/Pix.ts"

interface Fields {
  readonly id: string
  readonly refunds: ReadonlyArray<unknown>
  readonly [name: string]: unknown
}

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("pix", (it) => {
  const setup = Effect.gen(function* () {
    const { makeCaller, operatorToken, operatorUrl } = yield* TestService
    const caller = yield* makeCaller()
    const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
    /** Runs a command that succeeds. Returns what it wrote. */
    const done = <A = Fields>(args: ReadonlyArray<string>, input?: string) =>
      Effect.map(pix(args, { env, ...(input === undefined ? {} : { input }) }), ({ code, err, out }) => {
        assert.strictEqual(code, 0, `${args.join(" ")}: ${err}`)
        return JSON.parse(out) as A
      })
    return { ...caller, env, done }
  })

  it.effect(
    "CLI-8, CLI-16: creates, pays and refunds a charge; money moves after a question, which --yes answers",
    () =>
      Effect.gen(function* () {
        const { applicationId, done, env } = yield* setup
        const customer = ["--customer-name", "Ana Souza", "--customer-email", "ana@example.com"]
        const body = JSON.stringify({ customer: { document: "529.982.247-25" }, description: "Pedido 7" })
        const charge = yield* done(
          ["charges", "create", applicationId, "--amount", "123456", ...customer, "--data", "-"],
          body
        )
        assert.deepInclude(charge, { status: "pending", amount: 123_456, description: "Pedido 7" })
        yield* done(["simulator", "charge-pay", charge.id])
        const asked = yield* pix(["charges", "refund", charge.id, "--amount", "3456"], { env })
        assert.deepStrictEqual(
          [asked.code, asked.out, asked.err],
          [
            2,
            "",
            "Refund R$ 34,56 (thirty-four reais and fifty-six centavos) to Ana Souza?\n" +
              "Nobody can answer here: add --yes to do it.\n"
          ]
        )
        const refunded = yield* done(["charges", "refund", charge.id, "--amount", "3456", "--yes"])
        assert.lengthOf(refunded.refunds, 1)
        assert.deepInclude(yield* done(["charges", "get", charge.id]), { refunded_amount: 3456 })
        const missing = yield* pix(["charges", "create", applicationId, "--amount", "100"], { env })
        assert.strictEqual(missing.code, 2)
        assert.include(missing.err, "Missing: --customer-name, --customer-email, --customer-document.")
        const refused = yield* pix(["charges", "cancel", charge.id], { env })
        assert.strictEqual(refused.code, 5)
        assert.include(refused.err, "[INVALID_STATE]")
      })
  )

  it.effect("CLI-17: a list is a page of the service, or a line for each item up to a limit or the end", () =>
    Effect.gen(function* () {
      const { accountId, done, env, key } = yield* setup
      yield* Effect.forEach(Array.from({ length: 103 }), () => created(key), { concurrency: 10 })
      const page = yield* done<{ readonly data: ReadonlyArray<Fields>; readonly has_more: boolean }>([
        "charges",
        "list",
        "--account",
        accountId,
        "--limit",
        "2"
      ])
      assert.lengthOf(page.data, 2)
      assert.isTrue(page.has_more)
      const idsOf = (out: string) =>
        out
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line).id as string)
      const all = idsOf((yield* pix(["charges", "list", "--account", accountId, "--all"], { env })).out)
      assert.strictEqual(new Set(all).size, 103)
      const some = idsOf((yield* pix(["charges", "list", "--account", accountId, "--limit", "101"], { env })).out)
      assert.deepStrictEqual(some, all.slice(0, 101))
      const wrong = yield* pix(["charges", "list", "--origin", "nowhere"], { env })
      assert.strictEqual(wrong.code, 2)
      assert.include(wrong.err, '"api" | "checkout"')
    })
  )

  it.effect("CLI-16: gets a key and an entry of the audit log by id", () =>
    Effect.gen(function* () {
      const { applicationId, done, keyId } = yield* setup
      const page = (...args: ReadonlyArray<string>) => done<{ readonly data: ReadonlyArray<Fields> }>(args)
      assert.deepStrictEqual(yield* done(["keys", "get", keyId]), (yield* page("keys", "list", applicationId)).data[0]!)
      yield* done(["applications", "update", applicationId, "--name", "Loja 2"])
      const entries = (yield* page("audit", "list", "--limit", "100")).data
      const entry = entries.find(
        (each) => each["action"] === "applications.update" && each["resource_id"] === applicationId
      )
      assert.deepStrictEqual(yield* done(["audit", "get", entry!.id]), entry!)
    })
  )

  it.effect("CLI-23: a ledger that is not consistent ends with 1", () =>
    Effect.gen(function* () {
      const { accountId, env } = yield* setup
      const sql = yield* SqlClient
      const verify = pix(["ledger", "verify", "--full"], { env })
      assert.strictEqual((yield* verify).code, 0)
      const spoil = (cents: number) =>
        sql`UPDATE ledger_accounts SET balance = balance + ${cents} WHERE owner_id = ${accountId}::uuid AND kind = 'blocked'`
      yield* spoil(7)
      const { code, out } = yield* verify
      yield* spoil(-7)
      assert.strictEqual(code, 1)
      assert.deepInclude(JSON.parse(out), { consistent: false })
    })
  )

  it.effect("CLI-23: a connection that fails its check ends with 1", () =>
    Effect.gen(function* () {
      const { env } = yield* setup
      const { id } = yield* connectTo(yield* startDouble())
      const check = Effect.map(pix(["connection", "check", id], { env }), ({ code, err, out }) => {
        assert.strictEqual(err, "")
        return [code, JSON.parse(out).ok]
      })
      assert.deepStrictEqual(yield* check, [1, false])
      yield* operated("POST", `/connections/${id}/register-webhook`, { url: "https://hooks.example.com" })
      assert.deepStrictEqual(yield* check, [0, true])
    }).pipe(Effect.scoped)
  )

  it.effect("CLI-18: an action that needs an approval says so; the approver is asked with the amount in words", () =>
    Effect.gen(function* () {
      const { applicationId, env } = yield* setup
      const { one, other } = yield* makeApprovers
      const { accountId, payout } = yield* payoutAboveLimit()
      const { name: accountName } = yield* operated<{ name: string }>("GET", `/accounts/${accountId}`)
      const by = (token: string, ...args: ReadonlyArray<string>) => pix(args, { env: { ...env, PIX_TOKEN: token } })
      const requested = yield* by(one.token, "payouts", "approve", payout.id, "--yes")
      assert.strictEqual(requested.code, 0, requested.err)
      const approval = JSON.parse(requested.out) as Fields
      const resource = { object: "payout", id: payout.id }
      assert.deepInclude(approval, { object: "approval", action: "payout.approve", status: "pending", resource })
      assert.strictEqual(
        requested.err,
        `Nothing is done yet. Another operator has until ${String(approval["expires_at"])} to approve it: ` +
          `pix approvals approve ${approval.id}\n`
      )
      const asked = yield* by(other.token, "approvals", "approve", approval.id)
      assert.strictEqual(asked.code, 2)
      for (const line of [
        "Approve: Approve a payout\n",
        "  amount: R$ 10,00 (ten reais)\n",
        `  to: ${holding.pix_key}\n`,
        `  payout: ${payout.id}\n`,
        `  account: ${accountName} (${accountId})\n`,
        "  balance after: R$ 990,00\n",
        "  requested by: admin <",
        "Approve it?\n"
      ]) {
        assert.include(asked.err, line)
      }
      const approved = yield* by(other.token, "approvals", "approve", approval.id, "--yes")
      assert.deepInclude(JSON.parse(approved.out), { status: "approved", result_id: payout.id })

      const create = ["keys", "create", applicationId, "--name", "shop's", "--scopes", "payout:read,payout:write"]
      const waiting = yield* by(one.token, ...create)
      const command = `pix keys create ${applicationId} --name 'shop'\\''s' --scopes payout:read,payout:write`
      assert.include(waiting.err, `Then this does it, for you only and once: ${command}\n`)
      const { id } = JSON.parse(waiting.out) as { id: string }
      yield* by(other.token, "approvals", "approve", id, "--yes")
      const shown = yield* by(one.token, "approvals", "get", id)
      assert.strictEqual(shown.err, `Approved. Its requester does it, once, with: ${command}\n`)
      assert.isString(JSON.parse((yield* by(one.token, ...create)).out).key)
      assert.strictEqual((yield* by(one.token, "approvals", "get", id)).err, "")
    })
  )
})

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback } }), { excludeTestServices: true })(
  "pix",
  (it) => {
    it.effect("CLI-6, CLI-16: the target of an alert channel, which is a secret of Slack, is read by --data only", () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
        const target = "http://127.0.0.1:9/services/T000/B000/XXXX"
        const input = JSON.stringify({ target })
        const create = [
          "alert-channels",
          "create",
          "--name",
          "Plantao",
          "--kind",
          "slack",
          "--events",
          "ledger.differs"
        ]
        const made = yield* pix([...create, "--data", "-"], { env, input })
        assert.strictEqual(made.code, 0, made.err)
        const { id, ...channel } = JSON.parse(made.out) as { id: string }
        assert.deepInclude(channel, { kind: "slack", target: "http://127.0.0.1:9", has_secret: true })
        const changed = yield* pix(["alert-channels", "update", id, "--data", "-"], { env, input })
        assert.strictEqual(changed.code, 0, changed.err)
        for (const command of [create, ["alert-channels", "update", id]]) {
          const refused = yield* pix([...command, "--target", target], { env })
          assert.deepStrictEqual([refused.code, refused.out], [2, ""])
          assert.match(refused.err, /--target/)
        }
      })
    )

    it.effect("CLI-22: counts the failed deliveries of a filter, asks, and sends them again", () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { applicationId, key } = yield* makeCaller()
        const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
        const hooks = yield* receiver()
        for (const _ of [1, 2, 3]) {
          yield* created(key, { webhook_url: hooks.url, webhook_secret: "a secret of the receiver" })
        }
        const arrived = (count: number) =>
          eventually(
            Effect.sync(() => hooks.received.length),
            (length) => length >= count
          )
        yield* arrived(6)
        const sql = yield* SqlClient
        yield* eventually(
          sql`SELECT id FROM deliveries WHERE application_id = ${applicationId}::uuid AND status = 'delivered'`,
          ({ length }) => length === 6
        )
        yield* sql`UPDATE deliveries SET status = 'failed' WHERE application_id = ${applicationId}::uuid`
        const args = ["events", "resend", "--event", "charge.pix.created", "--since", "1h"]
        const counted = yield* pix([...args, "--dry-run"], { env })
        const found = { object: "resend", count: 3, has_more: false, dry_run: true }
        assert.deepStrictEqual(JSON.parse(counted.out), found, counted.err)
        const asked = yield* pix(args, { env })
        assert.deepStrictEqual(
          [asked.code, asked.err],
          [2, "Send 3 failed deliveries again?\nNobody can answer here: add --yes to do it.\n"]
        )
        assert.lengthOf(hooks.received, 6)
        // The command that is derived from the operation asks as well.
        const derived = ["deliveries", "resend-failed", "--event", "charge.pix.created"]
        const refused = yield* pix(derived, { env })
        assert.deepStrictEqual([refused.code, refused.err], [asked.code, asked.err])
        assert.deepStrictEqual(JSON.parse((yield* pix([...derived, "--dry-run"], { env })).out), found)
        assert.lengthOf(hooks.received, 6)
        const { code, out } = yield* pix([...args, "--yes"], { env })
        assert.deepStrictEqual([code, JSON.parse(out)], [0, { ...found, dry_run: false }])
        yield* arrived(9)
        // Without a filter: the other event of each charge.
        const rest = yield* pix(["events", "resend", "--failed", "--yes"], { env })
        assert.deepStrictEqual([rest.code, JSON.parse(rest.out)], [0, { ...found, dry_run: false }])
        yield* arrived(12)
        const ids = hooks.received
          .filter(({ body }) => body.event === "charge.pix.created")
          .map(({ headers }) => String(headers["x-webhook-delivery"]))
        assert.strictEqual(new Set(ids).size, 3)
        const one = yield* pix(["events", "resend", ids[0]!], { env })
        assert.strictEqual(one.code, 0, one.err)
        yield* arrived(13)
      }).pipe(Effect.scoped)
    )

    it.effect("CLI-21: tails the requests with a status of a class", () =>
      Effect.gen(function* () {
        const { call, makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
        const tail = yield* start(["logs", "tail", "--status", "4xx", "--limit", "1"], { env })
        yield* eventually(Effect.sync(tail.err), (err) => err.includes("Tailing"))
        yield* created(key)
        yield* call("GET", "/v1/charges/00000000-0000-7000-8000-000000000000", { key })
        assert.strictEqual((yield* tail.ended).code, 0)
        assert.deepStrictEqual(
          tail.lines().map(({ route, status }) => [route, status]),
          [["GET /v1/charges/{id}", 404]]
        )
      }).pipe(Effect.scoped)
    )

    it.effect("CLI-24: shows the balance of an account, and of every account", () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { accountId } = yield* makeCaller()
        yield* makeCaller()
        const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
        const one = JSON.parse((yield* pix(["balance", accountId], { env })).out)
        assert.lengthOf(one.data, 1)
        assert.deepInclude(one.data[0], { account_id: accountId, available: 0 })
        const all = JSON.parse((yield* pix(["balance"], { env })).out)
        assert.isAbove(all.data.length, 1)
      })
    )
  }
)

/** A service that answers these bodies by method and path. A function makes the body of each answer. */
const answering = (answers: Readonly<Record<string, readonly [number, unknown]>>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = Http.createServer((request, response) => {
          const [status, body] = answers[`${request.method} ${request.url}`] ?? [
            404,
            { code: "NOT_FOUND", message: "" }
          ]
          response
            .writeHead(status, { "content-type": "application/json" })
            .end(JSON.stringify(typeof body === "function" ? body() : body))
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

describe("pix", () => {
  test.live("CLI-22: repeats the request until no more deliveries are left, or a request sends none", () =>
    Effect.gen(function* () {
      const ended = Effect.fnUntraced(function* (...answers: ReadonlyArray<readonly [count: number, more: boolean]>) {
        let made = 0
        const url = yield* answering({
          "POST /operator/v1/deliveries/resend": [
            202,
            () => {
              const [count, has_more] = answers[made++] ?? [0, false]
              return { object: "resend", count, has_more, dry_run: made === 1 }
            }
          ]
        })
        const env = { PIX_URL: url, PIX_TOKEN: "token" }
        const { code, out } = yield* pix(["events", "resend", "--failed", "--yes"], { env })
        return [code, JSON.parse(out), made]
      })
      const body = { object: "resend", has_more: false, dry_run: false }
      const counted = [10_000, true] as const
      assert.deepStrictEqual(yield* ended(counted, [10_000, true], [9_999, true], [7, false]), [
        0,
        { ...body, count: 20_006 },
        4
      ])
      assert.deepStrictEqual(yield* ended(counted, [3, true], [0, true], [5, false]), [
        1,
        { ...body, count: 3, has_more: true },
        3
      ])
    }).pipe(Effect.scoped)
  )

  test.live("CLI-16: a creation without an answer says how to repeat it", () =>
    Effect.gen(function* () {
      const env = { PIX_URL: `http://127.0.0.1:${yield* closedPort}`, PIX_TOKEN: "token" }
      const args = [
        "payouts",
        "create",
        "01a2027c-27ce-74b6-88f7-06b8f8b33cb6",
        "--amount",
        "500",
        "--pix-key",
        "x",
        "--yes"
      ]
      const { code, err } = yield* pix([...args, "--idempotency-key", "order-1001"], { env })
      assert.strictEqual(code, 3)
      assert.include(err, "Repeat the command with --idempotency-key order-1001")
    })
  )
})
