/**
 * Puts guards of docs/faults.md out of the service, one at a time, and judges a short history of each: `pnpm run histories:convict`.
 *
 * `--only <part of a name>` or `--part 0/2` takes some of them, `--seconds 20` is the length of a history, `--tries 2` how many histories a guard gets.
 * `--keep <path>` keeps the histories in which nothing is found.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { build, type BuildOptions, type Plugin } from "rolldown"
import { SEEDED, type Seeded } from "./convict/Seeded.ts"
import { countsOf } from "./judge/Counts.ts"
import { judge } from "./judge/Judge.ts"
import { storm } from "./storm/Storm.ts"

const root = join(import.meta.dirname, "..")
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))
const say = (text: string) => process.stdout.write(`${text}\n`)

/** The service without a guard, built; no source is changed. */
const builtWithout = async ({ changes, guard }: Seeded, folder: string): Promise<string> => {
  for (const { file, from } of changes) {
    const places = readFileSync(join(root, file), "utf8").split(from).length - 1
    if (places !== 1) throw new Error(`"${guard}": ${file} has its text ${places} times, not once: ${from}`)
  }
  const left = new Set(changes)
  const plugin: Plugin = {
    name: "without a guard",
    transform: (code, id) => {
      let text = code
      for (const change of changes) {
        if (id !== join(root, change.file)) continue
        if (!text.includes(change.from)) continue
        text = text.replace(change.from, () => change.to)
        left.delete(change)
      }
      return text === code ? null : text
    }
  }
  const options: BuildOptions = {
    input: { main: join(root, "packages/server/src/main.ts") },
    platform: "node",
    tsconfig: false,
    treeshake: false,
    logLevel: "warn",
    plugins: [plugin],
    output: { dir: folder, format: "esm", minify: false, entryFileNames: "[name].js" }
  }
  await build(options)
  if (left.size > 0)
    throw new Error(`"${guard}": the build has not changed ${[...left].map(({ file }) => file).join(", ")}`)
  return join(folder, "main.js")
}

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    part: { type: "string", default: "0/1" },
    seconds: { type: "string", default: "20" },
    rest: { type: "string", default: "90" },
    tries: { type: "string", default: "2" },
    seed: { type: "string", default: "1" },
    keep: { type: "string" }
  }
})

const results: Array<{ readonly seeded: Seeded; readonly rules: ReadonlyArray<string> }> = []
const [part = 0, parts = 1] = values.part.split("/").map(Number)
for (const seeded of SEEDED.filter(({ guard }, index) => guard.includes(values.only) && index % parts === part)) {
  const folder = join(root, `packages/server/.convict-${process.pid}`)
  const program = await builtWithout(seeded, folder)
  let rules: ReadonlyArray<string> = []
  for (let nth = 0; nth < Number(values.tries) && rules.length === 0; nth++) {
    const history = await storm({
      seed: Number(values.seed) + nth,
      seconds: Number(values.seconds),
      program,
      restSeconds: Number(values.rest),
      shape: { servers: 2, postgres: "plain", shiftsClocks: false },
      say: () => {}
    }).catch((error: unknown) => String(error))
    if (typeof history === "string") rules = [`it does not run: ${history}`]
    else {
      const { convictions, undecided } = judge(history)
      rules = [...new Set(convictions.map(({ rule }) => rule))]
      if (rules.length > 0) continue
      say(countsOf(history))
      say(`${undecided.length} accounts are undecided; at the end ${history.setup.openAtEnd ?? "all was at rest"}`)
      if (values.keep !== undefined) writeFileSync(`${values.keep}-${nth}.json`, JSON.stringify(history))
    }
  }
  results.push({ seeded, rules })
  say(`| ${seeded.guard} | ${seeded.of} | ${rules.length === 0 ? "**not found**" : rules.slice(0, 4).join("; ")} |`)
  await rm(folder, { recursive: true, force: true })
}
const found = results.filter(({ rules }) => rules.length > 0).length
say(`${found} of ${results.length} found`)
