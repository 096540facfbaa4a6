/** The documents name nothing that is not in the repository. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

const root = join(import.meta.dirname, "../../..")

const left = new Set(["node_modules", "dist", "coverage", ".git", ".data"])

const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return left.has(entry.name) ? [] : entry.isDirectory() ? filesBelow(path) : [relative(root, path)]
  })

const files = filesBelow(root)

/** As documents name a module: `charges/Charges.ts` for `packages/server/src/payments/charges/Charges.ts`. */
const named = files.flatMap((path) => [`/${path}`, `/${path.replace("/src/", "/")}`])

const documents = files
  .filter((path) => path.endsWith(".md"))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>
}

const all = (text: string, pattern: RegExp): ReadonlyArray<string> => [...text.matchAll(pattern)].map(([, one]) => one!)

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-")

describe.each(documents)("$path", ({ path, text }) => {
  it("links to what is there", () => {
    const broken = all(text, /\]\(([^)\s]+)\)/g).filter((link) => {
      if (/^[a-z]+:/.test(link)) return false
      const [target = "", anchor] = link.split("#")
      const to = target === "" ? path : join(dirname(path), target)
      if (!existsSync(join(root, to))) return true
      if (anchor === undefined) return false
      return !all(readFileSync(join(root, to), "utf8"), /^#+ (.+)$/gm).some((each) => anchorOf(each) === anchor)
    })
    assert.deepStrictEqual(broken, [])
  })

  it("names files and scripts that exist", () => {
    const paths = all(text, /`(?:node |vitest run )?([\w@.-][\w@./-]*\.(?:ts|mjs|md|json|patch))`/g)
    const unknown = paths.filter(
      (name) => !name.includes("node_modules") && !written.has(name) && !named.some((file) => file.endsWith(`/${name}`))
    )
    const missing = all(text, /\bp?npm run ([\w:]+)/g).filter((name) => !(name in scripts) && name !== "X")
    assert.deepStrictEqual([...unknown, ...missing], [])
  })
})

/** What the documents for those who change the code name besides files. */
const forDevelopers = documents.filter(({ path }) =>
  ["docs/architecture.md", "docs/recipes.md", "AGENTS.md"].includes(path)
)

const folders = new Set(
  files.flatMap((path) =>
    dirname(path)
      .split("/")
      .map((_part, index, parts) => `/${parts.slice(0, index + 1).join("/")}`)
  )
)

const sources = files
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => readFileSync(join(root, path), "utf8"))
  .join("\n")

describe.each(forDevelopers)("$path", ({ text }) => {
  it("names folders that exist", () => {
    const named = all(text, /`([a-z][\w-]*(?:\/[a-z][\w-]*)+)\/?`/g)
    const unknown = named.filter((name) => ![...folders].some((folder) => folder.endsWith(`/${name}`)))
    assert.deepStrictEqual(unknown, [])
  })

  it("names definitions that exist", () => {
    const unknown = all(text, /`([a-z]+[A-Z]\w*)`/g).filter((name) => !new RegExp(`\\b${name}\\b`).test(sources))
    assert.deepStrictEqual(unknown, [])
  })
})

/** A file that a running service writes, and a function of Express. */
const written = new Set(["demo.json", "express.json"])

it("every decision is listed, and numbers have no gaps", () => {
  const decisions = files.filter((path) => /^docs\/decisions\/\d/.test(path)).toSorted()
  assert.isAbove(decisions.length, 10)
  const index = readFileSync(join(root, "docs/decisions/README.md"), "utf8")
  for (const [position, path] of decisions.entries()) {
    const number = String(position + 1).padStart(4, "0")
    const [title] = all(readFileSync(join(root, path), "utf8"), /^# (.+)$/gm)
    assert.isTrue(title?.startsWith(`${number} `), `${path} is number ${number}`)
    const name = path.replace("docs/decisions/", "")
    assert.include(index, `| [${number}](${name}) | ${title?.slice(5)} |`)
  }
})

it("one version of pnpm is named everywhere", () => {
  const places = files.filter(
    (path) => /\.(?:md|ya?ml|json|mjs)$|Dockerfile$/.test(path) && !/fixtures|pnpm-lock/.test(path)
  )
  const versions = places.flatMap((path) => all(readFileSync(join(root, path), "utf8"), /\bpnpm@(\d[\w.-]*)/g))
  assert.isAbove(versions.length, 5)
  assert.deepStrictEqual([...new Set(versions)], ["12.21.0"])
})
