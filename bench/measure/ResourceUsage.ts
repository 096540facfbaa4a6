/**
 * CPU time and resident memory of processes with their descendants, and of the machine, from /proc.
 *
 * The time of children that have exited is in their parent's `cutime` and `cstime`, so sums never decrease.
 */
import { readdirSync, readFileSync } from "node:fs"

/** Microseconds of CPU that the process and its descendants have used; undefined without /proc. */
export const cpuMicros = (root: number): number | undefined => {
  const ticks = ticksOfTree(root)
  if (ticks.size === 0) return undefined
  return [...ticks.values()].reduce((sum, each) => sum + each, 0) * MICROS_PER_TICK
}

/** Resident memory of the process and its descendants; undefined without /proc. */
export const residentMiB = (root: number): number | undefined => {
  const ticks = ticksOfTree(root)
  if (ticks.size === 0) return undefined
  const kib = [...ticks.keys()].reduce((sum, pid) => sum + residentKib(pid), 0)
  return kib / 1024
}

/** The ids of the process and its descendants. */
export const treeOf = (root: number): ReadonlyArray<number> => [...ticksOfTree(root).keys()]

const residentKib = (pid: number): number => {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0)
  } catch {
    // It has exited since.
    return 0
  }
}

/** CPU ticks by pid, of the process and its descendants; empty where it does not run or /proc is missing. */
const ticksOfTree = (root: number): ReadonlyMap<number, number> => {
  const processes = new Map<number, { readonly parent: number; readonly ticks: number }>()
  try {
    for (const name of readdirSync("/proc")) {
      const pid = Number(name)
      if (Number.isInteger(pid)) {
        const stat = readStat(pid)
        if (stat !== undefined) processes.set(pid, stat)
      }
    }
  } catch {
    return new Map()
  }
  const isInTree = (pid: number): boolean => {
    if (pid === root) return true
    const parent = processes.get(pid)?.parent
    return parent !== undefined && parent > 1 && isInTree(parent)
  }
  if (!processes.has(root)) return new Map()
  return new Map([...processes].filter(([pid]) => isInTree(pid)).map(([pid, { ticks }]) => [pid, ticks]))
}

/** Microseconds of CPU that the whole machine has used; undefined without /proc. */
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
    // After the name, which may contain any character: state, ppid, …, utime (14th), stime, cutime, cstime.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const sum = [11, 12, 13, 14].reduce((ticks, index) => ticks + Number(fields[index]), 0)
    return { parent: Number(fields[1]), ticks: sum }
  } catch {
    return undefined
  }
}
