/**
 * A command for each operation of the operator interface, derived from its declaration: CLI-16 to CLI-18.
 *
 * Guarantee: names, flags and help are the declaration's. What is particular to a command is in the tables of this folder.
 */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { isRepeated } from "@pix-payments/domain/Approval"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { answersFile, answersLines } from "../AnswerObject.ts"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { limitFlag } from "../LimitFlag.ts"
import { type Answer, call } from "../OperatorClient.ts"
import { type Row, showFields, showTable, wantsJson, writeJson } from "../Output.ts"
import { attempt, signedIn } from "../Profile.ts"
import { notice, withTime } from "../Terminal.ts"
import { showCells } from "./CellList.ts"
import { exampleOf } from "./Examples.ts"
import type { Field } from "./Fields.ts"
import { writeFile } from "./Files.ts"
import { writeLines } from "./JsonLines.ts"
import { descriptionOf, type Operation, operations } from "./Operations.ts"
import { showList } from "./Pages.ts"
import { asks, confirm, questionOf } from "./Questions.ts"

type Input = Readonly<Record<string, unknown>>

const ID = "id"
const DATA = "data"
const LIMIT = "limit"
const ALL = "all"
const CELLS = "cells"
const YES = "yes"
const KEY = "idempotencyKey"

const described = (field: Field): string => {
  const choices = field.kind === "choice" && field.isRepeated ? ` One of ${field.choices.join(", ")}.` : ""
  const several = field.isRepeated ? " Separated by commas, or repeated." : ""
  const needed = field.isRequired ? " Required." : ""
  return `${field.description ?? field.path.join(".").replaceAll("_", " ")}${choices}${several}${needed}`
}

/** The flag of a field. Nothing is required here: `--data` may have it. */
const flagOf = (field: Field): Flag.Flag<unknown> => {
  const base = (): Flag.Flag<unknown> => {
    if (field.isRepeated) return Flag.String(field.flag).pipe(Flag.atLeast(0))
    if (field.kind === "integer") return Flag.Int(field.flag).pipe(Flag.optional)
    if (field.kind === "boolean") return Flag.Boolean(field.flag).pipe(Flag.optional)
    if (field.kind === "choice") return Flag.Literals(field.flag, field.choices).pipe(Flag.optional)
    return Flag.String(field.flag).pipe(Flag.optional)
  }
  return Flag.withDescription(base(), described(field))
}

/** The value of a field's flag, or `undefined` if it was not given. */
const valueOf = (field: Field, input: Input): unknown => {
  const given = input[field.flag]
  if (Array.isArray(given)) {
    const values = given.flatMap((each) => String(each).split(",")).filter((each) => each !== "")
    return values.length === 0 ? undefined : values
  }
  return Option.isOption(given) ? Option.getOrUndefined(given) : given
}

const paging = new Set(["limit"])

const configOf = (operation: Operation) => ({
  ...(operation.idOf === undefined
    ? {}
    : {
        [ID]: Argument.String(`${operation.idOf}-id`).pipe(
          Argument.withDescription(`The id of the ${operation.idOf.replaceAll("-", " ")}`)
        )
      }),
  ...Object.fromEntries(
    [...operation.query.filter(({ name }) => !paging.has(name)), ...(operation.body ?? [])].map(
      (field) => [field.flag, flagOf(field)] as const
    )
  ),
  ...(operation.isPaged
    ? {
        [LIMIT]: limitFlag("Items at most. Default: 20"),
        [ALL]: Flag.Boolean(ALL).pipe(Flag.withDescription("Every item, page by page"), Flag.withDefault(false)),
        ...(operation.idOf === undefined
          ? {
              [CELLS]: Flag.String(CELLS).pipe(
                Flag.withDescription("Of several cells: the names of their profiles, or all"),
                Flag.optional
              )
            }
          : {})
      }
    : {}),
  ...(operation.body === undefined
    ? {}
    : {
        [DATA]: Flag.String(DATA).pipe(
          Flag.withDescription("Read the body, or the rest of it, as JSON from this file; - is standard input"),
          Flag.optional
        )
      }),
  ...(asks(operation.id)
    ? {
        [YES]: Flag.Boolean(YES).pipe(Flag.withAlias("y"), Flag.withDescription("Do not ask"), Flag.withDefault(false))
      }
    : {}),
  ...(operation.isKeyed
    ? {
        [KEY]: Flag.String("idempotency-key").pipe(
          Flag.withDescription("Repeating a call with the same key creates nothing new. Default: a new key"),
          Flag.optional
        )
      }
    : {})
})

const readData = (file: string): Input => {
  let text: string
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8")
  } catch (error) {
    throw usage(`--data cannot be read from ${file}: ${String(Object(error).code ?? error)}`)
  }
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed as Input
  } catch {
    // Said below.
  }
  throw usage(`--data is not a JSON object: ${file}`)
}

/** The body of a request, from `--data` and flags, which win. Throws if a required field is missing. */
const payloadOf = (fields: ReadonlyArray<Field>, input: Input): Input => {
  const file = input[DATA] as Option.Option<string>
  const payload = structuredClone(Option.match(file, { onNone: () => ({}), onSome: readData })) as Record<
    string,
    unknown
  >
  const missing: Array<string> = []
  for (const field of fields) {
    const value = valueOf(field, input)
    const objects = field.path.slice(0, -1)
    if (value !== undefined) {
      let target = payload
      for (const name of objects) target = (target[name] ??= {}) as Record<string, unknown>
      target[field.name] = value
    } else if (field.isRequired) {
      const stored = field.path.reduce((found: unknown, name) => Object(found)[name], payload)
      if (stored === undefined) missing.push(`--${field.flag}`)
    }
  }
  if (missing.length > 0) throw usage(`Missing: ${missing.join(", ")}. Give the flag, or the field in --data.`)
  return payload
}

const queryOf = (fields: ReadonlyArray<Field>, input: Input): Input =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const value = valueOf(field, input)
      return value === undefined ? [] : [[field.name, field.kind === "boolean" ? String(value) : value]]
    })
  )

/** Answers that are negative although the call succeeded. */
const isNegative = (body: Row): boolean =>
  (body["object"] === "ledger_verification" && body["consistent"] === false) ||
  (body["object"] === "connection_check" && body["ok"] === false)

/** Says what an action waits for, and what comes after it. */
const showWaiting = (approval: Approval): void => {
  const { expires_at, id, status } = approval
  if (status !== "pending") return notice(`Nothing was done: the request is ${status}.`)
  notice(`Nothing is done yet. Another operator has until ${expires_at} to approve it: pix approvals approve ${id}`)
  if (isRepeated(approval.action)) notice(`Then this does it, for you only and once: ${repetitionOf(approval)}`)
}

/** Says what the requester of an approved key, token or webhook does. */
export const showApproved = (approval: Approval): void => {
  if (!isRepeated(approval.action) || approval.status !== "approved" || approval.done_at !== null) return
  notice(`Approved. Its requester does it, once, with: ${repetitionOf(approval)}`)
}

/** The commands of actions that are repeated. */
const repeatedWith: Readonly<Record<string, string>> = {
  "key.create": "keys create",
  "operator_token.create": "tokens create",
  "connection.register_webhook": "connections register-webhook"
}

/** The command that asks for the same again. */
const repetitionOf = ({ action, request, resource }: Approval): string => {
  const flags = Object.entries(request).flatMap(([field, value]) => {
    const name = field.replaceAll("_", "-")
    if (value === null) return []
    if (typeof value === "boolean") return [value ? `--${name}` : `--no-${name}`]
    return [`--${name} ${quoted(Array.isArray(value) ? value.join(",") : String(value))}`]
  })
  return ["pix", repeatedWith[action] ?? action, resource?.id ?? "", ...flags].join(" ")
}

/** A word of a shell. */
const quoted = (word: string): string => (/^[\w.,:@/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

/** Shows an answer, and sets the exit code of a negative one. */
export const showAnswer = ({ body, status, text }: Answer, json: boolean): void => {
  if (text === "") return notice("Done.")
  const fields = body as Row
  if (json) writeJson(body)
  else if (fields["object"] === "list" && Array.isArray(fields["data"])) {
    if (fields["data"].length === 0) notice("None.")
    else showTable(fields["data"])
  } else showFields(fields)
  if (fields["object"] === "approval") (status === 202 ? showWaiting : showApproved)(body as Approval)
  if (isNegative(fields)) process.exitCode = exitCodes.negative
}

const run = (operation: Operation) =>
  Effect.fnUntraced(function* (input: Input) {
    const json = yield* wantsJson
    const id = input[ID] as string | undefined
    if (id !== undefined && !isUuid(id)) return yield* usage(`Not an id: ${id}`)
    const params: Readonly<Record<string, string>> = id === undefined ? {} : { id }
    const query = yield* attempt(() =>
      queryOf(
        operation.query.filter(({ name }) => !paging.has(name)),
        input
      )
    )
    if (operation.isPaged) {
      const listing = {
        operation: operation.id,
        params,
        query,
        limit: Option.getOrUndefined(input[LIMIT] as Option.Option<number>),
        isAll: input[ALL] === true,
        json
      }
      const cells = input[CELLS] as Option.Option<string> | undefined
      if (cells !== undefined && Option.isSome(cells)) return yield* showCells(cells.value, listing)
      return yield* showList(yield* signedIn, listing)
    }
    const service = yield* signedIn
    if (answersFile(operation.id)) return yield* writeFile(service, operation.id, { params, query })
    if (answersLines(operation.id)) return yield* writeLines(service, operation.id, { params, query })
    const { body } = operation
    const payload = body === undefined ? undefined : yield* attempt(() => payloadOf(body, input))
    const question = yield* questionOf(operation.id, { service, id: id ?? "", payload: payload ?? {} })
    if (typeof question === "string") yield* confirm(question, input[YES] === true)
    const key = operation.isKeyed
      ? Option.getOrElse(input[KEY] as Option.Option<string>, () => randomUUID())
      : undefined
    const answer = yield* call(service, operation.id, {
      params,
      query,
      ...(payload === undefined ? {} : { payload }),
      ...(key === undefined ? {} : { headers: { "idempotency-key": key } })
    }).pipe(
      withTime,
      Effect.mapError((failure) => (key === undefined ? failure : withKey(failure, key)))
    )
    showAnswer(answer, json)
  })

/** Without an answer, the outcome of a creation is unknown. */
const withKey = (failure: Failure, key: string): Failure =>
  failure.exitCode === exitCodes.unreachable || failure.exitCode === exitCodes.unavailable
    ? new Failure({
        message: `${failure.message}\nIt may have been created. Repeat the command with --idempotency-key ${key}`,
        exitCode: failure.exitCode
      })
    : failure

const commandOf = (operation: Operation) => {
  const { description, name, summary } = operation
  return Command.make(name, configOf(operation), run(operation)).pipe(
    Command.withDescription(description === undefined ? summary : `${summary}\n\n  ${description}`),
    Command.withShortDescription(summary),
    Command.withExamples([{ command: exampleOf(operation) }])
  )
}

/** The names of all resources, in the order of the declaration. */
export const resources: ReadonlyArray<string> = [...new Set(operations.map(({ resource }) => resource))]

/** Operations whose command is written by hand: it does them for several resources. */
const written: ReadonlySet<string> = new Set(["approvalActions.approve"])

/** The commands of a resource's operations. */
export const operationCommands = (resource: string) =>
  operations.filter(({ id, resource: of }) => of === resource && !written.has(id)).map(commandOf)

/** The description of a resource, for help. */
export const withHelp = (resource: string) => {
  const text = descriptionOf(resource)
  const first = operations.find((operation) => operation.resource === resource)
  return {
    description: text,
    example: first === undefined ? `pix ${resource} --help` : exampleOf(first)
  }
}
