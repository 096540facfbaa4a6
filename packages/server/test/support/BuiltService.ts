/** A vitest `globalSetup`: builds the programs that tests start as processes, where their sources have changed. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"

export default () => {
  execFileSync(process.execPath, [join(import.meta.dirname, "../../build.mjs")], { stdio: "inherit" })
}
