/** `GET /v1/charges`: pages and cursors. */
import { assert, describe, layer } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import {
  assertRefused,
  type ChargeList,
  create,
  created,
  type ErrorBody,
  listed,
  someCustomer
} from "../../support/ChargeRequests.ts"
import { TestService } from "../../support/TestService.ts"

const encoded = encodeURIComponent

layer(TestService.layer(), { excludeTestServices: true })("GET /v1/charges", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  /** Charges of a new account, newest first. */
  const callerWith = Effect.fn(function* (count: number) {
    const made = yield* caller
    const charges = yield* Effect.forEach(Array.from({ length: count }), () => created(made.key))
    return { ...made, ids: charges.map(({ id }) => id).toReversed() }
  })

  const page = (key: string, query: string) =>
    Effect.flatMap(TestService, ({ call }) => call<ChargeList & ErrorBody>("GET", `/v1/charges${query}`, { key }))

  const idsOf = (list: ChargeList) => list.data.map(({ id }) => id)

  describe("the envelope", () => {
    it.effect("LIST-1: an empty list: `object` `list`, `data` empty, `has_more` false", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        assert.deepStrictEqual(yield* listed(key), { object: "list", data: [], has_more: false })
      })
    )

    it.effect(
      "LIST-1, LIST-3, LIST-5: limit: default 20; `has_more` is true while more items exist after this page; no total count",
      () =>
        Effect.gen(function* () {
          const { ids, key } = yield* callerWith(21)
          const first = yield* listed(key)
          assert.hasAllKeys(first, ["object", "data", "has_more"])
          assert.deepStrictEqual([idsOf(first), first.has_more], [ids.slice(0, 20), true])
          const rest = yield* listed(key, `?starting_after=${ids[19]}`)
          assert.deepStrictEqual([idsOf(rest), rest.has_more], [ids.slice(20), false])
          const whole = yield* listed(key, "?limit=21")
          assert.deepStrictEqual([idsOf(whole), whole.has_more], [ids, false])
          const none = yield* listed(key, `?starting_after=${ids[20]}`)
          assert.deepStrictEqual(none, { object: "list", data: [], has_more: false })
        })
    )

    it.effect("LIST-3: limit: 1 to 100", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { ids, key } = yield* callerWith(1)
        assert.strictEqual((yield* listed(key, "?limit=1")).has_more, false)
        // A hundred more, older than the one that is there.
        yield* sql`
          INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, created_at, sequence)
          SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, account_id, application_id, 'api',
            'failed', 'pix', 100, to_timestamp(n), 2
          FROM charges, generate_series(1, 100) AS n WHERE id = ${ids[0]}::uuid`
        const { call } = yield* TestService
        for (const [limit, got] of Object.entries({
          x: "text of 1 character",
          "0": "0",
          "101": "101",
          "1.5": "1.5",
          "12345678901": "text of 11 characters",
          "": "text of 0 characters"
        })) {
          const refused = yield* call<{ readonly message: string }>("GET", `/v1/charges?limit=${limit}`, { key })
          assert.strictEqual(refused.status, 400, limit)
          assert.include(refused.body.message, `limit must be a whole number from 1 to 100, got ${got}.`)
        }
        const full = yield* listed(key, "?limit=100")
        assert.deepStrictEqual([full.data.length, full.has_more], [100, true])
        assert.deepStrictEqual(idsOf(full), idsOf(full).toSorted().toReversed())
        const one = yield* listed(key, "?limit=1")
        assert.deepStrictEqual([idsOf(one), one.has_more], [ids, true])
      })
    )

    it.effect(
      "LIST-2, LIST-4: newest first by creation date, and repeating while `has_more` is true gives everything once",
      () =>
        Effect.gen(function* () {
          const { ids, key } = yield* callerWith(7)
          const seen: Array<string> = []
          let more = true
          while (more) {
            const cursor = seen.length === 0 ? "" : `&starting_after=${seen.at(-1)}`
            const { data, has_more } = yield* listed(key, `?limit=3${cursor}`)
            seen.push(...data.map(({ id }) => id))
            more = has_more
          }
          assert.deepStrictEqual(seen, ids)
        })
    )

    it.effect("LIST-2: charges created while paginating do not shift items between pages", () =>
      Effect.gen(function* () {
        const { ids, key } = yield* callerWith(5)
        const first = yield* listed(key, "?limit=2")
        yield* created(key)
        yield* created(key)
        const second = yield* listed(key, `?limit=2&starting_after=${idsOf(first).at(-1)}`)
        yield* created(key)
        const third = yield* listed(key, `?limit=2&starting_after=${idsOf(second).at(-1)}`)
        assert.deepStrictEqual([...idsOf(first), ...idsOf(second), ...idsOf(third)], ids)
        assert.deepStrictEqual(
          [first, second, third].map(({ has_more }) => has_more),
          [true, true, false]
        )
      })
    )

    it.effect("LIST-2: charges created at the same time come in a strict order, on pages as in one list", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        yield* Effect.forEach(Array.from({ length: 30 }), () => created(key), { concurrency: "unbounded" })
        const whole = idsOf(yield* listed(key, "?limit=30"))
        assert.lengthOf([...new Set(whole)], 30)
        const paged: Array<string> = []
        while (paged.length < 30) {
          const cursor = paged.length === 0 ? "" : `&starting_after=${paged.at(-1)}`
          paged.push(...idsOf(yield* listed(key, `?limit=7${cursor}`)))
        }
        assert.deepStrictEqual(paged, whole)
      })
    )
  })

  it.effect("LIST-1 to LIST-5: pages of many callers at once: each gets its own", () =>
    Effect.gen(function* () {
      const callers = yield* Effect.forEach([0, 1, 2, 3, 23], callerWith)
      const asked = callers.flatMap(({ ids, key }, index) => {
        const [other] = callers.flatMap((one, at) => (at === index ? [] : one.ids))
        return [
          { key, query: "", has: ids.slice(0, 20), more: ids.length > 20 },
          { key, query: "?limit=1", has: ids.slice(0, 1), more: ids.length > 1 },
          { key, query: "?limit=100", has: ids, more: false },
          { key, query: "?status=pending&limit=2", has: ids.slice(0, 2), more: ids.length > 2 },
          { key, query: "?created_before=2020-01-01T00:00:00Z", has: [], more: false },
          { key, query: "?created_after=2020-01-01T00:00:00Z&limit=100", has: ids, more: false },
          ...ids.map((id, at) => ({
            key,
            query: `?limit=2&starting_after=${at % 2 === 0 ? id : id.toUpperCase()}`,
            has: ids.slice(at + 1, at + 3),
            more: ids.length > at + 3
          })),
          // The charge of another account is not of this list.
          { key, query: `?starting_after=${other}`, has: undefined, more: false }
        ]
      })
      const answersTo = (keyOf: (key: string) => Effect.Effect<string>) =>
        Effect.forEach(asked, ({ key, query }) => Effect.flatMap(keyOf(key), (used) => page(used, query)), {
          concurrency: "unbounded"
        })
      // The first list of each key is a lookup; later ones share statements.
      for (const { key } of callers) yield* listed(key)
      const cached = yield* answersTo(Effect.succeed)
      const { makeKey } = yield* TestService
      const applications = new Map(callers.map(({ applicationId, key }) => [key, applicationId]))
      const first = yield* answersTo((key) => Effect.map(makeKey(applications.get(key)!), (made) => made.key))
      for (const answers of [cached, first]) {
        for (const [index, { has, more, query }] of asked.entries()) {
          const answer = answers[index]!
          if (has === undefined) assertRefused(answer, "VALIDATION_ERROR", ["starting_after"])
          else assert.deepStrictEqual([idsOf(answer.body), answer.body.has_more], [has, more], query)
        }
      }
    })
  )

  describe("LIST-7: malformed query values: 400 `VALIDATION_ERROR`, `details` names the parameter", () => {
    it.effect.each([
      [
        "limit",
        [
          "0",
          "101",
          "-1",
          "1.5",
          "x",
          "",
          "%20",
          "0x10",
          "%205",
          "5%20",
          "1e1x",
          "NaN",
          "Infinity",
          "null",
          "20,30",
          "9".repeat(400)
        ]
      ],
      ["starting_after", ["x", "", "null", "01a1fd37d21e717f8451d23f26a8797f", "'", "%00", "a".repeat(5000)]],
      ["status", ["x", "", "PENDING", "pending,paid", "pending%20", "%00", "open"]],
      ["method", ["x", "", "PIX", "ted", "%00"]],
      [
        "created_after",
        ["x", "", "0", "1763726400", "2026-11-21", "2026-11-21T12:00:00", "2026-11-21T12:00:00+03:00", "%00"]
      ],
      [
        "created_before",
        [
          "2026-02-30T00:00:00Z",
          "2026-13-01T00:00:00Z",
          "2026-11-21T25:00:00Z",
          "2026-11-21T24:00:00Z",
          "2026-11-21T12:60:00Z",
          "2026-11-21T12:00:00%2B25:00",
          "21/11/2026",
          "Sat, 21 Nov 2026 12:00:00 GMT",
          "tomorrow",
          "99999-01-01T00:00:00Z",
          "2026-11-21T12:00:00Z'"
        ].map((value) => value.replaceAll(" ", "%20"))
      ]
    ] as const)("%s", ([name, values]) =>
      Effect.gen(function* () {
        const { key } = yield* caller
        for (const value of values) {
          const answer = yield* page(key, `?${name}=${value}`)
          assert.strictEqual(answer.status, 400, `${name}=${value}`)
          assertRefused(answer, "VALIDATION_ERROR", [name])
        }
      })
    )

    it.effect("all of them at once", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const query = "?limit=x&starting_after=x&status=x&method=x&created_after=x&created_before=x"
        assertRefused(yield* page(key, query), "VALIDATION_ERROR", [
          "limit",
          "starting_after",
          "status",
          "method",
          "created_after",
          "created_before"
        ])
      })
    )

    it.effect("a parameter sent twice is malformed", () =>
      Effect.gen(function* () {
        const { ids, key } = yield* callerWith(1)
        for (const [name, value] of [
          ["limit", "5"],
          ["status", "pending"],
          ["method", "pix"],
          ["starting_after", ids[0]],
          ["created_after", "2026-01-01T00:00:00Z"]
        ] as const) {
          assertRefused(yield* page(key, `?${name}=${value}&${name}=${value}`), "VALIDATION_ERROR", [name])
          assert.notStrictEqual((yield* page(key, `?${name}[]=${value}`)).status, 500)
        }
      })
    )

    it.effect("API-5: unknown fields in a query: ignored", () =>
      Effect.gen(function* () {
        const { ids, key } = yield* callerWith(1)
        for (const query of [
          "?x=1",
          "?",
          "?&&",
          "?=",
          "?__proto__=1",
          "?constructor=1&toString=2",
          "?%00=%00",
          "?x=1&x=2",
          "?ending_before=x"
        ]) {
          assert.deepStrictEqual(idsOf(yield* listed(key, query)), ids, query)
        }
      })
    )

    it.effect("an escape that names no text is no 500", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        for (const query of ["?limit=%zz", "?status=%", "?starting_after=%ff", "?%zz=1", "?created_after=%E0%A4%A"]) {
          assert.include([200, 400], (yield* page(key, query)).status, query)
        }
      })
    )

    it.effect.prop(
      "LIST-7: any text as any parameter is a page or a `VALIDATION_ERROR` of that parameter, never 500",
      [
        Schema.Literals(["limit", "starting_after", "status", "method", "created_after", "created_before"]),
        Arbitrary.filter(Arbitrary.schema(Schema.String), (text) => text.isWellFormed())
      ],
      ([name, value]) =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const answer = yield* page(key, `?${name}=${encoded(value)}`)
          if (answer.status !== 200) assertRefused(answer, "VALIDATION_ERROR", [name])
        }),
      { arbitrary: { runs: 50 } }
    )
  })

  describe("`starting_after`", () => {
    it.effect("LIST-4, LIST-7: names nothing in this list's scope: 400 `VALIDATION_ERROR`", () =>
      Effect.gen(function* () {
        const { key } = yield* callerWith(1)
        const stranger = yield* callerWith(1)
        for (const id of [
          "01a1fd37-d21e-717f-8451-d23f26a8797f",
          "00000000-0000-0000-0000-000000000000",
          stranger.ids[0],
          stranger.accountId
        ]) {
          assertRefused(yield* page(key, `?starting_after=${id}`), "VALIDATION_ERROR", ["starting_after"])
        }
      })
    )

    it.effect("LIST-4: The scope of a cursor is the account's items of that list, filters aside", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const older = yield* created(key)
        const refused = yield* create(key, { customer: { ...someCustomer, email: "refuse@simulator.test" } })
        const { charge_id } = refused.body as unknown as ErrorBody
        const newer = yield* created(key)
        const list = yield* listed(key, `?status=pending&starting_after=${charge_id}`)
        assert.deepStrictEqual(idsOf(list), [older.id])
        const after = yield* listed(key, `?created_after=${newer.created_at}&starting_after=${newer.id}`)
        assert.deepStrictEqual(idsOf(after), [])
        const failed = yield* listed(key, `?status=failed&limit=1&starting_after=${newer.id}`)
        assert.deepStrictEqual([idsOf(failed), failed.has_more], [[charge_id], false])
      })
    )

    it.effect("in upper case it is the same UUID", () =>
      Effect.gen(function* () {
        const { ids, key } = yield* callerWith(2)
        assert.deepStrictEqual(idsOf(yield* listed(key, `?starting_after=${ids[0]?.toUpperCase()}`)), ids.slice(1))
      })
    )
  })
})
