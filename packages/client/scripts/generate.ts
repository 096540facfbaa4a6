/**
 * Compares the generated files of both clients with the declaration, and writes them with `--write`.
 *
 * Exits 1 where a committed file differs from what the declaration says.
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

/** As the formatter leaves it: it only formats files, by their place. */
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

const drifted: Array<string> = []
for (const [path, text] of generate(version)) {
  const expected = await formatted(path, text)
  const committed = await readFile(join(packages, path), "utf8").catch(() => "")
  if (committed === expected) continue
  if (isWriting) await writeFile(join(packages, path), expected)
  drifted.push(path)
}

if (drifted.length > 0) {
  process.stderr.write(
    isWriting
      ? `written: ${drifted.join(", ")}\n`
      : `${drifted.join(", ")} differ from the declaration; run: pnpm run client:generate\n`
  )
  if (!isWriting) process.exitCode = 1
}
