/**
 * One PostgreSQL server with a database for each contender, and the CPU accounting around it.
 */
import { start as startPostgres } from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { mkdirSync, readFileSync } from "node:fs"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { EPOCH_MS, seed, type Seeded } from "../load/Seeds.ts"
import { migrate, withDatabase } from "./Database.ts"
import { describeMachine } from "./Machine.ts"
import { makeOldPartitions } from "./OldPartitions.ts"
import type { StartOptions } from "./OurServer.ts"
import { BenchError } from "./Processes.ts"
import { cpuMicros, machineMicros } from "./ResourceUsage.ts"

/** `isSmokeRun`: WAL is not preallocated, and databases are dropped with the whole server only. */
export const makeTestbed = Effect.fnUntraced(function* (folder: string, isSmokeRun: boolean) {
  const dataDir = join(folder, "postgres")
  const postgres = yield* Effect.mapError(
    startPostgres({ dataDir, maxConnections: MAX_CONNECTIONS }),
    ({ message }) => new BenchError({ message })
  )
  const adminUrl = Redacted.value(postgres.url)
  const postmaster = Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0])
  const runOnServer = (statement: string) => withDatabase(adminUrl, (database) => database.query(statement))

  if (!isSmokeRun) yield* preallocateWal(runOnServer)

  const urlOf = (name: string) => {
    const url = new URL(adminUrl)
    url.pathname = `/${name}`
    return url.href
  }

  /** A database and a folder for a contender; the database is empty, or a copy of a seeded one. */
  const provision = Effect.fnUntraced(function* (name: string, nodeArgs: ReadonlyArray<string>, seeded?: Seeded) {
    // FILE_COPY takes two checkpoints: faster for a large database, slower for a small one.
    const strategy = (seeded?.charges ?? 0) > 100_000 ? "FILE_COPY" : "WAL_LOG"
    const template = seeded === undefined ? "" : ` TEMPLATE "${seeded.template}" STRATEGY ${strategy}`
    yield* Effect.acquireRelease(runOnServer(`CREATE DATABASE "${name}"${template}`), () =>
      isSmokeRun ? Effect.void : Effect.ignore(runOnServer(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`))
    )
    const ownFolder = join(folder, name)
    mkdirSync(ownFolder)
    return { databaseUrl: urlOf(name), folder: ownFolder, nodeArgs } satisfies StartOptions
  })

  const seeds = new Map<string, Seeded>()

  /** A template database with this many charges, with partitions of their months where asked; created once per run. */
  const seeded = Effect.fnUntraced(function* (charges: number, isPartitioned = false) {
    const template = `seed-${charges}${isPartitioned ? "-partitioned" : ""}`
    const existing = seeds.get(template)
    if (existing !== undefined) return existing
    yield* runOnServer(`CREATE DATABASE "${template}"`)
    yield* migrate(urlOf(template))
    if (isPartitioned) yield* makeOldPartitions(urlOf(template), monthsSince(EPOCH_MS))
    const created = yield* withDatabase(urlOf(template), (database) => seed(database, template, charges))
    seeds.set(template, created)
    return created
  })

  /** Starts to measure the CPU of a contender, PostgreSQL and the auxiliary processes. Call the result to end. */
  const measureCpu = (pid: number, auxiliaryPids: ReadonlyArray<number> = []): (() => CpuUsage) => {
    const read = () => ({
      server: cpuMicros(pid),
      postgres: cpuMicros(postmaster),
      auxiliary: auxiliaryPids.reduce((sum, each) => sum + (cpuMicros(each) ?? 0), 0),
      machine: machineMicros(),
      at: performance.now()
    })
    const before = read()
    return () => {
      const after = read()
      const used = (of: "server" | "postgres" | "machine") => {
        const [start, end] = [before[of], after[of]]
        return start === undefined || end === undefined ? undefined : end - start
      }
      const [serverMicros, postgresMicros] = [used("server"), used("postgres")]
      const [machine, auxiliaryMicros] = [used("machine") ?? 0, after.auxiliary - before.auxiliary]
      return {
        hasExited: before.server !== undefined && after.server === undefined,
        serverMicros,
        postgresMicros,
        auxiliaryMicros,
        otherMicros: Math.max(0, machine - (serverMicros ?? 0) - (postgresMicros ?? 0) - auxiliaryMicros),
        seconds: (after.at - before.at) / 1000
      }
    }
  }

  return {
    postmaster,
    provision,
    seeded,
    measureCpu,
    checkpoint: runOnServer("CHECKPOINT"),
    machine: yield* describeMachine(adminUrl, dataDir)
  }
})

export type Testbed = Effect.Success<ReturnType<typeof makeTestbed>>

export interface CpuUsage {
  /** The contender ended during the measurement. */
  readonly hasExited: boolean
  readonly serverMicros: number | undefined
  readonly postgresMicros: number | undefined
  readonly auxiliaryMicros: number
  /** Of processes that are not part of the bench. */
  readonly otherMicros: number
  readonly seconds: number
}

/** The share of all processors that other programs used. */
export const otherProgramsShare = (
  turns: ReadonlyArray<{ readonly otherMicros: number; readonly seconds: number }>
): number =>
  turns.reduce((sum, { otherMicros }) => sum + otherMicros, 0) /
  (turns.reduce((sum, { seconds }) => sum + seconds, 0) * 1e6 * cpus().length)

/** A folder that is removed with the scope. */
export const temporaryFolder = (prefix: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = await mkdtemp(join(tmpdir(), prefix))
      // Under root, PostgreSQL runs as another user, who must be able to enter the folder.
      await chmod(folder, 0o755)
      return folder
    }),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  )

/**
 * Fills and recycles 64 WAL segments, as on a server that has run for a day. Measured: a new segment is filled with
 * zeros first, and every commit waits 45 ms for it.
 */
const preallocateWal = (runOnServer: (statement: string) => Effect.Effect<unknown, BenchError>) =>
  Effect.andThen(
    Effect.forEach(
      Array.from({ length: 64 }),
      () => runOnServer("SELECT pg_logical_emit_message(false, 'age', 'x'), pg_switch_wal()"),
      { discard: true }
    ),
    runOnServer("CHECKPOINT")
  )

const monthsSince = (ms: number): number =>
  Math.ceil((DateTime.toEpochMillis(DateTime.nowUnsafe()) - ms) / (28 * 86_400_000))

// All contenders of a job run at once, some with several databases, each with its own pool.
const MAX_CONNECTIONS = 400
