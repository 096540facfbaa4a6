/**
 * A share of `pnpm run histories`: one history of real processes under faults. `HISTORIES_SECONDS` (20) is the length of its storm,
 * `HISTORIES_SEED` repeats its choices, not what the operating system makes of them.
 */
import { join } from "node:path"
import { expect, it } from "vitest"
import { judge } from "../judge/Judge.ts"
import { textOfConviction } from "../judge/TimeLine.ts"
import { storm } from "../storm/Storm.ts"

const seconds = Number(process.env["HISTORIES_SECONDS"] ?? 20)
const seed = Number(process.env["HISTORIES_SEED"] ?? Math.floor(Math.random() * 2 ** 20))

it(`a history of real processes under faults is as the contract says (HISTORIES_SEED=${seed})`, async () => {
  const program = join(import.meta.dirname, "../../packages/server/dist/main.js")
  const history = await storm({ seed, seconds, program, restSeconds: 420, say: () => {} })
  const { convictions } = judge(history)
  expect(convictions.map((conviction) => textOfConviction(conviction))).toEqual([])
  // A storm in which nothing succeeds shows nothing.
  expect(history.facts.filter(({ what }) => what === "paid").length).toBeGreaterThan(5)
  expect(history.faults.length).toBeGreaterThan(1)
}, 1_200_000)
