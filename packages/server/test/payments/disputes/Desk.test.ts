/** What the desk of defenses reads: files as they were sent, the payer's other disputes, sums, and what is due soon. */
import type { Summary } from "@pix-payments/api/operator/Fields"
import type { OperatorDispute } from "@pix-payments/api/operator/Disputes"
import { DEADLINE_HOURS } from "@pix-payments/domain/Alert"
import { formatInstant } from "@pix-payments/domain/Instant"
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { unknownId } from "../../support/Declared.ts"
import { med } from "../../support/Disputes.ts"
import { operated, paidCharge } from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const HOUR_MS = 3_600_000
const ana = { name: "Ana Souza", email: "ana@example.com", document: "52998224725" }
const rui = { name: "Rui Lima", email: "rui@example.com", document: "39053344705" }

const idsOf = (query: string) =>
  Effect.map(operated<{ data: ReadonlyArray<{ id: string }> }>("GET", `/disputes?${query}`), ({ data }) =>
    data.map(({ id }) => id)
  )

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })(
  "The desk of defenses",
  (it) => {
    it.effect("OPR-380: the other disputes of a payer, whoever asks, of the operator's accounts", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const mine = yield* makeCaller()
        const theirs = yield* makeCaller()
        const of = (key: string, customer: typeof ana | undefined, amount: number) =>
          Effect.flatMap(paidCharge(key, amount, { customer }), ({ id }) => med(id))
        const first = yield* of(mine.key, ana, 1000)
        const other = yield* of(mine.key, rui, 2000)
        const elsewhere = yield* of(theirs.key, ana, 3000)
        const now = yield* of(mine.key, ana, 4000)
        assert.deepStrictEqual(yield* idsOf(`same_payer_as=${now.id}`), [elsewhere.id, first.id])
        assert.deepStrictEqual(yield* idsOf(`same_payer_as=${now.id}&order=deadline`), [first.id, elsewhere.id])
        assert.deepStrictEqual(yield* idsOf(`same_payer_as=${now.id}&status=won`), [])
        assert.deepStrictEqual(yield* idsOf(`same_payer_as=${now.id}&charge_id=${first.charge_id}`), [first.id])
        assert.deepStrictEqual(yield* idsOf(`same_payer_as=${other.id}`), [])
        assert.deepStrictEqual(yield* idsOf(`same_payer_as=${unknownId}`), [])
        const summary = yield* operated<Summary>("GET", `/disputes/summary?same_payer_as=${now.id}`)
        assert.deepInclude(summary, { count: 2, amount: 4000, at_least: false })
        const limited = yield* makeOperator("viewer", [mine.accountId])
        const seen = (id: string) =>
          limited.call<{ data: ReadonlyArray<{ id: string }> }>("GET", `/operator/v1/disputes?same_payer_as=${id}`)
        assert.deepStrictEqual(
          (yield* seen(now.id)).body.data.map(({ id }) => id),
          [first.id]
        )
        // A dispute of others names nobody.
        assert.deepStrictEqual((yield* seen(elsewhere.id)).body.data, [])
        assertRefused(yield* operate("GET", "/operator/v1/disputes?same_payer_as=ana"), "VALIDATION_ERROR", [
          "same_payer_as"
        ])
      })
    )

    it.effect("OPR-381: files are listed after sending, and read as they were sent, by operators", () =>
      Effect.gen(function* () {
        const { call, makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* med((yield* paidCharge(key)).id)
        const base64 = (text: string) => Buffer.from(text).toString("base64")
        const filed = yield* operated<OperatorDispute>("POST", `/disputes/${id}/defense`, {
          text: "delivered",
          files: [
            { name: "entrega nº 7.png", content_type: "image/png", content: base64("picture") },
            { name: "page.html", content_type: "text/html", content: base64("<script>alert(1)</script>") }
          ]
        })
        const [{ files } = { files: [] }] = filed.messages
        assert.deepStrictEqual(
          files.map(({ content_type, name, size }) => [name, content_type, size]),
          [
            ["entrega nº 7.png", "image/png", 7],
            ["page.html", "text/html", 25]
          ]
        )
        assert.deepStrictEqual((yield* operated<OperatorDispute>("GET", `/disputes/${id}`)).messages, filed.messages)
        const path = (index: number) => `/operator/v1/dispute-files/${files[index]!.id}`
        const picture = yield* operate("GET", path(0))
        assert.strictEqual(picture.text, "picture")
        assert.deepInclude(picture.headers, {
          "content-type": "image/png",
          "content-security-policy": "default-src 'none'",
          "content-disposition": "inline; filename*=UTF-8''entrega%20n%C2%BA%207.png",
          "x-content-type-options": "nosniff",
          "cache-control": "no-store"
        })
        // No text of an operator is a page of this origin.
        const page = yield* operate("GET", path(1))
        assert.deepInclude(page.headers, {
          "content-type": "application/octet-stream",
          "content-disposition": "attachment; filename*=UTF-8''page.html"
        })
        for (const role of ["viewer", "developer"] as const) {
          assertRefused(yield* (yield* makeOperator(role)).call("GET", path(0)), "FORBIDDEN")
        }
        const other = yield* makeCaller()
        const elsewhere = yield* makeOperator("operator", [other.accountId])
        assertRefused(yield* elsewhere.call("GET", path(0)), "NOT_FOUND")
        const here = yield* makeOperator("operator", [accountId])
        assert.strictEqual((yield* here.call("GET", path(0))).status, 200)
        assertRefused(yield* operate("GET", `/operator/v1/dispute-files/${unknownId}`), "NOT_FOUND")
        assert.strictEqual((yield* call("GET", path(0), { key })).status, 404)
      })
    )

    it.effect("OPR-290, OPR-291, OPR-292: disputes by amount, their count and sum, and their file", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const small = yield* med((yield* paidCharge(key, 1000, { reference: "a" })).id)
        const large = yield* med((yield* paidCharge(key, 9000, { reference: "b" })).id)
        yield* operated("POST", `/disputes/${large.id}/defense`, { text: "delivered" })
        const own = `account_id=${accountId}`
        assert.deepStrictEqual(yield* idsOf(`${own}&amount_min=1000&amount_max=1000`), [small.id])
        assert.deepStrictEqual(yield* idsOf(`${own}&amount_min=1001&order=deadline`), [large.id])
        const sum = (query: string) => operated<Summary>("GET", `/disputes/summary?${own}${query}`)
        assert.deepInclude(yield* sum(""), { object: "summary", count: 2, amount: 10_000, at_least: false })
        assert.deepInclude(yield* sum("&status=open"), { count: 1, amount: 1000 })
        assert.deepInclude(yield* sum("&deadline_before=2099-01-01T00:00:00Z"), { count: 2, amount: 10_000 })
        assert.deepInclude(yield* sum("&deadline_before=2020-01-01T00:00:00Z"), { count: 0, amount: 0 })
        const { call } = yield* makeOperator("viewer", [accountId])
        const file = yield* call("GET", "/operator/v1/disputes/export?amount_min=2000")
        const [head, row, end] = file.text.split("\r\n")
        assert.match(head!, /^\uFEFFid;opened_at;account_id;account;charge_id;exception_id;status;amount;/)
        assert.match(row!, new RegExp(`^${large.id};.*;under_review;90,00;fraude;b;`))
        assert.strictEqual(end, "# 1")
        assertRefused(yield* operate("GET", "/operator/v1/disputes/summary?order=deadline"), "VALIDATION_ERROR", [
          "order"
        ])
      })
    )

    it.effect("OPR-382: the metric of those that are due within 48, 24 and 6 hours", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const due = Effect.map(operate("GET", "/metrics"), ({ text }) =>
          DEADLINE_HOURS.map((hours) =>
            Number(new RegExp(`^pix_payments_disputes_due\\{within_hours="${hours}"\\} (\\d+)`, "m").exec(text)?.[1])
          )
        )
        const opened = (hours: number) =>
          Effect.gen(function* () {
            const at = formatInstant((yield* Clock.currentTimeMillis) + hours * HOUR_MS)
            return yield* med((yield* paidCharge(key)).id, { defense_deadline_at: at })
          })
        const answered = yield* opened(5)
        yield* operated("POST", `/disputes/${answered.id}/defense`, { text: "delivered" })
        for (const hours of [5, 20, 40, 60]) yield* opened(hours)
        assert.deepStrictEqual(yield* eventually(due, ([within48]) => within48 === 3), [3, 2, 1])
      })
    )
  }
)
