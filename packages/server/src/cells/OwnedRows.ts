/**
 * The rows that are an account's, and its connection's: by `schema/TableOwners.ts`, table by table.
 *
 * Guarantee: `movedTables` has every table whose rows move, each before those that its condition reads.
 */
import { type Owner, tableOwners } from "../schema/TableOwners.ts"

/** An account, and the connection that it alone uses. */
export interface Moved {
  readonly accountId: string
  readonly connectionId: string
}

/** They stay where they were, so that a key is answered there with 503. Their copies count in the other cell. */
export const copiedTables = ["accounts", "applications", "api_keys"]

/** Tables whose rows leave their cell. */
export const movedTables: ReadonlyArray<string> = Object.entries(tableOwners)
  .filter(([name, owner]) => owner !== "cell" && owner !== "content" && !copiedTables.includes(name))
  .map(([name]) => name)
  .toReversed()

/** The condition, in SQL, that a row of a table is of what moves. */
export const isOwned = (table: string, moved: Moved): string => {
  if (table === "accounts") return `id = '${moved.accountId}'`
  if (table === "acquirer_connections") return `id = '${moved.connectionId}'`
  // A key outlives its notification. It begins with its connection.
  if (table === "notification_keys")
    return `starts_with(key, '${moved.connectionId}/') OR starts_with(key, 'seen:${moved.connectionId}/')`
  return pathsOf(tableOwners[table]!)
    .flatMap(([column, parents]) =>
      parents.map((parent) =>
        parent === "accounts" || parent === "acquirer_connections"
          ? isOwned(parent, moved).replace(/^id/, column)
          : `${column} IN (SELECT id FROM ${parent} WHERE ${isOwned(parent, moved)})`
      )
    )
    .join(" OR ")
}

const pathsOf = (owner: Owner): ReadonlyArray<readonly [string, ReadonlyArray<string>]> =>
  typeof owner === "string" ? [] : Object.entries(owner).map(([column, parents]) => [column, [parents].flat()])
