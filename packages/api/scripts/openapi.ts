/**
 * Writes the committed OpenAPI documents, the collections of Postman and Bruno, and the guides that the service shows, or compares them.
 *
 * `node packages/api/scripts/openapi.ts --write` writes them. Without the flag they are compared; a difference ends the
 * process with code 1.
 */
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import { openApiDocument } from "../src/OpenApiDocument.ts"
import { OperatorApi } from "../src/OperatorApi.ts"
import { paymentsDocument } from "../src/PaymentsDocument.ts"
import { brunoCollection, postmanCollection } from "./Collections.ts"

const payments = paymentsDocument()

const json = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`

/** A document of `docs` as the service shows it, which has the contract under another address and no other document. */
function guide(name: string): string {
  const text = fs.readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), "utf8")
  return text
    .replaceAll("](../contract.md)", "](/docs/contract)")
    .replaceAll(/\[([^\]]+)\]\((?!https?:|\/|#)[^)]*\)/g, "$1")
}

/** The committed files and their generated text. */
export const documents = Object.entries({
  "../openapi.json": json(payments),
  "../operator-openapi.json": json(openApiDocument(OperatorApi)),
  "../guides.json": json({ en: guide("guides/en"), pt: guide("guides/pt"), contract: guide("contract") }),
  "../../../examples/collections/postman.json": postmanCollection(payments),
  ...Object.fromEntries(
    Object.entries(brunoCollection(payments)).map(([name, text]) => [
      `../../../examples/collections/bruno/${name}`,
      text
    ])
  )
}).map(([path, text]) => ({ file: new URL(path, import.meta.url), text }))

/** The path of the first difference between two JSON values. */
export const firstDifference = (left: unknown, right: unknown, path = "#"): string | undefined => {
  if (Object.is(left, right)) return undefined
  if (!isContainer(left) || !isContainer(right) || Array.isArray(left) !== Array.isArray(right)) return path
  const keys = new Set([...Object.keys(left), ...Object.keys(right)])
  for (const key of keys) {
    const inner = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`
    if (!Object.hasOwn(left, key) || !Object.hasOwn(right, key)) return inner
    const found = firstDifference(Reflect.get(left, key), Reflect.get(right, key), inner)
    if (found !== undefined) return found
  }
  return undefined
}

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** How a committed file differs from its generated text, or `undefined`. */
const difference = (file: URL, text: string): string | undefined => {
  const committed = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined
  if (committed === text) return undefined
  const name = fileURLToPath(file)
  if (committed === undefined) return `${name} is missing`
  const path = firstDifference(parsed(committed), parsed(text))
  return path === undefined ? `${name} differs in its layout` : `${name} differs at ${path}`
}

const main = (write: boolean): number => {
  if (write) {
    for (const { file, text } of documents) {
      fs.mkdirSync(new URL(".", file), { recursive: true })
      fs.writeFileSync(file, text)
    }
    return 0
  }
  const found = documents.map(({ file, text }) => difference(file, text)).find((text) => text !== undefined)
  if (found === undefined) return 0
  process.stdout.write(`${found}\nRun: node packages/api/scripts/openapi.ts --write\n`)
  return 1
}

if (import.meta.main) process.exitCode = main(process.argv.includes("--write"))
