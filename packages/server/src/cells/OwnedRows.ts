/**
 * The rows that are an account's, and its connection's: by `schema/TableOwners.ts`, table by table.
 *
 * Guarantee: every table whose rows move is in `movedTables`.
 */
import { type Owner, tableOwners } from "../schema/TableOwners.ts"

/** An account, and the connection that it alone uses. */
export interface Moved {
  readonly accountId: string
  readonly connectionId: string
}

/** They stay where they were, so that a key is answered there with 503. Their copies count in the other cell. */
export const copiedTables = ["accounts", "applications", "api_keys"]

/** Tables whose rows leave their cell, parents first. */
export const movedTables: ReadonlyArray<string> = Object.entries(tableOwners)
  .filter(([name, owner]) => owner !== "cell" && owner !== "content" && !copiedTables.includes(name))
  .map(([name]) => name)

/** Those of which other tables have ids. */
export const parentTables: ReadonlySet<string> = new Set(
  movedTables.flatMap((name) => pathsOf(tableOwners[name]!).flatMap(([, parents]) => parents))
)

/** The ids of a parent's rows that move, as a query. */
export type IdsOf = (parent: string) => string

/** The condition, in SQL, that a row of a table is of what moves. */
export const isOwned = (table: string, moved: Moved, idsOf: IdsOf = idsIn(moved)): string => {
  if (table === "accounts") return `id = '${moved.accountId}'`
  if (table === "acquirer_connections") return `id = '${moved.connectionId}'`
  // A key outlives its notification. It begins with its connection.
  if (table === "notification_keys") {
    return `starts_with(key, '${moved.connectionId}/') OR starts_with(key, 'seen:${moved.connectionId}/')`
  }
  const conditions = pathsOf(tableOwners[table]!).flatMap(([column, parents]) =>
    parents.map((parent) =>
      parent === "accounts" || parent === "acquirer_connections"
        ? isOwned(parent, moved).replace(/^id/, column)
        : `${column} IN (${idsOf(parent)})`
    )
  )
  // Equal ones once: a single one is a join.
  return [...new Set(conditions)].join(" OR ")
}

const idsIn =
  (moved: Moved): IdsOf =>
  (parent) =>
    `SELECT id FROM ${parent} WHERE ${isOwned(parent, moved)}`

function pathsOf(owner: Owner): ReadonlyArray<readonly [string, ReadonlyArray<string>]> {
  return typeof owner === "string" ? [] : Object.entries(owner).map(([column, parents]) => [column, [parents].flat()])
}
