/**
 * Finds the route of a request by its method and path.
 *
 * Guarantees:
 * - Paths are case-sensitive. A doubled slash is not collapsed; a slash at the end is ignored.
 * - `HEAD` has the route of `GET`.
 */

export interface Routable {
  readonly method: string
  /** A segment that begins with `:` is a parameter. */
  readonly segments: ReadonlyArray<string>
}

export interface Table<R> {
  readonly fixed: ReadonlyMap<string, ReadonlyMap<string, R>>
  readonly parameterized: ReadonlyArray<R>
}

export type Found<R> =
  | { readonly _tag: "Found"; readonly route: R; readonly params: Readonly<Record<string, string>> }
  | { readonly _tag: "OtherVerbs"; readonly verbs: ReadonlyArray<string> }
  | { readonly _tag: "Missing" }

export const makeTable = <R extends Routable>(routes: ReadonlyArray<R>): Table<R> => {
  const fixed = new Map<string, Map<string, R>>()
  const parameterized: Array<R> = []
  for (const route of routes) {
    if (route.segments.some((segment) => segment.startsWith(":"))) {
      parameterized.push(route)
      continue
    }
    const path = `/${route.segments.join("/")}`
    const verbs = fixed.get(path) ?? new Map<string, R>()
    verbs.set(route.method, route)
    fixed.set(path, verbs)
  }
  return { fixed, parameterized }
}

export const findRoute = <R extends Routable>(table: Table<R>, verb: string, path: string): Found<R> => {
  const method = verb === "HEAD" ? "GET" : verb
  const normalized = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
  const methods = table.fixed.get(normalized)
  if (methods !== undefined) {
    const exact = methods.get(method)
    // `/v1/webhooks/events` is not the endpoint with the id `events`.
    return exact === undefined
      ? { _tag: "OtherVerbs", verbs: [...methods.keys()] }
      : { _tag: "Found", route: exact, params: NONE }
  }
  const verbs: Array<string> = []
  const segments = normalized.split("/").slice(1)
  for (const route of table.parameterized) {
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
