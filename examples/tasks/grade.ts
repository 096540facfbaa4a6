/**
 * Grades a solution of a task against a running service: `node examples/tasks/grade.ts credit-once FILE`.
 *
 * Reads `.data/demo.json`, or `PAYMENTS_URL`, `OPERATOR_URL` and `OPERATOR_TOKEN`. Exits with 1 if the solution is refused.
 */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { names, verdictOf } from "./Tasks.ts"

const [name = "", file = ""] = process.argv.slice(2)
if (!names.includes(name) || file === "") {
  process.stderr.write(`node examples/tasks/grade.ts TASK FILE, with one of ${names.join(", ")}\n`)
  process.exit(2)
}

const stored = (): Readonly<Record<string, string>> => {
  try {
    return JSON.parse(readFileSync(".data/demo.json", "utf8"))
  } catch {
    return {}
  }
}
const { api_url, operator_token, operator_url } = stored()
const { solution } = (await import(pathToFileURL(resolve(file)).href)) as { readonly solution?: unknown }
const verdict = await verdictOf(name, solution, {
  url: process.env["PAYMENTS_URL"] ?? api_url ?? "http://127.0.0.1:3000",
  operatorUrl: process.env["OPERATOR_URL"] ?? operator_url ?? "http://127.0.0.1:3001",
  operatorToken: process.env["OPERATOR_TOKEN"] ?? operator_token ?? ""
})
process.stdout.write(`${verdict}\n`)
process.exit(verdict === "accepted" ? 0 : 1)
