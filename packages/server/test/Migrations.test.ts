/** The steps that make the schema can be told apart, and none is left out. */
import { assert, describe, it } from "@effect/vitest"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { migrations } from "../src/sql/Migrations.ts"

describe("Migrations", () => {
  it("have ids without a gap, and are all there", async () => {
    const names = Object.keys(migrations)
    assert.deepStrictEqual(
      names.map((name) => Number(/^(\d{4})_[a-z_]+$/.exec(name)?.[1])),
      names.map((_, index) => index + 1)
    )
    const files = await readdir(join(import.meta.dirname, "../src/sql/migrations"))
    assert.deepStrictEqual(
      files.toSorted(),
      names.map((name) => `${name}.ts`)
    )
  })
})
