/**
 * A secret that the first start generates, in a file of `DATA_DIR`.
 *
 * Guarantees:
 * - The file is readable by its owner only. It is complete from the moment it is there, and never overwritten: processes that start
 *   at once use the same secret.
 */
import { randomBytes } from "node:crypto"
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

/** The secret in a file of the folder, which `generate` makes where there is none. */
export const generatedSecret = async (folder: string, name: string, generate: () => string): Promise<string> => {
  const path = join(folder, name)
  await mkdir(folder, { recursive: true })
  const existing = await readFile(path, "utf8").catch(() => undefined)
  if (existing !== undefined) return existing
  // `link` is atomic and never overwrites.
  const draft = `${path}.${randomBytes(6).toString("hex")}`
  await writeFile(draft, generate(), { flag: "wx", mode: 0o600, flush: true })
  await link(draft, path).catch((error) => {
    if (error.code !== "EEXIST") throw error
  })
  await rm(draft)
  return readFile(path, "utf8")
}
