/**
 * Decoding of request bodies, and the error that refuses one: ERR-1 to ERR-5, ERR-14.
 *
 * Guarantees
 * - Every bad field is found at once.
 * - The error is the first applicable code of `requestCodes`, with the paths as the caller wrote them, and a message that says
 *   what each field must be. No message repeats text that the caller sent, which may be personal or a secret.
 * - The length of an array is checked before its elements, and `details` has at most 100 entries of 255 characters:
 *   refusing a large body is cheap.
 *
 * A rule is a check of the request's schema; `failsWith` gives it its code.
 */
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import { codeOf, errorCodes, type RequestCode, requestCodes } from "./ErrorCode.ts"
import { got, reasonOf } from "./Reason.ts"

/** An optional field: `null` means the same as leaving it out (API-6). */
export const nullable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A whole number of `unit` in a range: `seconds`. */
export const wholeNumber = (minimum: number, maximum: number, unit?: string) => {
  const expected = `a whole number ${unit === undefined ? "" : `of ${unit} `}from ${minimum} to ${maximum}`
  return Schema.Number.check(Schema.isInt({ expected }), Schema.isBetween({ minimum, maximum }, { expected }))
}

/** An array of 1 to `maximum` elements. Its length is checked before its elements. */
export const arrayUpTo = <S extends Schema.Constraint>(maximum: number, element: S) =>
  Schema.Array(element)
    .annotate({ ...countedBy(({ length }) => length <= maximum), expected: `a list of 1 to ${maximum}` })
    .check(Schema.isBetweenLength(1, maximum, { expected: `a list of 1 to ${maximum}` }))

/** An array of 1 to `maximum` distinct elements, which are counted before they are decoded. The caller removes repeats. */
export const distinctUpTo = <S extends Schema.Constraint>(maximum: number, element: S) =>
  Schema.Array(element)
    .annotate({
      ...countedBy((sent) => sent.length <= MAX_WITH_REPEATS && new Set(sent).size <= maximum),
      expected: `a list of 1 to ${maximum}`
    })
    .check(Schema.isMinLength(1, { expected: `a list of 1 to ${maximum}` }))

const MAX_WITH_REPEATS = 1000

/** Whether an array is short enough to decode. */
type Count = (elements: ReadonlyArray<unknown>) => boolean

const countedBy = (count: Count): { readonly count: Count } => ({ count })

/** A field that breaks a rule. */
export interface Violation {
  readonly code: RequestCode
  readonly path: ReadonlyArray<PropertyKey>
  /** What it must be: "an integer". Absent: it is missing. */
  readonly expected?: string
}

/** Why a request is refused: the code, and the fields that it concerns. */
export interface Refusal {
  readonly code: RequestCode
  readonly details: ReadonlyArray<string> | undefined
  /** Undefined or empty is the code's own message. */
  readonly message?: string
}

/** Stands for a body that has no JSON to decode. A decoder refuses it with its refusal. */
export class UnreadableBody {
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    this.refusal = refusal
  }
}

/** The JSON of a body's text; an empty one is `undefined`. */
export const parseBody = (text: string): unknown => {
  if (text === "") return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    return new UnreadableBody({ code: "VALIDATION_ERROR", details: undefined, message: noJson(text, String(error)) })
  }
}

/** Where a text is no JSON, as V8 says it, without its text. */
const noJson = (text: string, error: string): string => {
  if (/^(?:[\w.[\]%-]+=|--)/.test(text)) return "The request body is a form. It must be JSON, sent as application/json."
  const isEnd = Number(/ at position (\d+)/.exec(error)?.[1]) === text.length
  if (isEnd || /: (?:Unexpected end of|Unterminated string in) JSON/.test(error))
    return "The request body is JSON that ends too early."
  const place = /\((line \d+ column \d+)\)$/.exec(error)?.[1]
  return `The request body is not JSON${place === undefined ? "" : `, at ${place}`}.`
}

/**
 * A decoder of request bodies. `rules` check several fields together. They get the raw body, so that their violations
 * are reported along with those of single fields.
 */
export const decoder = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  rules?: (body: Readonly<Record<string, unknown>>) => ReadonlyArray<Violation>
): ((body: unknown) => Result.Result<S["Type"], Refusal>) => {
  const counts = countsOf(schema.ast, [])
  const decodeFirst = Schema.decodeUnknownExit(schema)
  const decodeAll = Schema.decodeUnknownExit(schema, { errors: "all" })

  return (body) => {
    if (body instanceof UnreadableBody) return Result.fail(body.refusal)
    if (!isRecord(body)) return Result.fail(noObject(body))
    const readable = withoutLongArrays(body, counts)
    const decoded = decodeFirst(readable)
    const broken = rules === undefined ? [] : rules(body)
    if (Exit.isSuccess(decoded) && broken.length === 0) return Result.succeed(decoded.value)
    const exit = decodeAll(readable)
    const found = Exit.isSuccess(exit) ? [] : violationsOf(exit.cause, body)
    return Result.fail(refusalOf([...found, ...broken], body))
  }
}

const noObject = (body: unknown): Refusal => ({
  code: "VALIDATION_ERROR",
  details: undefined,
  message:
    body === undefined
      ? "The request body is empty. It must be a JSON object."
      : `The request body must be a JSON object${got(body)}.`
})

/** Where a field is, in the objects of a body. */
type Path = ReadonlyArray<string>

/** The body with each array that is too long replaced by a value that fails to decode. */
const withoutLongArrays = (
  body: Readonly<Record<string, unknown>>,
  counts: ReadonlyArray<readonly [path: Path, count: Count]>
): Readonly<Record<string, unknown>> =>
  counts.reduce((readable, [path, count]) => {
    const found = path.reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), body)
    return Array.isArray(found) && !count(found) ? withFalseAt(readable, path) : readable
  }, body)

const withFalseAt = (
  body: Readonly<Record<string, unknown>>,
  [name = "", ...inside]: Path
): Readonly<Record<string, unknown>> => ({
  ...body,
  [name]: inside.length === 0 ? false : withFalseAt(body[name] as Readonly<Record<string, unknown>>, inside)
})

/** The counts of a request's array fields. Throws if an array of the schema has none. */
const countsOf = (ast: SchemaAST.AST, path: Path | undefined): ReadonlyArray<readonly [path: Path, count: Count]> => {
  if (ast._tag === "Arrays") throw new Error("an array in a request is made with arrayUpTo or distinctUpTo")
  if (ast._tag === "Union") return ast.types.flatMap((type) => countsOf(type, undefined))
  if (ast._tag !== "Objects") return []
  return ast.propertySignatures.flatMap(({ name, type }) => {
    const array = type._tag === "Union" ? type.types.find(({ _tag }) => _tag === "Arrays") : type
    const count = array?._tag === "Arrays" ? array.annotations?.["count"] : undefined
    const inside = path === undefined ? undefined : [...path, String(name)]
    return inside !== undefined && typeof count === "function"
      ? [[inside, count as Count] as const]
      : countsOf(type, inside)
  })
}

/** The first code that applies, with its fields. */
export const refusalOf = (violations: ReadonlyArray<Violation>, body: unknown): Refusal => {
  const code =
    requestCodes.find((candidate) => violations.some((violation) => violation.code === candidate)) ?? "VALIDATION_ERROR"
  const listed = violations.filter((violation) => violation.code === code)
  // END-2: unknown event names are listed themselves.
  const details = listed.map(({ path }) =>
    code === "INVALID_WEBHOOK_EVENT" ? cut(String(valueAt(body, path))) : pathOf(path)
  )
  return {
    code,
    details: [...new Set(details)].slice(0, MAX_DETAILS),
    message: messageOf(code, listed, body)
  }
}

/** The code's own message, and what each of the first fields must be. */
const messageOf = (code: RequestCode, listed: ReadonlyArray<Violation>, body: unknown): string => {
  const reasons = new Set(
    listed.slice(0, MAX_REASONS).map(({ expected, path }) => reasonOf(pathOf(path), expected, valueAt(body, path)))
  )
  const others = listed.length - MAX_REASONS
  const last = others > 0 ? [`and ${others} more`] : []
  return `${errorCodes[code].message} ${[...reasons, ...last].join("; ")}.`
}

const MAX_REASONS = 8

const pathOf = (path: ReadonlyArray<PropertyKey>): string => path.map(String).join(".")

/** The maximum number of entries in `details` (ERR-4). */
export const MAX_DETAILS = 100
const MAX_DETAIL_LENGTH = 255

/** An entry of `details`, within its length. */
export const cut = (detail: string): string =>
  detail.length > MAX_DETAIL_LENGTH ? detail.slice(0, MAX_DETAIL_LENGTH).toWellFormed() : detail

/** Every violation of a failed decode. */
export const violationsOf = (cause: Cause.Cause<Schema.SchemaError>, body: unknown): ReadonlyArray<Violation> =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => [],
    onSome: (error) => leaves(error.issue, [], undefined, body)
  })

const leaves = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<PropertyKey>,
  filter: SchemaIssue.Filter | undefined,
  body: unknown
): ReadonlyArray<Violation> => {
  switch (issue._tag) {
    case "Pointer":
      return leaves(issue.issue, [...path, ...issue.path], filter, body)
    case "Encoding":
      // A number of a query is text: what it must be is said of the number.
      return issue.ast._tag === "Number" ? [violation(issue, path, undefined)] : leaves(issue.issue, path, filter, body)
    case "Filter":
      return leaves(issue.issue, path, issue, body)
    case "Composite":
    case "AnyOf":
      return issue.issues.length > 0
        ? issue.issues.flatMap((inner) => leaves(inner, path, filter, body))
        : [violation(issue, path, filter)]
    case "MissingKey":
      return missing(path, issue.annotations)
    case "InvalidType":
      return valueAt(body, path) === null ? missing(path, issue.ast.annotations) : [violation(issue, path, filter)]
    default:
      return [violation(issue, path, filter)]
  }
}

const violation = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<PropertyKey>,
  filter: SchemaIssue.Filter | undefined
): Violation => ({
  code: codeOf(filter?.filter.annotations),
  path,
  expected: filter?.filter.annotations?.expected ?? ("ast" in issue ? wordsOf(issue.ast) : "another value")
})

/** What a value of a schema is, in words: its annotation `expected`, that of its last check, or its type. */
const wordsOf = (ast: SchemaAST.AST): string => {
  for (const annotations of [ast.annotations, ast.checks?.at(-1)?.annotations]) {
    const expected = annotations?.["expected"]
    if (typeof expected === "string") return expected
  }
  switch (ast._tag) {
    case "String":
      return "text"
    case "Number":
      return "a number"
    case "Boolean":
      return "true or false"
    case "Null":
      return "null"
    case "Literal":
      return String(ast.literal)
    case "Arrays":
      return "a list"
    case "Objects":
      return "an object"
    case "Union":
      return ast.types.map(wordsOf).join(" or ")
    default:
      return "another value"
  }
}

/** A missing object lists its required fields if its schema names them (CHG-12). */
const missing = (
  path: ReadonlyArray<PropertyKey>,
  annotations: { readonly [key: string]: unknown } | undefined
): ReadonlyArray<Violation> => {
  const fields = annotations?.["requiredFields"]
  const paths = Array.isArray(fields) ? fields.map((field: string) => [...path, field]) : [path]
  return paths.map((each) => ({ code: "VALIDATION_ERROR", path: each }))
}

const valueAt = (body: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>(
    (value, key) => (isRecord(value) || Array.isArray(value) ? Reflect.get(value, key) : undefined),
    body
  )

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
