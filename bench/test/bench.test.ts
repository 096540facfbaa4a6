/**
 * The bench runs from end to end: what is answered is what is stored, for all contenders. No time is judged.
 */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { scalingOf, type Turn } from "../measure/Report.ts"

const main = fileURLToPath(new URL("../main.ts", import.meta.url))

/** Runs the bench for a moment: a run that fails rejects, with what it printed. Gives the lines of its tables. */
const quick = async (args: ReadonlyArray<string>) => {
  const run = promisify(execFile)(process.execPath, [main, "--quick", ...args], { timeout: 110_000 })
  const { stdout } = await run.catch((failure: Failure) => {
    const { code, signal, stderr, stdout } = failure
    throw new Error(`the bench ends with ${code ?? signal}:\n${stderr}${stdout}`)
  })
  const lines = stdout
    .split("\n")
    .filter(
      (line) => line.startsWith("| ") && !/^\| (connections|charges|waiting, not due|meanwhile|contender) /.test(line)
    )
    .map((line) => line.split("|").map((cell) => cell.trim()))
  return { stdout, lines: lines.map((cells) => cells.slice(1, -1)) }
}

type Failure = { readonly [Name in "code" | "signal" | "stdout" | "stderr"]: string | null }

const namesOf = (lines: ReadonlyArray<ReadonlyArray<string>>) => lines.map(([at, contender]) => `${at} ${contender}`)

/** Lines of turns: nothing was answered wrongly. */
const expectTurns = (lines: ReadonlyArray<ReadonlyArray<string>>) => {
  for (const line of lines) {
    expect(line.at(-1), line.join("|")).toBe("0")
    // A turn of a moment may be over before the first answer of a busy machine: that it came is counted below.
    expect(Number(line[2]), line.join("|")).toBeGreaterThanOrEqual(0)
  }
}

/** What the bench found stored, job by job: something of every contender. */
const expectStored = (stdout: string, jobs: number) => {
  const found = stdout.match(/(?<=Stored is what was answered: ).*(?=\.)/g) ?? []
  expect(found).toHaveLength(jobs)
  for (const counts of found) for (const count of counts.split(", ")) expect(count).toMatch(/ [1-9]\d*$/)
}

describe("bench", () => {
  // Side by side: most of a moment's run is starting what it runs.
  it.concurrent("lets every contender create charges, without errors", { timeout: 120_000 }, async () => {
    const { lines, stdout } = await quick(["--jobs", "create-charge"])
    expect(namesOf(lines)).toEqual([
      "8 fastify+pg",
      "8 fastify+pg batched",
      "8 nestjs+orm",
      "8 pix-payments",
      "8 pix-payments x2",
      "8 pix-payments otlp",
      "8 http alone",
      "8 postgres alone"
    ])
    expectTurns(lines)
    expectStored(stdout, 1)
  })

  it.concurrent(
    "runs every other job: all that take part in the tables, without errors",
    { timeout: 120_000 },
    async () => {
      const jobs = [
        "get-charge,list-first,list-500",
        "create-payout-hot,create-payout-16,complete-payout-hot,complete-payout-16",
        "deliver,paid-to-attempt,start-up,memory"
      ]
      const few = "fastify+pg,pix-payments,postgres alone,one at a time,plain undici"
      const { lines, stdout } = await quick(["--jobs", jobs.join(","), "--contenders", few])
      const turns = lines.slice(0, 21)
      expect(namesOf(turns)).toEqual([
        // get-charge
        "10000 fastify+pg",
        "10000 pix-payments",
        // list-first
        "10000 fastify+pg",
        "10000 pix-payments",
        "10000 postgres alone",
        // list-500
        "10000 fastify+pg",
        "10000 pix-payments",
        "10000 postgres alone",
        // create-payout-hot
        "8 fastify+pg",
        "8 pix-payments",
        "8 postgres alone",
        // create-payout-16
        "8 fastify+pg",
        "8 pix-payments",
        "8 postgres alone",
        // complete-payout-hot
        "8 fastify+pg",
        "8 pix-payments",
        // complete-payout-16
        "8 fastify+pg",
        "8 pix-payments",
        // deliver
        "100 one at a time",
        "100 pix-payments",
        "100 plain undici"
      ])
      expectTurns(turns)
      expect(lines.slice(21).map((line) => line.slice(0, 2))).toEqual([
        // paid-to-attempt
        ["none", "pix-payments"],
        ["create-charge over 64 connections", "pix-payments"],
        ["all events to one that hangs and one that fails too", "pix-payments"],
        // start-up
        ["fastify+pg", "1"],
        ["pix-payments", "1"],
        // memory
        ["fastify+pg", expect.stringMatching(/^2\d{3}$/)],
        ["pix-payments", expect.stringMatching(/^2\d{3}$/)]
      ])
      for (const line of lines.slice(21)) expect(Number.parseFloat(line[2] ?? ""), line.join("|")).toBeGreaterThan(0)
      expectStored(stdout, 10)
      expect(stdout).toMatch(/Claim of 50 with 400 due and 100 not due, EXPLAIN ANALYZE, ms: \d/)
    }
  )

  it("says how a contender's rate moves with what is there, turn by turn of one round", () => {
    const turn = (contender: string, at: string, round: number, perSecond: number): Turn => ({
      contender,
      at,
      round,
      perSecond,
      answered: 1,
      errors: 0,
      complaints: [],
      latencies: [],
      serverMicros: undefined,
      postgresMicros: undefined,
      helperMicros: 0,
      elsewhereMicros: 0,
      seconds: 1
    })
    const turns = [
      turn("a", "10", 1, 100),
      turn("a", "20", 1, 50),
      turn("a", "10", 2, 200),
      turn("a", "20", 2, 180),
      turn("b", "10", 1, 10),
      turn("b", "20", 1, 10)
    ]
    expect(scalingOf(turns, ["a", "b", "c"], "10", "20")).toBe(
      "Rate at 20 to rate at 10, median (min..max): a 0.70 (0.50..0.90), b 1.00 (1.00..1.00)."
    )
  })

  it("says what it takes when it is asked for something else", async () => {
    const run = promisify(execFile)(process.execPath, [main, "--jobs", "nothing"])
    await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("there is no nothing") })
  })
})
