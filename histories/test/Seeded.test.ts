/** Guards that are taken out of the service: each text that is replaced is in its source once. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { SEEDED } from "../convict/Seeded.ts"

const root = join(import.meta.dirname, "../..")

it.each(SEEDED.map((seeded) => [seeded.guard, seeded] as const))("%s", (_, { changes }) => {
  for (const { file, from, to } of changes) {
    expect(readFileSync(join(root, file), "utf8").split(from), file).toHaveLength(2)
    expect(to).not.toBe(from)
  }
})
