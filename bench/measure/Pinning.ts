/**
 * Processors for processes: a contender gets the first one to itself, so that it does not matter to its CPU time what else
 * runs. By `taskset`, which Linux has.
 */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { cpus } from "node:os"
import { promisify } from "node:util"
import { treeOf } from "./ResourceUsage.ts"

const last = cpus().length - 1

export const contenderCores = "0"
export const otherCores = `1-${last}`
const allCores = `0-${last}`

/** Binds a process, its threads and its descendants. Those that it starts later are bound too. False where that is impossible. */
export const pin = (pid: number, cores: string): Effect.Effect<boolean> =>
  Effect.forEach(treeOf(pid), (each) =>
    Effect.tryPromise(() => promisify(execFile)("taskset", ["-a", "-c", "-p", cores, String(each)]))
  ).pipe(
    Effect.map((bound) => bound.length > 0),
    Effect.orElseSucceed(() => false)
  )

/** The same until the scope closes. */
export const pinWhileOpen = (pid: number, cores: string) =>
  Effect.acquireRelease(pin(pid, cores), () => pin(pid, allCores))
