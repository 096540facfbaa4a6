/** `npm start` and `npm run demo` run where no development tool is installed. */
import { assert, test } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")
const packages = ["domain", "api", "embedded-postgres", "server", "client", "client-effect"]

interface Manifest {
  readonly dependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
}

/** The packages that the sources below a folder import, without the folder's own name. */
const importedBy = (folder: string): ReadonlySet<string> => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
  const statement = /^(?:import|export|\})(?:[^\n"]* from)? "([^".][^"]*)"/gm
  const specifiers = files.flatMap((name) =>
    [...readFileSync(join(folder, name), "utf8").matchAll(statement)].map(([, specifier = ""]) => specifier)
  )
  return new Set(
    specifiers
      .filter((specifier) => !specifier.startsWith("node:"))
      .map((specifier) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/"))
  )
}

test.each(packages)("the sources of %s import no development dependency", (name) => {
  const folder = join(root, "packages", name)
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest & { name: string }
  const installed = { ...manifest.dependencies, ...manifest.peerDependencies, [manifest.name]: "" }
  const missing = [...importedBy(join(folder, "src"))].filter((each) => !(each in installed))
  assert.deepStrictEqual(missing, [])
})
