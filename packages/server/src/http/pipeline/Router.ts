/**
 * Finds the route of a request by its method and path.
 *
 * Guarantees:
 * - Paths are case-sensitive. A doubled slash is not collapsed; a slash at the end is ignored.
 * - A written segment goes before a parameter: `/v1/webhooks/events` is not the endpoint with the id `events`.
 * - `HEAD` has the route of `GET`.
 */

export interface Routable {
  readonly method: string
  /** A segment that begins with `:` is a parameter. */
  readonly segments: ReadonlyArray<string>
}

/** The paths that begin alike. */
export interface Table<R> {
  readonly written: Map<string, Table<R>>
  parameter: Table<R> | undefined
  /** By method, of the path that ends here. */
  readonly routes: Map<string, R>
}

export type Found<R> =
  | { readonly _tag: "Found"; readonly route: R; readonly params: Readonly<Record<string, string>> }
  | { readonly _tag: "OtherVerbs"; readonly verbs: ReadonlyArray<string> }
  | { readonly _tag: "Missing" }

export const makeTable = <R extends Routable>(routes: ReadonlyArray<R>): Table<R> => {
  const root = empty<R>()
  for (const route of routes) {
    let table = root
    for (const segment of route.segments) table = isParameter(segment) ? parameterOf(table) : writtenOf(table, segment)
    table.routes.set(route.method, route)
  }
  return root
}

export const findRoute = <R extends Routable>(root: Table<R>, method: string, path: string): Found<R> => {
  // `OPTIONS *` and the like.
  if (!path.startsWith("/")) return { _tag: "Missing" }
  const end = path.length > 1 && path.endsWith("/") ? path.length - 1 : path.length
  const values: Array<string> = []
  let table: Table<R> | undefined = root
  for (let from = 1; from <= end && table !== undefined;) {
    const slash = path.indexOf("/", from)
    const to = slash < 0 || slash > end ? end : slash
    const segment = path.slice(from, to)
    const next: Table<R> | undefined = table.written.get(segment)
    if (next === undefined && segment !== "") values.push(segment)
    table = next ?? (segment === "" ? undefined : table.parameter)
    from = to + 1
  }
  if (table === undefined || table.routes.size === 0) return { _tag: "Missing" }
  const route = table.routes.get(method === "HEAD" ? "GET" : method)
  if (route === undefined) return { _tag: "OtherVerbs", verbs: [...table.routes.keys()] }
  return { _tag: "Found", route, params: values.length === 0 ? NONE : paramsOf(route, values) }
}

const empty = <R>(): Table<R> => ({ written: new Map(), parameter: undefined, routes: new Map() })

const parameterOf = <R>(table: Table<R>): Table<R> => (table.parameter ??= empty())

const writtenOf = <R>({ written }: Table<R>, segment: string): Table<R> => {
  const known = written.get(segment) ?? empty()
  written.set(segment, known)
  return known
}

const isParameter = (segment: string): boolean => segment.startsWith(":")

const NONE: Readonly<Record<string, string>> = {}

const paramsOf = ({ segments }: Routable, values: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const params: Record<string, string> = {}
  let next = 0
  for (const segment of segments) {
    if (!isParameter(segment)) continue
    const value = values[next++] ?? ""
    params[segment.slice(1)] = value.includes("%") ? decodeURIComponent(value) : value
  }
  return params
}
