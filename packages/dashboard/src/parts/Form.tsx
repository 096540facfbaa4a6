/**
 * The fields of a form.
 *
 * Guarantee: a field that was refused shows its own message, which says what it accepts, and the first one gets the focus.
 */
import { useEffect, useRef } from "preact/hooks"
import type { Problem } from "../app/Client.ts"
import { language, words } from "../words/Words.ts"
import { textOf } from "./Problem.tsx"

export interface Field {
  /** The path in the request's body: `name`, `credentials.client_id`. */
  readonly name: string
  readonly label: string
  /** What it accepts: shown below it, and after a refusal. */
  readonly hint?: string
  /** `secret` is not shown while it is written, `files` are several, `instant` is a date and a time in the page's zone. */
  readonly kind?: "text" | "instant" | "long" | "secret" | "choice" | "choices" | "files"
  readonly options?: ReadonlyArray<string>
  /** The word of an option. */
  readonly nameOf?: (option: string) => string
  readonly initial?: string | undefined
  readonly isOptional?: boolean
}

export type Values = Readonly<Record<string, string | ReadonlyArray<string>>>

export type Files = ReadonlyArray<File>

/** The values of a form. Empty texts are left out. */
export const valuesOf = (form: HTMLFormElement, fields: ReadonlyArray<Field>): Values => {
  const data = new FormData(form)
  return Object.fromEntries(
    fields.flatMap(({ kind, name }): ReadonlyArray<readonly [string, string | ReadonlyArray<string>]> => {
      if (kind === "files") return []
      if (kind === "choices") return [[name, data.getAll(name).map(String)]]
      const value = String(data.get(name) ?? "").trim()
      return value === "" ? [] : [[name, value]]
    })
  )
}

/** The files of a form. A browser sends an empty one where none was chosen. */
export const filesOf = (form: HTMLFormElement, fields: ReadonlyArray<Field>): Files => {
  const data = new FormData(form)
  return fields
    .filter(({ kind }) => kind === "files")
    .flatMap(({ name }) => data.getAll(name))
    .filter((value) => value instanceof File && value.name !== "") as ReadonlyArray<File>
}

/** The text of a field that was filled; `undefined` where it is empty. */
export const textIn = (values: Values, name: string): string | undefined => {
  const value = values[name]
  return typeof value === "string" ? value : undefined
}

/** A refusal by the page itself, as the server would answer it. */
export const refusal = (...details: ReadonlyArray<string>) =>
  ({ _tag: "Failed", problem: { code: "VALIDATION_ERROR", message: "", details } }) as const

export const Fields = ({
  fields,
  problem
}: {
  readonly fields: ReadonlyArray<Field>
  readonly problem: Problem | undefined
}) => {
  const details = problem?.details ?? []
  const first = fields.find(({ name }) => isAbout(details, name))?.name
  return (
    <>
      {fields.map((field) => (
        <OneField
          field={field}
          refusedAs={isAbout(details, field.name) ? messageOf(problem!, field) : undefined}
          isFirst={first === field.name}
          key={field.name}
        />
      ))}
      {problem !== undefined && first === undefined && (
        <p class="wrong" role="alert">
          {textOf(problem)}
        </p>
      )}
    </>
  )
}

/** `customer.name` is a part of the field `customer`. */
const isAbout = (details: ReadonlyArray<string>, name: string): boolean =>
  details.some((each) => each === name || each.startsWith(`${name}.`))

/** The server's reason, which is in English, where it names the field, else what the field accepts. */
const messageOf = ({ details, message }: Problem, { hint = "" }: Field): string =>
  language.value === "en" && details.some((each) => message.startsWith(each))
    ? message
    : `${words().form.refused} ${hint}`

const OneField = ({
  field,
  isFirst,
  refusedAs
}: {
  readonly field: Field
  readonly refusedAs: string | undefined
  readonly isFirst: boolean
}) => {
  const { hint, initial, isOptional = false, kind = "text", label, name, nameOf, options = [] } = field
  const input = useRef<HTMLElement>(null)
  useEffect(() => {
    if (isFirst) input.current?.focus()
  }, [isFirst])
  const id = `field-${name}`
  const common = {
    name,
    id,
    required: !isOptional,
    "aria-invalid": refusedAs !== undefined,
    "aria-describedby": `${id}-hint`
  }
  const message = (
    <span id={`${id}-hint`} class={refusedAs === undefined ? "quiet hint" : "wrong"}>
      {refusedAs ?? hint}
    </span>
  )
  if (kind === "choices") {
    return (
      <fieldset aria-describedby={`${id}-hint`}>
        <legend>{label}</legend>
        {options.map((option, index) => (
          <label class="inline" key={option}>
            <input
              type="checkbox"
              name={name}
              value={option}
              ref={index === 0 ? (input as preact.RefObject<HTMLInputElement>) : null}
            />{" "}
            {nameOf?.(option) ?? option}
          </label>
        ))}
        {message}
      </fieldset>
    )
  }
  return (
    <div class="field">
      <label for={id}>
        {label} {isOptional && <span class="quiet optional">{words().form.optional}</span>}
      </label>
      {kind === "choice" ? (
        <select {...common} ref={input as preact.RefObject<HTMLSelectElement>}>
          {options.map((option) => (
            <option value={option} selected={option === initial} key={option}>
              {nameOf?.(option) ?? option}
            </option>
          ))}
        </select>
      ) : kind === "long" ? (
        <textarea {...common} rows={5} defaultValue={initial} ref={input as preact.RefObject<HTMLTextAreaElement>} />
      ) : kind === "files" ? (
        <input {...common} type="file" multiple ref={input as preact.RefObject<HTMLInputElement>} />
      ) : kind === "secret" ? (
        <input {...common} type="password" autocomplete="off" ref={input as preact.RefObject<HTMLInputElement>} />
      ) : kind === "instant" ? (
        <input
          {...common}
          type="datetime-local"
          defaultValue={initial}
          ref={input as preact.RefObject<HTMLInputElement>}
        />
      ) : (
        <input
          {...common}
          autocomplete="off"
          defaultValue={initial}
          ref={input as preact.RefObject<HTMLInputElement>}
        />
      )}
      {message}
    </div>
  )
}
