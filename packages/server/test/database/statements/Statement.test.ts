/** Statements number their parameters and refuse mistakes when they load; tables encode and decode rows from one list. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import {
  bigint,
  boolean,
  float8,
  instant,
  integer,
  json,
  names,
  nullable,
  type Row,
  text,
  uuid
} from "../../../src/database/statements/Column.ts"
import { part, rows, statement, uuids, value } from "../../../src/database/statements/Statement.ts"
import { table } from "../../../src/database/statements/Table.ts"
import { createDatabase } from "../../support/Postgres.ts"

const ID = "0199a0f0-5f3c-7c3e-9d0b-000000000001"
const OTHER_ID = "0199a0f0-5f3c-7c3e-9d0b-000000000002"

const limits = { limit: value("integer"), leaseMs: value("double precision") }

describe("A statement", () => {
  it("numbers its parameters in the order of its parts, whatever the order of its text", () => {
    const claim = statement(limits, (p) => `SELECT ${p.leaseMs}, ${p.limit}, ${p.leaseMs}`)
    assert.strictEqual(claim.text, "SELECT $2::double precision, $1::integer, $2::double precision")
    assert.deepStrictEqual(claim({ leaseMs: 2.5, limit: 1 }), [claim.text, [1, 2.5]])
  })

  it("numbers more than nine parameters", () => {
    const wide = statement(
      {
        rows: rows(Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`c${n}`, nullable(integer())]))),
        limits: value("integer")
      },
      (p) => `SELECT ${p.limits}0 FROM ${p.rows}`
    )
    assert.include(wide.text, "SELECT $13::integer0 FROM")
    assert.include(wide.text, "$9::integer[], $10::integer[], $11::integer[], $12::integer[]")
  })

  it("has the parameters of parts that are made of others", () => {
    const pair = part(
      { ids: uuids, limit: value("integer") },
      ({ ids, limit }) => ({ first: `a(${ids})`, second: `b(${limit})` }),
      (count: number) => ({ ids: Array.from({ length: count }, () => ID), limit: count })
    )
    const outer = statement({ name: value("text"), pair, last: value("uuid") }, (p) =>
      [p.last, p.pair.second, p.name, p.pair.first].join(" ")
    )
    assert.strictEqual(outer.text, "$4::uuid b($3::integer) $1::text a($2::uuid[])")
    assert.deepStrictEqual(outer({ name: "n", pair: 2, last: OTHER_ID })[1], ["n", `{${ID},${ID}}`, 2, OTHER_ID])
  })

  it("is refused when it loads, where its text leaves out a parameter", () => {
    assert.throws(() => statement(limits, (p) => `SELECT ${p.limit}`), /leaves out leaseMs: parameter 2/)
    const pair = part(
      limits,
      (p) => p,
      (input: { limit: number; leaseMs: number }) => input
    )
    assert.throws(() => statement({ pair }, (p) => `SELECT ${p.pair.leaseMs}`), /leaves out pair: parameter 1/)
  })

  it("is refused when it loads, where a parameter is numbered by hand", () => {
    assert.throws(() => statement(limits, (p) => `SELECT ${p.limit}, ${p.leaseMs}, $2`), /\$2 is written by hand/)
  })

  it("takes what its parts take", () => {
    const claim = statement(limits, (p) => `SELECT ${p.limit}, ${p.leaseMs}`)
    // @ts-expect-error a part without its input
    claim({ limit: 1 })
    // @ts-expect-error an input of another type
    claim({ limit: "1", leaseMs: 1 })
    const people = rows({ id: uuid(), name: nullable(text()) })
    people.parameters([{ id: ID }])
    // @ts-expect-error null in a column that is not nullable
    people.parameters([{ id: null }])
    // @ts-expect-error a name that is not in the text's parts
    assert.throws(() => statement(limits, (p) => `SELECT ${p.limits}`))
  })
})

const things = table({
  id: uuid(),
  ownerId: nullable(uuid()),
  kind: text<"big" | "small">(),
  tags: nullable(names()),
  details: nullable(json<{ readonly b: number; readonly a: ReadonlyArray<string> }>()),
  count: integer(),
  amount: bigint(),
  share: float8(),
  isOpen: boolean(),
  createdAtMs: instant("created_at"),
  endedAtMs: nullable(instant("ended_at"))
})

describe("A table", () => {
  it("names its columns in snake case, once, with those that a decoding reads beside them", () => {
    const state = { ...text(), beside: "answered" }
    const columns = table({ id: uuid(), accountId: uuid(), state, hash: text("sha256") })
    assert.strictEqual(columns.columns(), "id, account_id, state, answered, sha256")
    assert.strictEqual(columns.columns("t"), "t.id, t.account_id, t.state, t.answered, t.sha256")
    assert.strictEqual(columns.names(["hash", "accountId"]), "sha256, account_id")
  })

  it("refuses a column whose name is not an identifier", () => {
    assert.throws(() => table({ id: uuid("id; --") }), /not an identifier: id; --/)
    assert.throws(() => rows({ "a b": uuid() }), /not an identifier: a b/)
  })

  it.live("writes rows of every type to PostgreSQL, and reads the same back", () =>
    Effect.gen(function* () {
      const url = yield* createDatabase()
      const sql = Context.get(yield* Layer.build(PgClient.layer({ url })), SqlClient)
      yield* sql`CREATE TABLE things (id uuid PRIMARY KEY, owner_id uuid, kind text, tags text[], details json, count integer,
        amount bigint, share float8, is_open boolean, created_at timestamptz, ended_at timestamptz, caller integer)`
      const all = [
        "id",
        "ownerId",
        "kind",
        "tags",
        "details",
        "count",
        "amount",
        "share",
        "isOpen",
        "createdAtMs",
        "endedAtMs"
      ] as const
      const insert = statement(
        { things: things.rows(all, { caller: nullable(integer()) }) },
        (p) =>
          `INSERT INTO things (${things.names(all)}, caller) SELECT ${things.names(all)}, caller FROM ${p.things} AS t`
      )
      const full = {
        id: ID,
        ownerId: OTHER_ID,
        kind: "big",
        tags: ["one", "two"],
        details: { b: 1, a: ['"quoted", {braced}\\'] },
        count: -1,
        amount: Number.MAX_SAFE_INTEGER,
        share: 0.5,
        isOpen: true,
        createdAtMs: Date.UTC(2026, 0, 1),
        endedAtMs: Date.UTC(1969, 11, 31)
      } as const
      const empty = { ...full, id: OTHER_ID, ownerId: null, tags: null, details: null, isOpen: false, endedAtMs: null }
      yield* sql.unsafe(...insert({ things: [{ ...full, caller: 7 }, empty] }))
      const found = yield* sql.unsafe<Row>(`SELECT ${things.columns()} FROM things ORDER BY id`)
      assert.deepStrictEqual(found.map(things.decode), [full, empty])
      const [{ details } = { details: "" }] = yield* sql<{ details: string }>`
        SELECT details::text AS details FROM things WHERE caller = 7`
      assert.strictEqual(details, JSON.stringify(full.details), "json keeps the order of keys")
    }).pipe(Effect.scoped)
  )
})
