/**
 * How the judge does on histories that are right: `pnpm run histories:soundness --operations 1000000`. It ends with 1 where it convicts.
 */
import { parseArgs } from "node:util"
import { judge } from "../judge/Judge.ts"
import { textOfConviction } from "../judge/TimeLine.ts"
import { history } from "./Reference.ts"

const { values } = parseArgs({
  options: { operations: { type: "string", default: "1000000" }, each: { type: "string", default: "50000" } }
})
const say = (text: string) => process.stdout.write(`${text}\n`)

let judged = 0
let ms = 0
let undecided = 0
for (let seed = 1; judged < Number(values.operations); seed++) {
  const made = history(seed, Number(values.each))
  const before = performance.now()
  const judgement = judge(made)
  ms += performance.now() - before
  judged += judgement.operations
  undecided += judgement.undecided.length
  for (const conviction of judgement.convictions) say(textOfConviction(conviction))
  if (judgement.convictions.length > 0) process.exitCode = 1
}
say(`${judged} operations judged in ${Math.round(ms / 1000)} s, ${undecided} accounts undecided`)
