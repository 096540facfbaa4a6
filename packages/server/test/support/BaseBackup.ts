/**
 * A base backup of a running embedded server, by PostgreSQL's procedure (`pg_backup_start`, copy, `pg_backup_stop`,
 * the log until then). `pg_basebackup` does the same; the embedded PostgreSQL comes without that program.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { execFile } from "node:child_process"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/** Copies the data folder `from` of the server at `url` to the new data folder `to`; `during` runs meanwhile. */
export const backUp = Effect.fnUntraced(function* <E = never, R = never>(
  url: Redacted.Redacted<string>,
  from: string,
  to: string,
  during: Effect.Effect<unknown, E, R> = Effect.void as Effect.Effect<unknown, E, R>
) {
  const sql = Context.get(yield* Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 1 }))), SqlClient)
  yield* sql`SELECT pg_backup_start('test', true)::text`
  yield* Effect.promise(async () => {
    await mkdir(to)
    await run("cp", ["-a", join(from, "postgres"), join(from, "postgres-password"), to])
    await rm(join(to, "postgres/postmaster.pid"))
    await rm(join(to, "postgres/pg_wal"), { recursive: true })
  })
  yield* during
  const [stopped] = yield* sql<{ label: string }>`
    SELECT labelfile AS label FROM pg_backup_stop(false)`
  yield* Effect.promise(async () => {
    await putInto(to, "backup_label", stopped?.label ?? "")
    await run("cp", ["-a", join(from, "postgres/pg_wal"), join(to, "postgres")])
  })
}, Effect.scoped)

/** Writes a file of the cluster in a data folder, owned by the owner of the cluster. */
export const putInto = async (dataDir: string, name: string, text: string): Promise<void> => {
  const path = join(dataDir, "postgres", name)
  await writeFile(path, text)
  await run("chown", ["--reference", join(dataDir, "postgres/PG_VERSION"), path])
}
