/**
 * Prometheus and promtool for tests: from the PATH, or the package of Debian that `pnpm run runtimes:prometheus` unpacks.
 *
 * Tests download nothing. Without them, what needs them is skipped; with `RUNTIMES=required` it fails.
 */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"

export const root = join(import.meta.dirname, "../../../..")

const unpacked = join(root, "node_modules/.cache/prometheus/usr/bin")

const find = (name: string): string | undefined =>
  [...(process.env["PATH"] ?? "").split(delimiter), unpacked].map((folder) => join(folder, name)).find(existsSync)

export const promtool = find("promtool")
export const prometheus = find("prometheus")

export const isMissing = (program: string | undefined): boolean =>
  program === undefined && process.env["RUNTIMES"] !== "required"

/** What promtool prints; throws it where promtool finds fault. */
export const runPromtool = (args: ReadonlyArray<string>, input?: string): string => {
  if (promtool === undefined) throw new Error("promtool is missing: pnpm run runtimes:prometheus")
  try {
    return execFileSync(promtool, args, { encoding: "utf8", ...(input !== undefined && { input }), stdio: "pipe" })
  } catch (error) {
    const { stderr = "", stdout = "" } = error as { readonly stderr?: string; readonly stdout?: string }
    throw new Error(`promtool ${args.join(" ")}: ${stdout}${stderr}`, { cause: error })
  }
}

/** One series of an exposition. */
export interface Series {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const SERIES = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|[+-]Inf|NaN)$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y

const labelsOf = (text: string): Record<string, string> => {
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const [, name, value] = LABEL.exec(text) ?? []
    if (name === undefined || value === undefined || name in labels) throw new Error(`wrong labels: ${text}`)
    labels[name] = value
  }
  return labels
}

/** The series of an exposition. Throws on whatever the text format (0.0.4) does not allow, as promtool does. */
export const parseExposition = (text: string): ReadonlyArray<Series> => {
  if (!text.endsWith("\n")) throw new Error("no line feed at the end")
  const [helps, types, seen] = [new Set<string>(), new Map<string, string>(), new Set<string>()]
  const series: Array<Series> = []
  for (const line of text.slice(0, -1).split("\n")) {
    const [, kind, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind !== undefined) {
      if (kind === "HELP" ? helps.has(name) : types.has(name)) throw new Error(`twice: ${line}`)
      if (kind === "HELP") helps.add(name)
      else types.set(name, rest)
      continue
    }
    const [, full = "", labels = "", value = ""] = SERIES.exec(line) ?? []
    const family = types.has(full) ? full : full.replace(/_(bucket|sum|count)$/, "")
    const type = types.get(family)
    if (type === undefined || !helps.has(family)) throw new Error(`without HELP or TYPE, or not readable: ${line}`)
    if ((type === "counter") !== family.endsWith("_total")) throw new Error(`name of a ${type}: ${line}`)
    if (family !== full && type !== "histogram") throw new Error(`no series of a ${type}: ${line}`)
    if (/_(ms|milliseconds|minutes|hours|kb|mb)(_|$)/.test(family)) throw new Error(`no base unit: ${line}`)
    const id = line.slice(0, line.lastIndexOf(" "))
    if (seen.has(id)) throw new Error(`twice: ${id}`)
    seen.add(id)
    series.push({ name: full, labels: labelsOf(labels), value: Number(value.replace("Inf", "Infinity")) })
  }
  return series
}

/** The sum of the series of a name that have these labels. */
export const sumOf = (
  series: ReadonlyArray<Series>,
  name: string,
  labels: Readonly<Record<string, string>> = {}
): number =>
  series
    .filter((each) => each.name === `pix_payments_${name}`)
    .filter((each) => Object.entries(labels).every(([label, value]) => each.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)
