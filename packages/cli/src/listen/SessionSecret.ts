/** The secret that forwarded events are signed with: one for each machine and user. CLI-12. */
import { randomBytes } from "node:crypto"
import { linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { accessing, readIfPresent, stateFolder } from "../ConfigFile.ts"

const path = (): string => join(stateFolder(), "listen.secret")

/** The secret, created at its first use. Processes that create it at the same time get the same one. */
export const sessionSecret = (): string => readIfPresent(path())?.trim() || accessing("written", path(), create)

const create = (): string => {
  const made = `whsec_${randomBytes(24).toString("base64")}`
  const draft = `${path()}.${process.pid}`
  mkdirSync(dirname(path()), { recursive: true, mode: 0o700 })
  writeFileSync(draft, `${made}\n`, { mode: 0o600 })
  try {
    // A link fails where the file exists.
    linkSync(draft, path())
    return made
  } catch (error) {
    const other = readIfPresent(path())?.trim()
    if (other) return other
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}
