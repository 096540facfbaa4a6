/**
 * The machine and the versions that a run is measured with.
 */
import * as Effect from "effect/Effect"
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs"
import { createRequire } from "node:module"
import { cpus, release, totalmem } from "node:os"
import { join } from "node:path"
import { withDatabase } from "./Database.ts"
import { median } from "./Report.ts"

export const describeMachine = Effect.fnUntraced(function* (databaseUrl: string, folder: string) {
  const postgres = yield* withDatabase(databaseUrl, (database) =>
    database.query<{ version: string }>("SELECT version()")
  )
  const processors = cpus()
  return {
    processor: processors[0]?.model.trim() ?? "unknown",
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()} ${process.arch}`,
    fdatasyncMicros: Math.round(fdatasyncMicros(folder)),
    versions: {
      node: process.version,
      postgres: postgres.rows[0]?.version.split(" ")[1] ?? "unknown",
      effect: versionOf("effect"),
      fastify: versionOf("fastify"),
      pg: versionOf("pg")
    }
  }
})

export type Machine = Effect.Success<ReturnType<typeof describeMachine>>

/** How long an fdatasync of 8 KiB takes in this folder: the median of 100. */
const fdatasyncMicros = (folder: string): number => {
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
