/**
 * Where it is measured: one PostgreSQL server of its own, databases in it, and the clocks of the processors.
 */
import { start as startPostgres } from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { closeSync, fdatasyncSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs"
import { createRequire } from "node:module"
import { cpus, release, totalmem } from "node:os"
import { join } from "node:path"
import { migrate, type Place, withDatabase } from "./Contenders.ts"
import { cpuMicros, machineMicros } from "./ResourceUsage.ts"
import { BenchError } from "./Processes.ts"
import { median } from "./Report.ts"
import { seed, type Seeded } from "../load/Seeds.ts"

/** `drops`: databases go with the scope of whoever asked for them, and not only with the whole server. */
export const makeLab = Effect.fnUntraced(function* (folder: string, drops: boolean) {
  const dataDir = join(folder, "postgres")
  const postgres = yield* Effect.mapError(
    startPostgres({ dataDir, maxConnections: MAX_CONNECTIONS }),
    ({ message }) => new BenchError({ message })
  )
  const adminUrl = Redacted.value(postgres.url)
  const postmaster = Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0])
  const onServer = (statement: string) => withDatabase(adminUrl, (database) => database.query(statement))

  if (drops) yield* age(onServer)

  const urlOf = (name: string) => {
    const url = new URL(adminUrl)
    url.pathname = `/${name}`
    return url.href
  }

  /** A database with a folder: empty, or a copy of a seeded one. */
  const place = Effect.fnUntraced(function* (name: string, nodeArgs: ReadonlyArray<string>, seeded?: Seeded) {
    // Of a large one the files are copied; that takes two checkpoints, which a small one is not worth.
    const strategy = (seeded?.charges ?? 0) > 100_000 ? "FILE_COPY" : "WAL_LOG"
    const copied = seeded === undefined ? "" : ` TEMPLATE "${seeded.template}" STRATEGY ${strategy}`
    yield* Effect.acquireRelease(onServer(`CREATE DATABASE "${name}"${copied}`), () =>
      drops ? Effect.ignore(onServer(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)) : Effect.void
    )
    const own = join(folder, name)
    mkdirSync(own)
    return { databaseUrl: urlOf(name), folder: own, nodeArgs } satisfies Place
  })

  const seeds = new Map<number, Seeded>()

  /** A database to copy, with so many charges in it; kept for the jobs to come. */
  const seeded = Effect.fnUntraced(function* (charges: number) {
    const known = seeds.get(charges)
    if (known !== undefined) return known
    const template = `seed-${charges}`
    yield* onServer(`CREATE DATABASE "${template}"`)
    yield* migrate(urlOf(template))
    const made = yield* withDatabase(urlOf(template), (database) => seed(database, template, charges))
    seeds.set(charges, made)
    return made
  })

  /** Starts to count the CPU that a contender, the database and `helpers` use; what it gives ends the count. */
  const count = (pid: number, helpers: ReadonlyArray<number> = []): (() => Used) => {
    const look = () => ({
      server: cpuMicros(pid),
      postgres: cpuMicros(postmaster),
      helpers: helpers.reduce((sum, helper) => sum + (cpuMicros(helper) ?? 0), 0),
      all: machineMicros(),
      at: performance.now()
    })
    const before = look()
    return () => {
      const after = look()
      const used = (of: "server" | "postgres" | "all") => {
        const [start, end] = [before[of], after[of]]
        return start === undefined || end === undefined ? undefined : end - start
      }
      const [server, database] = [used("server"), used("postgres")]
      const [all, ours] = [used("all") ?? 0, after.helpers - before.helpers]
      return {
        hasEnded: before.server !== undefined && after.server === undefined,
        serverMicros: server,
        postgresMicros: database,
        helperMicros: ours,
        elsewhereMicros: Math.max(0, all - (server ?? 0) - (database ?? 0) - ours),
        seconds: (after.at - before.at) / 1000
      }
    }
  }

  return {
    place,
    seeded,
    count,
    checkpoint: onServer("CHECKPOINT"),
    machine: yield* describeMachine(adminUrl, dataDir)
  }
})

/**
 * Makes the server as it is after a day: what it logs goes into files that it has, not into new ones, which it fills
 * with zeros first (measured: 45 ms for each 16 MiB, while every commit waits).
 */
const age = (onServer: (statement: string) => Effect.Effect<unknown, BenchError>) =>
  Effect.andThen(
    Effect.forEach(
      Array.from({ length: 64 }),
      () => onServer("SELECT pg_logical_emit_message(false, 'age', 'x'), pg_switch_wal()"),
      { discard: true }
    ),
    onServer("CHECKPOINT")
  )

// Every contender of a job is up at once, some of them on several databases, each with the pool of its own choice.
const MAX_CONNECTIONS = 400

export type Lab = Effect.Success<ReturnType<typeof makeLab>>

export interface Used {
  /** The contender is no more. */
  readonly hasEnded: boolean
  readonly serverMicros: number | undefined
  readonly postgresMicros: number | undefined
  readonly helperMicros: number
  readonly elsewhereMicros: number
  readonly seconds: number
}

/** The share of the processors that nothing of the bench used. */
export const disturbance = (turns: ReadonlyArray<{ readonly elsewhereMicros: number; readonly seconds: number }>) =>
  turns.reduce((sum, { elsewhereMicros }) => sum + elsewhereMicros, 0) /
  (turns.reduce((sum, { seconds }) => sum + seconds, 0) * 1e6 * cpus().length)

const describeMachine = Effect.fnUntraced(function* (databaseUrl: string, folder: string) {
  const postgres = yield* withDatabase(databaseUrl, (database) =>
    database.query<{ version: string }>("SELECT version()")
  )
  const processors = cpus()
  return {
    processor: processors[0]?.model.trim() ?? "unknown",
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()} ${process.arch}`,
    fdatasyncMicros: Math.round(probeDisk(folder)),
    versions: {
      node: process.version,
      postgres: postgres.rows[0]?.version.split(" ")[1] ?? "unknown",
      effect: versionOf("effect"),
      fastify: versionOf("fastify"),
      pg: versionOf("pg")
    }
  }
})

/** How long this disk takes to make 8 KiB durable, in microseconds: the median of 100. */
const probeDisk = (folder: string): number => {
  const file = openSync(join(folder, "probe"), "w")
  const page = Buffer.alloc(8192, 1)
  const times = Array.from({ length: 100 }, (_, index) => {
    writeSync(file, page, 0, page.length, index * page.length)
    const start = performance.now()
    fdatasyncSync(file)
    return (performance.now() - start) * 1000
  })
  closeSync(file)
  return median(times)
}

const versionOf = (name: string): string => {
  const { version } = createRequire(import.meta.url)(`${name}/package.json`) as { readonly version: string }
  return version
}
