/** `GET /v1/charges`: filters. */
import { assert, describe, layer } from "@effect/vitest"
import { ChargeStatus } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { type ChargeList, created, listed } from "../../support/ChargeRequests.ts"
import { storeStates } from "../../support/ChargeStates.ts"
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

  const idsOf = (list: ChargeList) => list.data.map(({ id }) => id)

  describe("filters", () => {
    it.effect("CHG-20: `status`: one of the charge states", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { key } = yield* caller
        const byStatus = new Map<string, string>()
        for (const status of ChargeStatus.literals) {
          const { id } = yield* created(key)
          byStatus.set(status, id)
          if (status === "expired") yield* sql`UPDATE charges SET expires_at = now() WHERE id = ${id}::uuid`
          else if (status === "processing") yield* sql`UPDATE charges SET status = 'processing' WHERE id = ${id}::uuid`
          else yield* sql`UPDATE charges SET status = ${status} WHERE id = ${id}::uuid`
        }
        yield* storeStates
        for (const status of ChargeStatus.literals) {
          const { data } = yield* listed(key, `?status=${status}`)
          assert.deepStrictEqual(
            data.map((charge) => [charge.id, charge.status]),
            [[byStatus.get(status), status]]
          )
        }
      })
    )

    it.effect("CHG-20: `method=boleto|card` is a known filter on charges", () =>
      Effect.gen(function* () {
        const { ids, key } = yield* callerWith(2)
        assert.deepStrictEqual(idsOf(yield* listed(key, "?method=pix")), ids)
        assert.deepStrictEqual(idsOf(yield* listed(key, "?method=boleto")), [])
        assert.deepStrictEqual(idsOf(yield* listed(key, "?method=card")), [])
      })
    )

    /** Three charges of one account, a second apart, newest first; the middle one is of this instant. */
    const threeAround = Effect.fn(function* (middle: string) {
      const sql = yield* SqlClient
      const { accountId, applicationId, key } = yield* caller
      const at = Date.parse(middle)
      const ids: Array<string> = []
      for (const ms of [at + 1000, at, at - 1000]) {
        const hex = ms.toString(16).padStart(12, "0")
        const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-${applicationId.slice(-12)}`
        ids.push(id)
        yield* sql`
          INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, created_at, sequence)
          VALUES (${id}::uuid, ${accountId}::uuid, ${applicationId}::uuid, 'api', 'failed', 'pix', 100,
            to_timestamp(${ms / 1000}::double precision), 2)`
      }
      yield* storeStates
      const [newest, same, oldest] = ids as [string, string, string]
      return { key, newest, same, oldest }
    })

    it.effect("LIST-6, CHG-20: Only charges created after (before) this instant: the instant itself is neither", () =>
      Effect.gen(function* () {
        const { key, newest, oldest, same } = yield* threeAround("2026-03-04T05:06:07.008Z")
        const after = (instant: string) => Effect.map(listed(key, `?created_after=${encoded(instant)}`), idsOf)
        const before = (instant: string) => Effect.map(listed(key, `?created_before=${encoded(instant)}`), idsOf)

        assert.deepStrictEqual(yield* after("2026-03-04T05:06:07.008Z"), [newest])
        assert.deepStrictEqual(yield* before("2026-03-04T05:06:07.008Z"), [oldest])
        // One millisecond beside it, and what lies between milliseconds.
        assert.deepStrictEqual(yield* after("2026-03-04T05:06:07.007Z"), [newest, same])
        assert.deepStrictEqual(yield* before("2026-03-04T05:06:07.009Z"), [same, oldest])
        assert.deepStrictEqual(yield* after("2026-03-04T05:06:07.0079999Z"), [newest, same])
        assert.deepStrictEqual(yield* after("2026-03-04T05:06:07.0080001Z"), [newest])
        assert.deepStrictEqual(yield* before("2026-03-04T05:06:07.0080001Z"), [same, oldest])
        assert.deepStrictEqual(yield* before("2026-03-04T05:06:07.0079999Z"), [oldest])
        // Seconds alone.
        assert.deepStrictEqual(yield* after("2026-03-04T05:06:07Z"), [newest, same])
        assert.deepStrictEqual(yield* before("2026-03-04T05:06:08Z"), [same, oldest])
      })
    )

    it.effect("API-2: Instants need an offset or `Z`, and mean the same with either", () =>
      Effect.gen(function* () {
        const { key, newest } = yield* threeAround("2026-03-04T05:06:07.008Z")
        for (const instant of [
          "2026-03-04T05:06:07.008Z",
          "2026-03-04T05:06:07.008+00:00",
          "2026-03-04T02:06:07.008-03:00",
          "2026-03-04T10:51:07.008+05:45",
          "2026-03-05T05:05:07.008+23:59"
        ]) {
          assert.deepStrictEqual(idsOf(yield* listed(key, `?created_after=${encoded(instant)}`)), [newest], instant)
        }
      })
    )

    it.effect("both ends together, with status, limit and cursor", () =>
      Effect.gen(function* () {
        const { key, newest, oldest, same } = yield* threeAround("2026-03-04T05:06:07.008Z")
        const ends = "created_after=2026-03-04T05:06:06.008Z&created_before=2026-03-04T05:06:08.008Z"
        assert.deepStrictEqual(idsOf(yield* listed(key, `?${ends}`)), [same])
        assert.deepStrictEqual(idsOf(yield* listed(key, `?${ends}&status=failed&method=pix`)), [same])
        assert.deepStrictEqual(idsOf(yield* listed(key, `?${ends}&status=paid`)), [])
        assert.deepStrictEqual(idsOf(yield* listed(key, `?${ends}&starting_after=${newest}`)), [same])
        assert.deepStrictEqual(idsOf(yield* listed(key, `?${ends}&starting_after=${same}`)), [])
        assert.deepStrictEqual(idsOf(yield* listed(key, `?${ends}&starting_after=${oldest}`)), [])
        const first = yield* listed(key, "?created_before=2026-03-04T05:06:08.008Z&limit=1")
        assert.deepStrictEqual([idsOf(first), first.has_more], [[same], true])
        const none = "created_after=2026-03-04T05:06:08Z&created_before=2026-03-04T05:06:07Z"
        assert.deepStrictEqual(idsOf(yield* listed(key, `?${none}`)), [])
      })
    )

    it.effect("instants far away are instants", () =>
      Effect.gen(function* () {
        const { ids, key } = yield* callerWith(1)
        for (const instant of ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z"]) {
          assert.deepStrictEqual(idsOf(yield* listed(key, `?created_after=${instant}`)), ids, instant)
          assert.deepStrictEqual(idsOf(yield* listed(key, `?created_before=${instant}`)), [], instant)
        }
        assert.deepStrictEqual(idsOf(yield* listed(key, "?created_before=9999-12-31T23:59:59Z")), ids)
        assert.deepStrictEqual(idsOf(yield* listed(key, "?created_after=9999-12-31T23:59:59Z")), [])
      })
    )

    it.effect(
      "API-2: the instant of a charge, as the API writes it, parts what came before it from what came after",
      () =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const first = yield* created(key)
          yield* created(key)
          const after = yield* listed(key, `?created_after=${first.created_at}`)
          assert.notInclude(idsOf(after), first.id)
          const before = yield* listed(key, `?created_before=${first.created_at}`)
          assert.deepStrictEqual(idsOf(before), [])
        })
    )
  })
})
