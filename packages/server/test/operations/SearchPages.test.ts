/** What PostgreSQL reads for a search among many words of other charges and payouts. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { operated } from "../support/Money.ts"
import { makeExplainer, makeRecorder } from "../support/Plans.ts"
import { asService } from "../support/Postgres.ts"
import { TestService } from "../support/TestService.ts"

const recorder = makeRecorder()
const WORDS = 60_000

layer(TestService.layer().pipe(Layer.provide(recorder.layer)), { excludeTestServices: true })("Searches", (it) => {
  it.effect("OPR-125: a text reads none of the words before and after those that begin as it does", () =>
    Effect.gen(function* () {
      const { databaseUrl } = yield* TestService
      const sql = yield* SqlClient
      for (const [table, id] of [
        ["charge_words", "charge_id"],
        ["payout_words", "payout_id"]
      ] as const) {
        yield* sql.unsafe(
          `INSERT INTO ${table} (word, ${id}) SELECT 'm' || n, uuidv7() FROM generate_series(1, ${WORDS}) n`
        )
        yield* sql.unsafe(`ANALYZE ${table}`)
      }
      const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
      for (const q of ["zebedeu", "alice", "m99999", "352,21"]) {
        recorder.take()
        yield* operated("GET", `/search?q=${encodeURIComponent(q)}`)
        const sent = recorder.take().filter(({ text }) => /(charge|payout)_words/.test(text))
        assert.isAtLeast(sent.length, 2, q)
        for (const each of sent) {
          const { pages } = yield* explain(each)
          assert.isBelow(pages, 200, `${q}: ${each.text}`)
        }
      }
    })
  )
})
