/**
 * The operator listener of a service that `npm start` runs in this folder: `.data/demo.json` names it.
 *
 * Guarantee: it is on this machine. A file of a folder sends no token elsewhere.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { variable } from "./Profile.ts"

/** Its URL; `undefined` where there is none. */
export const demoAddress = (): string | undefined => {
  try {
    const { operator_url: url } = JSON.parse(readFileSync(join(variable("DATA_DIR") ?? ".data", "demo.json"), "utf8"))
    const { hostname, origin, protocol } = new URL(url)
    return protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(hostname) ? origin : undefined
  } catch {
    return undefined
  }
}
