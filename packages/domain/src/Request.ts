/**
 * What a caller may send, and how a refusal of it is told.
 *
 * Guarantees:
 * - every bad field of a request is found at once;
 * - the answer is the first code of `requestCodes` that applies, with the paths it applies to as the caller wrote them;
 * - an array is counted before an element of it is read, and `details` has at most 100 entries of 255 characters, so
 *   that a refusal costs little whatever the body is.
 *
 * A rule is a check of the request's schema, which names its code with `failsWith`.
 *
 * Source: decisions.md "Answers" (order of checks, `details`), "Finer points", "Decided after the first release".
 */
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import { codeOf, type RequestCode, requestCodes } from "./ErrorCode.ts"

/** An optional field of a creation: `null` is the same as absent. */
export const nullable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** 1 to `maximum` elements, counted before an element is read. */
export const arrayUpTo = <S extends Schema.Constraint>(maximum: number, element: S) =>
  Schema.Array(element)
    .annotate(countedBy(({ length }) => length <= maximum))
    .check(Schema.isBetweenLength(1, maximum))

/** 1 to `maximum` different elements, counted before an element is read. The caller folds the repeats. */
export const distinctUpTo = <S extends Schema.Constraint>(maximum: number, element: S) =>
  Schema.Array(element)
    .annotate(countedBy((sent) => sent.length <= MAX_WITH_REPEATS && new Set(sent).size <= maximum))
    .check(Schema.isMinLength(1))

const MAX_WITH_REPEATS = 1000

/** Says whether an array is short enough to look into. */
type Count = (elements: ReadonlyArray<unknown>) => boolean

const countedBy = (count: Count): { readonly count: Count } => ({ count })

/** A field that breaks a rule. */
export interface Violation {
  readonly code: RequestCode
  readonly path: ReadonlyArray<PropertyKey>
}

/** Why a request is refused: a code, and what it is about. */
export interface Refusal {
  readonly code: RequestCode
  readonly details: ReadonlyArray<string> | undefined
}

/**
 * Reads a request body. `rules` are checks over several fields; they see the raw body, so that they are
 * told together with the fields that fail by themselves.
 */
export const decoder = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  rules?: (body: Readonly<Record<string, unknown>>) => ReadonlyArray<Violation>
): ((body: unknown) => Result.Result<S["Type"], Refusal>) => {
  const counts = countsOf(schema.ast, true)
  const decodeFirst = Schema.decodeUnknownExit(schema)
  const decodeAll = Schema.decodeUnknownExit(schema, { errors: "all" })

  return (body) => {
    if (!isRecord(body)) return Result.fail({ code: "VALIDATION_ERROR", details: undefined })
    const readable = withoutLongArrays(body, counts)
    const decoded = decodeFirst(readable)
    const broken = rules === undefined ? [] : rules(body)
    if (Exit.isSuccess(decoded) && broken.length === 0) return Result.succeed(decoded.value)
    const exit = decodeAll(readable)
    const found = Exit.isSuccess(exit) ? [] : violationsOf(exit.cause, body)
    return Result.fail(refusalOf([...found, ...broken], body))
  }
}

/** The body, where each array that has too many elements is replaced by what no array schema takes. */
const withoutLongArrays = (
  body: Readonly<Record<string, unknown>>,
  counts: ReadonlyArray<readonly [name: string, count: Count]>
): Readonly<Record<string, unknown>> => {
  const long = counts.filter(([name, count]) => Array.isArray(body[name]) && !count(body[name]))
  return long.length === 0 ? body : { ...body, ...Object.fromEntries(long.map(([name]) => [name, false])) }
}

/** How the arrays among a request's fields are counted. A request schema with any other array is a mistake. */
const countsOf = (ast: SchemaAST.AST, isBody: boolean): ReadonlyArray<readonly [name: string, count: Count]> => {
  if (ast._tag === "Arrays") throw new Error("an array in a request is made with arrayUpTo or distinctUpTo")
  if (ast._tag === "Union") return ast.types.flatMap((type) => countsOf(type, false))
  if (ast._tag !== "Objects") return []
  return ast.propertySignatures.flatMap(({ name, type }) => {
    const count = type._tag === "Arrays" ? type.annotations?.["count"] : undefined
    return isBody && typeof count === "function" ? [[String(name), count as Count] as const] : countsOf(type, false)
  })
}

/** Picks the code that is answered, and lists what it is about. */
export const refusalOf = (violations: ReadonlyArray<Violation>, body: unknown): Refusal => {
  const code = requestCodes.find((candidate) => violations.some((violation) => violation.code === candidate))
  const told = violations.filter((violation) => violation.code === code)
  // Of unknown event names the names themselves are listed, for they are what the caller must mend.
  const details = told.map(({ path }) =>
    code === "INVALID_WEBHOOK_EVENT" ? cut(String(valueAt(body, path))) : path.map(String).join(".")
  )
  return { code: code ?? "VALIDATION_ERROR", details: [...new Set(details)].slice(0, MAX_DETAILS) }
}

/** Most entries of `details`. */
export const MAX_DETAILS = 100
const MAX_DETAIL_LENGTH = 255

const cut = (detail: string): string =>
  detail.length > MAX_DETAIL_LENGTH ? detail.slice(0, MAX_DETAIL_LENGTH).toWellFormed() : detail

/** Everything that a failed decode complains of. */
export const violationsOf = (cause: Cause.Cause<Schema.SchemaError>, body: unknown): ReadonlyArray<Violation> =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => [],
    onSome: (error) => leaves(error.issue, [], undefined, body)
  })

const leaves = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<PropertyKey>,
  code: RequestCode | undefined,
  body: unknown
): ReadonlyArray<Violation> => {
  switch (issue._tag) {
    case "Pointer":
      return leaves(issue.issue, [...path, ...issue.path], code, body)
    case "Encoding":
      return leaves(issue.issue, path, code, body)
    case "Filter":
      return leaves(issue.issue, path, codeOf(issue.filter.annotations), body)
    case "Composite":
      return issue.issues.flatMap((inner) => leaves(inner, path, code, body))
    case "AnyOf":
      return issue.issues.length > 0
        ? issue.issues.flatMap((inner) => leaves(inner, path, code, body))
        : [{ code: "VALIDATION_ERROR", path }]
    case "MissingKey":
      return missing(path, issue.annotations)
    case "InvalidType":
      return valueAt(body, path) === null
        ? missing(path, issue.ast.annotations)
        : [{ code: code ?? "VALIDATION_ERROR", path }]
    default:
      return [{ code: code ?? "VALIDATION_ERROR", path }]
  }
}

/** A missing object lists its required fields, where its schema names them. */
const missing = (
  path: ReadonlyArray<PropertyKey>,
  annotations: { readonly [key: string]: unknown } | undefined
): ReadonlyArray<Violation> => {
  const fields = annotations?.["requiredFields"]
  return Array.isArray(fields)
    ? fields.map((field: string) => ({ code: "VALIDATION_ERROR", path: [...path, field] }))
    : [{ code: "VALIDATION_ERROR", path }]
}

const valueAt = (body: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>(
    (value, key) => (isRecord(value) || Array.isArray(value) ? Reflect.get(value, key) : undefined),
    body
  )

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
