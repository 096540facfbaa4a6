/**
 * What PostgreSQL does for a statement of the service: the indexes that it uses, how many rows it reads and how many
 * pages it touches. Counted with the settings of the service's own sessions, and with the plan that it makes for a
 * statement whatever its parameters.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { WALK_PLANNER } from "../../src/database/statements/Paging.ts"
import { CurrentTransformer, type Transformer } from "effect/sql/Statement"

/** A statement as the service sent it. */
export interface Sent {
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
}

export interface Work {
  /** In the order of their names, each once. An index of a partition has the name of its partitioned index. */
  readonly indexes: ReadonlyArray<string>
  /** Of `indexes`, those of which more than a few rows were looked at: in a partition of a few hundred, estimates tie. */
  readonly readIndexes: ReadonlyArray<string>
  /** Tables that are read from end to end. */
  readonly fullScans: ReadonlyArray<string>
  /** Rows that scans looked at, those that they threw away included. */
  readonly rows: number
  /** Pages of 8 KB. */
  readonly pages: number
}

/** Records all statements of a service below its layer. */
export const makeRecorder = () => {
  let kept: Array<Sent> = []
  let settings: ReadonlyArray<PlannerSetting> | undefined
  const seen = new Map<string, Sent>()
  const transformer: Transformer = (statement, sql) =>
    Effect.gen(function* () {
      settings ??= yield* sql
        .unsafe<PlannerSetting>(plannerSettings)
        .pipe(Effect.provideService(CurrentTransformer, undefined), Effect.orDie)
      const [text, parameters] = statement.compile()
      kept.push({ text, parameters })
      seen.set(text, { text, parameters })
      return statement
    })
  return {
    /** All texts since the start, each with the parameters of the last time. */
    seen,
    /** What was sent since the last time that it was asked. */
    take: (): ReadonlyArray<Sent> => {
      const taken = kept
      kept = []
      return taken
    },
    settings: () => settings ?? [],
    /** Records the statements of an effect. */
    record: Effect.provideService(CurrentTransformer, transformer),
    layer: Layer.succeed(CurrentTransformer, transformer)
  }
}

interface PlannerSetting {
  readonly name: string
  readonly setting: string
}

const plannerSettings = "SELECT name, setting FROM pg_settings WHERE category LIKE 'Query Tuning%'"

/** Explains statements in one session that plans as the service's do; what they change is undone. */
export const makeExplainer = Effect.fnUntraced(function* (
  url: Redacted.Redacted<string>,
  settings: ReadonlyArray<PlannerSetting>
) {
  const built = yield* Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 1 })))
  const sql = Context.get(built, SqlClient)
  for (const { name, setting } of settings) yield* sql`SELECT set_config(${name}, ${setting}, false)`
  const indexName = yield* partitionedIndexNames(sql)
  const names = new Map<string, string>()

  const explained = Effect.fnUntraced(function* ({ parameters, text }: Sent) {
    const name = names.get(text) ?? `explained_${names.size}`
    if (!names.has(text)) yield* sql.unsafe(`PREPARE ${name} AS ${text}`)
    names.set(text, name)
    const values = parameters.length === 0 ? "" : `(${parameters.map(literal).join(", ")})`
    yield* sql.unsafe("SAVEPOINT before")
    if (/(walked|examined) AS MATERIALIZED/.test(text)) yield* sql.unsafe(WALK_PLANNER)
    const [row] = yield* sql.unsafe<Explained>(
      `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE ${name}${values}`
    )
    yield* sql.unsafe("ROLLBACK TO SAVEPOINT before")
    return workOf(row!["QUERY PLAN"][0]!.Plan, indexName)
  })
  const undone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.andThen(sql.unsafe("BEGIN"), effect).pipe(Effect.ensuring(Effect.orDie(sql.unsafe("ROLLBACK"))))

  return {
    explain: (sent: Sent) => undone(explained(sent)),
    /** Explains amid rows that nobody else sees, with the statistics of those that `load` makes and not `later`. */
    explainAmid: <E, R>(
      load: (client: SqlClient) => Effect.Effect<unknown, E, R>,
      tables: ReadonlyArray<string>,
      all: ReadonlyArray<Sent>,
      later: (client: SqlClient) => Effect.Effect<unknown, E, R> = () => Effect.void
    ) =>
      undone(
        Effect.gen(function* () {
          yield* load(sql)
          yield* sql.unsafe(`ANALYZE ${tables.join(", ")}`)
          yield* later(sql)
          yield* sql.unsafe("SET LOCAL session_replication_role = origin")
          return yield* Effect.forEach(all, explained)
        })
      )
  }
})

/** The name of an index, or of the partitioned index that it is a part of. */
export const partitionedIndexNames = (sql: SqlClient) =>
  Effect.map(
    sql<{ name: string; parent: string }>`
      SELECT c.relname::text AS name, p.relname::text AS parent
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
      WHERE p.relkind = 'I'`,
    (rows) => {
      const parents = new Map(rows.map(({ name, parent }) => [name, parent]))
      return (name: string) => parents.get(name) ?? name
    }
  )

const literal = (value: unknown): string =>
  value === null || value === undefined ? "NULL" : `'${textOf(value).replaceAll("'", "''")}'`

/** Arrays of rows are parameters with their type. */
const textOf = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString()
  return PgTypes.isParameter(value) && Array.isArray(value.value) ? `{${value.value.join(",")}}` : String(value)
}

interface Explained {
  readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: Node }>
}

interface Node {
  readonly "Node Type": string
  readonly "Index Name"?: string
  readonly "Relation Name"?: string
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number
  readonly "Rows Removed by Index Recheck"?: number
  readonly "Shared Hit Blocks": number
  readonly "Shared Read Blocks": number
  readonly Plans?: ReadonlyArray<Node>
}

const FEW_ROWS = 500

const workOf = (plan: Node, indexName: (name: string) => string): Work => {
  const nodes = all(plan)
  const namesOf = (some: ReadonlyArray<Node>) => [
    ...new Set(some.flatMap((node) => (node["Index Name"] === undefined ? [] : indexName(node["Index Name"]))))
  ]
  const scans = nodes.filter((node) => /^(Index|Seq|Bitmap Heap|Tid)/.test(node["Node Type"]))
  return {
    indexes: namesOf(nodes).toSorted(),
    readIndexes: namesOf(nodes.filter((node) => rowsOf(node) > FEW_ROWS)).toSorted(),
    fullScans: nodes
      .filter((node) => node["Node Type"] === "Seq Scan" && node["Actual Loops"] > 0)
      .flatMap((node) => node["Relation Name"] ?? [])
      // It has one row.
      .filter((table) => table !== "installation_settings"),
    rows: Math.round(scans.reduce((sum, node) => sum + rowsOf(node), 0)),
    pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
  }
}

/** Rows that a scan looked at, those that it threw away included. */
const rowsOf = (node: Node) =>
  node["Actual Loops"] *
  (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0))

const all = (node: Node): ReadonlyArray<Node> => [node, ...(node.Plans ?? []).flatMap(all)]
