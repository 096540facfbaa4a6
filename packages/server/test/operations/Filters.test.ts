/** The filters of operators' lists: what each leaves, count and sum, the file, and who may ask for what. */
import type { CountSummary, Summary } from "@pix-payments/api/operator/Fields"
import type { Stats } from "@pix-payments/api/operator/Stats"
import { formatInstant } from "@pix-payments/domain/Instant"
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import { failing, funded, operated, paidCharge, paidOut, payoutReaching } from "../support/Money.ts"
import { med } from "../support/Disputes.ts"
import { makeOperator } from "../support/Operators.ts"
import { eventually } from "../support/Receiver.ts"
import { type Call, type Fields, TestService } from "../support/TestService.ts"
import { withoutTriggers } from "../support/Million.ts"

interface Walked {
  readonly data: ReadonlyArray<{ readonly id: string }>
  readonly has_more: boolean
  readonly next: string | null
  readonly looked_at: number
}

const asked = (by: Call, path: string, query: Fields) =>
  Effect.map(
    by<Walked>("GET", `/operator/v1${path}?${new URLSearchParams(query as Record<string, string>)}`),
    (answer) => {
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body
    }
  )

const customer = { name: "José Antônio da Conceição", email: "jose@example.com", document: "529.982.247-25" }

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Filters", (it) => {
  it.effect(
    "OPR-290, OPR-291: each filter of charges leaves the charges that it names, alone and together with others",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, applicationId, key } = yield* funded(90_000)
        const other = yield* funded(70_000)
        const cheap = yield* created(key, { amount: 1234, reference: "pedido-1", customer })
        const paid = yield* paidCharge(key, 35_221, { reference: "pedido/2-azul" })
        const refused = yield* operate("GET", "/operator/v1/charges?customer_name=x")
        assertRefused(refused, "VALIDATION_ERROR", ["customer_name"])
        const settled = yield* operated<{ paid_at: string; pix: { end_to_end_id: string } }>(
          "GET",
          `/charges/${paid.id}`
        )
        const found = (query: Fields) =>
          Effect.map(asked(operate, "/charges", { account_id: accountId, ...query }), ({ data }) =>
            data.map(({ id }) => id)
          )
        const before = formatInstant(Date.parse(settled.paid_at) + 1)
        const after = formatInstant(Date.parse(settled.paid_at) - 1)
        const cases: ReadonlyArray<readonly [Fields, ReadonlyArray<string>]> = [
          [{ status: "pending" }, [cheap.id]],
          [{ status: "paid", amount_max: "40000" }, [paid.id]],
          [{ status: "paid", amount_min: "35221", amount_max: "40000" }, [paid.id]],
          [{ method: "card" }, []],
          [{ application_id: applicationId, reference: "pedido-1" }, [cheap.id]],
          [{ application_id: other.applicationId }, []],
          [{ customer_document: "529.982.247-25", status: "pending" }, [cheap.id]],
          [{ customer_document: "111.444.777-35" }, []],
          [{ customer_document: "no document" }, []],
          [{ paid_after: after, paid_before: before }, [paid.id]],
          [{ paid_after: before }, []],
          [{ end_to_end_id: settled.pix.end_to_end_id, status: "paid" }, [paid.id]],
          [{ end_to_end_id: settled.pix.end_to_end_id, status: "pending" }, []],
          [{ failure_reason: "none such" }, []],
          [{ created_after: before, created_before: "2100-01-01T00:00:00Z", status: "paid" }, []]
        ]
        for (const [query, ids] of cases) {
          assert.deepStrictEqual(yield* found(query), ids, JSON.stringify(query))
          const summary = yield* operate<Summary>(
            "GET",
            `/operator/v1/charges/summary?${new URLSearchParams({ account_id: accountId, ...query } as {})}`
          )
          assert.deepInclude(
            summary.body,
            { count: ids.length, at_least: false, amount: ids.includes(cheap.id) ? 1234 : ids.length * 35_221 },
            summary.text
          )
        }
        const named = (q: string) => eventually(found({ q }), (ids) => ids.length > 0)
        for (const q of ["jose conc", "JOSÉ", "antonio", "pedido 1"])
          assert.deepStrictEqual(yield* named(q), [cheap.id], q)
        assert.deepStrictEqual(yield* named("azul"), [paid.id])
        assert.sameMembers([...(yield* named("pedido"))], [cheap.id, paid.id])
        assert.deepStrictEqual(yield* found({ amount_min: "35221", amount_max: "35221" }), [paid.id])
        assert.deepStrictEqual(yield* found({ q: "jose silva" }), [])
        const elsewhere = yield* asked(operate, "/charges", { account_id: other.accountId, q: "jose" })
        assert.deepStrictEqual(elsewhere.data, [])
      })
  )

  it.effect("OPR-291: what filters leave is counted and summed state by state, each as its rows show it", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* funded(90_000)
      const expired = yield* created(key, { amount: 1000, reference: "estado", customer })
      yield* sql`UPDATE charges SET expires_at = now() - interval '1 second' WHERE id = ${expired.id}::uuid`
      for (const amount of [2000, 3000]) yield* created(key, { amount, reference: "estado", customer })
      yield* paidCharge(key, 4000, { reference: "estado" })
      const summary = (query: Fields) =>
        Effect.map(
          operate<Summary>(
            "GET",
            `/operator/v1/charges/summary?${new URLSearchParams({ account_id: accountId, ...query } as {})}`
          ),
          ({ body }) => body
        )
      const found = yield* summary({ reference: "estado" })
      assert.sameDeepMembers(
        [...found.states],
        [
          { status: "expired", count: 1, amount: 1000 },
          { status: "pending", count: 2, amount: 5000 },
          { status: "paid", count: 1, amount: 4000 }
        ]
      )
      assert.deepInclude(found, { count: 4, amount: 10_000, at_least: false })
      assert.deepStrictEqual((yield* summary({ status: "expired", reference: "estado" })).states, [
        { status: "expired", count: 1, amount: 1000 }
      ])
      // A row that several words of a search find is counted once.
      yield* eventually(summary({ q: "estado" }), ({ count }) => count === 4)
      assert.deepStrictEqual((yield* summary({ q: "jose da conc" })).states.length, 2)
      assert.strictEqual((yield* summary({ q: "jose da conc" })).count, 3)
      assert.deepStrictEqual((yield* summary({ reference: "none" })).states, [])
    })
  )

  it.effect("OPR-290: payouts by state, amount, recipient and reason", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(90_000)
      const sent = yield* paidOut(key, { amount: 700, reference: "aluguel", recipient_name: "Imobiliária Sé" })
      const failed = yield* paidOut(key, { ...failing, amount: 900 })
      yield* payoutReaching(key, sent.id, "completed")
      const { failure_reason: reason } = yield* payoutReaching(key, failed.id, "failed")
      const found = (query: Fields) =>
        Effect.map(asked(operate, "/payouts", { account_id: accountId, ...query }), ({ data }) =>
          data.map(({ id }) => id)
        )
      assert.deepStrictEqual(yield* found({ status: "failed", failure_reason: reason! }), [failed.id])
      assert.deepStrictEqual(yield* found({ amount_max: "800" }), [sent.id])
      assert.deepStrictEqual(yield* found({ reference: "aluguel", origin: "api" }), [sent.id])
      assert.deepStrictEqual(yield* found({ origin: "dashboard" }), [])
      assert.deepStrictEqual(yield* eventually(found({ q: "imobiliaria" }), (ids) => ids.length > 0), [sent.id])
    })
  )

  it.effect("OPR-290: returns, disputes, deliveries and requests by account and period; disputes by deadline", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(90_000)
      const other = yield* funded(50_000)
      const paid = yield* paidCharge(key, 5000)
      yield* operated("POST", `/charges/${paid.id}/refund`, { amount: 700 })
      const late = yield* med((yield* paidCharge(key, 6000)).id, { defense_deadline_at: "2099-01-03T00:00:00Z" })
      const soon = yield* med((yield* paidCharge(key, 6000)).id, { defense_deadline_at: "2099-01-02T00:00:00Z" })
      const elsewhere = yield* med((yield* paidCharge(other.key, 100)).id, {
        defense_deadline_at: "2099-01-01T00:00:00Z"
      })
      const idsOf = (path: string, query: Fields) =>
        Effect.map(asked(operate, path, query), ({ data }) => data.map(({ id }) => id))
      const own = { account_id: accountId }
      assert.deepStrictEqual(yield* idsOf("/disputes", { ...own, order: "deadline" }), [soon.id, late.id])
      assert.deepStrictEqual(yield* idsOf("/disputes", { order: "deadline" }), [elsewhere.id, soon.id, late.id])
      const rest = { order: "deadline", starting_after: soon.id, limit: "1" }
      assert.deepStrictEqual(yield* idsOf("/disputes", rest), [late.id])
      assert.deepStrictEqual(yield* idsOf("/disputes", { ...own, deadline_before: "2099-01-02T12:00:00Z" }), [soon.id])
      assert.deepStrictEqual(yield* idsOf("/disputes", own), [soon.id, late.id])
      assert.lengthOf(yield* idsOf("/refunds", { ...own, amount_min: "700", amount_max: "700" }), 1)
      assert.lengthOf(yield* idsOf("/refunds", { ...own, amount_min: "701" }), 0)
      assert.lengthOf(yield* idsOf("/refunds", { account_id: other.accountId }), 0)
      const summary = yield* operated<Summary>("GET", `/refunds/summary?account_id=${accountId}`)
      const states = [{ status: "completed", count: 1, amount: 700 }]
      assert.deepInclude(summary, { count: 1, amount: 700, states, at_least: false })
      const requests = yield* eventually(idsOf("/requests", own), ({ length }) => length === 4)
      assert.deepStrictEqual(yield* idsOf("/requests", { ...own, created_before: "2020-01-01T00:00:00Z" }), [])
      assert.sameMembers(yield* idsOf("/requests", { ...own, created_after: "2020-01-01T00:00:00Z" }), [...requests])
      assert.deepStrictEqual(yield* idsOf("/deliveries", own), [])
    })
  )

  it.effect("OPR-294: the figures of hours and days, with failures by reason, of ranges that are bounded", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(90_000)
      const failed = yield* paidOut(key, { ...failing, amount: 900 })
      const { failure_reason: reason } = yield* payoutReaching(key, failed.id, "failed")
      const paid = yield* paidCharge(key, 5000)
      yield* operated("POST", `/charges/${paid.id}/refund`, { amount: 700 })
      yield* payoutReaching(key, (yield* paidOut(key, { amount: 600 })).id, "completed")
      const day = (offset: number) =>
        Effect.map(Clock.currentTimeMillis, (now) => formatInstant(now + offset * 86_400_000).slice(0, 10))
      const [from, to] = [yield* day(-2), yield* day(1)]
      for (const interval of ["hour", "day"]) {
        const path = `/operator/v1/stats?account_id=${accountId}&from=${from}&to=${to}&interval=${interval}`
        const { body } = yield* eventually(operate<Stats>("GET", path), ({ body }) =>
          body.periods.some(({ sent }) => sent > 0)
        )
        const sum = (name: "received" | "returned" | "sent" | "net") =>
          body.periods.reduce((total, period) => total + period[name], 0)
        assert.deepStrictEqual([sum("received"), sum("returned"), sum("sent"), sum("net")], [95_000, 700, 600, 93_700])
        assert.deepStrictEqual(
          body.periods.flatMap(({ failed: all }) => all),
          [{ resource: "payout", reason, count: 1 }]
        )
      }
      assert.deepStrictEqual((yield* operated<Stats>("GET", `/stats?account_id=${accountId}`)).periods, [])
      const asks = (query: string) => operate("GET", `/operator/v1/stats?${query}`)
      assertRefused(yield* asks("from=2026-01-01&to=2026-01-09&interval=hour"), "VALIDATION_ERROR", ["to"])
      assertRefused(yield* asks("from=2026-01-02&to=2026-01-01"), "VALIDATION_ERROR", ["to"])
      assertRefused(yield* asks("from=2026-02-30"), "VALIDATION_ERROR", ["from"])
      assertRefused(yield* asks("to=2026-02-01"), "VALIDATION_ERROR", ["from"])
    })
  )

  it.effect(
    "OPR-290, OPR-291, OPR-292: the count and the file of deliveries and requests, of the operator's accounts",
    () =>
      Effect.gen(function* () {
        const { call, operate } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, applicationId, key } = yield* funded(1000)
        yield* funded(1000)
        yield* created(key)
        const refused = yield* call("POST", "/v1/charges", { key, body: { amount: -1 } })
        assert.strictEqual(refused.status, 400)
        yield* sql`
        INSERT INTO deliveries (id, change_id, event, resource_id, account_id, application_id, url, destination, destination_hash,
          status, attempts_made, reason, created_at)
        SELECT uuidv7(), uuidv7(), 'charge.pix.paid', uuidv7(), ${accountId}::uuid, ${applicationId}::uuid,
          'https://loja.example/pix', 'https://loja.example', uuidv7(), status, 1, '=1+1', now()
        FROM unnest('{failed,failed,delivered}'::text[]) status`
        const { call: byViewer } = yield* makeOperator("viewer", [accountId])
        const count = (by: Call, path: string) =>
          Effect.map(by<CountSummary>("GET", `/operator/v1${path}`), ({ body }) => body)
        for (const [by, own] of [
          [operate, `account_id=${accountId}&`],
          [byViewer, ""]
        ] as const) {
          const expected = (each: number) => ({ object: "summary" as const, count: each, at_least: false })
          assert.deepInclude(yield* count(by, `/deliveries/summary?${own}`), expected(3))
          assert.deepInclude(yield* count(by, `/deliveries/summary?${own}status=failed`), expected(2))
          assert.deepInclude(yield* count(by, `/deliveries/summary?${own}event=charge.pix.created`), expected(0))
          const statesOf = (path: string) =>
            Effect.map(count(by, path), ({ states }) => new Map(states.map((each) => [each.status, each.count])))
          assert.deepStrictEqual(
            yield* statesOf(`/deliveries/summary?${own}`),
            new Map([
              ["failed", 2],
              ["delivered", 1]
            ])
          )
          yield* eventually(count(by, `/requests/summary?${own}status=400`), (found) => found.count === 1)
          assert.strictEqual((yield* statesOf(`/requests/summary?${own}`)).get("4xx"), 1)
          assert.strictEqual((yield* count(by, `/requests/summary?${own}status=4xx`)).count, 1)
          assert.strictEqual((yield* count(by, `/requests/summary?${own}status=5xx`)).count, 0)
          const { data } = (yield* by<{ data: ReadonlyArray<{ status: number }> }>(
            "GET",
            `/operator/v1/requests?${own}status=4xx`
          )).body
          assert.deepStrictEqual(
            data.map(({ status }) => status),
            [400]
          )
          assert.isAtLeast((yield* count(by, `/requests/summary?${own}route=POST+/v1/charges`)).count, 2)
          assert.deepInclude(
            yield* count(by, `/requests/summary?${own}created_before=2020-01-01T00:00:00Z`),
            expected(0)
          )
          const file = yield* by("GET", `/operator/v1/deliveries/export?${own}status=failed`)
          const lines = file.text.split("\r\n")
          assert.match(lines[0]!, /^\uFEFFid;created_at;event;/)
          assert.match(lines[1]!, /;charge\.pix\.paid;.*;https:\/\/loja\.example\/pix;failed;1;;'=1\+1$/)
          assert.strictEqual(lines[3], "# 2")
          const requests = yield* by("GET", `/operator/v1/requests/export?${own}status=400`)
          assert.match(requests.text, /;POST \/v1\/charges;400;\d+;\r\n# 1\r\n$/)
        }
      })
  )

  it.effect("OPR-290: a walk looks at a bounded number of rows, says how many, and goes on where it stopped", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, applicationId } = yield* makeCaller()
      const insert = (status: string, amount: number, count: number, age: string) =>
        withoutTriggers(
          sql.unsafe(
            `INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, created_at, sequence)
            SELECT uuidv7(-$3::interval + n * interval '1 millisecond'), $1::uuid, $2::uuid, 'api', '${status}', 'pix', ${amount},
              now(), 2 FROM generate_series(1, ${count}) n`,
            [accountId, applicationId, age]
          )
        )
      yield* insert("failed", 5, 3, "2 days")
      yield* insert("paid", 7, 55_000, "1 day")
      const limited = yield* makeOperator("viewer", [accountId])
      for (const [by, query] of [
        [operate, { account_id: accountId }],
        [limited.call, {}]
      ] as const) {
        const first = yield* asked(by, "/charges", { ...query, status: "failed" })
        assert.deepInclude(first, { data: [], has_more: true })
        assert.isAtMost(first.looked_at, 50_010)
        assert.isAbove(first.looked_at, 9000)
        let next = first.next
        let pages = 1
        let rest = first
        while (rest.data.length === 0 && next !== null && pages < 10) {
          rest = yield* asked(by, "/charges", { ...query, status: "failed", starting_after: next, limit: "2" })
          next = rest.next
          pages += 1
        }
        assert.lengthOf(rest.data, 2)
        const last = yield* asked(by, "/charges", { ...query, status: "failed", starting_after: next!, limit: "2" })
        assert.deepInclude(last, { has_more: false, next: null })
        assert.lengthOf(last.data, 1)
      }
      // Oldest first, they are the first, and what is left to look at comes after them.
      const query = { account_id: accountId, status: "failed", order: "asc" }
      const oldest = yield* asked(operate, "/charges", query)
      assert.lengthOf(oldest.data, 3)
      let lookedAt = oldest.looked_at
      for (let next = oldest.next; next !== null;) {
        const page = yield* asked(operate, "/charges", { ...query, starting_after: next })
        assert.deepStrictEqual(page.data, [])
        ;[next, lookedAt] = [page.next, lookedAt + page.looked_at]
      }
      assert.strictEqual(lookedAt, 55_003)
      const sum = yield* operated<Summary>("GET", `/charges/summary?account_id=${accountId}`)
      assert.isTrue(sum.at_least)
      assert.isAtLeast(sum.count, 10_000)
      assert.strictEqual(sum.amount, sum.count * 7)
      // Those that are further back are in no state.
      assert.deepStrictEqual(sum.states, [{ status: "paid", count: sum.count, amount: sum.amount }])
      const few = yield* operated<Summary>("GET", `/charges/summary?account_id=${accountId}&amount_max=6`)
      assert.isTrue(few.at_least)
    })
  )

  it.effect("OPR-290: a filter by what a role sees masked matches nothing for it", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(1000)
      yield* created(key, { customer })
      const query = { account_id: accountId, customer_document: "52998224725" }
      assert.isAbove((yield* asked(operate, "/charges", query)).data.length, 0)
      for (const role of ["viewer", "developer"] as const) {
        const { call } = yield* makeOperator(role)
        assert.deepStrictEqual((yield* asked(call, "/charges", query)).data, [])
        const { body } = yield* call<Summary>(
          "GET",
          `/operator/v1/charges/summary?${new URLSearchParams(query).toString()}`
        )
        assert.strictEqual(body.count, 0)
        const file = yield* call("GET", `/operator/v1/charges/export?${new URLSearchParams(query).toString()}`)
        assert.notInclude(file.text, "Conceição")
      }
    })
  )

  it.effect(
    "OPR-292: a file has every row of the filter, no formula, masked data for whom it is masked, and its end",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, key } = yield* funded(1000, { name: "Livraria & Cia" })
        const name = '=HYPERLINK("http://evil")'
        const sold = yield* created(key, { amount: 1050, reference: "a;b", customer: { ...customer, name } })
        const path = `/operator/v1/charges/export?account_id=${accountId}`
        const file = yield* operate("GET", path)
        assert.match(String(file.headers["content-type"]), /^text\/csv/)
        const lines = file.text.split("\r\n")
        assert.match(lines[0]!, /^\uFEFFid;created_at;account_id;account;status;/)
        assert.strictEqual(lines[1]!.split(";")[3], "Livraria & Cia")
        assert.include(lines[1]!, ';10,50;0,00;"a;b";"\'=HYPERLINK(""http://evil"")";52998224725;jose@example.com;')
        assert.strictEqual(lines[3], "# 2")
        // São Paulo is three hours behind UTC: a sale of the evening is of that day.
        const local = formatInstant(Date.parse(sold.created_at) - 3 * 3_600_000)
          .slice(0, 19)
          .replace("T", " ")
        assert.strictEqual(lines[1]!.split(";")[1], local)
        const { call } = yield* makeOperator("viewer", [accountId])
        const masked = yield* call("GET", path)
        assert.notMatch(masked.text, /52998224725|jose@/)
        assert.include(masked.text, "***982247**")
        const payouts = yield* operate("GET", `/operator/v1/payouts/export?account_id=${accountId}`)
        assert.include(payouts.text, "# 0")
      })
  )
})
