/**
 * Checks that the generated files of both clients are up to date. `--write` writes them.
 *
 * Exits 1 if a committed file differs from the declaration.
 */
import { execFile } from "node:child_process"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { generate } from "./ClientSource.ts"

const run = promisify(execFile)
const packages = join(import.meta.dirname, "../..")
const isWriting = process.argv.includes("--write")

const { version } = JSON.parse(await readFile(join(packages, "client/package.json"), "utf8"))

/** The text after formatting. The formatter only takes files, and reads its settings from their location. */
const formatted = async (path: string, text: string): Promise<string> => {
  const draft = join(packages, dirname(path), `.draft-${process.pid}.ts`)
  await mkdir(dirname(draft), { recursive: true })
  try {
    await writeFile(draft, text)
    await run("oxfmt", [draft])
    return await readFile(draft, "utf8")
  } finally {
    await rm(draft, { force: true })
  }
}

const outdated: Array<string> = []
for (const [path, text] of generate(version)) {
  const expected = await formatted(path, text)
  const committed = await readFile(join(packages, path), "utf8").catch(() => "")
  if (committed === expected) continue
  if (isWriting) await writeFile(join(packages, path), expected)
  outdated.push(path)
}

if (outdated.length > 0) {
  process.stderr.write(
    isWriting
      ? `written: ${outdated.join(", ")}\n`
      : `${outdated.join(", ")} differ from the declaration. Run: pnpm run client:generate\n`
  )
  if (!isWriting) process.exitCode = 1
}
