/**
 * Every statement that is composed of parts, whole and formatted: `packages/server/statements.sql`. A changed statement is a diff
 * that a reviewer reads.
 *
 * Without `--write` it fails where the file is not current. Statements of lists, which are composed for each call, are not in it:
 * `Plans.test.ts` has their plans. Those that are written whole in their source are read there.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { subscribe } from "node:diagnostics_channel"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { format } from "sql-formatter"
import { STATEMENT_MADE } from "../src/database/statements/Statement.ts"

const server = join(import.meta.dirname, "..")
const file = join(server, "statements.sql")
const programs = new Set([
  "main.ts",
  "migrate.ts",
  "maintain.ts",
  "reconcile.ts",
  "secrets.ts",
  "keysMap.ts",
  "move.ts"
])

interface Made {
  readonly text: string
  readonly stack: string
}

const made: Array<{ readonly name: string; readonly text: string }> = []
subscribe(STATEMENT_MADE, (message) => {
  const { stack, text } = message as Made
  made.push({ name: nameOf(stack), text })
})

for (const path of readdirSync(join(server, "src"), { recursive: true, encoding: "utf8" }).toSorted()) {
  if (path.endsWith(".ts") && !programs.has(path)) await import(join(server, "src", path))
}

/** The module and the constant or function that made the statement. */
function nameOf(stack: string): string {
  const places = [...stack.matchAll(/(file:\/\/\S+?):(\d+):\d+/g)].map(([, url, line]) => ({
    path: relative(join(server, "src"), fileURLToPath(url!)),
    line: Number(line)
  }))
  const place = places.find(({ path }) => path !== "database/statements/Statement.ts")
  if (place === undefined) return "unknown"
  const before = readFileSync(join(server, "src", place.path), "utf8")
    .split("\n")
    .slice(0, place.line)
    .toReversed()
  const name = before.flatMap((line) => /^(?:export )?const (\w+)/.exec(line)?.[1] ?? []).at(0)
  return `${place.path} ${name ?? ""}`
}

/** Puts what fits on a line on one line: the formatter gives each column its own. */
function packed(text: string): string {
  interface Node {
    readonly text: string
    readonly indent: number
    readonly children: Array<Node>
  }
  const root: Node = { text: "", indent: -1, children: [] }
  const path = [root]
  for (const line of text.split("\n")) {
    const node: Node = { text: line.trim(), indent: line.search(/\S/), children: [] }
    while (path.at(-1)!.indent >= node.indent) path.pop()
    path.at(-1)!.children.push(node)
    path.push(node)
  }
  const inline = (nodes: ReadonlyArray<Node>): string =>
    nodes
      .map((node) => [node.text, inline(node.children)].filter((each) => each !== "").join(" "))
      .join(" ")
      .replaceAll(/\( | (?=\))/g, (space) => space.trim())
  const lines = (nodes: ReadonlyArray<Node>, indent: string): ReadonlyArray<string> => {
    const all: Array<string> = []
    for (let index = 0; index < nodes.length; index++) {
      const node = nodes[index]!
      const isClosed = node.children.length > 0 && nodes[index + 1]?.text.startsWith(")") === true
      const whole = inline(isClosed ? [node, { ...nodes[index + 1]!, children: [] }] : [node])
      const isClosedOnly = isClosed && nodes[index + 1]!.children.length === 0
      if (indent.length + whole.length <= WIDTH && (isClosedOnly || !isClosed)) {
        if (isClosed) index += 1
        const last = all.at(-1)
        if (last !== undefined && last.endsWith(",") && whole.length + last.length < WIDTH && node.indent > 0) {
          all[all.length - 1] = `${last} ${whole}`
        } else all.push(indent + whole)
      } else {
        all.push(indent + node.text, ...lines(node.children, `${indent}  `))
      }
    }
    return all
  }
  return lines(root.children, "").join("\n")
}

const WIDTH = 132

const written = made
  .toSorted((one, other) => (`${one.name}\n${one.text}` < `${other.name}\n${other.text}` ? -1 : 1))
  .map(({ name, text }) => `-- ${name}\n${packed(format(text, { language: "postgresql", expressionWidth: 110 }))};\n`)
const document = [...new Set(written)].join("\n")

if (process.argv.includes("--write")) {
  writeFileSync(file, document)
} else if (readFileSync(file, "utf8") !== document) {
  process.stderr.write("packages/server/statements.sql is not current: `pnpm run statements` writes it.\n")
  process.exitCode = 1
}
