/**
 * The bench runs from end to end: rows match answers for every contender. No figure is asserted.
 */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { keyPrefixOf, loadJobs } from "../load/Jobs.ts"
import { nest } from "../measure/Contenders.ts"
import { scalingOf, type Turn } from "../measure/Report.ts"

const main = fileURLToPath(new URL("../main.ts", import.meta.url))

/** Output and table lines of a smoke run. A run that fails rejects with its output. */
const smokeRun = async (args: ReadonlyArray<string>) => {
  const run = promisify(execFile)(process.execPath, [main, "--quick", ...args])
  const { stdout } = await run.catch((failure: Failure) => {
    const { code, signal, stderr, stdout } = failure
    // The end says why it failed.
    throw new Error(`the bench ended with ${code ?? signal}:\n${`${stderr}${stdout}`.slice(-900)}`)
  })
  const lines = stdout
    .split("\n")
    .filter(
      (line) =>
        line.startsWith("| ") &&
        !/^\| (connections|charges|backlog, not due|at once|concurrent load|contender) /.test(line)
    )
    .map((line) => line.split("|").map((cell) => cell.trim()))
  return { stdout, lines: lines.map((cells) => cells.slice(1, -1)) }
}

type Failure = { readonly [Name in "code" | "signal" | "stdout" | "stderr"]: string | null }

const namesOf = (lines: ReadonlyArray<ReadonlyArray<string>>) =>
  lines.map(([level, contender]) => `${level} ${contender}`)

/** No turn has errors. */
const expectTurns = (lines: ReadonlyArray<ReadonlyArray<string>>) => {
  for (const line of lines) {
    expect(line.at(-1), line.join("|")).toBe("0")
    // On a busy machine, so short a turn may end before the first answer. `expectRows` counts the answers.
    expect(Number(line[2]), line.join("|")).toBeGreaterThanOrEqual(0)
  }
}

/** Each job found rows of every contender. */
const expectRows = (stdout: string, jobs: number) => {
  const found = stdout.match(/(?<=Rows match answers: ).*(?=\.)/g) ?? []
  expect(found).toHaveLength(jobs)
  for (const counts of found) for (const count of counts.split(", ")) expect(count).toMatch(/ [1-9]\d*$/)
}

/** Every contender starts, beside the tests of other files. */
const LONG = { timeout: 1_200_000 }

describe("bench", () => {
  // Concurrent, because most of a smoke run is waiting for processes to start.
  it.concurrent("create-charge: every contender answers without errors", LONG, async () => {
    const { lines, stdout } = await smokeRun(["--jobs", "create-charge"])
    expect(namesOf(lines)).toEqual([
      "8 fastify+pg lean",
      "8 fastify+pg",
      "8 fastify+pg batched",
      ...(nest.packages?.isInstalled() ? ["8 nestjs+orm"] : []),
      "8 pix-payments",
      "8 pix-payments x2",
      "8 pix-payments otlp",
      "8 http alone",
      "8 postgres alone"
    ])
    expectTurns(lines)
    expectRows(stdout, 1)
  })

  it.concurrent("every other job: its contenders are in the tables, without errors", LONG, async () => {
    const jobs = [
      "get-charge,list-first,list-500",
      "create-payout-hot,create-payout-16,complete-payout-hot,complete-payout-16",
      "deliver,paid-charge,paid-to-attempt,start-up,memory"
    ]
    const contenders = "fastify+pg,pix-payments,postgres alone,one at a time,plain undici"
    const { lines, stdout } = await smokeRun(["--jobs", jobs.join(","), "--contenders", contenders])
    const turns = lines.slice(0, 25)
    expect(namesOf(turns)).toEqual([
      // get-charge
      "10000 fastify+pg",
      "10000 pix-payments",
      "10000 postgres alone",
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
      "100 plain undici",
      // paid-charge
      "1 pix-payments",
      "8 pix-payments",
      "64 pix-payments"
    ])
    expectTurns(turns)
    expect(lines.slice(25).map((line) => line.slice(0, 2))).toEqual([
      // paid-to-attempt
      ["none", "pix-payments"],
      ["create-charge over 64 connections", "pix-payments"],
      ["two more endpoints for all events: one hangs, one fails", "pix-payments"],
      // start-up
      ["fastify+pg", "1"],
      ["pix-payments", "1"],
      // memory
      ["fastify+pg", expect.stringMatching(/^2\d{3}$/)],
      ["pix-payments", expect.stringMatching(/^2\d{3}$/)]
    ])
    for (const line of lines.slice(25)) expect(Number.parseFloat(line[2] ?? ""), line.join("|")).toBeGreaterThan(0)
    expectRows(stdout, 11)
    expect(stdout).toMatch(/Look with 400 due and 100 not due, EXPLAIN ANALYZE, ms: \d/)
  })

  it.concurrent("--grown reads charges of partitioned tables", LONG, async () => {
    const { lines, stdout } = await smokeRun([
      "--grown",
      "--jobs",
      "get-charge,list-500",
      "--contenders",
      "pix-payments"
    ])
    expect(namesOf(lines)).toEqual(["10000 pix-payments", "10000 pix-payments"])
    expectTurns(lines)
    expectRows(stdout, 2)
  })

  it("IDEM-2: the keys of its requests have eight characters, whatever the process id", () => {
    const target = { port: 1, apiKey: "k" }
    for (const { makeRequests, name } of loadJobs.filter(({ status }) => status === 201)) {
      const [, key] = /idempotency-key: (.*)\r/.exec(makeRequests(target, ["k"], keyPrefixOf("0", 2))()) ?? []
      expect(key, name).toMatch(/^[!-~]{8,255}$/)
    }
  })

  it("compares a contender's rates at two levels within one round", () => {
    const turn = (contender: string, level: string, round: number, perSecond: number): Turn => ({
      contender,
      level,
      round,
      perSecond,
      answered: 1,
      errors: 0,
      errorSamples: [],
      latencies: [],
      serverMicros: undefined,
      postgresMicros: undefined,
      auxiliaryMicros: 0,
      otherMicros: 0,
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
      "Rate at 20 divided by rate at 10, median (min..max): a 0.70 (0.50..0.90), b 1.00 (1.00..1.00)."
    )
  })

  it("an unknown job ends the bench with its usage", async () => {
    const run = promisify(execFile)(process.execPath, [main, "--jobs", "nothing"])
    await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("there is no nothing") })
  })
})
