/**
 * The fields of a form.
 *
 * Guarantee: a field that the server refused shows its own message, which says what it accepts, and gets the focus.
 */
import { useEffect, useRef } from "preact/hooks"
import type { Problem } from "../app/Client.ts"
import { words } from "../words/Words.ts"
import { textOf } from "./Problem.tsx"

export interface Field {
  /** The name in the request's body. */
  readonly name: string
  readonly label: string
  /** What it accepts: shown below it, and after a refusal. */
  readonly hint?: string
  readonly kind?: "text" | "long" | "choice" | "choices"
  readonly options?: ReadonlyArray<string>
  readonly isOptional?: boolean
}

export type Values = Readonly<Record<string, string | ReadonlyArray<string>>>

/** The values of a form. Empty texts are left out. */
export const valuesOf = (form: HTMLFormElement, fields: ReadonlyArray<Field>): Values => {
  const data = new FormData(form)
  return Object.fromEntries(
    fields.flatMap(({ kind, name }): ReadonlyArray<readonly [string, string | ReadonlyArray<string>]> => {
      if (kind === "choices") return [[name, data.getAll(name).map(String)]]
      const value = String(data.get(name) ?? "").trim()
      return value === "" ? [] : [[name, value]]
    })
  )
}

export const Fields = ({
  fields,
  problem
}: {
  readonly fields: ReadonlyArray<Field>
  readonly problem: Problem | undefined
}) => {
  const refused = problem?.details ?? []
  const first = fields.find(({ name }) => isRefused(refused, name))?.name
  return (
    <>
      {fields.map((field) => (
        <OneField
          field={field}
          isRefused={isRefused(refused, field.name)}
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
const isRefused = (details: ReadonlyArray<string>, name: string): boolean =>
  details.some((each) => each === name || each.startsWith(`${name}.`))

const OneField = ({
  field,
  isFirst,
  isRefused: isWrong
}: {
  readonly field: Field
  readonly isRefused: boolean
  readonly isFirst: boolean
}) => {
  const { hint, isOptional = false, kind = "text", label, name, options = [] } = field
  const input = useRef<HTMLElement>(null)
  useEffect(() => {
    if (isFirst) input.current?.focus()
  }, [isFirst])
  const common = {
    name,
    id: `field-${name}`,
    required: !isOptional,
    "aria-invalid": isWrong,
    "aria-describedby": `${name}-hint`
  }
  const message = (
    <span id={`${name}-hint`} class={isWrong ? "wrong" : "quiet hint"}>
      {isWrong && `${words().form.refused} `}
      {hint}
    </span>
  )
  if (kind === "choices") {
    return (
      <fieldset aria-describedby={`${name}-hint`}>
        <legend>{label}</legend>
        {options.map((option) => (
          <label class="inline" key={option}>
            <input type="checkbox" name={name} value={option} /> {option}
          </label>
        ))}
        {message}
      </fieldset>
    )
  }
  return (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      {kind === "choice" ? (
        <select {...common} ref={input as preact.RefObject<HTMLSelectElement>}>
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      ) : kind === "long" ? (
        <textarea {...common} rows={5} ref={input as preact.RefObject<HTMLTextAreaElement>} />
      ) : (
        <input {...common} ref={input as preact.RefObject<HTMLInputElement>} />
      )}
      {message}
    </div>
  )
}
