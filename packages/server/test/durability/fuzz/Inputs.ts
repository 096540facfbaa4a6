/**
 * Requests made from the declarations: good ones first, from the schemas, then broken in one place or in several.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { hasProperty } from "effect/Predicate"
import type * as Schema from "effect/Schema"
import { newKey } from "../../support/TestService.ts"
import { acceptedBy, type World } from "../../support/World.ts"
import { type DeclaredRoute, kindOf, unknownId } from "../../support/Declared.ts"
import { brokenBytes, brokenHeader, brokenId, brokenIn, brokenQuery, brokenValue, jsonOf } from "./Broken.ts"
import type { Random } from "./Random.ts"

export interface Input {
  /** The intended route, or `undefined` for an unknown path or verb. */
  readonly route: DeclaredRoute | undefined
  /** False for malformed HTTP, which a server may refuse without routing. */
  readonly isHttp: boolean
  readonly bytes: Buffer
}

export interface Listener {
  readonly routes: ReadonlyArray<DeclaredRoute>
  readonly credential: { readonly name: string; readonly values: ReadonlyArray<string> }
}

/** Makes inputs for a listener. */
export const inputsFor = (listener: Listener, world: World, url: string) => {
  const makeInput = (random: Random): Input => {
    if (random.chance(0.06)) return strayInput(random, listener)
    const route = random.pick(listener.routes)
    const ids = [...(world.ids[kindOf(route)] ?? []), unknownId]
    const goodId = random.pick(ids)
    const id = random.chance(0.75) ? goodId : brokenId(random, goodId)
    const query = queryOf(random, route, world)
    const headers: Array<readonly [string, string]> = []
    const credential = random.chance(0.94) ? random.pick(listener.credential.values) : brokenHeader(random)
    if (!random.chance(0.02)) headers.push([listener.credential.name, credential])
    if (route.endpoint.headers !== undefined && !random.chance(0.03)) {
      headers.push(["idempotency-key", random.chance(0.85) ? newKey() : brokenHeader(random)])
    }
    if (random.chance(0.1)) headers.push(["x-request-id", brokenHeader(random)])
    if (random.chance(0.05)) headers.push(["idempotency-key", brokenHeader(random)])
    if (random.chance(0.05))
      headers.push([
        random.pick(["accept", "cookie", "origin", "range", "content-encoding", "if-match"]),
        random.pick(["gzip", "*/*", "x=y", "bytes=0-", "br"])
      ])
    const body = route.takesBody || random.chance(0.05) ? bodyOf(random, route, world, url) : undefined
    // As proxies write it.
    const origin = random.chance(0.03) ? `http://${"a".repeat(1 + random.below(60))}.invalid` : ""
    const target = `${origin}${route.template.replace("{id}", id)}${query}`
    return assemble(random, route, route.method, target, headers, body)
  }
  return makeInput
}

/** Paths and verbs that are not declared. */
const strayInput = (random: Random, { credential, routes }: Listener): Input => {
  const route = random.pick(routes)
  const path = random.pick([
    () => route.template.replace("{id}", unknownId).replace(/[a-z]/, "%61"),
    () => `/${brokenId(random, unknownId)}`,
    () => `${route.template.replace("{id}", unknownId)}/${brokenId(random, unknownId)}`,
    () => route.template.replace("/v1", "//v1"),
    () => "*",
    () => `?${brokenQuery(random, [])}`
  ])()
  const method = random.pick([
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "PURGE",
    "FOO",
    "get",
    "G\x00T"
  ])
  const input = assemble(
    random,
    undefined,
    method,
    path,
    [[credential.name, random.pick(credential.values)]],
    undefined
  )
  return { ...input, isHttp: false }
}

const assemble = (
  random: Random,
  route: DeclaredRoute | undefined,
  method: string,
  target: string,
  headers: ReadonlyArray<readonly [string, string]>,
  body: Buffer | undefined
): Input => {
  const type = random.chance(0.9)
    ? "application/json"
    : random.pick(["text/plain", "multipart/form-data", "x", "application/json; charset=utf-16"])
  const isChunked = body !== undefined && random.chance(0.1)
  const framing =
    body === undefined
      ? []
      : [["content-type", type], isChunked ? ["transfer-encoding", "chunked"] : ["content-length", String(body.length)]]
  const lines = [`${method} ${target} HTTP/1.1`, "host: localhost", "connection: close"]
  for (const [name, value] of [...headers, ...framing]) lines.push(`${name}: ${value}`)
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1")
  const sent = body === undefined ? [] : isChunked ? chunks(body) : [body]
  const isHttp =
    // oxlint-disable-next-line no-control-regex -- what HTTP does not allow
    !lines.some((line) => /[\x00-\x08\x0a-\x1f\x7f]/.test(line)) && !/[^\x21-\x7e]/.test(target) && head.length < 16_000
  return { route, isHttp, bytes: Buffer.concat([head, ...sent]) }
}

const chunks = (body: Buffer): ReadonlyArray<Buffer> => [
  Buffer.from(`${body.length.toString(16)}\r\n`),
  body,
  Buffer.from(body.length === 0 ? "\r\n" : "\r\n0\r\n\r\n")
]

const queryOf = (random: Random, route: DeclaredRoute, world: World): string => {
  const { query } = route.endpoint
  if (query === undefined) return random.chance(0.05) ? `?${brokenQuery(random, [])}` : ""
  const fields = fieldsOf(query) ?? {}
  const names = Object.keys(fields)
  if (random.chance(0.5)) return `?${brokenQuery(random, names)}`
  const chosen = names.filter(() => random.chance(0.4))
  const everyId = Object.values(world.ids).flat()
  return `?${chosen
    .map((name) => {
      const value =
        /_id$|starting_after/.test(name) && random.chance(0.7)
          ? random.pick(everyId)
          : sample(random, fields[name]!, name)
      const text = typeof value === "object" ? jsonOf(value) : String(value)
      return `${name}=${encodeURIComponent(text.toWellFormed())}`
    })
    .join("&")}`
}

const bodyOf = (random: Random, route: DeclaredRoute, world: World, url: string): Buffer => {
  const [payload] = [...route.endpoint.payload.values()].flatMap(({ schemas }) => [...schemas])
  const accepted = route.takesBody ? acceptedBy(route, world, url).options.body : {}
  const good = payload === undefined || random.chance(0.5) ? accepted : sample(random, payload, "")
  if (random.chance(0.12)) return Buffer.from(jsonOf(good))
  if (random.chance(0.12)) return brokenBytes(random, jsonOf(good))
  let broken = brokenIn(random, good)
  while (random.chance(0.3)) broken = brokenIn(random, broken)
  return Buffer.from(jsonOf(broken))
}

/** A value that fits a schema; a struct is made field by field, for one field that is hard to hit exhausts them all. */
const sample = (random: Random, schema: Schema.Constraint, name: string): unknown => {
  const fields = fieldsOf(schema)
  if (fields !== undefined) {
    return Object.fromEntries(
      Object.entries(fields)
        .filter(() => random.chance(0.8))
        .map(([inner, field]) => [inner, sample(random, field, inner)])
    )
  }
  const exit = Effect.runSyncExit(
    Arbitrary.sampleEffect(Arbitrary.schema(schema), {
      count: 1,
      seed: random.below(2 ** 31),
      size: 12,
      maxDiscards: 20
    })
  )
  if (Exit.isSuccess(exit) && exit.value.length > 0) return exit.value[0]
  const known = hardToHit[name]
  return known === undefined ? brokenValue(random) : random.pick(known)
}

/** Values that random text never is. */
const hardToHit: Readonly<Record<string, ReadonlyArray<string>>> = {
  email: ["ana@example.com", "refuse@simulator.test", "pay@simulator.test"],
  url: ["http://127.0.0.1:1/"],
  webhook_url: ["http://127.0.0.1:1/"],
  since: ["2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"],
  created_after: ["2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"],
  created_before: ["2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"],
  expires_at: ["2999-01-01T00:00:00Z", "9999-12-31T23:59:59Z"],
  defense_deadline_at: ["2999-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
}

/** The fields of a struct, optional or nullable as it may be. */
const fieldsOf = (schema: unknown): Readonly<Record<string, Schema.Constraint>> | undefined => {
  if (hasProperty(schema, "fields")) return schema.fields as Readonly<Record<string, Schema.Constraint>>
  if (hasProperty(schema, "schema")) return fieldsOf(schema.schema)
  if (hasProperty(schema, "members") && Array.isArray(schema.members)) {
    return schema.members.map(fieldsOf).find((found) => found !== undefined)
  }
  return undefined
}
