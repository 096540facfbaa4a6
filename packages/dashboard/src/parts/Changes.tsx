/** What an operator changed: each field by its word, before and after. The names are shown, and the values once it is opened. */
type Values = Readonly<Record<string, unknown>> | null

export const Changes = ({
  after,
  before,
  nameOf
}: {
  readonly before: Values
  readonly after: Values
  readonly nameOf: (field: string) => string
}) => {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  if (names.length === 0) return null
  return (
    <details class="changes">
      <summary title={names.join(", ")}>{names.map(nameOf).join(", ")}</summary>
      <ul>
        {names.map((name) => (
          <li key={name}>
            {nameOf(name)}: {before !== null && name in before && <del>{textOf(before[name])}</del>}{" "}
            <ins>{textOf(after?.[name])}</ins>
          </li>
        ))}
      </ul>
    </details>
  )
}

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return "–"
  return typeof value === "string" ? value : JSON.stringify(value)
}
