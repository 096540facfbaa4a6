/**
 * Finds the route of a request by its verb and the segments of its path.
 *
 * Guarantees: a path is what is written in it: upper and lower case differ, and a doubled slash is none of ours; a
 * slash at the end is taken for none. `HEAD` is answered as `GET` is.
 */

export interface Addressed {
  readonly method: string
  /** A segment that begins with `:` stands for any text, and names it. */
  readonly segments: ReadonlyArray<string>
}

export interface Table<R> {
  readonly fixed: ReadonlyMap<string, ReadonlyMap<string, R>>
  readonly open: ReadonlyArray<R>
}

export type Found<R> =
  | { readonly _tag: "Found"; readonly route: R; readonly params: Readonly<Record<string, string>> }
  | { readonly _tag: "OtherVerbs"; readonly verbs: ReadonlyArray<string> }
  | { readonly _tag: "Missing" }

export const makeTable = <R extends Addressed>(routes: ReadonlyArray<R>): Table<R> => {
  const fixed = new Map<string, Map<string, R>>()
  const open: Array<R> = []
  for (const route of routes) {
    if (route.segments.some((segment) => segment.startsWith(":"))) {
      open.push(route)
      continue
    }
    const path = `/${route.segments.join("/")}`
    const verbs = fixed.get(path) ?? new Map<string, R>()
    verbs.set(route.method, route)
    fixed.set(path, verbs)
  }
  return { fixed, open }
}

export const findRoute = <R extends Addressed>(table: Table<R>, verb: string, path: string): Found<R> => {
  const method = verb === "HEAD" ? "GET" : verb
  const bare = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
  const here = table.fixed.get(bare)
  if (here !== undefined) {
    const exact = here.get(method)
    // `/v1/webhooks/events` is a resource of its own, not the endpoint with that id.
    return exact === undefined
      ? { _tag: "OtherVerbs", verbs: [...here.keys()] }
      : { _tag: "Found", route: exact, params: NONE }
  }
  const verbs: Array<string> = []
  const segments = bare.split("/").slice(1)
  for (const route of table.open) {
    const params = match(route.segments, segments)
    if (params === undefined) continue
    if (route.method === method) return { _tag: "Found", route, params }
    verbs.push(route.method)
  }
  return verbs.length === 0 ? { _tag: "Missing" } : { _tag: "OtherVerbs", verbs }
}

const NONE: Readonly<Record<string, string>> = {}

const match = (
  pattern: ReadonlyArray<string>,
  segments: ReadonlyArray<string>
): Readonly<Record<string, string>> | undefined => {
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (let i = 0; i < pattern.length; i++) {
    const expected = pattern[i] ?? ""
    const segment = segments[i] ?? ""
    if (expected.startsWith(":")) {
      if (segment === "") return undefined
      params[expected.slice(1)] = decodeURIComponent(segment)
    } else if (expected !== segment) {
      return undefined
    }
  }
  return params
}
