/** The built files of the dashboard. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { root } from "./Chromium.ts"

const dist = join(root, "packages/dashboard/dist")

describe("Built files", () => {
  it("the first page needs at most 140 kB, compressed, and the chart is not among it", () => {
    const page = readFileSync(join(dist, "index.html"), "utf8")
    const names = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, name]) => name!)
    const files = names.map((name) => readFileSync(join(dist, name)))
    const bytes = [Buffer.from(page), ...files].reduce((sum, file) => sum + gzipSync(file).length, 0)
    assert.isAtMost(bytes, 140_000)
    assert.isAbove(names.length, 1)

    const charts = readdirSync(join(dist, "assets")).filter((name) => name.endsWith(".js") && name.startsWith("Chart"))
    assert.lengthOf(charts, 1)
    assert.notInclude(names, `assets/${charts[0]}`)
  })

  it("no file names another host", () => {
    for (const name of readdirSync(join(dist, "assets"))) {
      const text = readFileSync(join(dist, "assets", name), "utf8")
      assert.notMatch(text, /(?:src|href|url\()\s*=?\s*["'(]https?:/, name)
    }
  })
})
