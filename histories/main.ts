/**
 * Histories of real processes under faults, and their judgement: `pnpm run histories --seed 1 --seconds 60 --runs 3`.
 *
 * What is convicted is in `.data/histories/<seed>`: the history as JSON, each conviction as text and as SVG. `--judge <file>` judges a
 * history again.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import type { History } from "./judge/History.ts"
import { countsOf } from "./judge/Counts.ts"
import { judge, type Judgement } from "./judge/Judge.ts"
import { svgOfConviction, textOfConviction } from "./judge/TimeLine.ts"
import { storm } from "./storm/Storm.ts"

const root = join(import.meta.dirname, "..")
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))
const say = (text: string) => process.stdout.write(`${text}\n`)

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seconds: { type: "string", default: "60" },
    runs: { type: "string", default: "1" },
    rest: { type: "string", default: "300" },
    keep: { type: "boolean", default: false },
    calm: { type: "boolean", default: false },
    judge: { type: "string" }
  }
})

const folderOf = ({ setup: { seed } }: History) => join(root, ".data/histories", String(seed))

const keep = (history: History) => {
  mkdirSync(folderOf(history), { recursive: true })
  writeFileSync(join(folderOf(history), "history.json"), JSON.stringify(history))
}

const report = (history: History, { convictions, operations, undecided }: Judgement, ms: number) => {
  const { seed } = history.setup
  say(
    `seed ${seed}: ${operations} operations judged in ${Math.round(ms)} ms, ${convictions.length} convictions, ${undecided.length} undecided`
  )
  say(countsOf(history))
  if (convictions.length === 0) return
  const folder = folderOf(history)
  keep(history)
  convictions.slice(0, 20).forEach((conviction, index) => {
    writeFileSync(join(folder, `${index}.txt`), textOfConviction(conviction))
    writeFileSync(join(folder, `${index}.svg`), svgOfConviction(conviction))
  })
  for (const conviction of convictions.slice(0, 5)) say(textOfConviction(conviction))
  say(`all in ${folder}`)
}

const judged = (history: History): boolean => {
  const before = performance.now()
  const judgement = judge(history)
  report(history, judgement, performance.now() - before)
  return judgement.convictions.length === 0
}

if (values.judge !== undefined) {
  process.exitCode = judged(JSON.parse(readFileSync(values.judge, "utf8")) as History) ? 0 : 1
} else {
  execFileSync(process.execPath, [join(root, "packages/server/build.mjs")], { stdio: "inherit" })
  const first = Number(values.seed ?? Math.floor(Math.random() * 1e6))
  for (let run = 0; run < Number(values.runs); run++) {
    const history = await storm({
      seed: first + run,
      seconds: Number(values.seconds),
      program: join(root, "packages/server/dist/main.js"),
      restSeconds: Number(values.rest),
      hasFaults: !values.calm,
      say
    })
    if (values.keep) keep(history)
    if (!judged(history)) process.exitCode = 1
  }
}
