/** How the dashboard's files are served: paths, caching, and the policy of the page. */
import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { dashboardPages } from "../../../src/http/operator/Dashboard.ts"
import { negotiated } from "../../../src/http/pipeline/Pages.ts"

const withFolder = async (run: (folder: string) => Promise<void>) => {
  const folder = mkdtempSync(join(tmpdir(), "pix-payments-dashboard-"))
  try {
    await run(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const answerAt = async (folder: string, path: string) => {
  const found = dashboardPages({ hasSingleSignOn: false }, folder).find(({ template }) => template === path)
  if (found === undefined) return undefined
  const { body, headers, status } = negotiated(await found.page(""), {})
  const pairs = Array.from({ length: headers.length / 2 }, (_, index) => [headers[2 * index]!, headers[2 * index + 1]!])
  return { status, text: String(body), headers: Object.fromEntries(pairs) as Readonly<Record<string, string>> }
}

describe("Dashboard", () => {
  it("every path is the one page, which is revalidated", () =>
    withFolder(async (folder) => {
      mkdirSync(join(folder, "assets"))
      writeFileSync(join(folder, "index.html"), "<!doctype html>")
      for (const path of ["/", "/charges", "/charges/:id", "/payouts/:id"]) {
        const answer = await answerAt(folder, path)
        assert.strictEqual(answer?.text, "<!doctype html>")
        assert.include(answer?.headers, { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" })
      }
      // Paths of the API and of nothing stay unknown.
      for (const path of ["/operator", "/health", "/:page"]) assert.isUndefined(await answerAt(folder, path))
    }))

  it("its policy allows nothing of another host, no inline script and no markup from text", () =>
    withFolder(async (folder) => {
      mkdirSync(join(folder, "assets"))
      writeFileSync(join(folder, "index.html"), "<!doctype html>")
      const { headers } = (await answerAt(folder, "/"))!
      const policy = headers["content-security-policy"]!.split("; ")
      assert.include(policy, "default-src 'none'")
      assert.include(policy, "require-trusted-types-for 'script'")
      assert.include(policy, "trusted-types 'none'")
      assert.include(policy, "frame-ancestors 'none'")
      assert.notMatch(headers["content-security-policy"]!, /unsafe|https?:|\*/)
      assert.strictEqual(headers["cross-origin-opener-policy"], "same-origin")
      assert.strictEqual(headers["referrer-policy"], "no-referrer")
    }))

  it("assets are cached for good, with the type of their ending", () =>
    withFolder(async (folder) => {
      mkdirSync(join(folder, "assets"))
      writeFileSync(join(folder, "index.html"), "<!doctype html>")
      writeFileSync(join(folder, "assets/index-abc.js"), "1")
      writeFileSync(join(folder, "assets/index-def.css"), "a{}")
      assert.include((await answerAt(folder, "/assets/index-abc.js"))?.headers, {
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": "public, max-age=31536000, immutable"
      })
      assert.include((await answerAt(folder, "/assets/index-def.css"))?.headers, {
        "content-type": "text/css; charset=utf-8"
      })
    }))

  it("where it was not built, it has no path", () =>
    withFolder(async (folder) => {
      assert.lengthOf(dashboardPages({ hasSingleSignOn: false }, folder), 0)
      assert.lengthOf(dashboardPages({ hasSingleSignOn: false }, join(folder, "absent")), 0)
    }))
})
