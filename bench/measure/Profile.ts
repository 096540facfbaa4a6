/**
 * Reads `.cpuprofile` files: self time by function.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

interface CpuProfile {
  readonly nodes: ReadonlyArray<{
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
}

/** The `limit` functions with the most self time in all profiles of a folder, as shares of the busy time. */
export const topFunctions = (folder: string, limit: number): ReadonlyArray<string> => {
  const micros = new Map<string, number>()
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"))) {
    const profile = JSON.parse(readFileSync(join(folder, file), "utf8")) as CpuProfile
    const names = new Map(profile.nodes.map(({ callFrame, id }) => [id, nameOf(callFrame)]))
    profile.samples.forEach((id, index) => {
      const name = names.get(id) ?? "?"
      micros.set(name, (micros.get(name) ?? 0) + (profile.timeDeltas[index] ?? 0))
    })
  }
  micros.delete("(idle)")
  const total = [...micros.values()].reduce((sum, each) => sum + each, 0)
  return [...micros]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, limit)
    .map(([name, each]) => `${((100 * each) / total).toFixed(1).padStart(5)} %  ${name}`)
}

const nameOf = ({ functionName, lineNumber, url }: CpuProfile["nodes"][number]["callFrame"]): string => {
  const name = functionName === "" ? "(anonymous)" : functionName
  if (url === "") return name
  const location = url.replace(/^.*node_modules\//, "").replace(/^file:\/\//, "")
  return `${name}  ${location}:${lineNumber + 1}`
}
