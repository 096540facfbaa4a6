/** Whose rows are: the declaration beside the schema, and beside the rows of an installation that is used. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { type Owner, tableOwners, uniqueAmongAccounts } from "../../src/schema/TableOwners.ts"
import { loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { makeWorld } from "../support/World.ts"

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("The owners of tables", (it) => {
  it.effect(
    "are declared for every table there is, by columns that exist, and lead to an account or a connection",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const columns = yield* sql<{ table: string; column: string; type: string }>`
        SELECT c.relname::text AS table, a.attname::text AS column, a.atttypid::regtype::text AS type
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`
        assert.sameMembers([...new Set(columns.map(({ table }) => table))], Object.keys(tableOwners))
        for (const [table, owner] of Object.entries(tableOwners)) {
          for (const [column, parents] of pathsOf(owner)) {
            const found = columns.find((each) => each.table === table && each.column === column)
            assert.strictEqual(found?.type, "uuid", `${table}.${column}`)
            for (const parent of parents) assert.isTrue(leadsToOwner(parent), `${table}.${column} to ${parent}`)
          }
        }
      })
  )

  it("come before the tables that name them, or these name an account or a connection too: so a move finds all rows", () => {
    const names = Object.keys(tableOwners)
    for (const [at, name] of names.entries()) {
      const paths = pathsOf(tableOwners[name]!)
      if (paths.some(([column]) => column === "account_id" || column === "connection_id")) continue
      for (const parent of paths.flatMap(([, parents]) => parents)) assert.isBelow(names.indexOf(parent), at, name)
    }
  })

  it.effect(
    "keep unique what the rows of two accounts can have: the owner is in each unique index, or a reason is written",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const indexes = yield* sql<{ name: string; table: string; columns: ReadonlyArray<string> }>`
        SELECT i.indexrelid::regclass::text AS name, i.indrelid::regclass::text AS table,
          ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)) AS columns
        FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
        WHERE i.indisunique AND c.relnamespace = 'public'::regnamespace AND NOT c.relispartition ORDER BY 1`
        const without = indexes.filter(({ columns, table }) => {
          const owner = tableOwners[table] ?? "cell"
          if (typeof owner === "string") return false
          return columns.join() !== "id" && !columns.some((column) => column in owner)
        })
        assert.deepStrictEqual(
          without.map(({ name }) => name),
          Object.keys(uniqueAmongAccounts).toSorted()
        )
      })
  )

  it.effect("are there for each row of an installation that is used", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { url } = yield* receiver()
      yield* makeWorld(url)
      const used: Array<string> = []
      for (const [table, owner] of Object.entries(tableOwners)) {
        const paths = pathsOf(owner)
        if (paths.length === 0) continue
        // Of the columns before it, each that is not null has named an owner.
        const named = paths.map(([column, parents], at) => {
          const isFirst = paths.slice(0, at).map(([before]) => `t.${before} IS NULL AND `)
          const rows = parents.map((parent) => `EXISTS (SELECT FROM ${parent} p WHERE p.id = t.${column})`)
          return `(${isFirst.join("")} (${rows.join(" OR ")}))`
        })
        const [row] = yield* sql.unsafe<{ rows: number; strays: number }>(`SELECT count(*)::integer AS rows,
          count(*) FILTER (WHERE num_nonnulls(${paths.map(([column]) => `t.${column}`).join()}) > 0
            AND NOT (${named.join(" OR ")}))::integer AS strays FROM ${table} t`)
        assert.strictEqual(row?.strays, 0, table)
        if (row!.rows > 0) used.push(table)
      }
      // A world has 35 of them; some are empty again after a moment.
      assert.isAtLeast(used.length, 25, used.join())
    }).pipe(Effect.scoped)
  )
})

const pathsOf = (owner: Owner): ReadonlyArray<readonly [string, ReadonlyArray<string>]> =>
  typeof owner === "string" ? [] : Object.entries(owner).map(([column, parents]) => [column, [parents].flat()])

/** Whether the columns of a table lead to owners, whichever of them is not null. */
const leadsToOwner = (table: string, seen: ReadonlyArray<string> = []): boolean => {
  const owner = tableOwners[table]
  if (owner === "owner") return true
  if (owner === undefined || typeof owner === "string" || seen.includes(table)) return false
  return pathsOf(owner).every(([, parents]) => parents.every((parent) => leadsToOwner(parent, [...seen, table])))
}
