/**
 * The repository and its contract: the numbered rules of `docs`, and who cites them.
 *
 * A rule is a bullet, `- **CHG-12** …`. A test cites rules at the beginning of its title: `it("CHG-12, API-10: …")`.
 * Code and documents cite rules and documents anywhere.
 */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.join(import.meta.dirname, "../../..")

/** Folders of other people's files, and of what is generated or installed. */
const ignored = new Set(["node_modules", "dist", "coverage", "fixtures"])

const filesBelow = (folder: string): ReadonlyArray<string> =>
  fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(folder, entry.name)
    if (entry.isDirectory()) return ignored.has(entry.name) || /^\.(?!github$)/.test(entry.name) ? [] : filesBelow(name)
    return /\.(?:ts|js|mjs|cjs|md|html|ya?ml|Dockerfile)$/.test(entry.name) ? [name] : []
  })

const files = filesBelow("").map((name) => ({ name, text: fs.readFileSync(path.join(root, name), "utf8") }))

const RULE = /^- \*\*([A-Z]+-[0-9]+)\*\* (\*\(planned\)\*)?/gm

const rules = files
  .filter(({ name }) => path.dirname(name) === "docs")
  .flatMap(({ name, text }) =>
    Array.from(text.matchAll(RULE), ([, id = "", planned]) => ({ id, name, isPlanned: planned !== undefined }))
  )

const groups = [...new Set(rules.map(({ id }) => id.replace(/-.*/, "")))]
const CITATION = new RegExp(String.raw`\b(?:${groups.join("|")})-[0-9]+\b`, "g")

/** A title follows the parenthesis of a call that is neither skipped nor in a comment. */
const TITLE = new RegExp(
  String.raw`^(?!\s*(?://|\*)).*?(?<!\.(?:skip|todo))\(\s*["'\x60]((?:[A-Z]+-[0-9]+(?:, |: ))+)`,
  "gm"
)

const citedByTests = new Set(
  files
    .filter(({ name }) => name.endsWith(".test.ts"))
    .flatMap(({ text }) => Array.from(text.matchAll(TITLE), ([, citations = ""]) => citations.match(CITATION) ?? []))
    .flat()
)

/** A document by its name, or a paragraph of one. */
const DOCUMENT = /[\w.-]+\.md\b(?!\.\w)|\u00a7\S*/g

const lineOf = (text: string, index: number): number => text.slice(0, index).split("\n").length

describe("the contract", () => {
  it("gives each rule a unique number", () => {
    assert.isAbove(rules.length, 100)
    const ids = rules.map(({ id }) => id)
    assert.deepStrictEqual(
      ids.filter((id, index) => ids.indexOf(id) !== index),
      []
    )
  })

  it("has every rule that is cited", () => {
    const known = new Set(rules.map(({ id }) => id))
    const unknown = files.flatMap(({ name, text }) =>
      Array.from(text.matchAll(CITATION), ({ 0: id, index }) => ({ id, at: `${name}:${lineOf(text, index)}` }))
    )
    assert.deepStrictEqual(
      unknown.filter(({ id }) => !known.has(id)),
      []
    )
  })

  it("has no rule without a test that cites it, and no test of a rule that is planned", () => {
    const built = rules.filter(({ isPlanned }) => !isPlanned).map(({ id }) => id)
    const planned = rules.filter(({ isPlanned }) => isPlanned).map(({ id }) => id)
    assert.deepStrictEqual(
      built.filter((id) => !citedByTests.has(id)),
      [],
      "without a test"
    )
    assert.deepStrictEqual(
      planned.filter((id) => citedByTests.has(id)),
      [],
      "planned"
    )
  })

  it("cites no document that the repository does not have", () => {
    const cited = files.flatMap(({ name, text }) =>
      Array.from(text.matchAll(DOCUMENT), ({ 0: document, index }) => ({
        document,
        at: `${name}:${lineOf(text, index)}`
      }))
    )
    const known = new Set(files.map(({ name }) => path.basename(name)))
    const missing = cited.filter(({ document }) => !known.has(document))
    assert.deepStrictEqual(missing, [])
  })

  it("ERR-13: lists each error code with its status", () => {
    const listed = files
      .find(({ name }) => name === "docs/errors.md")
      ?.text.matchAll(/^\| `([A-Z_]+)` \| ([0-9]{3}) \|/gm)
    assert.deepStrictEqual(
      Object.fromEntries(Array.from(listed ?? [], ([, code = "", status]) => [code, Number(status)])),
      Object.fromEntries(Object.entries(errorCodes).map(([code, { status }]) => [code, status]))
    )
  })
})
