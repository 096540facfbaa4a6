/** What goes wrong, by seed: one fault after the other, each healed before the storm ends. */
import type { Database } from "./Postgres.ts"
import type { Random } from "./Random.ts"
import type { Record_ } from "./Record.ts"
import type { Server } from "./Servers.ts"
import type { Wire } from "./Wire.ts"
import { pause } from "./Callers.ts"

export interface NemesisOptions {
  readonly record: Record_
  readonly random: Random
  readonly servers: ReadonlyArray<Server>
  /** Of each server to PostgreSQL. */
  readonly wires: ReadonlyArray<Wire>
  readonly database: Database
}

const FAULTS = [
  "kill",
  "restart",
  "freeze",
  "cut",
  "fray",
  "clock",
  "crash of PostgreSQL",
  "failover",
  "full disk",
  "rest"
] as const

export const unleash = async ({ database, random, record, servers, wires }: NemesisOptions, isOver: () => boolean) => {
  const note = (what: string) => record.faults.push({ at: performance.now(), what })
  const lead = () => {
    for (const wire of wires) wire.moveTo(database.port())
  }
  let hasFailedOver = false

  const faults: Record<(typeof FAULTS)[number], () => Promise<void>> = {
    kill: async () => {
      const server = random.oneOf(servers)
      note(`server ${server.index} is killed`)
      await server.end("SIGKILL")
      await pause(random.between(0, 500))
      await server.start()
      note(`server ${server.index} is back`)
    },
    restart: async () => {
      const server = random.oneOf(servers)
      note(`server ${server.index} is restarted`)
      await server.end("SIGTERM")
      await server.start()
      note(`server ${server.index} is back`)
    },
    freeze: async () => {
      const server = random.oneOf(servers)
      note(`server ${server.index} is stopped`)
      server.freeze(true)
      await pause(random.chance(0.1) ? 35_000 : random.between(200, 6000))
      server.freeze(false)
      note(`server ${server.index} goes on`)
    },
    cut: async () => {
      const index = random.between(0, wires.length - 1)
      note(`the connections of server ${index} are cut`)
      wires[index]!.moveTo(undefined)
      await pause(random.between(0, 2000))
      wires[index]!.moveTo(database.port())
      note(`server ${index} is connected again`)
    },
    fray: async () => {
      const wire = random.oneOf(wires)
      note("a wire is frayed")
      wire.fray(true)
      await pause(random.between(500, 4000))
      wire.fray(false)
      note("the wire is whole")
    },
    clock: async () => {
      const server = random.oneOf(servers)
      note(`the clock of server ${server.index} steps`)
      server.stepClock()
    },
    "crash of PostgreSQL": async () => {
      note("PostgreSQL is killed")
      await database.crash()
      lead()
      note("PostgreSQL is back")
    },
    failover: async () => {
      if (database.failOver === undefined || hasFailedOver) return
      hasFailedOver = true
      note("the primary is killed")
      for (const wire of wires) wire.moveTo(undefined)
      await database.failOver()
      lead()
      note("the standby is the primary")
    },
    "full disk": async () => {
      if (database.fillDisk === undefined) return
      note("the disk of the tables is full")
      await database.fillDisk(true)
      await pause(random.between(500, 3000))
      await database.fillDisk(false)
      note("the disk has room again")
    },
    rest: () => pause(random.between(200, 2000))
  }

  while (!isOver()) {
    const draw = random.next()
    const name = draw < 0.22 ? "kill" : random.oneOf(FAULTS)
    await faults[name]()
    await pause(random.between(50, 1500))
  }
}
