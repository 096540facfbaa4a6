/** The pictures of `docs/dashboard.md`, which `pnpm run dashboard:pictures` writes. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Chromium.ts"
import { MAX_PICTURE_BYTES, pictureNames } from "./DashboardPages.ts"

const images = join(root, "docs/images")

describe("Pictures", () => {
  it("every page is in the document, in light and dark, on a phone and in Portuguese, in at most 30 kB each", () => {
    const document = readFileSync(join(root, "docs/dashboard.md"), "utf8")
    const names = pictureNames.map((name) => `${name}.webp`)
    assert.deepStrictEqual(
      names.filter((name) => !document.includes(`](images/${name})`)),
      []
    )
    const sizes = names.map((name) => statSync(join(images, name)).size)
    assert.isAtMost(Math.max(...sizes), MAX_PICTURE_BYTES)
    assert.isBelow(
      sizes.reduce((sum, size) => sum + size, 0),
      4_000_000
    )
    assert.deepStrictEqual(
      readdirSync(images).filter((name) => name.endsWith(".webp") && !names.includes(name)),
      []
    )
  })
})
