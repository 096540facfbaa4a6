/**
 * The command line of `pnpm run bench`.
 */
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { allContenders, type Job, jobs, type Named } from "./AllJobs.ts"
import { pixPayments } from "./Contenders.ts"
import { deliver } from "./Deliveries.ts"
import type { RunSettings } from "./Measurement.ts"
import { memory } from "./Memory.ts"

export interface Options extends RunSettings {
  readonly jobs: ReadonlyArray<Job>
  /** Names. */
  readonly contenders: ReadonlyArray<string>
  /** The path of the JSON file. */
  readonly out: string | undefined
  /** Whether `RESULTS.md` is written. */
  readonly write: boolean
  /** Whether `RESULTS.md` gets the tables as those of a further run. */
  readonly append: boolean
  /** The folder of CPU profiles. */
  readonly profile: string | undefined
}

const namesOf = (all: ReadonlyArray<Named>): string => all.map(({ name }) => name).join(", ")

export const usage = `pnpm run bench [options]
  --rounds <n>         rounds of each job, and of each number of connections (4)
  --seconds <s>        length of a turn of requests (1.8)
  --warmup <n>         requests before the first round, to each process (50000, two minutes at most)
  --connections <list> for all request jobs (each job's own: 1,64,256 for charges, 64 for payouts)
  --grown              charges are read among ten million of ten months, a million of them of the account, on tables partitioned
                       by quarters; for pix-payments alone
  --deliveries <n>     in a turn of ${deliver.name} (10000)
  --backlog <list>     deliveries that are not due beside those of ${deliver.name} (10000,1000000)
  --requests <n>       of ${memory.name}, to each contender (1000000)
  --jobs <list>        of ${namesOf(jobs)} (all)
  --contenders <list>  of ${namesOf(allContenders)} (all)
  --quick              smoke run: every job for a moment; nothing is installed
  --out <file>         JSON file of the figures (bench/.data/results.json; none with --quick)
  --write              also write bench/RESULTS.md
  --append             also add the tables to bench/RESULTS.md, as those of a further run
  --profile <folder>   write CPU profiles of each contender into this folder and print the top functions (slower)

BENCH_BEFORE=<checkout> adds the contender "pix-payments before": the service of an installed checkout of an earlier
commit.
`

/** Throws an error with a message for the user where the command line is wrong, or asks for help. */
export const readOptions = (): Options => {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string" },
      seconds: { type: "string" },
      warmup: { type: "string" },
      connections: { type: "string" },
      grown: { type: "boolean", default: false },
      deliveries: { type: "string" },
      backlog: { type: "string" },
      requests: { type: "string" },
      jobs: { type: "string" },
      contenders: { type: "string" },
      quick: { type: "boolean", default: false },
      out: { type: "string" },
      write: { type: "boolean", default: false },
      append: { type: "boolean", default: false },
      profile: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) throw new Error("")
  const { profile, quick } = values
  const positive = (name: string, text: string) => {
    const value = Number(text)
    if (!(value > 0)) throw new Error(`--${name}: ${text} is not a number above 0`)
    return value
  }
  const select = <A extends Named>(names: string | undefined, all: ReadonlyArray<A>) => {
    const wanted = names?.split(",") ?? all.map(({ name }) => name)
    return wanted.map((name) => {
      const found = all.find((each) => each.name === name)
      if (found === undefined) throw new Error(`there is no ${name}`)
      return found
    })
  }
  const contenders = select(values.contenders ?? (values.grown ? pixPayments.name : undefined), allContenders)
  if (values.grown && contenders.some(({ name }) => !name.startsWith(pixPayments.name))) {
    throw new Error("--grown: peers do not know partitioned tables")
  }
  return {
    quick,
    rounds: Math.ceil(positive("rounds", values.rounds ?? (quick ? "1" : "4"))),
    seconds: positive("seconds", values.seconds ?? (quick ? "0.2" : "1.8")),
    warmup: Math.ceil(positive("warmup", values.warmup ?? (quick ? "100" : "50000"))),
    connections: values.connections?.split(",").map((text) => Math.ceil(positive("connections", text))),
    grown: values.grown,
    deliveries: Math.ceil(positive("deliveries", values.deliveries ?? (quick ? "400" : "10000"))),
    backlogs: (values.backlog ?? (quick ? "100" : "10000,1000000"))
      .split(",")
      .map((text) => Math.ceil(positive("backlog", text)))
      .toSorted((a, b) => a - b),
    requests: Math.ceil(positive("requests", values.requests ?? (quick ? "2000" : "1000000"))),
    nodeArgs: (contender) =>
      profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${join(profile, contender)}`],
    jobs: select(values.jobs, jobs),
    contenders: contenders.map(({ name }) => name),
    out: values.out ?? (quick ? undefined : fileURLToPath(new URL("../.data/results.json", import.meta.url))),
    write: values.write,
    append: values.append,
    profile
  }
}
