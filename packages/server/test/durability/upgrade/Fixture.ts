/** What an earlier release left behind: its schema, its rows, its answers, and the statements that it ran. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Populated } from "./Populate.ts"
import type { DescribedSchema } from "./Schema.ts"

export interface Fixture {
  readonly migrations: ReadonlyArray<string>
  readonly schema: DescribedSchema
  readonly rows: Readonly<Record<string, ReadonlyArray<unknown>>>
  readonly left: Populated
  /** Every statement that the release ran while the fixture was written. */
  readonly statements: ReadonlyArray<string>
}

const folder = join(import.meta.dirname, "../../fixtures")

export const fixtures = readdirSync(folder)
  .filter((name) => /^schema-\d{4}\.json$/.test(name))
  .toSorted()

export const readFixture = (name: string): Fixture => JSON.parse(readFileSync(join(folder, name), "utf8"))

/** Named after the newest migration: `schema-0003.json`. */
export const writeFixture = (fixture: Fixture): void => {
  const newest = String(fixture.migrations.length).padStart(4, "0")
  writeFileSync(join(folder, `schema-${newest}.json`), `${inLines(fixture)}\n`)
}

/** JSON with one line for each table, row, answer and statement. */
const inLines = (value: unknown, depth = 3): string => {
  if (depth === 0 || typeof value !== "object" || value === null) return JSON.stringify(value)
  const isArray = Array.isArray(value)
  const lines = isArray
    ? value.map((each) => inLines(each, depth - 1))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}:${inLines(each, depth - 1)}`)
  const [open, close] = isArray ? ["[", "]"] : ["{", "}"]
  return lines.length === 0 ? open + close : `${open}\n${lines.join(",\n")}\n${close}`
}
