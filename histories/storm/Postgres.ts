/**
 * PostgreSQL as a service has it: a primary, and either a synchronous standby or a small disk for its tables.
 *
 * A killed primary sends no more of its log: the wire between the two delays it, so that a commit which did not wait for the standby
 * is lost as it would be with a machine.
 */
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { execFile } from "node:child_process"
import { chown, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Client } from "pg"
import type { Random } from "./Random.ts"
import { makeWire } from "./Wire.ts"

const run = promisify(execFile)

export interface Database extends AsyncDisposable {
  /** Where it is now. Its address moves with a failover. */
  readonly port: () => number
  /** Of the owner, and of the role that services run with, at this port. */
  readonly urls: (port: number) => { readonly owner: string; readonly service: string }
  /** SIGKILL, and started again on the same port. */
  readonly crash: () => Promise<void>
  /** The primary dies, and its standby takes over. Undefined without one. */
  readonly failOver: (() => Promise<void>) | undefined
  /** Fills the disk of the tables, and empties it. Undefined where this system lets nobody mount one. */
  readonly fillDisk: ((isFull: boolean) => Promise<void>) | undefined
}

interface Server {
  readonly dataDir: string
  readonly port: number
  readonly url: URL
  readonly stop: (how: "kill" | "stop") => Promise<void>
}

const STANDBY = "standby"
const ROLE = "pix_payments_service"
const SETTINGS = { shared_buffers: "64MB", max_wal_size: "512MB" }

export const startDatabase = async (
  folder: string,
  kind: "standby" | "small disk" | "plain",
  random: Random
): Promise<Database> => {
  let primary = await startServer(join(folder, "primary"))
  const disposed: Array<() => Promise<void>> = []
  await ask(primary.url, `CREATE ROLE ${ROLE} LOGIN PASSWORD '${ROLE}'`)

  let standby: Server | undefined
  if (kind === "standby") {
    const replication = await makeWire(random)
    replication.moveTo(primary.port)
    disposed.push(async () => replication[Symbol.asyncDispose]())
    standby = await startStandby(primary, join(folder, "standby"), replication.port)
  }
  const disk = kind === "small disk" ? await mountDisk(join(folder, "disk"), primary) : undefined
  if (disk !== undefined) disposed.push(disk.unmount)

  const failOver = async () => {
    const next = standby
    if (next === undefined) return
    standby = undefined
    await primary.stop("kill")
    await ask(next.url, "SELECT pg_promote(true)")
    await ask(next.url, "ALTER SYSTEM SET synchronous_standby_names = ''")
    await ask(next.url, "SELECT pg_reload_conf()")
    primary = next
  }

  return {
    port: () => primary.port,
    urls: (port) => {
      const owner = new URL(primary.url)
      owner.port = String(port)
      const service = new URL(owner)
      service.username = ROLE
      service.password = ROLE
      return { owner: owner.href, service: service.href }
    },
    crash: async () => {
      const { dataDir, port } = primary
      await primary.stop("kill")
      primary = await startServer(dataDir, port)
    },
    failOver: standby === undefined ? undefined : failOver,
    fillDisk: disk?.fill,
    [Symbol.asyncDispose]: async () => {
      await standby?.stop("stop")
      await primary.stop("stop")
      for (const dispose of disposed) await dispose()
    }
  }
}

/** The rows of one statement, on a separate connection. */
const ask = async (url: URL, statement: string): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>> => {
  const client = new Client({ connectionString: url.href })
  client.on("error", () => {})
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

const startServer = async (dataDir: string, port?: number): Promise<Server> => {
  const scope = Scope.makeUnsafe()
  const started = await Effect.runPromise(
    EmbeddedPostgres.start({
      dataDir,
      maxConnections: 200,
      settings: SETTINGS,
      ...(port !== undefined && { port })
    }).pipe(Scope.provide(scope))
  )
  return {
    dataDir,
    port: started.port,
    url: new URL(Redacted.value(started.url)),
    stop: async (how) => {
      if (how === "kill") {
        const [pid] = (await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8")).split("\n")
        process.kill(Number(pid), "SIGKILL")
      }
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

/** A base backup that replicates. From then on, each commit waits for it. */
const startStandby = async (primary: Server, dataDir: string, port: number): Promise<Server> => {
  const client = new Client({ connectionString: primary.url.href })
  await client.connect()
  await client.query("SELECT pg_backup_start('histories', true)")
  await mkdir(dataDir)
  await run("cp", ["-a", join(primary.dataDir, "postgres"), join(primary.dataDir, "postgres-password"), dataDir])
  const cluster = join(dataDir, "postgres")
  await rm(join(cluster, "postmaster.pid"), { force: true })
  await rm(join(cluster, "pg_wal"), { recursive: true })
  const { rows } = await client.query("SELECT labelfile FROM pg_backup_stop(false)")
  await client.end()
  const put = async (name: string, text: string) => {
    const { gid, uid } = await stat(join(cluster, "PG_VERSION"))
    await writeFile(join(cluster, name), text)
    await chown(join(cluster, name), uid, gid)
  }
  await put("backup_label", rows[0].labelfile)
  await run("cp", ["-a", join(primary.dataDir, "postgres/pg_wal"), cluster])
  await put("standby.signal", "")
  const { password, username } = primary.url
  const conninfo = `host=127.0.0.1 port=${port} user=${username} password=${password} application_name=${STANDBY}`
  await put("postgresql.auto.conf", `primary_conninfo = '${conninfo}'\n`)
  const standby = await startServer(dataDir)
  await ask(primary.url, `ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (${STANDBY})'`)
  await ask(primary.url, "SELECT pg_reload_conf()")
  return standby
}

/** A file system of some megabytes that the tables are on; the log is elsewhere. Only root may mount one. */
const mountDisk = async (path: string, primary: Server) => {
  await mkdir(path)
  const isMounted = await run("mount", ["-t", "tmpfs", "-o", `size=${DISK_MB}m`, "tmpfs", path]).then(
    () => true,
    () => false
  )
  if (!isMounted) return undefined
  const { gid, uid } = await stat(join(primary.dataDir, "postgres/PG_VERSION"))
  const tables = join(path, "tables")
  await mkdir(tables)
  await chown(tables, uid, gid)
  await ask(primary.url, `CREATE TABLESPACE small LOCATION '${tables}'`)
  await ask(primary.url, "GRANT CREATE ON TABLESPACE small TO PUBLIC")
  await ask(primary.url, "ALTER DATABASE postgres SET default_tablespace = 'small'")
  const ballast = join(path, "ballast")
  return {
    fill: async (isFull: boolean) => {
      if (!isFull) return rm(ballast, { force: true })
      await run("dd", ["if=/dev/zero", `of=${ballast}`, "bs=64k"]).catch(() => {})
    },
    unmount: async () => {
      await run("umount", ["-l", path])
    }
  }
}

const DISK_MB = 400
