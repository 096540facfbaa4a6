/** `npm start` and `npm run demo` run where no development tool is installed. */
import { assert, test } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")
const packages = ["domain", "api", "api-pix", "embedded-postgres", "dashboard", "server", "client", "client-effect"]

interface Manifest {
  readonly dependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
}

/** The packages that the sources and the build of a package import. */
const importedBy = (folder: string): ReadonlySet<string> => {
  const sources = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
  const files = [...sources.map((name) => join("src", name)), "build.mjs"].filter(
    (name) => /\.(?:tsx?|mjs)$/.test(name) && existsSync(join(folder, name))
  )
  const statement = /(?:^(?:import|export|\})(?:[^\n"]* from)? |\bimport\()"([^".][^"]*)"/gm
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
  const missing = [...importedBy(folder)].filter((each) => !(each in installed))
  assert.deepStrictEqual(missing, [])
})
