/** Two cells, and an account that moves from one to the other. One that may not: `CellFitness.test.ts`. */
import { assert, layer } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import type { Charge } from "@pix-payments/domain/Charge"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { eventsAfter, EventLog, OLDEST } from "../../src/events/EventLog.ts"
import { undoMove } from "../../src/cells/AccountMove.ts"
import { CannotMove } from "../../src/cells/Fitness.ts"
import { startDouble } from "../support/Bank.ts"
import { accountAt, moved, startCell, sweepNow } from "../support/Cells.ts"
import { assertRefused, create, created, retrieve, someCharge } from "../support/ChargeRequests.ts"
import { copyCharges } from "../support/ChargeCopies.ts"
import { withoutTriggers } from "../support/Million.ts"
import { assertLedgerHolds, operated, paidOut, payoutReaching, somePayout, submittedPayout } from "../support/Money.ts"
import { eventually, receiver } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

const FUNDS = 100_000

/** More where a drill asks for it: `pnpm run drill:cells`. Beyond a thousand they are copies. */
const CHARGES = Number(process.env["CELLS_CHARGES"] ?? 300)
const CREATED = Math.min(CHARGES, 1000)
const COPIES = Math.round(CHARGES / CREATED) - 1

const paidAt = (bank: PspDouble, { id }: Charge) => Result.getOrThrow(bank.provider.receipts.payCob(txidFromId(id)))

/** The account's changes in the order of the cell's log. */
const logged = (accountId: string) =>
  Effect.gen(function* () {
    const log = yield* EventLog
    const filter = { accountIds: [accountId], applicationId: undefined, events: undefined }
    const bodies: Array<string> = []
    for (let from = OLDEST, isMore = true; isMore;) {
      const page = yield* log.read(from, filter)
      for (const change of page.changes) bodies.push(...eventsAfter(change, from, filter).map(({ body }) => body))
      from = page.end
      isMore = page.isMore
    }
    return bodies
  })

const isPaid = (key: string, id: string) =>
  eventually(Effect.andThen(sweepNow, retrieve(key, id)), ({ body }) => body.status === "paid")

/** The id of a charge that a request stores in the cell that the account has left: it waited for a connection since before the freeze. */
const storedLate = (accountId: string, connectionId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { makeCaller } = yield* TestService
    const { key } = yield* makeCaller()
    const { id } = yield* created(key)
    yield* withoutTriggers(sql`
      UPDATE charges SET account_id = ${accountId}::uuid, connection_id = ${connectionId}::uuid WHERE id = ${id}::uuid`)
    return id
  })

/** The same of an endpoint. */
const endpointStoredLate = (accountId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { makeCaller } = yield* TestService
    const { key } = yield* makeCaller()
    const { id } = yield* registered(key, { url: "https://1.1.1.1/late", events: ["charge.pix.paid"] })
    yield* withoutTriggers(
      Effect.all([
        sql`UPDATE webhook_endpoints SET account_id = ${accountId}::uuid WHERE id = ${id}::uuid`,
        sql`UPDATE webhook_endpoint_versions SET account_id = ${accountId}::uuid WHERE endpoint_id = ${id}::uuid`
      ])
    )
    return id
  })

/** What the account's callers and operators read, as text. */
const shown = (key: string, accountId: string, connectionId: string) =>
  Effect.gen(function* () {
    const { call, operate } = yield* TestService
    const texts: Record<string, string> = {}
    for (const path of [
      "/v1/charges",
      "/v1/charges?status=paid",
      "/v1/payouts",
      "/v1/webhooks",
      "/v1/balance",
      "/v1/account"
    ]) {
      texts[path] = (yield* call("GET", path, { key })).text
    }
    for (const path of [
      `/charges?account_id=${accountId}`,
      `/deliveries?account_id=${accountId}`,
      `/accounts/${accountId}`,
      `/accounts/${accountId}/transactions`,
      `/accounts/${accountId}/closes`,
      `/connections/${connectionId}/transactions`,
      `/stats?account_id=${accountId}`
    ]) {
      texts[path] = (yield* operate("GET", `/operator/v1${path}`)).text
    }
    return texts
  })

layer(Layer.empty, { excludeTestServices: true })("An account that moves to another cell", (it) => {
  it.effect("OPR-392: is there as it was, and nothing of it is left", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* startCell("a"), yield* startCell("b")]
      const bank = yield* startDouble({ profile: "efi", settings: { openingCents: FUNDS } })
      const { received, url } = yield* receiver()
      const before = yield* Effect.gen(function* () {
        const account = yield* accountAt(bank)
        const { makeCaller } = yield* TestService
        const other = yield* makeCaller()
        yield* registered(account.key, { url, events: ["charge.pix.paid", "payment.pix.processing"] })
        const idempotencyKey = newKey()
        const first = yield* created(account.key, { amount: 5000 }, idempotencyKey)
        const open = yield* created(account.key, { amount: 700 })
        paidAt(bank, first)
        yield* isPaid(account.key, first.id)
        const payout = yield* paidOut(account.key, { ...somePayout, amount: 1200 })
        yield* submittedPayout(account.key, payout.id)
        yield* payoutReaching(account.key, payout.id, "completed")
        yield* eventually(
          Effect.sync(() => received.length),
          (count) => count >= 2
        )
        const sql = yield* SqlClient
        // It has the id of its report.
        bank.provider.receipts.receive({ key: bank.key, cents: 1234 })
        yield* eventually(
          Effect.andThen(
            sweepNow,
            sql`SELECT 1 FROM acquirer_exceptions WHERE connection_id = ${account.connectionId}::uuid`
          ),
          (rows) => rows.length === 1
        )
        // No connection has it yet.
        yield* operated("PATCH", `/accounts/${account.accountId}`, { auto_payout_enabled: false })
        yield* paidOut(account.key, { ...somePayout, amount: 1300 })
        yield* eventually(sql`SELECT 1 FROM deliveries WHERE status <> 'delivered'`, (rows) => rows.length === 0)
        yield* eventually(
          sql`SELECT 1 FROM changes WHERE (transaction_id, id)
            > ((SELECT transaction_id FROM status_counts_position), (SELECT change_id FROM status_counts_position))`,
          (rows) => rows.length === 0
        )
        const texts = yield* shown(account.key, account.accountId, account.connectionId)
        const events = yield* logged(account.accountId)
        return { ...account, other, idempotencyKey, first, open, texts, events, received: received.length }
      }).pipe(a.inside)
      const { accountId, connectionId, first, key, open } = before
      const lines: Array<string> = []

      yield* moved(a, b, accountId, (line) => Effect.sync(() => void lines.push(line)))

      assert.match(lines[0]!, /^Rows: \d+\. The account is frozen for about \d+ s\.$/)
      yield* Effect.gen(function* () {
        const refused = yield* create(key)
        assertRefused(refused, "SERVICE_UNAVAILABLE")
        assert.isDefined(refused.headers["retry-after"])
        const { operate } = yield* TestService
        // What would be lost here, or be paid to another bank account.
        for (const [path, body] of [
          [`/keys/${before.keyId}/revoke`, undefined],
          [`/applications/${before.applicationId}/keys`, { name: "new", scopes: ["charge:read"] }],
          [`/applications/${before.applicationId}/checkout-charges`, someCharge],
          [`/accounts/${accountId}/applications`, { name: "new" }]
        ] as const) {
          const answer = yield* operate("POST", `/operator/v1${path}`, { body })
          assertRefused(answer, "SERVICE_UNAVAILABLE", ["b"])
        }
        yield* created(before.other.key)
        yield* assertLedgerHolds
      }).pipe(a.inside)
      yield* Effect.gen(function* () {
        const { operate } = yield* TestService
        assert.deepStrictEqual(yield* shown(key, accountId, connectionId), before.texts)
        assert.deepStrictEqual(yield* logged(accountId), before.events)
        yield* assertLedgerHolds
        const repeated = yield* created(key, { amount: 5000 }, before.idempotencyKey)
        assert.strictEqual(repeated.id, first.id)
        paidAt(bank, open)
        yield* isPaid(key, open.id)
        yield* eventually(
          Effect.sync(() => received.length),
          (count) => count === before.received + 1
        )
        assert.lengthOf(new Set(received.map(({ body }) => body.id)), received.length)
        yield* assertLedgerHolds
        assert.strictEqual((yield* operate("POST", `/operator/v1/keys/${before.keyId}/revoke`)).status, 200)
        assertRefused(yield* create(key), "UNAUTHORIZED")
      }).pipe(b.inside)
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-392: may end at any point, is undone or completed then, and comes back", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* startCell("a"), yield* startCell("b")]
      const bank = yield* startDouble({ profile: "efi", settings: { openingCents: FUNDS } })
      const account = yield* Effect.gen(function* () {
        const account = yield* accountAt(bank)
        const charge = yield* created(account.key, { amount: 5000 })
        paidAt(bank, charge)
        yield* isPaid(account.key, charge.id)
        return account
      }).pipe(a.inside)
      const { accountId, key } = account
      const texts = () => shown(key, accountId, account.connectionId)
      /** A move that ends as soon as it has said so many lines. */
      const cut = (lines: number) => {
        let said = 0
        return moved(a, b, accountId, () =>
          Effect.suspend(() => (++said === lines ? Effect.fail(new CannotMove({ message: "cut" })) : Effect.void))
        )
      }
      const before = yield* texts().pipe(a.inside)
      const STEPS_BEFORE_THE_COMMIT = 4
      for (let lines = 1; lines <= STEPS_BEFORE_THE_COMMIT; lines++) {
        assert.strictEqual((yield* Effect.flip(cut(lines))).message, "cut")
        if (lines > 1) assertRefused(yield* create(key).pipe(a.inside), "SERVICE_UNAVAILABLE")
        yield* moved(a, b, accountId, undefined, undoMove)
        assert.deepStrictEqual(yield* texts().pipe(a.inside), before, `after ${lines} lines`)
        assertRefused(yield* create(key).pipe(b.inside), "UNAUTHORIZED")
      }
      yield* Effect.flip(cut(STEPS_BEFORE_THE_COMMIT + 1))
      const late = yield* Effect.flip(moved(a, b, accountId, undefined, undoMove))
      assert.include(late.message, "has moved")
      yield* moved(a, b, accountId)
      assert.deepStrictEqual(yield* texts().pipe(b.inside), before)
      const waited = yield* storedLate(accountId, account.connectionId).pipe(a.inside)
      const endpointId = yield* endpointStoredLate(accountId).pipe(a.inside)
      const lines: Array<string> = []
      yield* moved(a, b, accountId, (line) => Effect.sync(() => void lines.push(line)))
      assert.include(lines, "Rows came late, and follow.")
      assert.strictEqual((yield* retrieve(key, waited).pipe(b.inside)).status, 200)
      // The endpoint is subscribed, as if it had been stored there.
      const subscribed = SqlClient.use(
        (sql) =>
          sql`SELECT v.endpoint_id, c.live FROM webhook_endpoint_versions v JOIN webhook_endpoint_counters c USING (account_id)
          WHERE v.account_id = ${accountId}::uuid AND v.ended_at IS NULL`
      )
      assert.deepStrictEqual(yield* subscribed.pipe(b.inside), [{ endpoint_id: endpointId, live: 1 }])
      yield* moved(a, b, accountId, (line) => Effect.sync(() => assert.notInclude(line, "late")))
      const charge = yield* created(key).pipe(b.inside)
      yield* moved(b, a, accountId)
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* retrieve(key, charge.id)).status, 200)
        paidAt(bank, charge)
        yield* isPaid(key, charge.id)
        yield* assertLedgerHolds
      }).pipe(a.inside)
      assertRefused(yield* create(key).pipe(b.inside), "SERVICE_UNAVAILABLE")
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-391, OPR-392: is used meanwhile: 503 for it alone, and nothing is lost or doubled", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* startCell("a"), yield* startCell("b")]
      const bank = yield* startDouble({ profile: "efi" })
      const { received, url } = yield* receiver()
      const [account, other] = yield* Effect.gen(function* () {
        const account = yield* accountAt(bank)
        yield* registered(account.key, { url, events: ["charge.pix.created"] })
        return [account, yield* (yield* TestService).makeCaller()] as const
      }).pipe(a.inside)
      const { accountId, key } = account
      yield* Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: CREATED }), () => created(key), { concurrency: 8 })
        if (COPIES === 0) return
        const sql = yield* SqlClient
        for (const made of [
          sql`SELECT 1 FROM deliveries WHERE account_id = ${accountId}::uuid AND status = 'delivered'`,
          sql`SELECT 1 FROM requests WHERE account_id = ${accountId}::uuid AND status = 201`
        ]) {
          yield* eventually(made, (rows) => rows.length >= CREATED)
        }
        yield* copyCharges(account, COPIES)
      }).pipe(a.inside)

      /** The id of each key's charge, as it was answered, and what the other account got. */
      const answered = new Map<string, Set<string>>()
      const others: Array<{ readonly status: number; readonly ms: number; readonly isMoving: boolean }> = []
      const state = { isOver: false, home: a, isMoving: false }
      let refusedFrom = 0
      let refusedUntil = 0
      const nowMs = () => performance.now()
      const calling = Effect.gen(function* () {
        while (!state.isOver) {
          const idempotencyKey = newKey()
          for (let isDone = false; !isDone;) {
            const { body, status } = yield* create(key, {}, idempotencyKey).pipe(state.home.inside)
            isDone = status === 201
            if (isDone) answered.set(idempotencyKey, (answered.get(idempotencyKey) ?? new Set()).add(body.id))
            else assert.strictEqual(status, 503)
            if (!isDone) {
              if (refusedFrom === 0) refusedFrom = nowMs()
              refusedUntil = nowMs()
              yield* Effect.sleep("50 millis")
            }
          }
        }
      })
      const beside = Effect.gen(function* () {
        while (!state.isOver) {
          const [time, { status }] = yield* Effect.timed(create(other.key).pipe(a.inside))
          others.push({ status, ms: Duration.toMillis(time), isMoving: state.isMoving })
        }
      })
      const callers = yield* Effect.forkChild(Effect.all([calling, calling, beside], { concurrency: "unbounded" }))
      const moreAnswers = Effect.suspend(() => {
        const before = answered.size
        return eventually(
          Effect.sync(() => answered.size),
          (size) => size >= before + 5
        )
      })
      yield* moreAnswers
      const lines: Array<string> = []
      yield* moved(a, b, accountId, (line) =>
        Effect.sync(() => {
          lines.push(line)
          state.isMoving = true
          // As the map of a router: the account is there.
          if (line.startsWith("The account lives in")) state.home = b
        })
      )
      state.isMoving = false
      yield* moreAnswers
      state.isOver = true
      yield* Fiber.join(callers)

      assert.deepStrictEqual(new Set(others.map(({ status }) => status)), new Set([201]))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const [row] = yield* sql<{ count: number }>`SELECT count(*)::integer AS count FROM charges`
        assert.strictEqual(row?.count, CREATED * (1 + COPIES) + answered.size)
        for (const [idempotencyKey, ids] of answered) {
          assert.deepStrictEqual([...ids, (yield* created(key, {}, idempotencyKey)).id], [...ids, ...ids])
        }
        yield* eventually(
          Effect.sync(() => new Set(received.map(({ body }) => body.data.id)).size),
          (count) => count === CREATED + answered.size
        )
        yield* assertLedgerHolds
      }).pipe(b.inside)
      const bytes = new Map(received.map((each) => [each.body.id, each.bytes.toString()]))
      for (const each of received) assert.strictEqual(each.bytes.toString(), bytes.get(each.body.id))
      assert.strictEqual(bytes.size, CREATED + answered.size, "one delivery for each charge")
      const [left] = yield* Effect.flatMap(
        SqlClient,
        (sql) => sql<{ count: number }>`
        SELECT count(*)::integer AS count FROM charges WHERE account_id = ${accountId}::uuid`
      ).pipe(a.inside)
      assert.strictEqual(left?.count, 0)
      const [otherwise, meanwhile] = [false, true].map((isMoving) => {
        const times = others.filter((each) => each.isMoving === isMoving).map(({ ms }) => ms)
        return `${Math.round(times.toSorted((one, next) => one - next)[Math.floor(times.length * 0.99)]!)} ms`
      })
      yield* Effect.logInfo(
        `${lines[0]} It was for ${Math.round(refusedUntil - refusedFrom)} ms. The other's 99 %: ${otherwise}, meanwhile ${meanwhile}.`
      )
    }).pipe(Effect.scoped)
  )
})
