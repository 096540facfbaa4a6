/**
 * The bench runs from end to end: what is answered is what is stored, for all contenders. No time is judged.
 */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url))

describe("bench", () => {
  it("runs --quick: exit 0, all contenders in the tables, no errors", { timeout: 190_000 }, async () => {
    // A run that fails rejects, with what it printed.
    const { stdout } = await promisify(execFile)(process.execPath, [main, "--quick"], { timeout: 180_000 })
    const rows = stdout
      .split("\n")
      .filter((line) => /^\| \d/.test(line))
      .map((line) => line.split("|").map((cell) => cell.trim()))
    expect(rows.map(([, at, contender]) => `${at} ${contender}`)).toEqual([
      // create-charge
      "1 fastify+pg",
      "1 pix-payments",
      "8 fastify+pg",
      "8 pix-payments",
      // get-charge
      "10000 fastify+pg",
      "10000 pix-payments",
      "20000 fastify+pg",
      "20000 pix-payments",
      // list-first
      "10000 fastify+pg",
      "10000 pix-payments",
      "20000 fastify+pg",
      "20000 pix-payments",
      // list-500
      "10000 fastify+pg",
      "10000 pix-payments",
      "20000 fastify+pg",
      "20000 pix-payments",
      // create-payout-hot
      "8 fastify+pg",
      "8 pix-payments",
      // create-payout-16
      "8 fastify+pg",
      "8 pix-payments",
      // complete-payout-hot
      "8 fastify+pg",
      "8 pix-payments",
      // complete-payout-16
      "8 fastify+pg",
      "8 pix-payments",
      // deliver
      "0 one at a time",
      "0 pix-payments",
      "0 plain undici"
    ])
    for (const row of rows) expect(row.at(-2), row.join("|")).toBe("0")
    for (const row of rows) expect(Number(row[3]), row.join("|")).toBeGreaterThan(0)
    expect(stdout.match(/Stored is what was answered/g)).toHaveLength(9)
    expect(stdout).toMatch(/Claim of 50 with 400 due and 0 not due, EXPLAIN ANALYZE, ms: \d/)
  })

  it("says what it takes when it is asked for something else", async () => {
    const run = promisify(execFile)(process.execPath, [main, "--jobs", "nothing"])
    await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("there is no nothing") })
  })
})
