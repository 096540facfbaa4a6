/** The pictures of `docs/dashboard.md`, which `pnpm run dashboard:pictures` writes. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Chromium.ts"
import { MAX_PICTURE_BYTES, pictureNames } from "./DashboardPages.ts"

const images = join(root, "docs/images")

describe("Pictures", () => {
  it("every page is in the document, in light and dark, in at most 60 kB each", () => {
    const document = readFileSync(join(root, "docs/dashboard.md"), "utf8")
    const names = pictureNames.map((name) => `${name}.webp`)
    assert.deepStrictEqual(
      names.filter((name) => !document.includes(`](images/${name})`)),
      []
    )
    assert.deepStrictEqual(
      names.filter((name) => statSync(join(images, name)).size > MAX_PICTURE_BYTES),
      []
    )
    assert.deepStrictEqual(
      readdirSync(images).filter((name) => name.endsWith(".webp") && !names.includes(name)),
      []
    )
  })
})
