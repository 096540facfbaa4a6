/**
 * CPU time of a process and all its descendants, from /proc.
 *
 * Of children that have ended, the time is with their parent (`cutime`, `cstime`), so that the sum only grows.
 */
import { readdirSync, readFileSync } from "node:fs"

/** Microseconds of CPU that the process and its descendants have used; undefined where there is no /proc. */
export const cpuMicros = (root: number): number | undefined => {
  const parents = new Map<number, { readonly parent: number; readonly ticks: number }>()
  try {
    for (const name of readdirSync("/proc")) {
      const pid = Number(name)
      if (Number.isInteger(pid)) {
        const stat = readStat(pid)
        if (stat !== undefined) parents.set(pid, stat)
      }
    }
  } catch {
    return undefined
  }
  const belongs = (pid: number): boolean => {
    if (pid === root) return true
    const parent = parents.get(pid)?.parent
    return parent !== undefined && parent > 1 && belongs(parent)
  }
  let ticks = 0
  for (const [pid, stat] of parents) if (belongs(pid)) ticks += stat.ticks
  return parents.has(root) ? ticks * MICROS_PER_TICK : undefined
}

/** Microseconds of CPU that the whole machine has used. */
export const machineMicros = (): number | undefined => {
  try {
    const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1)
    // cpu, user, nice, system, idle, iowait, irq, softirq
    const fields = line.split(/\s+/).map(Number)
    return [1, 2, 3, 6, 7].reduce((ticks, index) => ticks + (fields[index] ?? 0), 0) * MICROS_PER_TICK
  } catch {
    return undefined
  }
}

// USER_HZ is 100 on every Linux that Node runs on.
const MICROS_PER_TICK = 10_000

const readStat = (pid: number): { readonly parent: number; readonly ticks: number } | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // After the name, which may hold anything: state, ppid, …, utime (14th), stime, cutime, cstime.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const sum = [11, 12, 13, 14].reduce((ticks, index) => ticks + Number(fields[index]), 0)
    return { parent: Number(fields[1]), ticks: sum }
  } catch {
    return undefined
  }
}
