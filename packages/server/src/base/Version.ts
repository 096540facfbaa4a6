/** The version of the service, from its `package.json`: of the sources, and of the built programs. */
import { readFileSync } from "node:fs"
import { findPackageJSON } from "node:module"

const read = (path: string | undefined): string => {
  const found: unknown = path === undefined ? undefined : JSON.parse(readFileSync(path, "utf8"))
  return typeof found === "object" && found !== null && "version" in found ? String(found.version) : "unknown"
}

export const version: string = read(findPackageJSON(".", import.meta.url))
