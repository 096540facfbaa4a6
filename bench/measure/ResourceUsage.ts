/**
 * CPU time and memory of a process and all its descendants, from /proc.
 *
 * Of children that have ended, the time is with their parent (`cutime`, `cstime`), so that the sum only grows.
 */
import { readdirSync, readFileSync } from "node:fs"

/** Microseconds of CPU that the process and its descendants have used; undefined where there is no /proc. */
export const cpuMicros = (root: number): number | undefined => {
  const family = familyOf(root)
  if (family.size === 0) return undefined
  return [...family.values()].reduce((sum, each) => sum + each, 0) * MICROS_PER_TICK
}

/** Resident memory of the process and its descendants; undefined where there is no /proc. */
export const residentMiB = (root: number): number | undefined => {
  const family = familyOf(root)
  if (family.size === 0) return undefined
  const kib = [...family.keys()].reduce((sum, pid) => sum + residentKib(pid), 0)
  return kib / 1024
}

const residentKib = (pid: number): number => {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0)
  } catch {
    // It has ended since.
    return 0
  }
}

/** The process and its descendants, each with the ticks that it has used; none where it, or /proc, is not there. */
const familyOf = (root: number): ReadonlyMap<number, number> => {
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
    return new Map()
  }
  const belongs = (pid: number): boolean => {
    if (pid === root) return true
    const parent = parents.get(pid)?.parent
    return parent !== undefined && parent > 1 && belongs(parent)
  }
  if (!parents.has(root)) return new Map()
  return new Map([...parents].filter(([pid]) => belongs(pid)).map(([pid, { ticks }]) => [pid, ticks]))
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
