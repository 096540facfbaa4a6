/**
 * An array of texts as a parameter: what is long and needs no parsing travels so, and not inside JSON.
 */
import * as PgTypes from "@effect/sql-pg/PgTypes"
import * as Result from "effect/Result"

/** A `text[]` parameter; typed, so that one that is empty or holds only nulls is known for what it is. */
export const texts = (values: ReadonlyArray<string | null>): PgTypes.Parameter =>
  Result.getOrThrow(PgTypes.array(values, TEXT_OID))

const TEXT_OID = 25
